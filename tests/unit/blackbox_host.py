"""A host in a folder whose black box steps at a clock that moves by steps alone."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unit.simulated import TEMPLATES, SimulatedHost, load

PROGRAM = TEMPLATES / "watch" / "blackbox.py"
A, B = "aaaaaaaa", "bbbbbbbb"
EURO = "\u20ac"  # three bytes, and six characters of JSON
SLOTS = 256  # of 8640: a day's ring is 34 MiB, which each look reads whole
ROW = "96, 2405, 44.30, 63, 0x0000000000000004, 33"
STAT = "{pid} ({name}) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9 1000000 {pages} 184467 1 1"
NVRM = "4,{n},1,-;NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)\n"
AER = (
    "3,{n},1,-;pcieport 0002:00:00.0: AER: Correctable error message received from 0002:01:00.0\n SUBSYSTEM=pci\n"
)
KILLED = (
    "3,{n},1,-;Out of memory: Killed process 7 (python3) total-vm:9kB, anon-rss:8kB, file-rss:1kB, shmem-rss:0kB, "
    "UID:0 pgtables:4kB oom_score_adj:0\n"
)
# What the kernel tells of a process, whose name is 15 bytes that any program may choose
OF_PROCESS = (
    "{name}[471]: segfault at 0 ip 000055d0 sp 00007ffe error 4 in NV_ERR_NO_MEMORY[55d0+1000] likely on CPU 3",
    "{name}[471]: unhandled exception: DABT (lower EL), ESR 0x92000046, translation fault in {name}[400000]",
    "traps: {name}[471] trap divide error ip:400000 sp:7ffe error:0 in x[400000+1000]",
    "{name}: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset=NV_ERR_NO_MEMORY",
    "{name} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
    "{name} (471): drop_caches: 3",
    "{name}: potentially unexpected fatal signal 6.",
    "INFO: task {name}:471 blocked for more than 122 seconds.",
    "CPU: 3 UID: 0 PID: 471 Comm: {name} Not tainted 6.17.0 #1",
    "process '/tmp/{name}' started with executable stack",
    "oom_reaper: reaped process 471 ({name}), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    'audit: type=1701 audit(1.1:2): auid=0 uid=0 pid=471 comm="{name}" exe="/x" sig=11 res=1',
)


def names() -> set[str]:
    """Names that a process can take: every 15 bytes and fewer of what our forms begin with, or have in them."""
    whole = [row.format(n=1).partition(";")[2].partition("\n")[0] for row in (NVRM, AER, KILLED)]
    parts = {row[at : at + size] for row in whole for at in range(len(row)) for size in (4, 5, 6, 10, 14, 15)}
    return {*parts, "NVRM: Xid (PCI", "NVRM: [1", "Killed process", "AER: "}


METRICS = PROGRAM.with_name("metrics.py")
FOLDER = "var/lib/prometheus/node-exporter"  # of textfiles
# runs a program for so many steps, and prints how many processes it began, and the most memory that it took
COST = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("box", sys.argv[1])
box = importlib.util.module_from_spec(spec)
spec.loader.exec_module(box)
begun = []
sys.addaudithook(lambda event, _: begun.append(event) if event in
    ("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "subprocess.Popen") else None)
limit, waits = int(sys.argv[2]), iter(range(int(sys.argv[2])))
def asked(_):
    next_step = next(waits, None)
    return next_step is None
box.asked_to_end = asked
box.main(["digest"])
status = open("/proc/self/status").read().split("\\n")
rss = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(len(begun), rss)
"""


def loaded(file: Path = PROGRAM) -> Any:
    """The program as a module of its own."""
    sys.modules.pop("blackbox", None)  # which metrics.py imports
    return load(file, "blackbox_program")


class Host(SimulatedHost):
    """A host in a folder, and its black box."""

    def __init__(self, root: Path, file: Path = PROGRAM) -> None:
        super().__init__(root)
        self.has(
            "proc/meminfo", "MemTotal: 127535084 kB\nMemFree: 9 kB\nMemAvailable: 419430 kB\nAnonPages: 5 kB\n"
        )
        self.has("proc/uptime", "12.50 1.00\n")
        self.has("dev/kmsg", "")
        self.boot(A)
        self.program = loaded(file)
        getattr(self.program, "blackbox", self.program).SLOTS = SLOTS
        self.wall = 1795600000.0  # what its wall clock has before `now`
        self.program.time = self.times(
            time=lambda: self.wall + self.now, clock_gettime=lambda _: self.now - self.began, CLOCK_BOOTTIME=7
        )
        self.ring = root / "var/lib/sparkrig/blackbox/ring"
        self.reset = root / "var/lib/sparkrig/blackbox/reset"

    def boot(self, id: str) -> None:
        """As 12.5 s after it."""
        self.id, self.began = id, self.now - 12.5
        self.has("proc/sys/kernel/random/boot_id", f"{id}-1111-4222-8333-444444444444\n")

    def smi(self, script: str) -> None:
        self.tool("nvidia-smi", f'echo "$*" >>{self.root}/asked; {script}')

    @property
    def asked(self) -> list[str]:
        return self.lines("asked")

    def box(self, id: str = A) -> Any:
        """As after a start in that boot: the rows of the boot before it are kept where it was lost."""
        if id != self.id:
            self.boot(id)
        ring = self.program.Ring(str(self.ring))
        self.program.keep_reset(ring, id)
        return self.program.Box(ring, id)

    def steps(self, box: Any, count: int) -> None:
        for _ in range(count):
            box.step()
            self.now += getattr(self.program, "blackbox", self.program).STEP_S

    def rows(self) -> list[Any]:
        found = self.program.Ring(str(self.ring)).rows()
        return sorted(found, key=lambda row: row.number)

    def found(self) -> dict[str, Any]:
        """What the newest row has."""
        return dict(json.loads(self.rows()[-1].text.split(" ", 4)[4]))

    def kept(self) -> list[str]:
        return self.reset.read_text().splitlines()


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def written_by() -> set[str]:
    """The names of all metrics that the program knows."""
    return {f"sparkrig_{row[0]}" for row in loaded(METRICS).METRICS}
