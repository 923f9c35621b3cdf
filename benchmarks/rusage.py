"""Run a command, then write what it took: rusage.py FILE LIMIT COMMAND...

FILE gets its exit code, its wall time, the processor time of its processes (both in seconds), and the peak memory
of the largest one in KiB. After LIMIT seconds it is ended with all that it started; the exit code is 124, as that
of timeout.

A program of its own, started as `python -I -S`: a child's peak counts from what its parent had when it was made,
and this parent is small.
"""

import os
import resource
import signal
import subprocess
import sys
import time

file, limit, *command = sys.argv[1:]
began = time.monotonic()
process = subprocess.Popen(command, start_new_session=True)
try:
    code = process.wait(float(limit))
except subprocess.TimeoutExpired:
    code = 124
finally:
    if process.poll() is None:  # over its time, or Ctrl-C, which its own session does not get
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
took = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(file, "w") as out:  # noqa: PTH123 (pathlib is large)
    out.write(f"{code} {took} {used.ru_utime + used.ru_stime} {used.ru_maxrss}\n")
