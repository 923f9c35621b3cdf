"""Two Sparks in small: network namespaces that a veth pair joins, and on each what a container would run.

A user namespace holds it all, so no root is needed, nothing is left on the machine, and a node that is killed
loses every process at once, as with a power cut.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

START = Path(__file__).resolve().parents[2] / "templates" / "serving" / "start.sh"
FABRIC: Final = {"spark-a": "192.168.177.11", "spark-b": "192.168.177.12"}
MANAGEMENT: Final = {"spark-a": "10.0.0.11", "spark-b": "10.0.0.12"}
DEADLINE_S = 120  # of whatever is waited for; a quiet machine forms a cluster within ten seconds

# The management networks are two that nothing joins: each ends in a namespace's own other end.
WORLD = rf"""
set -e
mount -t tmpfs tmpfs /run
ip netns add spark-a; ip netns add spark-b
ip link add fabric0 netns spark-a type veth peer name fabric0 netns spark-b
for node in {" ".join(f"{node}={FABRIC[node]}={MANAGEMENT[node]}" for node in FABRIC)}; do
  name=${{node%%=*}} addresses=${{node#*=}}
  ip -n $name link add lan0 type veth peer name switch0
  ip -n $name addr add ${{addresses%%=*}}/24 dev fabric0
  ip -n $name addr add ${{addresses#*=}}/24 dev lan0
  for link in lo fabric0 lan0 switch0; do ip -n $name link set $link up; done
done
echo up
exec sleep infinity
"""

# DGX OS maps a host's own name to loopback; that is the trap here, and /mnt is Ray's instead of /tmp.
MACHINE = r"""
set -e
hostname "$1"; shift
mount -t tmpfs tmpfs /mnt; mount -t tmpfs tmpfs /dev/shm
printf '127.0.0.1 localhost\n127.0.0.1 %s\n' "$(hostname)" >/mnt/hosts
mount --bind /mnt/hosts /etc/hosts
exec "$@"
"""


@dataclass
class Node:
    """What runs on a Spark: its log so far, and its end."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def printed(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def says(self, words: str, *, times: int = 1) -> str:
        """The line with the words, once it has been printed so often."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            over = self.process.poll() is not None
            found = [line for line in self.printed.splitlines() if words in line]
            if len(found) >= times:
                return found[times - 1]
            assert not over, f"{self.name} ended without '{words}':\n{self.printed[-3000:]}"
            time.sleep(0.1)
        raise AssertionError(f"{self.name} did not say '{words}' in {DEADLINE_S} s:\n{self.printed[-3000:]}")

    def ends(self) -> int:
        """Its exit status, once it has ended by itself."""
        return self.process.wait(timeout=DEADLINE_S)

    def cut(self) -> None:
        """Take its power."""
        self.process.kill()
        self.process.wait()


@dataclass
class Sparks:
    """Both, in the world that process keeps up. programs: of Ray's environment; logs: a folder."""

    world: subprocess.Popen[str]
    programs: Path
    logs: Path
    nodes: list[Node] = field(default_factory=list)

    def run(self, name: str, *words: str | Path, env: Mapping[str, str] | None = None) -> Node:
        """Run a command on one as its container would."""
        into = ["nsenter", "--target", str(self.world.pid), "--user", "--net", "--mount", "--preserve-credentials"]
        spaces = ["--mount", "--uts", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
        log = self.logs / f"{name}.{len(self.nodes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*into, "ip", "netns", "exec", name, "unshare", *spaces, "sh", "-c", MACHINE, "sh", name, *words],
                env={
                    "PATH": f"{self.programs}:{os.environ['PATH']}:/usr/sbin:/sbin",
                    **{"HOME": "/mnt", "RAY_TMPDIR": "/mnt", "LC_ALL": "C.UTF-8"},
                    "RAY_raylet_start_wait_time_s": str(DEADLINE_S),  # Ray's own 30 are few on a busy machine
                    **(env or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.nodes.append(Node(name, process, log))
        return self.nodes[-1]

    def start(self, name: str, *words: str | Path, **settings: str) -> Node:
        """Run start.sh on one as a part of a Ray cluster. settings: SPARKRIG_X by x, and others by name."""
        told = {
            **{"form": "ray", "port": "8000", "nodes": "2", "head": FABRIC["spark-a"], "address": FABRIC[name]},
            **{"rank": str([*FABRIC].index(name)), "wait": str(DEADLINE_S)},
        }
        own = {key: settings.pop(key) for key in told.keys() & settings.keys()}
        env = {f"SPARKRIG_{key.upper()}": value for key, value in {**told, **own}.items()}
        return self.run(name, "sh", START, *words, env={**env, **settings})


@contextmanager
def sparks(programs: Path, logs: Path) -> Iterator[Sparks]:
    """Both, up until the end of the block. programs: of Ray's environment; logs: a folder."""
    world = subprocess.Popen(
        ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", WORLD], stdout=subprocess.PIPE, text=True
    )
    assert world.stdout
    made = Sparks(world, programs, logs)
    try:
        assert world.stdout.readline() == "up\n", (
            "no namespaces can be made here: unshare --map-root-user --net true"
        )
        yield made
    finally:
        for node in made.nodes:
            node.cut()
        world.kill()
        world.wait()
