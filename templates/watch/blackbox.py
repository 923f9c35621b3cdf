#!/usr/bin/env python3
"""Keeps what precedes the loss of a Spark on its disk: docs/watching.md, "The black box".

    blackbox.py DIGEST [--guard]

DIGEST is of what this process was started as; it stands in STARTED, for drift. With --guard it also acts (Guard).

Runs on the host as root, in one process, with the standard library alone. Each step is a row of a ring of fixed
size, on the disk before the next one begins. It reads files of /proc and /sys, the kernel's log, and the rows of
one nvidia-smi that goes on printing. No process is started in a step but that one, where it ended.

A row has a slot of its own of SLOT_B bytes: CRC NUMBER KIND BOOT TIME JSON, blanks, and a line end; CRC is of the
rest. TIME is the clock's, which may be set at any moment: a Spark with an empty battery begins in another year.
So `up` of the JSON is the seconds since the boot, by which what follows in one boot is judged. A row that a power
cut tore is one whose CRC does not fit. KIND is `step`, or `stop`: the process was asked to end, by a shutdown or
by hand. A boot whose last row is a step ended without being asked to: then the next start keeps the rows before
that in RESET, without CRC and blanks, until the next such end.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:  # its import would cost memory for nothing
    from collections.abc import Iterable, Iterator
    from typing import Any

ROOT = os.environ.get("SPARKRIG_ROOT", "")  # another one in tests
FOLDER = "/var/lib/sparkrig/blackbox"
RING, RESET, ACTS = f"{FOLDER}/ring", f"{FOLDER}/reset", f"{FOLDER}/guard"
STARTED = "/run/sparkrig-blackbox/started"  # systemd removes its folder when the process ends

STEP_S = 10
SLOT_B = 4096  # a block of the disk: it is written as one
SLOTS = 24 * 3600 // STEP_S  # a day: 34 MiB
KEPT = 720  # rows of RESET: two hours
KEEP_STEPS = 30  # between two tries where the disk has no room for RESET
CHUNK = 256  # slots that are read at once

LINES, LINE_B = 3, 160  # of the kernel's log that a row has of each kind; the others are counted
RECORDS = 2000  # of the kernel's log that are read in a step
TOP = 5  # processes that had the most memory
NAMES = 24  # netdevs, RDMA ports, thermal zones
# What a row that would outgrow its slot goes without, the least first
DISPENSABLE = ("rdma", "down", "guard", "top", "zones", "log")

MEMINFO = {
    "MemTotal": "total",
    "MemAvailable": "available",
    "MemFree": "free",
    "Cached": "cached",
    "AnonPages": "anon",
    "Shmem": "shmem",
    "Slab": "slab",
    "SwapTotal": "swap_total",
    "SwapFree": "swap_free",
}
# By kind the whole form of a line of the kernel's own: of the driver, of PCIe's error reports (dev_printk), and of
# the kernel ending a process (oom_kill.c). What it tells of a process begins with its name: 15 bytes, which the
# process chooses. OF_PROCESS has the lines of those that are called `NVRM: ...`; the other forms begin longer.
OF_PROCESS = (
    r".{0,9}(?:\[\d\d+\]| ?\(\d\d+\)| ?invoked oom-killer:|(?:: )?potentially unexpected fatal signal)"
    r"|.*, mode:0x"
)
LOG = {
    "nvrm": re.compile(rf"\ANVRM: (?!{OF_PROCESS})"),
    "aer": re.compile(r"\A[\w-]+ [\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.[0-7]: AER: "),
    "killed": re.compile(
        r"\A(?:Memory cgroup out|Out) of memory(?: \(oom_kill_allocating_task\))?: Killed process \d+ \(.*\) "
        r"total-vm:\d+kB, anon-rss:\d+kB, "
    ),
}
KERNELS = (
    r"[0-7],[^;]*;"  # what a record of the kernel's own begins with: level and facility 0, as none else can have
)
# mlx5's, and rxe's of the same meaning
RDMA_ERRORS = ("packet_seq_err", "out_of_sequence", "local_ack_timeout_err", "rcvd_seq_err", "out_of_seq_request")

# The guard's limits, in percent of all memory. On a Spark 3 is 3.6 GiB: one was lost at 0.2, another nearly at 2,
# and a pair in use never had less than 6.9 [@gb10-ops]. Where all wait, 5: systemd-oomd's 60 % [@oomd-conf].
LOW_PERCENT, NEAR_PERCENT, STALLED_PERCENT = 3, 5, 60
LOW_STEPS = 3
HOT_C, HOT_STEPS = 88, 24  # 240 s: one cut its power after 417 [@gb10-ops]
COLDEST_C, HOTTEST_C = -100, 200  # beyond is no temperature: a sensor that fails shows -274, or 2**31
SOC_ZONE = r"acpitz|(?:.*[-_])?(?:soc|cpu|tj|pkg|cluster)(?:[-_\d].*)?"  # types of zones, as the doctor knows them
EARLY = 1.5  # steps less than it takes to see so many: the first has none before it, and no step is quite on time
SERVER = ("systemctl", "stop", "--no-block", "sparkrig-serve*.service")
# systemd has a folder for each unit that runs; those that watch a server beside it begin so, too, and end with it
RUNNING, SERVERS = "/sys/fs/cgroup/system.slice", "sparkrig-serve"
CAP_MHZ = 2000  # as owners keep a pair cool [@miaai-146]
DECLARED_CAP = "/run/sparkrig-gpu-clock/cap"  # in MHz, where gpu_clock_max is set; never raised
MOST_ACTS = 8

GPU = ("utilization.gpu", "clocks.sm", "power.draw", "temperature.gpu", "clocks_event_reasons.active")
GPU_KEYS = ("used", "mhz", "watts", "celsius", "reasons", "margin")
MARGIN = "temperature.gpu.tlimit"  # a driver that does not know it prints so, answers no other field, and ends
GPU_OLD_S = 3 * STEP_S  # a row of it that is older is none of this step
GPU_HUNG_S = 120  # without any row
GPU_AGAIN_S = 60  # between two starts
PARTS, PART_B = 16, 8192  # of what it printed: how many are read in a step, and how much of it is kept


def main(words: list[str]) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    stay_in_memory()
    ring = Ring(ROOT + RING)
    boot = read("/proc/sys/kernel/random/boot_id").strip()[:8]
    keep_reset(ring, boot)
    box = Box(ring, boot, Guard(boot) if "--guard" in words else None)
    due, started = time.monotonic(), Started(words[0])
    while True:
        started.follow(box.step())
        due = max(due + STEP_S, time.monotonic())  # a step that was late is not made up for
        if asked_to_end(due - time.monotonic()):
            break
    box.end()


class Started:
    """What STARTED says: that rows are kept. Where the disk takes none, a deploy and drift are to see that."""

    def __init__(self, digest: str) -> None:
        self.digest, self.stands, self.trouble = digest, False, ""

    def follow(self, kept: bool) -> None:
        """kept: whether the last row was. A /run that is full ends nothing; it is tried again at the next one."""
        if kept == self.stands:
            return
        trouble = ""
        try:
            if kept:
                write_whole(ROOT + STARTED, [self.digest])
            else:
                os.unlink(ROOT + STARTED)
            self.stands = kept
        except OSError as error:
            trouble = f"{STARTED} cannot be changed: {error.strerror}"
        if trouble and trouble != self.trouble:
            say(trouble)
        self.trouble = trouble


def asked_to_end(seconds: float) -> bool:
    return signal.sigtimedwait({signal.SIGTERM}, max(0, seconds)) is not None


def stay_in_memory() -> None:
    """The kernel takes no page of this program, which else would wait for the disk when it is needed."""
    import ctypes

    try:
        ctypes.CDLL(None).mlockall(3)  # MCL_CURRENT | MCL_FUTURE
    except (OSError, AttributeError) as error:
        say(f"this program may be swapped out: {error}")


class Row:
    """A row of the ring as it was found. text: all of it but the CRC. Raises ValueError for what is none."""

    __slots__ = ("boot", "kind", "number", "text", "time")

    def __init__(self, text: str) -> None:
        crc, _, self.text = text.partition(" ")
        if crc != checksum(self.text):
            raise ValueError("the row is torn")
        number, self.kind, self.boot, self.time, _ = self.text.split(" ", 4)
        self.number = int(number)


def checksum(text: str) -> str:
    return f"{crc32(text.encode()):08x}"


class Ring:
    """The rows on the disk. It has its whole size from the start, so a full disk takes no row away.

    file: None while the disk has no room for it, is read-only, or fails; then each row tries again. lost: what
    RESET is to have, until the disk takes it.
    """

    def __init__(self, path: str) -> None:
        self.path, self.next, self.trouble = path, 1, ""
        self.file: int | None = None
        self.lost: list[str] = []
        try:
            self.open()
        except OSError as error:
            self.note(f"the disk takes no ring: {error.strerror}")

    def open(self) -> None:
        """Raises OSError, with the disk's room as it was."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        size = os.fstat(file).st_size
        try:
            os.posix_fallocate(file, 0, SLOTS * SLOT_B)
        except OSError:
            os.ftruncate(file, size)
            os.close(file)
            raise
        self.file = file
        self.next = 1 + max((row.number for row in self.rows()), default=0)

    def rows(self) -> Iterator[Row]:
        """Every whole row, in no order."""
        for first in range(0, SLOTS, CHUNK):
            part = self.part(first, CHUNK)
            for at in range(0, len(part), SLOT_B):
                try:
                    yield Row(part[at : at + SLOT_B].decode().strip("\0 \n"))
                except ValueError:  # UnicodeDecodeError is one
                    continue

    def part(self, first: int, count: int) -> bytes:
        """So many slots; nothing where the disk cannot read them."""
        try:
            return b"" if self.file is None else os.pread(self.file, count * SLOT_B, first * SLOT_B)
        except OSError:
            return b""

    def last(self, count: int) -> list[Row]:
        """The newest rows, oldest first; only those are read again."""
        found = (self.row(number) for number in range(max(1, self.next - count), self.next))
        return [row for row in found if row]

    def row(self, number: int) -> Row | None:
        try:
            row = Row(self.part(number % SLOTS, 1).decode().strip("\0 \n"))
        except ValueError:
            return None
        return row if row.number == number else None

    def add(self, kind: str, boot: str, found: dict[str, Any]) -> bool:
        """Whether it is on the disk. What makes a row too long goes: texts first, and their count stays.

        A disk that takes none (it became read-only, or fails) ends nothing: the guard has its work all the same.
        """
        try:
            if self.file is not None and not os.fstat(self.file).st_nlink:  # it was removed by hand
                os.close(self.file)
                self.file = None
            if self.file is None:
                self.open()
                keep_reset(self, boot)
            self.write(f"{self.next} {kind} {boot} {time.time():.0f}", found)
        except OSError as error:
            self.note(f"the disk takes no row: {error.strerror}")
            return False
        self.trouble = ""
        if self.lost and self.next % KEEP_STEPS == 0:
            keep(self)
        return True

    def write(self, head: str, found: dict[str, Any]) -> None:
        """Raises OSError."""
        assert self.file is not None
        text = f"{head} {fitting(found, SLOT_B - 16 - len(head))}"
        row = f"{checksum(text)} {text}".encode().ljust(SLOT_B - 1) + b"\n"
        os.pwrite(self.file, row, self.next % SLOTS * SLOT_B)
        os.fdatasync(self.file)
        self.next += 1

    def note(self, trouble: str) -> None:
        """Once, however long it lasts."""
        if trouble != self.trouble:
            say(trouble)
        self.trouble = trouble


