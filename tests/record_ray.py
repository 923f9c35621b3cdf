"""Record what the gather of a Ray cluster prints on two GPUs of one machine: `python3 -m tests.record_ray FOLDER`.

Needs Ray, PyTorch, two NVIDIA GPUs and nothing of ours. Each GPU gets a node of its own, with the words of the
unit (sparkrig/resources/ray.py) and an address of loopback; only the ports of the second node differ, since both
share one machine. templates/ray_gather.py runs beside the head as `sparkrig bandwidth --ray` runs it, on
standard input. FOLDER/CASE.txt is what it printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "templates" / "ray_gather.py"
RAY = (sys.executable, "-c", "from ray.scripts.scripts import main; main()")
ADDRESSES = ("127.0.0.11", "127.0.0.12")
DASHBOARD = "http://127.0.0.1:8265"
MIB, START_S, JOB_S = 1 << 20, 90, 150
NO_P2P = {"NCCL_P2P_DISABLE": "1"}
SOCKETS = {**NO_P2P, "NCCL_SHM_DISABLE": "1"}
BASE = {
    "NCCL_SOCKET_IFNAME": "lo",
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_NVLS_ENABLE": "0",
    "RAY_ADDRESS": f"{ADDRESSES[0]}:6379",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "recorded" * 4,
}


@dataclass(frozen=True)
class Case:
    """Nodes with these variables, and jobs of these sizes in MiB. gpus: of each node."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 1
    sizes: tuple[int, ...] = (64, 1024)


CASES = (
    Case("p2p"),
    Case("shm", NO_P2P),
    Case("socket", SOCKETS),
    Case("gloo", {"CUDA_VISIBLE_DEVICES": ""}, gpus=0),
    Case("too-large", sizes=(200 * 1024,)),
)


def main(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for case in (case for case in CASES if not names or case.name in names):
        begin = time.monotonic()
        with nodes(case) as environment:
            text = "".join(job(size, environment) for size in case.sizes)
            if case.name == "p2p":
                text += job(case.sizes[0], environment, submitted=True)
        (folder / f"{case.name}.txt").write_text(text)
        print(f"{case.name}: {time.monotonic() - begin:.0f} s\n{text[-2000:]}", flush=True)


@contextmanager
def nodes(case: Case) -> Iterator[dict[str, str]]:
    """The environment of a job beside the head, once both nodes live."""
    started = []
    with tempfile.TemporaryDirectory(prefix="ray") as state:
        try:
            for place in range(len(ADDRESSES)):
                environment = {**os.environ, **BASE, "CUDA_VISIBLE_DEVICES": str(place), **case.environment}
                with Path(state, f"node.{place}").open("wb") as log:
                    command = [*RAY, *words(place, state, case.gpus)]
                    started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
                await_nodes(place + 1, environment)
            yield {**os.environ, **BASE, **case.environment}
        except AssertionError:
            print(*(log.read_text(errors="replace")[-3000:] for log in sorted(Path(state).glob("node.*"))))
            raise
        finally:
            for node in reversed(started):
                node.terminate()
            for node in started:
                node.wait(timeout=120)


def words(place: int, state: str, gpus: int) -> list[str]:
    """What the unit has behind the image, with ports that the other node does not have."""
    part = [f"--address={BASE['RAY_ADDRESS']}"]
    if place == 0:
        part = ["--head", "--port=6379", "--include-dashboard=true", "--dashboard-port=8265"]
        part += ["--dashboard-host=127.0.0.1", f"--temp-dir={state}"]
    first = 11000 + 1000 * place
    return [
        *(
            "start",
            *part,
            f"--node-ip-address={ADDRESSES[place]}",
            "--block",
            "--num-cpus=1",
            f"--num-gpus={gpus}",
        ),
        *(
            f"--memory={8 << 30}",
            f"--object-store-memory={100 * MIB}",
            f"--object-spilling-directory={state}/spill",
        ),
        *(f"--node-manager-port={6380 + 10 * place}", f"--object-manager-port={6381 + 10 * place}"),
        *(f"--min-worker-port={first}", f"--max-worker-port={first + 999}", "--disable-usage-stats"),
    ]


def await_nodes(many: int, environment: Mapping[str, str]) -> None:
    program = (
        "import ray; ray.init(log_to_driver=False, logging_level='ERROR'); "
        f"raise SystemExit(sum(node['Alive'] for node in ray.nodes()) < {many})"
    )
    end = time.monotonic() + START_S
    while subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True).returncode:
        assert time.monotonic() < end, f"{many} nodes do not live after {START_S} s"
        time.sleep(1)


def job(size: int, environment: Mapping[str, str], *, submitted: bool = False) -> str:
    """What it printed, and its exit status. size: in MiB; submitted: as docs/ray.md runs a job."""
    program, many = SCRIPT.read_text(), str(size * MIB)
    command = [sys.executable, "-", many]
    if submitted:
        command = [*RAY, "job", "submit", "--address", DASHBOARD, "--", sys.executable, "-c", program, many]
    done = subprocess.run(
        command,
        input=program,
        env=environment,
        timeout=JOB_S,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    last = "\n".join(
        done.stdout.splitlines()[-6 if submitted else -40 :]
    )  # a submitted job begins with its program
    return f"{size} MiB{' submitted' if submitted else ''}\n{last}\nexit {done.returncode}\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
