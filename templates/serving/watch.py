#!/usr/bin/env python3
"""Keeps a server from standing still, and a Spark from being lost to it: docs/serving.md, "It stays up".

    watch.py [--least THOUSANDTHS] [--port PORT --seconds SECONDS [--running NAME --counters NAME,...]]
             [--head ADDRESS:PORT]

Runs on the host as root beside the server, in one process, with the standard library alone.

    --least    the server is ended before less of all memory stays available, in thousandths
    --port     of the server on this host, the head: its engine is watched, and stands still after --seconds
    --running, --counters
               what its /metrics call the requests that run, and what moves while it works; vLLM's without them
    --head     where the head of vLLM's own multi-node mode listens: this node follows it when it ends

What was done stands in EVENTS, a line each: time, cause (stuck or memory), what was done (restarted or stopped),
and what was seen; nothing of a request. The file goes when all went well for AGAIN_S, and with the next deploy.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import http.client
import io
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

ROOT = Path(os.environ.get("SPARKRIG_ROOT", "/"))  # another one in tests
UNIT = "sparkrig-serve"  # and its container
EVENTS = ROOT / "var/lib/sparkrig/serve/events"
MOST_EVENTS = 8
MOST_EVIDENCE = 200  # characters
LOCK = threading.Lock()  # of EVENTS: both threads write there

ENGINE_S = 5  # between two looks at the engine
AGAIN_S = 3600  # a pair is up again after 15 minutes; one that stands still once more within the hour stays down
DOUBT = 3  # times --seconds, where nothing shows whether the GPU works
METRICS_S = 5
METRICS_B = 4 << 20
ASK_S = 20  # one question to nvidia-smi, which hangs where the driver does
ACT_S = 60  # docker and systemctl
# A stuck engine drew 13 to 27 W and showed 95 % utilization, for a kernel that waits is resident; one that works
# draws 45 W and more, also in a long prefill, which counts no token until it is over [@eugr-260, @aeon-10]
IDLE_W = 30.0
# Any of them moves whenever vLLM 0.19 to 0.33 has taken a step with an outcome [@vllm-metrics]
RUNNING = "vllm:num_requests_running"
COUNTERS = (
    "vllm:generation_tokens_total",
    "vllm:prompt_tokens_total",
    "vllm:iteration_tokens_total_count",
    "vllm:prefix_cache_queries_total",
    "vllm:request_success_total",
    "vllm:num_preemptions_total",
)
# FlashInfer and torch compile what a request needs for the first time, for minutes and without the GPU [@eugr-286]
COMPILERS = frozenset({"nvcc", "cicc", "ptxas", "cudafe++", "ninja", "cc1plus"})

MEMORY_S = 1
SHORT = 3  # looks in a row: a peak of a second or two is no end
# The two signs below count only where little memory is left: one start logged 75 such lines at 22 GiB
# [@vllm-54200], and reading weights presses on the page cache.
NEAR = 50  # thousandths: 6 GiB of a Spark's. A pair in use had 7.85, and 6.91 at the least [@gb10-ops]
LINES, LINES_S = 5, 60.0  # of the driver, and in how long: 24 in 21 s before a Spark was lost [@gb10-ops]
NO_MEMORY = re.compile(r"NVRM: .{0,500}NV_ERR_NO_MEMORY")  # [@open-gpu-1358, @playbooks-97]
STALLED = 60.0  # percent of ten seconds in which no process got on: systemd-oomd's own limit [@oomd-conf]

HEAD_LOST_S = 30  # Ray's worker ends by itself after a minute; vLLM's stays for ever [@vllm-32136]
ESTABLISHED = "01"

Look = Callable[[], None]


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--running", default=RUNNING)
    parser.add_argument("--counters", default=",".join(COUNTERS))
    parser.add_argument("--head", default="")
    told = parser.parse_args(words)
    stay_in_memory()
    if told.least:  # a thread of its own: a server or an nvidia-smi that hangs does not hold it up
        threading.excepthook = end_with_it
        threading.stack_size(256 << 10)
        threading.Thread(target=every, args=(MEMORY_S, Memory(told.least).look), daemon=True).start()
    looks: list[Look] = [Calm().look]
    if told.port:
        looks.append(Engine(told.port, told.seconds, Names(told.running, tuple(told.counters.split(",")))).look)
    if told.head:
        looks.append(Head(told.head).look)
    every(ENGINE_S, *looks)


def stay_in_memory() -> None:
    """The kernel takes no page of this program, which else would wait for the disk when it is needed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mlockall(3)  # MCL_CURRENT | MCL_FUTURE