def fitting(found: dict[str, Any], most: int) -> str:
    """As JSON of so many characters at most, without what it takes: DISPENSABLE has the order."""
    import json

    text = json.dumps(found, separators=(",", ":"))
    if len(text) > most and "log" in found:
        found = found | {"log": {kind: lines[:1] for kind, lines in found["log"].items()}}
        text = json.dumps(found, separators=(",", ":"))
    for name in DISPENSABLE:
        if len(text) > most:
            found = {key: value for key, value in found.items() if key != name}
            text = json.dumps(found, separators=(",", ":"))
    return text


def keep_reset(ring: Ring, boot: str) -> None:
    """Keep the rows before an end that was not asked for, where the last boot ended so."""
    rows = ring.last(KEPT)
    if rows and rows[-1].boot != boot and rows[-1].kind != "stop":
        ring.lost = [*(row.text for row in rows), f"booted {time.time() - uptime():.0f} {boot}"]
        if why := keep(ring):
            say(f"the rows before the reset cannot be kept yet: {why}")


def keep(ring: Ring) -> str:
    """Why the disk did not take what RESET is to have: it is full, say, which the host may have been lost by.

    The ring has its room, and goes on.
    """
    try:
        write_whole(ROOT + RESET, ring.lost)
    except OSError as error:
        return str(error)
    ring.lost = []
    return ""


