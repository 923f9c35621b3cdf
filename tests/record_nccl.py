"""Record what the NCCL check meets on a real machine: `python3 -m tests.record_nccl FOLDER [CASE...]`.

Needs PyTorch, two NVIDIA GPUs and nothing of ours, so it runs on a bare machine. It starts
templates/all_gather.py as the check does (on standard input, one process a rank), injects one fault a
case, and writes each rank's output to FOLDER/CASE.RANK.log, without identifiers and without repetition.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "templates" / "all_gather.py"
GIVEN = Path(__file__).resolve().parent / "fixtures" / "nccl" / "given"  # as the deploy writes them
NCCL_CONF = Path("/etc/nccl.conf")
GIB = 1 << 30
CSV = "name,driver_version,utilization.gpu,clocks.sm,power.draw,temperature.gpu,memory.total,memory.used"
NETWORK = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
BASE = {
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET",
    "NCCL_DEBUG_FILE": "/dev/stderr",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_NVLS_ENABLE": "0",
}


@dataclass
class Case:
    """One run: what differs from a good one.

    conf: GIVEN/nccl.conf stands at its place, and no variable names the interface; without: variables that are not
    there; kill: rank 1 dies while it measures; taken: rank 0's port is.
    """

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    size: int = 4 * GIB
    iterations: int = 10
    limit: int = 120
    ranks: tuple[int, ...] = (0, 1)
    kill: bool = False
    taken: bool = False
    look: bool = False
    conf: bool = False
    without: tuple[str, ...] = ()


def variables(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


CASES = (
    Case("no-files", NETWORK, without=("NCCL_SOCKET_IFNAME",)),
    Case("nccl-conf", NETWORK, conf=True, without=("NCCL_SOCKET_IFNAME",)),
    Case("container-env", NETWORK | variables(GIVEN / "container.env")),
    Case("p2p"),
    Case("socket", NETWORK | {"NCCL_IB_DISABLE": "1"}),
    Case("socket-no-rdma", NETWORK | {"NCCL_IB_HCA": "rocep1s0f0,roceP2p1s0f0"}),
    Case("busy", iterations=1500, look=True),
    Case("killed-p2p", iterations=20000, limit=60, kill=True),
    Case("killed-socket", NETWORK | {"NCCL_IB_DISABLE": "1"}, iterations=500, limit=60, kill=True),
    Case("too-large", size=200 * GIB),
    Case("no-interface", {"NCCL_SOCKET_IFNAME": "nosuch0"}, limit=60),
    Case("port-taken", limit=40, taken=True),
    Case("rank-0-alone", limit=30, ranks=(0,)),
    Case("rank-1-alone", limit=30, ranks=(1,)),
    Case("no-gpu", {"CUDA_VISIBLE_DEVICES": ""}, limit=40),
    Case("alarm", NETWORK | {"NCCL_IB_DISABLE": "1"}, iterations=500, limit=35),
)


def main(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    smi(folder, "idle")
    for number, case in enumerate(case for case in CASES if not names or case.name in names):
        begin = time.monotonic()
        statuses = run(case, 29600 + number, folder)
        print(f"{case.name}: {statuses} in {time.monotonic() - begin:.1f} s", flush=True)


def run(case: Case, port: int, folder: Path) -> dict[int, int]:
    """Exit status by rank."""
    with tempfile.TemporaryDirectory() as scratch, listener(port, case.taken), configured(case.conf):
        logs = {rank: Path(scratch) / str(rank) for rank in case.ranks}
        ranks = {rank: start(case, rank, port, log) for rank, log in logs.items()}
        if case.kill or case.look:
            await_text(logs[1], "stage measure")
            time.sleep(3)
        if case.look:
            smi(folder, case.name)
            memory(folder, ranks)
        if case.kill:
            ranks[1].kill()
        statuses = {rank: process.wait(timeout=case.limit + 60) for rank, process in ranks.items()}
        for rank, log in logs.items():
            (folder / f"{case.name}.{rank}.log").write_text(clean(log.read_text(errors="replace")))
        return statuses


def start(case: Case, rank: int, port: int, log: Path) -> subprocess.Popen[bytes]:
    words = [
        *("python3", "-", "--rank", str(rank), "--device", str(rank), "--address", "127.0.0.1"),
        *("--port", str(port), "--bytes", str(case.size), "--iterations", str(case.iterations)),
        *("--limit", str(case.limit)),
    ]
    given = os.environ | BASE | case.environment
    environment = {name: value for name, value in given.items() if name not in case.without}
    with SCRIPT.open("rb") as script, log.open("wb") as output:
        # A pipe, as docker gives: NCCL opens /dev/stderr itself, and would write over a file from its start.
        cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=output)
        assert cat.stdin is not None
        with cat.stdin as pipe:
            return subprocess.Popen(words, stdin=script, stdout=pipe, stderr=pipe, env=environment)


@contextmanager
def listener(port: int, wanted: bool) -> Iterator[None]:
    with socket.socket() as taken:
        if wanted:
            taken.bind(("0.0.0.0", port))
            taken.listen()
        yield


@contextmanager
def configured(wanted: bool) -> Iterator[None]:
    """/etc/nccl.conf as the deploy writes it, or none."""
    if wanted:
        NCCL_CONF.write_text((GIVEN / "nccl.conf").read_text())
    try:
        yield
    finally:
        NCCL_CONF.unlink(missing_ok=True)


def await_text(log: Path, text: str) -> None:
    end = time.monotonic() + 90
    while text not in log.read_text(errors="replace") and time.monotonic() < end:
        time.sleep(0.2)


def smi(folder: Path, name: str) -> None:
    words = ["nvidia-smi", f"--query-gpu={CSV}", "--format=csv"]
    (folder / f"nvidia-smi-{name}.csv").write_text(subprocess.check_output(words, text=True))


def memory(folder: Path, ranks: dict[int, subprocess.Popen[bytes]]) -> None:
    """What a rank takes beside its message: host memory by /proc, device memory by nvidia-smi."""
    status = Path(f"/proc/{ranks[0].pid}/status").read_text()
    rows = [line for line in status.splitlines() if line.startswith(("VmHWM", "VmRSS", "Rss"))]
    (folder / "memory.txt").write_text("\n".join(rows) + "\n")


def clean(text: str) -> str:
    """Without host names, process numbers, pointers, UUIDs, bus ids and addresses; repetition cut short."""
    text = text.replace(socket.gethostname(), "vm")
    for pattern, replacement in (
        (r"\bvm:\d+:\d+", "vm:1:1"),
        (r"0x[0-9a-f]{5,}", "0x0"),
        (r"busId \w+", "busId 0"),
        (r"GPU-[0-9a-f-]{36}", "GPU-0"),
        (r"\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d", "0000:00:00.0"),
        (r"\b(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(\d{1,3}\.){3}\d{1,3}(?=<|:\d|\b/)", "192.0.2.1"),
    ):
        text = re.sub(pattern, replacement, text)
    kept: dict[str, int] = {}
    rows = []
    for line in text.splitlines():
        shape = re.sub(r"\d+", "0", line)[:160]
        kept[shape] = kept.get(shape, 0) + 1
        if line.strip() and not line.startswith("frame #") and (kept[shape] <= 2 or "sparkrig-nccl" in line):
            rows.append(line[:400])
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