def end_with_it(what: threading.ExceptHookArgs) -> None:
    """A thread that fails ends the program, so that systemd starts it again."""
    sys.excepthook(what.exc_type, what.exc_value or what.exc_type(), what.exc_traceback)
    os._exit(1)


def every(seconds: float, *looks: Look) -> None:
    while True:
        time.sleep(seconds)
        for look in looks:
            look()


class Names(NamedTuple):
    """Of metrics. running: requests that run; counters: one of them moves when a step had an outcome."""

    running: str = RUNNING
    counters: tuple[str, ...] = COUNTERS


VLLM = Names()


class Engine:
    """The engine, on the head: it stands still where requests run, no counter moves, and nothing works."""

    def __init__(self, port: int, seconds: float, names: Names = VLLM) -> None:
        self.port, self.seconds, self.names = port, seconds, names
        self.counted = -1.0
        self.since: float | None = None  # when it was first seen to stand still
        self.doubt = False  # whether in that time it was ever unknown what the GPU does

    def look(self) -> None:
        metrics = ask_metrics(self.port, self.names)
        if metrics is None:
            return  # the API is away: systemd, or the deploy, knows
        running, counted = metrics
        moved, self.counted = counted != self.counted, counted
        gpu = ask_gpu() if running and not moved else None
        if gpu is None or gpu.works or compiles():
            self.since, self.doubt = None, False
            return
        if self.since is None:
            self.since = time.monotonic()
        self.doubt = self.doubt or not gpu.idle
        stood = time.monotonic() - self.since
        if stood >= self.seconds * (DOUBT if self.doubt else 1):
            self.since = None
            self.end(f"the engine stood still for {stood:.0f} s: requests running: {running:.0f}, {gpu.told}")

    def end(self, seen: str) -> None:
        """The first time the server is restarted; if that did not help, it stays down until a person starts it.

        What a person started after it was stopped begins anew.
        """
        done = [row.split(" ")[2] for row in events() if row.split(" ")[1] == "stuck"]
        if done[-1:] == ["restarted"]:
            act("stuck", "stopped", seen, ["systemctl", "stop", "--no-block", f"{UNIT}.service"])
        else:
            act("stuck", "restarted", seen, ["docker", "kill", UNIT])


class Gpu:
    """What nvidia-smi shows of all GPUs. works, idle: neither is true where it cannot be known."""

    def __init__(self, printed: str) -> None:
        rows = [row.split(",") for row in printed.splitlines() if row.count(",") == 1]
        watts = [watt for row in rows if (watt := number(row[0])) is not None]
        used = [share for row in rows if (share := number(row[1])) is not None]
        # where there is no power, a share of 0 is idle, and any other is no evidence
        self.works = any(watt >= IDLE_W for watt in watts)
        self.idle = bool(watts or used) and not self.works and (bool(watts) or not any(used))
        shown = f"GPU utilization {max(used):.0f} %" if used else "what the GPU did is not known"
        self.told = f"the GPU drew {sum(watts):.0f} W" if watts else shown


def ask_gpu() -> Gpu:
    query = ["--query-gpu=power.draw,utilization.gpu", "--format=csv,noheader,nounits"]
    return Gpu(run(["nvidia-smi", *query], ASK_S))


def number(text: str) -> float | None:
    """None for `[N/A]` and its like."""
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text := text.strip()) else None