def write_whole(path: str, rows: Iterable[str]) -> None:
    """The new file or the old one stands there, whenever the power goes. Raises OSError."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        with open(f"{path}.new", "wb", opener=lambda new, flags: os.open(new, flags, 0o600)) as file:
            file.writelines(f"{row}\n".encode(errors="replace") for row in rows)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        if os.path.exists(f"{path}.new"):
            os.unlink(f"{path}.new")  # a full disk has no room for a part of it
        raise
    os.replace(f"{path}.new", path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


class Box:
    """One step after the other."""

    def __init__(self, ring: Ring, boot: str, guard: Guard | None = None) -> None:
        self.ring, self.boot, self.guard = ring, boot, guard
        self.log, self.gpu = Log(), Gpu()

    def step(self) -> bool:
        """Whether its row is on the disk."""
        found = {
            "up": uptime(),
            "memory": memory(),
            "pressure": pressure(),
            "gpu": self.gpu.look(),
            "zones": zones(),
            "down": carrier_losses(),
            "rdma": rdma_errors(),
            "top": top(),
            "log": self.log.look(),
        }
        if self.guard:
            found["guard"] = self.guard.look(found)
        return self.ring.add("step", self.boot, {name: value for name, value in found.items() if value})

    def end(self) -> None:
        self.ring.add("stop", self.boot, {})
        self.gpu.end()


def uptime() -> float:
    """Seconds since the boot, which go on while the host sleeps, and whatever is done to its clock."""
    return round(time.clock_gettime(time.CLOCK_BOOTTIME), 1)


def memory() -> dict[str, int]:
    """kB, as /proc/meminfo has them."""
    found = {}
    for line in read("/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        kb = figure(rest) if name in MEMINFO else None
        if kb is not None and kb >= 0:
            found[MEMINFO[name]] = int(kb)
    return found


def pressure() -> dict[str, float]:
    """Percent of the last ten seconds in which `some` process, or all (`full`), waited [@psi]."""
    found = {}
    for name in ("memory", "io", "cpu"):
        for line in read(f"/proc/pressure/{name}").splitlines():
            kind, _, rest = line.partition(" avg10=")
            percent = figure(rest)
            if kind in ("some", "full") and percent is not None and percent >= 0:
                found[f"{name}_{kind}"] = percent
    return found


def zones() -> dict[str, float]:
    """Degrees Celsius, the highest of each type of thermal zone; one whose device sleeps cannot be read."""
    found: dict[str, float] = {}
    for name in names("/sys/class/thermal"):
        if name.startswith("thermal_zone"):
            milli = figure(read(f"/sys/class/thermal/{name}/temp"))
            kind = read(f"/sys/class/thermal/{name}/type").strip()[:32]
            if milli is not None and can_be(milli / 1000) and (kind in found or len(found) < NAMES):
                found[kind] = max(found.get(kind, COLDEST_C), milli / 1000)
    return found


def can_be(celsius: float) -> bool:
    return COLDEST_C < celsius < HOTTEST_C


def carrier_losses() -> dict[str, int]:
    """How often each netdev that is a device lost its carrier since it is there."""
    found: dict[str, int] = {}
    for name in names("/sys/class/net"):  # those of containers may be many, and have no device
        if len(found) < NAMES and os.path.exists(f"{ROOT}/sys/class/net/{name}/device"):
            count = figure(read(f"/sys/class/net/{name}/carrier_down_count"))
            if count is not None:
                found[text_of(name)] = int(count)
    return found


def rdma_errors() -> dict[str, int]:
    """The sum of the error counters of each RDMA device since it is there."""
    found = {}
    for device in names("/sys/class/infiniband")[:NAMES]:
        folder = f"/sys/class/infiniband/{device}/ports/1/hw_counters"
        counts = [count for name in RDMA_ERRORS if (count := figure(read(f"{folder}/{name}"))) is not None]
        if counts:
            found[text_of(device)] = int(sum(counts))
    return found


PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


def top() -> list[tuple[str, int, int]]:
    """Name, pid and kB in memory of the largest processes; never their arguments, which may have a secret."""
    found: list[tuple[int, int, str]] = []
    for pid in processes():
        head, _, rest = read(f"/proc/{pid}/stat").rpartition(")")
        fields = rest.split()  # from the third on: the state is the first, proc_pid_stat(5)
        pages = number(fields[21]) if len(fields) > 21 else None
        if pages is not None and pages >= 0:
            found.append((int(pages) * PAGE_KB, int(pid), head.partition("(")[2]))
        if len(found) > 10 * TOP:  # a host may have a hundred thousand
            found = sorted(found, reverse=True)[:TOP]
    return [(name, pid, size) for size, pid, name in sorted(found, reverse=True)[:TOP]]


def processes() -> Iterator[str]:
    try:
        with os.scandir(f"{ROOT}/proc") as folder:
            yield from (each.name for each in folder if each.name.isdecimal())
    except OSError:
        return


class Log:
    """The kernel's log, from now on; what processes write into it is left out.

    A record is one read, of which each line but the first begins with a blank. EPIPE stands for those that were
    overwritten before they were read [@dev-kmsg].
    """

    def __init__(self) -> None:
        self.file: int | None = None
        try:
            self.file = os.open(f"{ROOT}/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self.file, 0, os.SEEK_END)
        except OSError as error:
            say(f"the kernel's log cannot be read: {error}")

    def look(self) -> dict[str, list[Any]]:
        """By kind: how many lines, and the first of them."""
        found: dict[str, list[Any]] = {}
        for line in self.lines():
            kind = next((kind for kind, form in LOG.items() if form.match(line)), None)
            if kind:
                row = found.setdefault(kind, [0])
                row[0] += 1
                if len(row) <= LINES:
                    row.append(line[:LINE_B])
        return found

    def lines(self) -> Iterator[str]:
        for _ in range(RECORDS if self.file is not None else 0):
            try:
                record = os.read(self.file, 8192)  # type: ignore[arg-type]
            except BrokenPipeError:
                continue
            except OSError:  # BlockingIOError: nothing is left
                return
            if not record:
                return
            for line in record.decode(errors="replace").splitlines():
                if head := re.match(KERNELS, line):
                    yield line[head.end() :]


class Gpu:
    """nvidia-smi, which goes on printing a row a step; it is started again where it ended or hangs.

    One that does not end, because the driver holds it, is the last one: there are never two.
    """

    def __init__(self) -> None:
        self.pid = self.out = 0
        self.margin = True  # whether it is asked for T.Limit
        self.rest = b""
        self.row: dict[str, Any] = {}
        self.heard = self.started = -GPU_HUNG_S * 2.0

    def look(self) -> dict[str, Any]:
        now = time.monotonic()
        self.hear(now)
        if not self.pid and now - self.started >= GPU_AGAIN_S:
            self.start(now)
        elif self.pid and now - max(self.heard, self.started) >= GPU_HUNG_S:
            os.kill(self.pid, signal.SIGKILL)
        return self.row if now - self.heard < GPU_OLD_S else {}

    def start(self, now: float) -> None:
        fields = ",".join((*GPU, MARGIN) if self.margin else GPU)
        words = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", "-l", str(STEP_S)]
        self.started, self.rest = now, b""
        self.out, end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.out, False)  # this end alone: a program that prints much is to wait, not to fail
        streams = [(os.POSIX_SPAWN_DUP2, end, 1), (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
        streams += [(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]
        try:
            self.pid = os.posix_spawnp(words[0], words, os.environ, file_actions=streams, setsigmask=())
        except OSError:  # it is not installed
            os.close(self.out)
        os.close(end)

    def hear(self, now: float) -> None:
        """The last row that it printed, of the first GPU; a row in between two steps counts for the next."""
        if not self.pid:
            return
        try:
            for _ in range(PARTS):  # it may print faster than it is read
                part = os.read(self.out, PART_B)
                self.rest = (self.rest + part)[-PART_B:]
                if not part:
                    break
        except BlockingIOError:
            pass
        *rows, self.rest = self.rest.split(b"\n")
        for row in rows:
            fields = [each.strip() for each in row.decode(errors="replace").split(",")]
            if len(fields) == len(GPU) + self.margin:
                self.row = told(fields)
                self.heard = now
            elif MARGIN.encode() in row:  # a driver that is not loaded yet says something else
                self.margin = False
        if os.waitpid(self.pid, os.WNOHANG)[0]:
            os.close(self.out)
            self.pid = 0

    def end(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)


class Guard:
    """Acts where it goes on: stops the servers where the memory ends, caps the GPU's clock where it stays hot.

    It acts once, before the row is written, and for the memory again only after all was well. Nothing is started
    again, and the cap stays until a person lifts it, or the next boot.
    """

    def __init__(self, boot: str = "") -> None:
        self.boot = boot
        self.low: float | None = None  # since when the memory ends, and since when it is hot, by uptime
        self.hot: float | None = None
        self.stopped = self.capped = False
        self.started: dict[int, tuple[str, str]] = {}  # what was begun, and why, by a process that did not end yet

    def look(self, found: dict[str, Any]) -> list[str]:
        """What was done in this step, in words."""
        return [
            *self.failed(),
            *self.memory(found["memory"], found["pressure"]),
            *self.heat(found["zones"], found["gpu"]),
        ]

    def memory(self, kb: dict[str, int], waited: dict[str, float]) -> list[str]:
        if not kb.get("total") or "available" not in kb:
            return []
        share, stalled = 100 * kb["available"] / kb["total"], waited.get("memory_full", 0)
        bad = share < LOW_PERCENT or (share < NEAR_PERCENT and stalled >= STALLED_PERCENT)
        self.low = since(self.low, bad)
        self.stopped = self.stopped and share < NEAR_PERCENT
        if not lasted(self.low, LOW_STEPS) or self.stopped:
            return []
        self.stopped = True
        waiting = f"all processes waited for {stalled:.0f} % of ten seconds"
        seen = f"{share:.1f} % of the memory was available, and {waiting}"
        if not any(name.startswith(SERVERS) and name.endswith(".service") for name in names(RUNNING)):
            return [self.keep("found no server to stop", seen)]
        return [self.act("stopped the server", seen, SERVER)]

    def heat(self, celsius: dict[str, float], gpu: dict[str, Any]) -> list[str]:
        soc = [high for kind, high in celsius.items() if re.fullmatch(SOC_ZONE, kind, re.IGNORECASE)]
        warmest = max([*soc, gpu.get("celsius", 0)])
        self.hot = since(self.hot, warmest >= HOT_C)
        if self.hot is None or not lasted(self.hot, HOT_STEPS) or self.capped:
            return []
        self.capped = True
        seen = f"it was at {HOT_C} C and more for {uptime() - self.hot + STEP_S:.0f} s, now at {warmest:.0f} C"
        declared = read(DECLARED_CAP).strip()
        mhz = min(CAP_MHZ, int(declared)) if declared.isdecimal() else CAP_MHZ
        return [self.act(f"capped the GPU at {mhz} MHz", seen, ("nvidia-smi", "-lgc", f"0,{mhz}"))]

    def act(self, done: str, seen: str, words: tuple[str, ...]) -> str:
        """Do it, and keep what was done, and why; how it ended is looked at in the next steps."""
        try:
            self.started[os.posix_spawnp(words[0], words, os.environ, setsigmask=())] = (words[0], seen)
        except OSError as error:
            done = f"could not run {words[0]} ({error.strerror})"
        return self.keep(done, seen)

    def failed(self) -> list[str]:
        """What was begun and ended badly since the step before."""
        found = []
        for pid, (program, seen) in [*self.started.items()]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self.started[pid]
                if code := os.waitstatus_to_exitcode(status):
                    found.append(self.keep(f"failed, for {program} ended with {code}", seen))
        return found

    def keep(self, done: str, seen: str) -> str:
        """Where a doctor finds it."""
        row = f"{time.time():.0f} @{uptime()}/{self.boot} {done}: {seen}"
        say(f"the guard {done}: {seen}")
        try:
            write_whole(ROOT + ACTS, [*read(ACTS).splitlines(), row][-MOST_ACTS:])
        except OSError as error:  # a full disk; the ring has it, too
            say(f"what the guard did cannot be kept: {error}")
        return f"{done}: {seen}"


def say(text: str) -> None:
    """To the journal. One that is gone, as where the memory ends, ends nothing here."""
    try:
        print(f"sparkrig: {text}", flush=True)
    except OSError:
        return


def since(before: float | None, holds: bool) -> float | None:
    """Since when something holds without a break, by uptime. before: the same of the step before."""
    if not holds:
        return None
    return uptime() if before is None else before


def lasted(since: float | None, steps: int) -> bool:
    """Whether that is so many steps ago, however many were made: a disk that stands still delays them."""
    return since is not None and uptime() - since >= (steps - EARLY) * STEP_S


def told(fields: list[str]) -> dict[str, Any]:
    """By GPU_KEYS; what nvidia-smi does not report (`[N/A]`) is left out."""
    found: dict[str, Any] = {}
    for key, text in zip(GPU_KEYS, fields, strict=False):
        value = number(text)
        if key == "reasons" and text.startswith("0x"):
            found[key] = text[:18]
        elif value is not None and (key != "celsius" or can_be(value)):
            found[key] = value
    return found


def number(text: str) -> float | None:
    """None for `[N/A]` and its like, and for what is not finite."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if abs(found) < 1e15 else None  # NaN is not


def figure(text: str) -> float | None:
    """The first word of a file or of a line; None where that is no figure."""
    word, *_ = [*text.split(None, 1), ""]
    return number(word)


def text_of(name: str) -> str:
    """The name of a file, of which any byte may be no text (os.fsdecode): that makes no JSON that can be read."""
    return name.encode(errors="replace").decode()


def names(path: str) -> list[str]:
    """What a folder has, none where it is not there."""
    try:
        return sorted(os.listdir(ROOT + path))
    except OSError:
        return []


def read(path: str) -> str:
    """A small file, empty where there is none; a process or a device may go at any moment."""
    try:
        file = os.open(ROOT + path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, 65536).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(file)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # whatever the locale
    main(sys.argv[1:])
