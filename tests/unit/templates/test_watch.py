"""The watch of a server on this machine: its own loop, with a real HTTP server, and tools that act on a folder.

Its clock moves by sleeping alone, so that hours cost nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.attacks.servers import server
from tests.tables import each_row
from tests.unit.blackbox_host import OF_PROCESS
from tests.unit.simulated import TEMPLATES, SimulatedHost, load
from tests.unit.sshd import free_ports

PROGRAM = TEMPLATES / "serving" / "watch.py"
N = 60  # seconds; in the unit 300, by default
IDLES, WORKS = "13.96, 96\n", "46.10, 96\n"
KILLED, STOPPED = "docker kill sparkrig-serve", "systemctl stop --no-block sparkrig-serve.service"
LINE = (
    "4,{number},{number}000,-;NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] "
    "(0x00000051) returned from _memdescAllocInternal(pMemDesc) @ mem_desc.c:1359\n"
)


class Over(Exception):
    """The time that a test has."""


class Host(SimulatedHost):
    """A host in a folder: what it shows, and what was done to it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.end, self.running, self.tokens = 0.0, 0.0, 0.0
        self.metrics: str | None = None  # all of it, where not as of vLLM
        self.behaves: Callable[[float], object] = lambda _: None
        self.noting("docker", "systemctl")
        self.tool("nvidia-smi", f"echo >>{root}/asked; cat {root}/gpu")
        self.gpu(IDLES)
        self.has("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 500000 kB\n")
        self.has("dev/kmsg", "")
        self.program = load(PROGRAM)
        self.program.time = self.times(gmtime=time.gmtime, strftime=time.strftime)
        self.program.stay_in_memory = lambda: None  # of the tests' own process

    def gpu(self, printed: str) -> None:
        self.has("gpu", printed)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.end:
            raise Over
        self.behaves(self.now - self.begun)

    def watches(self, seconds: float, *words: str) -> None:
        """As the unit starts it, for that long."""
        self.begun, self.end = self.now, self.now + seconds
        with pytest.raises(Over):
            self.program.main([*words])

    @property
    def asked(self) -> int:
        """How often nvidia-smi was."""
        return len(self.lines("asked"))

    @property
    def events(self) -> list[str]:
        return self.lines("var/lib/sparkrig/serve/events")

    @property
    def done(self) -> list[str]:
        return [" ".join(row.split(" ")[1:3]) for row in self.events]

    def text(self) -> str:
        """What vLLM prints, cut to what counts and what looks like it."""
        if self.metrics is not None:
            return self.metrics
        labels = 'engine="0",model_name="openai/gpt-oss-120b"'
        return f"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{{labels}}} {self.running}
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{{labels}}} 7.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{{labels}}} {self.tokens}
# TYPE vllm:generation_tokens_created gauge
vllm:generation_tokens_created{{{labels}}} {self.now}
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{{{labels}}} 1.05e+06
process_cpu_seconds_total {self.now}
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("SPARKRIG_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return Host(tmp_path)


@pytest.fixture
def port(host: Host) -> Iterator[str]:
    """Where vLLM's API answers on this host."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = host.text().encode()
            self.send_response(200 if data and self.path == "/metrics" else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield str(server.server_address[1])
        server.shutdown()


def engine(host: Host, port: str, seconds: float, n: int = N) -> list[str]:
    """What is done in that time. The unit is started again with what it watches."""
    host.watches(seconds, "--port", port, "--seconds", str(n))
    return host.did


# --- the engine


def test_an_engine_that_stands_still_is_restarted_once(host: Host, port: str, capsys: Any) -> None:
    host.running = 3
    assert engine(host, port, N) == [], "not one look too early"
    assert engine(host, port, N + 15) == [KILLED]
    assert host.done == ["stuck restarted"]
    assert "the engine stood still for 60 s: requests running: 3, the GPU drew 14 W" in host.events[0]
    said = capsys.readouterr().out
    assert said.startswith("sparkrig: trouble stuck 20") and "; the server is restarted\n" in said


def test_the_reason_is_kept_before_the_unit_ends_with_its_server(host: Host, port: str) -> None:
    host.tool("docker", f"cat {host.root}/var/lib/sparkrig/serve/events >{host.root}/did")
    host.running = 3
    assert "stuck restarted" in engine(host, port, N + 15)[0]


def test_one_that_stands_still_again_is_stopped_and_stays_so(host: Host, port: str) -> None:
    host.running = 3
    assert engine(host, port, N + 15) == [KILLED]
    assert engine(host, port, N + 15) == [STOPPED]
    assert host.done == ["stuck restarted", "stuck stopped"]


def test_a_container_that_cannot_be_killed_gets_as_long_again(host: Host, port: str) -> None:
    host.running = 3
    assert engine(host, port, N + 40) == [KILLED]
    assert engine(host, port, 2 * N + 40) == [STOPPED, KILLED], "one after the other, a time each"


def test_what_a_person_starts_after_that_is_restarted_once_more(host: Host, port: str) -> None:
    host.running = 3
    low = "2026-11-24T12:00:00Z memory restarted it was low\n"
    host.has("var/lib/sparkrig/serve/events", low)
    for expected in ([KILLED], [STOPPED], [KILLED], [STOPPED]):
        assert engine(host, port, N + 15) == expected, "not what was done for another reason"
    host.has("var/lib/sparkrig/serve/events", f"{host.events[1]}\n{low}")
    assert engine(host, port, N + 15) == [STOPPED], "another reason in between changes nothing"


def test_one_that_went_well_for_an_hour_begins_anew(host: Host, port: str) -> None:
    assert host.program.AGAIN_S == 3600
    host.program.AGAIN_S = 600
    host.running = 3
    assert engine(host, port, N + 15) == [KILLED]
    host.running = 0
    assert engine(host, port, 600) == [] and host.done == ["stuck restarted"]
    assert engine(host, port, 610) == [] and host.events == []
    host.running = 3
    assert engine(host, port, N + 15) == [KILLED]


def test_what_was_written_last_stays_for_an_hour(host: Host, port: str) -> None:
    host.has("var/lib/sparkrig/serve/events", "2026-11-24T12:00:00Z memory restarted it was low\n")
    host.behaves = lambda at: (
        host.program.note("2026-11-24T13:00:00Z memory restarted again") if at == 500 else None
    )
    host.program.AGAIN_S = 600
    assert engine(host, port, 1000) == [] and len(host.events) == 2


def test_a_long_prefill_is_no_hang(host: Host, port: str) -> None:
    """No counter moves until it is over; it draws power. Then the same, and the GPU idles."""
    host.running = 1
    host.gpu(WORKS)
    assert engine(host, port, 4 * N) == []
    host.behaves = lambda at: host.gpu(IDLES) if at == N - 20 else None
    assert engine(host, port, 2 * N - 20) == [], "it is counted from then on"
    assert engine(host, port, N + 15) == [KILLED]


def test_an_engine_that_goes_on_is_left_alone(host: Host, port: str) -> None:
    def holds(running: int, moved: Callable[[float], int], costs: bool) -> None:
        def behaves(at: float) -> None:
            host.tokens += moved(at)

        host.running, host.behaves, before = running, behaves, host.asked
        assert engine(host, port, 4 * N) == [] and host.events == []
        assert (host.asked > before) is costs, "a process is started in doubt alone"

    rows: dict[str, tuple[int, Callable[[float], int], bool]] = {
        "a slow answer": (1, lambda at: at % (N - 10) == 0, True),
        "one that goes on in time": (2, lambda at: at > N - 30, True),
        "requests that wait alone: one too long for the cache waits for ever": (0, lambda _: 0, False),
        "at work": (4, lambda _: 40, False),
    }
    each_row(rows, holds)


def test_a_compilation_is_no_hang(host: Host, port: str) -> None:
    """The first request of a kind may have kernels built: the GPU idles, nvcc works."""
    host.running = 1
    host.has("proc/4711/comm", "cicc\n")
    host.has("proc/4712/comm", "python3\n")
    assert engine(host, port, 4 * N) == []
    host.has("proc/4711/comm", "sleep\n")
    assert engine(host, port, N + 15) == [KILLED]


def test_what_is_known_of_the_gpu_decides_how_long_it_takes(host: Host, port: str) -> None:
    """On GB10 a kernel that waits shows 95 % [@eugr-260]: a share is no evidence of work, and 0 is one of none."""

    def holds(gpu: str, seconds: int, told: str) -> None:
        host.has("var/lib/sparkrig/serve/events", "")
        host.gpu(gpu)
        assert engine(host, port, seconds) == [], gpu
        assert engine(host, port, seconds + 15) == [KILLED], gpu
        assert told in host.events[-1]

    host.running = 1
    each_row(
        [
            ("29.99, 96\n", N, "the GPU drew 30 W"),
            ("[N/A], 0\n", N, "GPU utilization 0 %"),
            ("[N/A], 96\n", 3 * N, "GPU utilization 96 %"),
            ("[N/A], [N/A]\n", 3 * N, "what the GPU did is not known"),
            ("No devices were found\n", 3 * N, "what the GPU did is not known"),
            ("", 3 * N, "what the GPU did is not known"),
        ],
        holds,
    )
    host.gpu("13.1, 0\n30.0, 5\n")
    assert engine(host, port, 4 * N) == [], "one of two works"


def test_no_nvidia_smi_is_a_gpu_that_is_not_known(host: Host, port: str) -> None:
    (host.root / "bin" / "nvidia-smi").unlink()
    host.running = 1
    assert engine(host, port, 3 * N) == []
    assert engine(host, port, 3 * N + 15) == [KILLED]


def test_a_server_that_is_away_or_prints_something_else_is_not_judged(host: Host, port: str) -> None:
    host.running = 1
    for text in ("", "<html>", "vllm:num_requests_running 1.0\n"):
        host.metrics = text
        assert engine(host, port, 4 * N) == []
    (closed,) = free_ports(1)
    assert engine(host, str(closed), 2 * N) == []


def test_a_moment_without_an_answer_does_not_hide_a_hang(host: Host, port: str) -> None:
    def mute(at: float) -> None:
        host.metrics = "" if at % 20 == 0 else None

    host.running, host.behaves = 1, mute
    assert engine(host, port, N + 15) == [KILLED]


def test_all_engines_are_counted(host: Host) -> None:
    rows = "".join(f'vllm:num_requests_running{{engine="{number}",x="}} 9"}} {number}.0\n' for number in range(4))
    assert host.program.total(f"{rows}vllm:num_requests_running_max 9\n", ("vllm:num_requests_running",)) == 6
    assert host.program.total("vllm:a 1e+06\nvllm:b NaN\nvllm:c\n", ("vllm:a", "vllm:b", "vllm:c")) == 1e6


def test_a_tool_that_hangs_is_left_behind(host: Host) -> None:
    begun = time.monotonic()
    assert host.program.run(["sleep", "50"], 0.05) == "" and time.monotonic() - begun < 10
    assert host.program.run(["no-such-tool"], 1) == ""


def test_what_is_kept_is_bounded_and_for_root_alone(host: Host) -> None:
    for number in range(20):
        host.program.act("memory", "restarted", f"{number} " + "x" * 5000, ["true"])
    assert [row.split(" ")[3] for row in host.events] == [str(number) for number in range(12, 20)]
    assert max(map(len, host.events)) < 300
    folder = host.root / "var/lib/sparkrig/serve"
    assert folder.stat().st_mode & 0o777 == 0o700 and [file.name for file in folder.iterdir()] == ["events"]


# --- the head, on the other node


HEAD = "192.168.100.11:29501"


def connected(host: Host, state: str = "01", remote: str = "0B64A8C0:733D") -> None:
    """As a machine with the bytes of a Spark prints it, whatever machine this is."""
    host.program.sys = SimpleNamespace(byteorder="little")
    rows = (
        f"  0: 0C64A8C0:9F10 {remote} {state} 00000000:00000000\n   1: 00000000:0016 00000000:0000 0A 00000000\n"
    )
    host.has("proc/net/tcp6" if len(remote) > 13 else "proc/net/tcp", f"  sl  local rem st\n{rows}")


def test_a_node_follows_a_head_that_ended(host: Host) -> None:
    words = ("--head", HEAD)
    host.watches(600, *words)
    assert host.did == [], "it is still waited for"
    connected(host)
    host.behaves = lambda at: connected(host, "08") if at >= 100 else None
    host.watches(100 + 30, *words)
    assert host.did == []
    connected(host)
    host.watches(100 + 45, *words)
    assert host.did == [KILLED] and host.events == [], "nothing is wrong here, and nothing to report"
    connected(host)
    host.behaves = lambda at: connected(host, "01" if at % 25 else "08")
    host.watches(600, *words)
    assert host.did == [], "it was away for a moment"
    for remote in ("0C64A8C0:733D", "0B64A8C0:733E"):
        (host.root / "proc/net/tcp").unlink(missing_ok=True)
        connected(host, remote=remote)
        host.behaves = lambda at: connected(host, "08") if at >= 100 else None
        host.watches(600, *words)
        assert host.did == [], "another one's"


def test_a_head_that_is_reached_by_a_mapped_address_is_the_same(host: Host) -> None:
    connected(host, remote="0000000000000000FFFF00000B64A8C0:733D")
    assert host.program.Head(HEAD).connected()


def test_the_kernel_prints_an_address_as_a_number_of_the_machine(host: Host) -> None:
    connected(host, remote="C0A8640B:733D")
    assert not host.program.Head(HEAD).connected(), "that is 11.100.168.192 here"
    host.program.sys.byteorder = "big"
    assert host.program.Head(HEAD).connected()
    connected(host, remote="00000000000000000000FFFFC0A8640B:733D")
    host.program.sys.byteorder = "big"
    assert host.program.Head(HEAD).connected(), "a mapped one"


# --- the memory


def short(host: Host, free: int, stalled: float = 0.0) -> None:
    host.has("proc/meminfo", f"MemTotal:    1000000 kB\nMemFree: 1 kB\nMemAvailable:   {free}000 kB\n")
    host.has("proc/pressure/memory", f"some avg10=99.00 avg60=0.00\nfull avg10={stalled:.2f} avg60=0.00 total=1\n")


def memory(host: Host, seconds: int, least: int = 20) -> list[str]:
    host.begun, host.end = host.now, host.now + seconds
    with pytest.raises(Over):
        host.program.every(1, host.program.Memory(least).look)
    return host.did


def test_the_server_is_ended_when_memory_stays_short(host: Host, capsys: Any) -> None:
    def holds(free: int, stalled: float, seconds: int, least: int, expected: list[str]) -> None:
        short(host, free, stalled)
        assert memory(host, seconds, least) == expected

    rows: dict[str, tuple[int, float, int, int, list[str]]] = {
        "a peak of two seconds": (19, 0, 3, 20, []),
        "it stays short": (19, 0, 4, 20, [KILLED]),
        "enough is left": (20, 0, 600, 20, []),
        "not all wait": (49, 59.99, 600, 20, []),
        "every process waits for two seconds": (49, 60, 3, 20, []),
        "and for longer": (49, 60, 4, 20, [KILLED]),
        "weights that are read press as much, with memory left": (50, 99, 600, 20, []),
        "what is asked for is more": (50, 99, 4, 60, [KILLED]),
    }
    each_row(rows, holds)
    assert host.done == ["memory restarted"] * 3 and "19 of 1000 are free, 20 are to stay" in host.events[0]
    assert "49 of 1000 are free, and for 60 % of ten seconds every process waited for memory" in host.events[1]
    assert "sparkrig: trouble memory 20" in capsys.readouterr().out


def test_a_peak_of_two_seconds_again_and_again_is_no_end(host: Host) -> None:
    host.behaves = lambda at: short(host, 19 if at % 3 else 21)
    assert memory(host, 60) == []


def test_a_kernel_that_counts_no_pressure_is_looked_at_all_the_same(host: Host) -> None:
    short(host, 19)
    (host.root / "proc/pressure/memory").unlink()
    (host.root / "dev/kmsg").unlink()
    assert memory(host, 4) == [KILLED]


def logs(host: Host, lines: int, every: int, text: str = LINE) -> None:
    def behave(at: float) -> None:
        if at % every == 0 and at // every <= lines:
            with (host.root / "dev/kmsg").open("a") as file:
                file.write(text.format(number=int(at)))

    host.behaves = behave


CALLED = ("NVRM", "NVRM: x", "NVRM: NV_ERR_NO")


def test_a_driver_that_gets_no_memory_is_heard_while_little_is_left(host: Host) -> None:
    """24 such lines in 21 s were the last of a Spark; one is nothing, and so were 75 with 22 GiB left."""

    def holds(free: int, lines: int, every: int, text: str, expected: list[str]) -> None:
        short(host, free)
        logs(host, lines, every, text)
        assert memory(host, 300) == expected

    each_row(
        [
            (49, 5, 10, LINE, [KILLED]),
            (49, 4, 10, LINE, []),
            (49, 20, 16, LINE, []),
            (50, 200, 1, LINE, []),
            (49, 200, 1, LINE.replace("NVRM", "usb"), []),
            (49, 200, 1, LINE.replace("4,", "12,", 1), []),  # root wrote it
            *(
                (49, 200, 1, f"6,{{number}},1,-;{text.format(name=name)}\n", [])
                for text in OF_PROCESS
                for name in CALLED
            ),
            (49, 200, 1, "4,1,1,-;NVRM: Xid (PCI:000f:01:00): 13, Graphics Exception\n", []),
        ],
        holds,
    )
    assert "logged NV_ERR_NO_MEMORY 5 times in 60 s" in host.events[0]


def test_what_the_kernel_logged_before_does_not_count(host: Host) -> None:
    host.has("dev/kmsg", LINE * 20)
    short(host, 49)
    assert memory(host, 10) == []


def test_lines_that_were_lost_are_passed_over(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a reader is late, the kernel answers EPIPE once, and goes on with the oldest that it has."""
    given: list[Any] = [BrokenPipeError(), LINE.encode(), BlockingIOError()]

    def read(_: int, __: int) -> Any:
        what = given.pop(0)
        if isinstance(what, Exception):
            raise what
        return what

    monkeypatch.setattr(host.program, "os", SimpleNamespace(read=read))
    assert host.program.read_log(3) == [LINE.strip()]


def test_the_memory_is_saved_before_a_reason_is_written(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    did = list[str]()
    monkeypatch.setattr(host.program, "begin", lambda command: did.append(" ".join(command)))
    monkeypatch.setattr(host.program, "note", lambda line: did.append(line.split(" ")[1]))
    monkeypatch.setattr(host.program, "finish", lambda process, seconds: "")
    host.program.Memory(20).end("it is low")
    assert did[:2] == [KILLED, "memory"]


# --- the program itself


def test_it_is_one_process_with_two_threads_that_starts_no_other(host: Host, port: str) -> None:
    words = ("--least", "20", "--port", port, "--seconds", "300")
    with subprocess.Popen([sys.executable, "-IB", PROGRAM, *words]) as process:
        try:
            task, end = Path(f"/proc/{process.pid}/task"), time.monotonic() + 30
            while len([*task.iterdir()]) < 2:
                assert process.poll() is None and time.monotonic() < end
                time.sleep(0.01)
            assert "".join((each / "children").read_text() for each in task.iterdir()) == ""
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == -signal.SIGTERM
        finally:
            process.kill()


def test_a_look_that_fails_ends_the_program_so_that_systemd_starts_it_again(host: Host) -> None:
    host.has("proc/meminfo", "nothing\n")
    done = subprocess.run(
        [sys.executable, "-IB", PROGRAM, "--least", "20"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1 and "KeyError" in done.stderr


Answered = Callable[..., object]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Answered:
    """What is made of an answer: these bytes at once, and those one by one, 20 a second, while they are read."""
    watch = load(PROGRAM)
    monkeypatch.setattr(watch, "METRICS_S", 0.2)

    def made(at_once: bytes, dripped: bytes = b"") -> object:
        def answer(client: socket.socket) -> None:
            client.sendall(at_once)
            for byte in dripped:
                client.sendall(bytes([byte]))
                time.sleep(0.05)

        with server(answer) as (port, _):
            return watch.ask_metrics(port)

    return made


def test_metrics_that_make_no_sense_or_never_end_are_no_answer(answered: Answered) -> None:
    """A negative chunk ended the program, the guard of the memory with it; a server that drips held every look.

    One that drips its head held it for ever: each byte came in time.
    """
    began = time.monotonic()
    assert answered(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n") is None
    assert answered(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"a" * 100) is None
    assert answered(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 100) is None
    assert answered(b"", b"HTTP/1.1 200 OK\r\n" * 5) is None
    assert time.monotonic() - began < 3


NAMES = ("--running", "sglang:num_running_reqs", "--counters", "sglang:generation_tokens_total,sglang:other_total")


def test_another_engine_is_watched_by_its_own_names(host: Host, port: str) -> None:
    """What is not there yet counts as nothing; vLLM's own names are none of its own."""
    words = ("--port", port, "--seconds", str(N), *NAMES)
    host.metrics = 'sglang:num_running_reqs{model_name="m",tp_rank="0"} 2.0\nsglang:other_total{a="b"} 5.0\n'
    host.watches(2 * N, *words)
    assert host.did == [KILLED] and "requests running: 2" in host.events[0]
    host.metrics = "vllm:num_requests_running 2.0\nvllm:generation_tokens_total 5.0\n"
    host.watches(2 * N, *words)
    assert host.did == []


def test_metrics_are_the_same_in_each_form_of_an_answer(answered: Answered) -> None:
    rows = b"vllm:num_requests_running 2.0\nvllm:generation_tokens_total 7.0\n"
    assert answered(b"HTTP/1.0 200 OK\r\n\r\n" + rows) == (2, 7)
    # uvicorn sends what has no length in chunks, and a chunk may end within a row
    parts = b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (rows[:5], len(rows) - 5, rows[5:])
    assert answered(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + parts) == (2, 7)
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(rows) + rows
    assert answered(whole, b" " * 100) == (2, 7), "all of it came, and the server did not close"
    assert answered(whole[:-9]) is None, "the server was ended within it"
