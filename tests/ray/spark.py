"""Two or three Sparks in small: network namespaces that veths join, and on each what a container would run.

A user namespace holds it all, so no root is needed, nothing is left on the machine, and a node that is killed
loses every process at once, as with a power cut.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

START = Path(__file__).resolve().parents[2] / "templates" / "serving" / "start.sh"
SERVER = ("python3", str(Path(__file__).with_name("server.py")), "vllm", "serve", "MODEL")
DEADLINE_S = 120  # of whatever is waited for; a quiet machine forms a cluster within ten seconds

_NAMES: Final = ("spark-a", "spark-b", "spark-c")
FABRIC: Final = {name: f"192.168.177.{place}" for place, name in enumerate(_NAMES, 11)}
MANAGEMENT: Final = {name: f"10.0.0.{place}" for place, name in enumerate(_NAMES, 11)}


@dataclass(frozen=True)
class Cluster:
    """Sparks and what joins them.

    meeting: the addresses, by name, at which their servers are to meet, all on one netdev; cables: a command of
    WORLD's for each cable.
    """

    meeting: Mapping[str, str]
    netdev: str
    cables: Sequence[str]

    @property
    def head(self) -> str:
        return next(iter(self.meeting.values()))


def _cut(addresses: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: addresses[name] for name in names}


# the management network of a Spark leads nowhere where it is not to be used
_ALONE: Final = tuple(
    f"cable {name} lan0 {name} nowhere; address {name} lan0 {MANAGEMENT[name]}" for name in _NAMES
)
_ON_SWITCH: Final = tuple(f"port {name} fabric0; address {name} fabric0 {FABRIC[name]}" for name in _NAMES)
_ON_LAN: Final = tuple(f"port {name} lan0; address {name} lan0 {MANAGEMENT[name]}" for name in _NAMES)
# each p0 leads to p1 of the next one, and each cable is a subnet of its own
_AROUND: Final = tuple(
    f"cable {one} p0 {other} p1; address {one} p0 192.168.{cable}.11; address {other} p1 192.168.{cable}.12"
    for cable, one, other in zip((200, 201, 202), _NAMES, (*_NAMES[1:], _NAMES[0]), strict=True)
)
PAIR: Final = Cluster(
    _cut(FABRIC, _NAMES[:2]),
    "fabric0",
    (
        "cable spark-a fabric0 spark-b fabric0",
        *(f"address {name} fabric0 {FABRIC[name]}" for name in _NAMES[:2]),
        *_ALONE[:2],
    ),
)
SWITCH: Final = Cluster(FABRIC, "fabric0", (*_ON_SWITCH, *_ALONE))
RING: Final = Cluster(MANAGEMENT, "lan0", (*_ON_LAN, *_AROUND))

WORLD = r"""
set -e
mount -t tmpfs tmpfs /run
for node in switch $NODES; do ip netns add $node; ip -n $node link set lo up; done
ip -n switch link add ports type bridge
ip -n switch link set ports up
cable() {
  ip link add $2 netns $1 type veth peer name $4 netns $3
  ip -n $1 link set $2 up; ip -n $3 link set $4 up
}
port() { cable $1 $2 switch $1; ip -n switch link set $1 master ports; }
address() { ip -n $1 address add $3/24 dev $2; }
eval "$CABLES"
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


# a container that shares another one's processes and shared memory has a /tmp of its own
BESIDE = 'mount -t tmpfs tmpfs /tmp; exec "$@"'


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
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # nsenter does not end what it has begun
        self.process.wait()


@dataclass
class Sparks:
    """All of them, in the world that process keeps up. programs: of Ray's environment; logs: a folder."""

    world: subprocess.Popen[str]
    cluster: Cluster
    programs: Path
    logs: Path
    nodes: list[Node] = field(default_factory=list)

    def run(
        self, name: str, *words: str | Path, env: Mapping[str, str] | None = None, beside: Node | None = None
    ) -> Node:
        """Run a command on one as its container would. beside: whose processes, memory and /mnt it shares."""
        into = ["nsenter", "--target", str(self.world.pid), "--user", "--net", "--mount", "--preserve-credentials"]
        spaces = ["ip", "netns", "exec", name, "unshare", "--mount", "--uts", "--pid", "--ipc"]
        spaces += ["--fork", "--kill-child", "--mount-proc", "sh", "-c", MACHINE, "sh", name]
        if beside:
            ended = beside.process.pid
            into[2:] = [str(ended), "--user", "--net", "--mount", "--uts", "--ipc", "--preserve-credentials"]
            into += [f"--pid=/proc/{ended}/ns/pid_for_children"]
            spaces = ["unshare", "--mount", "--fork", "--kill-child", "sh", "-c", BESIDE, "sh"]
        log = self.logs / f"{name}.{len(self.nodes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*into, *spaces, *words],
                env={
                    "PATH": f"{self.programs}:{os.environ['PATH']}:/usr/sbin:/sbin",
                    **{"HOME": "/mnt", "RAY_TMPDIR": "/mnt", "LC_ALL": "C.UTF-8"},
                    "RAY_raylet_start_wait_time_s": str(DEADLINE_S),  # Ray's own 30 are few on a busy machine
                    **(env or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.nodes.append(Node(name, process, log))
        return self.nodes[-1]

    def start(self, name: str, *words: str | Path, **settings: str) -> Node:
        """Run start.sh on one as a part of a Ray cluster. settings: SPARKRIG_X by x, and others by name."""
        return self._part(name, words, settings)

    def start_beside(self, node: Node, *words: str | Path, **settings: str) -> Node:
        """The same in a container that shares what another one has."""
        return self._part(node.name, words, settings, node)

    def _part(
        self, name: str, words: Sequence[str | Path], settings: dict[str, str], beside: Node | None = None
    ) -> Node:
        meeting = self.cluster.meeting
        told = {
            **{"form": "ray", "port": "8000", "nodes": str(len(meeting)), "head": self.cluster.head},
            **{"address": meeting[name], "rank": str([*meeting].index(name)), "wait": str(DEADLINE_S)},
        }
        own = {key: settings.pop(key) for key in told.keys() & settings.keys()}
        env = {f"SPARKRIG_{key.upper()}": value for key, value in {**told, **own}.items()}
        return self.run(
            name,
            *("sh", START, *words),
            env={"GLOO_SOCKET_IFNAME": self.cluster.netdev, **env, **settings},
            beside=beside,
        )


@contextmanager
def sparks(programs: Path, logs: Path, cluster: Cluster) -> Iterator[Sparks]:
    """All of a cluster, up until the end of the block. programs: of Ray's environment; logs: a folder."""
    world = subprocess.Popen(
        ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", WORLD],
        env={**os.environ, "NODES": " ".join(cluster.meeting), "CABLES": "\n".join(cluster.cables)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert world.stdout
    made = Sparks(world, cluster, programs, logs)
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
