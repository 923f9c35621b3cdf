"""The hosts for stock pyinfra, from the file that Ansible reads (SPARKRIG_BENCH_HOSTS); nothing is tuned."""

import json as _json
import os as _os
from pathlib import Path as _Path

_found = _json.loads(_Path(_os.environ["SPARKRIG_BENCH_HOSTS"]).read_text())
sparks = list(_found["sparks"]["hosts"].items())
