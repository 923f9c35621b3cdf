"""What holds for every tier."""

import os

# a host that is lost on purpose does not reboot, so nobody waits for it (sparkrig/session.py)
os.environ.setdefault("SPARKRIG_WAIT_S", "0")
