"""Run a command, then write its exit code, wall time in seconds and peak memory in KiB: rusage.py FILE COMMAND...

A program of its own, started as `python -I -S`: a child's peak counts from what its parent had when it was made,
and this parent is small.
"""

import resource
import subprocess
import sys
import time

began = time.monotonic()
code = subprocess.run(sys.argv[2:], check=False).returncode
took = time.monotonic() - began
with open(sys.argv[1], "w") as file:  # noqa: PTH123 (pathlib is large)
    file.write(f"{code} {took} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}\n")
