"""What holds for every tier."""

import os

os.environ.setdefault("SPARKRIG_WAIT_S", "0")  # a host that is lost on purpose does not reboot (sparkrig/session.py)