def compiles() -> bool:
    """Whether a compiler runs on this host."""
    return any(read(file).strip() in COMPILERS for file in (ROOT / "proc").glob("[0-9]*/comm"))


def fetch(port: int) -> bytes:
    """What comes until one deadline. http.client has one for each read: a server that drips holds it for ever."""
    end, found = time.monotonic() + METRICS_S, b""
    with socket.create_connection(("127.0.0.1", port), METRICS_S) as server, contextlib.suppress(TimeoutError):
        server.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        while len(found) < METRICS_B and (left := end - time.monotonic()) > 0:
            server.settimeout(left)
            part = server.recv(1 << 16)
            if not part:
                break
            found += part
    return found


def ask_metrics(port: int, names: Names = VLLM) -> tuple[float, float] | None:
    """How many requests run, and the sum of what counts; None where no whole answer comes in time."""
    try:
        came = fetch(port)
        as_socket = SimpleNamespace(makefile=lambda _: io.BytesIO(came))  # all that http.client asks of one
        answer = http.client.HTTPResponse(as_socket)  # type: ignore[arg-type]
        answer.begin()
        text = answer.read().decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException):  # ValueError: a chunk of a negative size
        return None
    if answer.status != 200 or not any(name in text for name in names.counters):
        return None
    return total(text, (names.running,)), total(text, names.counters)


def total(text: str, names: tuple[str, ...]) -> float:
    """The sum of some metrics over all engines, from Prometheus' text."""
    name, value = "|".join(map(re.escape, names)), r"\d+(?:\.\d*)?(?:[eE]\+?\d+)?"
    row = rf"^(?:{name})(?:\{{[^\n]*\}})? ({value})(?: \d+)?$"
    return sum(map(float, re.findall(row, text, re.MULTILINE)))


class Head:
    """The head, on another node of vLLM's own multi-node mode: each rank is connected to torch's store there.

    vLLM on this node does not end with it, and the next head waits for it in vain.
    """

    def __init__(self, at: str) -> None:
        address, _, port = at.rpartition(":")
        # as the kernel prints it: the four bytes as a number of this machine
        self.remote = f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{int(port):04X}"
        self.joined = False
        self.lost: float | None = None

    def look(self) -> None:
        if self.connected():
            self.joined, self.lost = True, None
        elif self.joined:
            self.lost = time.monotonic() if self.lost is None else self.lost
            if time.monotonic() - self.lost >= HEAD_LOST_S:
                self.joined, self.lost = False, None
                say("head", "the head has ended; this node is restarted, and joins the next one")
                run(["docker", "kill", UNIT], ACT_S)

    def connected(self) -> bool:
        rows = (row.split() for name in ("tcp", "tcp6") for row in read(f"proc/net/{name}").splitlines()[1:])
        return any(len(row) > 3 and row[2][-13:] == self.remote and row[3] == ESTABLISHED for row in rows)


class Memory:
    """The memory that CPU and GPU share. A Spark without any hangs until it is switched off."""

    def __init__(self, least: int) -> None:
        self.least = least
        self.low = self.stalled = 0  # looks in a row
        self.log = open_log()
        self.lines: list[float] = []  # when the driver had no memory

    def look(self) -> None:
        free, now = available(), time.monotonic()
        self.lines = [at for at in self.lines if now - at <= LINES_S]
        self.lines += [now for line in read_log(self.log) if NO_MEMORY.search(line)]
        stalled = pressure()
        self.low = self.low + 1 if free < self.least else 0
        near = free < max(NEAR, self.least)
        self.stalled = self.stalled + 1 if stalled >= STALLED and near else 0
        left = f"{free} of 1000 are free"
        if self.low >= SHORT:
            self.end(f"{left}, {self.least} are to stay")
        elif self.stalled >= SHORT:
            self.end(f"{left}, and for {stalled:.0f} % of ten seconds every process waited for memory")
        elif len(self.lines) >= LINES and near:
            self.end(f"{left}, and the driver logged NV_ERR_NO_MEMORY {len(self.lines)} times in {LINES_S:.0f} s")

    def end(self, seen: str) -> None:
        self.low = self.stalled = 0
        self.lines.clear()
        act("memory", "restarted", seen, ["docker", "kill", UNIT], at_once=True)


def available() -> int:
    """Thousandths of all memory."""
    kib = dict(re.findall(r"^(\w+): +(\d+) kB$", read("proc/meminfo"), re.MULTILINE))
    return int(kib["MemAvailable"]) * 1000 // int(kib["MemTotal"])


def pressure() -> float:
    """Percent of the last ten seconds; 0 where this kernel does not count it."""
    found = re.search(r"^full avg10=([\d.]+)", read("proc/pressure/memory"), re.MULTILINE)
    return float(found[1]) if found else 0.0


def open_log() -> int | None:
    """The kernel's log, from now on."""
    with contextlib.suppress(OSError):
        handle = os.open(ROOT / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(handle, 0, os.SEEK_END)
        return handle
    return None


def read_log(handle: int | None) -> list[str]:
    """What came since the last time; a record is one read, and EPIPE stands for those that were lost."""
    found: list[str] = []
    while handle is not None and len(found) < 1000:
        try:
            record = os.read(handle, 8192)
        except BrokenPipeError:
            continue
        except OSError:  # BlockingIOError: nothing is left
            break
        if not record:
            break
        found += record.decode(errors="replace").splitlines()
    return found


class Calm:
    """What was done is forgotten once the server went well for AGAIN_S: nothing more was done, and it is up."""

    def __init__(self) -> None:
        self.before, self.since = events(), time.monotonic()

    def look(self) -> None:
        now = events()
        if now != self.before:
            self.before, self.since = now, time.monotonic()
        elif now and time.monotonic() - self.since >= AGAIN_S:
            with contextlib.suppress(OSError):
                EVENTS.unlink()


def act(cause: str, done: str, seen: str, command: list[str], *, at_once: bool = False) -> None:
    """Do it, and keep the reason. at_once: before it is kept, since there may be no second later.

    Else it is kept first: what is done ends this program, too, by systemd.
    """
    process = begin(command) if at_once else None
    when = say(cause, f"{seen}; the server is {done}")
    with LOCK, contextlib.suppress(OSError):
        note(f"{when} {cause} {done} {seen[:MOST_EVIDENCE]}")
    finish(process or begin(command), ACT_S)


def say(cause: str, text: str) -> str:
    """A line of the journal, which sparkrig/serving/trouble.py reads. Returns the time in it."""
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    print(f"sparkrig: trouble {cause} {when} {text}", flush=True)
    return when


def events() -> list[str]:
    return [row for row in read(EVENTS).splitlines() if len(row.split(" ")) > 3]


def note(line: str) -> None:
    """On the disk before this returns: a Spark that hangs all the same leaves its reason."""
    EVENTS.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = EVENTS.with_suffix(".new")
    with new.open("w") as file:
        file.write("".join(f"{each}\n" for each in [*events(), line][-MOST_EVENTS:]))
        file.flush()
        os.fsync(file.fileno())
    new.replace(EVENTS)


def read(path: str | Path) -> str:
    """A small file, empty where there is none."""
    try:
        return (ROOT / path).read_text(errors="replace")
    except OSError:
        return ""


def begin(command: list[str]) -> subprocess.Popen[str] | None:
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with contextlib.suppress(OSError):
        return subprocess.Popen(command, stdin=nothing, stdout=pipe, stderr=nothing, text=True)
    return None


def finish(process: subprocess.Popen[str] | None, seconds: float) -> str:
    """What it printed; empty where it failed. One that does not end is left behind: it may be in the kernel."""
    if process is None:
        return ""
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return ""
    return printed if process.returncode == 0 else ""


def run(command: list[str], seconds: float) -> str:
    return finish(begin(command), seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
