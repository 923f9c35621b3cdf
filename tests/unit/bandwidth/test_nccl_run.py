"""The NCCL check from its first look to its last container, on hosts that are this machine with our own docker.

Docker's stand-in runs what it is told as a process, lists it, and kills it; what only hardware has is answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gevent
import pytest
from pyinfra.connectors.util import CommandOutput, OutputLine, run_local_process

from sparkrig.bandwidth.io import nccl_run as checked
from sparkrig.bandwidth.io.nccl_run import NcclBench, Outcome
from sparkrig.bandwidth.nccl_preflight import GIB
from sparkrig.fleet import Fleet
from sparkrig.verdict import Verdict
from tests.unit.ranks import HEALTHY, PREFLIGHT
from tests.unit.shells import tool

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "tests" / "fixtures" / "nccl"
FABRIC = {
    "spark-a": {"enp1s0f0np0": "192.168.100.11/24", "enP2p1s0f0np0": "192.168.101.11/24"},
    "spark-b": {"enp1s0f0np0": "192.168.100.12/24", "enP2p1s0f0np0": "192.168.101.12/24"},
}
GOOD = Verdict("healthy")

DOCKER = r"""
here=$(dirname "$0"); told=$here/containers; mkdir -p "$told"
echo "$*" >>"$here/asked"
case $1 in
  run)
    cat >"$here/script"
    sh "$here/before" # it takes a while to make a container
    sh "$here/rank" & echo $! >"$told/sparkrig-nccl-7f3a"
    wait $!; status=$?
    rm -f "$told/sparkrig-nccl-7f3a"
    exit $status
    ;;
  rm) kill -9 "$(cat "$told/$3")" ;;
  ps) ls "$told" ;;
esac
"""

# of a second, which is between two tries to end a container, a twentieth is enough
SLEEP = 'PATH=${PATH#*:}; [ "$1" = 1 ] && set 0.05; exec sleep "$@"'

GPU = """csv name, utilization.gpu [%], clocks.current.sm [MHz], power.draw [W]
csv NVIDIA GB10, {busy} %, {clock} MHz, 40.10 W"""
SENT = 55 * 4 * GIB


def counters(sent: int) -> str:
    return "\n".join(
        f"{netdev} port p0\n{netdev} device {device}\n{netdev} counter.port_xmit_data {1000 + sent // 2 // 4}"
        for netdev, device in (("enp1s0f0np0", "rocep1s0f0"), ("enP2p1s0f0np0", "roceP2p1s0f0"))
    )


@dataclass
class Spark:
    """A host, as pyinfra has it."""

    name: str
    folder: Path
    preflight: str = PREFLIGHT
    sent: int = SENT
    gpu: str = GPU.format(busy=96, clock=2405)
    lost_when: str = ""  # words of the command with which the host is lost
    lost: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    def run_shell_command(self, command: Any, **arguments: Any) -> tuple[bool, CommandOutput]:
        text = command.get_raw_value()
        self.commands.append(text)
        if self.lost_when and self.lost_when in text:
            gevent.sleep(0.1)
            self.lost = True
        if self.lost:
            raise TimeoutError
        answer = self._answer(text)
        if answer is not None:
            return True, CommandOutput([OutputLine("stdout", line) for line in answer.splitlines()])
        path = f"PATH={self.folder}:$PATH"
        status, output = run_local_process(
            f"{path} {text}", stdin=arguments.get("_stdin"), timeout=arguments["_timeout"]
        )
        return status == 0, output

    def _answer(self, text: str) -> str | None:
        ran = (self.folder / "script").exists()
        return {
            "docker version": self.preflight,
            "carrier_down_count": counters(self.sent if ran else 0),
            "--query-gpu": self.gpu,
        }.get(next((word for word in ("docker version", "carrier_down_count", "--query-gpu") if word in text), ""))

    def will(self, rank: str, before: str = "") -> None:
        """What its container does, once it is made."""
        tool(self.folder, "docker", DOCKER)
        tool(self.folder, "sleep", SLEEP)
        (self.folder / "rank").write_text(rank)
        (self.folder / "before").write_text(before)

    def asked(self) -> list[str]:
        file = self.folder / "asked"
        return file.read_text().splitlines() if file.exists() else []

    def containers(self) -> list[str]:
        folder = self.folder / "containers"
        return [each.name for each in folder.iterdir()] if folder.exists() else []


def prints(log: str, status: int = 0, after: float = 0.1) -> str:
    return f"sleep {after}\ncat <<'EOF'\n{log}EOF\nexit {status}\n"


def recorded(case: str, status: int, after: float = 0.1) -> str:
    return prints((RECORDED / f"{case}.log").read_text(), status, after)


HANGS = "echo sparkrig-nccl stage meet\nexec sleep 60\n"


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Spark, Spark]:
    monkeypatch.setattr(checked, "_PAUSE_S", 0.02)
    monkeypatch.setattr(checked, "_SETTLE_S", 1.5)
    one, other = (Spark(name, tmp_path / name) for name in FABRIC)
    for each in (one, other):
        each.will(prints(HEALTHY))
    return one, other


def check(pair: tuple[Spark, Spark], image: str | None = "nccl:1", rails: Verdict = GOOD) -> Outcome:
    fleet = Fleet.parse(
        {name: {"pair": "sparks", "fabric": fabric, "nccl_image": image} for name, fabric in FABRIC.items()}
    )
    hosts: Any = {each.name: each for each in pair}
    return checked.check(NcclBench(hosts, fleet, "192.168.100.11", "7f3a"), rails, lambda _: None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


def the_only(outcome: Outcome) -> Verdict:
    (finding,) = outcome.fabric
    assert finding.subject == "pair"
    return finding.verdict


def test_a_healthy_pair(pair: tuple[Spark, Spark]) -> None:
    outcome = check(pair)
    verdict = the_only(outcome)
    assert (verdict.level, verdict.cause) == ("healthy", "nccl")
    assert verdict.evidence == "23.74 GB/s at 8 GiB by NCCL 2.28.9 over rocep1s0f0 and roceP2p1s0f0"
    assert [(each.subject, each.verdict.level) for each in outcome.health] == [
        ("spark-a", "healthy"),
        ("spark-b", "healthy"),
    ]
    assert outcome.health[0].verdict.evidence == "the SM clock is 2405 MHz at 96 % utilization and 40.1 W"


def test_what_a_host_is_told_to_the_word(pair: tuple[Spark, Spark]) -> None:
    check(pair)
    for rank, each in enumerate(pair):
        run, remove, listed = each.asked()
        assert run == (
            "run --rm -i --init --pull never --name sparkrig-nccl-7f3a --gpus all --network host --ipc host"
            " --device /dev/infiniband --ulimit memlock=-1 --cap-add IPC_LOCK"
            " --env-file /etc/sparkrig/container.env -e NCCL_DEBUG=INFO"
            " -e NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET -e NCCL_DEBUG_FILE=/dev/stderr"
            f" --entrypoint python3 nccl:1 - --rank {rank} --address 192.168.100.11 --port 29600"
            " --bytes 8589934592 --limit 180"
        )
        assert (remove, listed) == ("rm -f sparkrig-nccl-7f3a", "ps -aq --filter name=sparkrig-nccl-7f3a")
        assert (each.folder / "script").read_text() == (ROOT / "templates" / "all_gather.py").read_text()
        (rank_command,) = (text for text in each.commands if "docker run" in text)
        assert rank_command.startswith("timeout -k 5 240 sh -c")
        assert all(text.startswith("timeout -k 5 ") for text in each.commands)


def test_the_order_of_the_looks(pair: tuple[Spark, Spark]) -> None:
    check(pair)
    marks = {"docker version": "look", "carrier_down_count": "count", "docker run": "run", "rm -f": "end"}
    for each in pair:
        seen = [name for text in each.commands for mark, name in marks.items() if mark in text]
        assert seen == ["look", "count", "run", "end", "count"]


def test_without_an_image_nothing_is_asked_and_nothing_is_passed(pair: tuple[Spark, Spark]) -> None:
    outcome = check(pair, image=None)
    assert not outcome.fabric and not pair[0].commands and not pair[1].commands
    (finding,) = outcome.health  # background: it makes no exit code
    assert (finding.verdict.level, finding.verdict.cause) == ("unknown", "nccl-skipped")


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda text: text.replace("a" * 64, "b" * 64), "image-differs"),
        (lambda text: text.replace("gpus 1", "gpus 0"), "no-gpu"),
        (lambda text: text.replace("MemAvailable 115343360", "MemAvailable 5000000"), "memory-low"),
        (lambda text: "nonsense", "host-lost"),
    ],
    ids=["image", "GPU", "memory", "nonsense"],
)
def test_what_cannot_be_run_is_not_started(
    pair: tuple[Spark, Spark], change: Callable[[str], str], cause: str
) -> None:
    pair[1].preflight = change(PREFLIGHT)
    verdict = the_only(check(pair))
    assert (verdict.level, verdict.cause) == ("unknown", cause) and "spark-b" in verdict.evidence
    assert not pair[0].asked() and not pair[1].asked()


def test_sockets(pair: tuple[Spark, Spark]) -> None:
    for number, each in enumerate(pair):
        each.will(recorded(f"socket.{number}", 0))
    verdict = the_only(check(pair))
    assert (verdict.level, verdict.cause) == ("fault", "nccl-socket")


def test_rails_that_are_slow_explain_it(pair: tuple[Spark, Spark]) -> None:
    for each in pair:
        each.will(prints(HEALTHY.replace("23.74", "3.1")))
    rails = Verdict("fault", "slow-start", "rail 0 carries 13.35 Gb/s", "reboot both")
    assert the_only(check(pair, rails=rails)).cause == "rails-slow"


def test_counters_that_stand_still(pair: tuple[Spark, Spark]) -> None:
    pair[1].sent = 0
    assert the_only(check(pair)).cause == "counters-still"


@pytest.mark.parametrize("failing", [0, 1])
def test_a_rank_that_fails_takes_the_other_along_at_once(pair: tuple[Spark, Spark], failing: int) -> None:
    pair[failing].will(recorded("no-gpu.0", 1))
    pair[1 - failing].will(HANGS)
    with within(8):
        verdict = the_only(check(pair))
    assert (verdict.level, verdict.cause) == ("unknown", "no-gpu")
    assert verdict.evidence.startswith(f"{pair[failing].name}: the container has no GPU")
    assert not pair[0].containers() and not pair[1].containers()


@pytest.mark.slow
def test_a_container_that_is_only_being_made_is_ended_too(pair: tuple[Spark, Spark]) -> None:
    pair[0].will(recorded("no-gpu.0", 1, after=0.1))
    # made once it was removed in vain, on a machine of any speed
    pair[1].will(HANGS, before=f"until grep -q '^ps' {pair[1].folder}/asked; do sleep 0.05; done")
    with within(10):
        assert the_only(check(pair)).cause == "no-gpu"
    assert [word.split()[0] for word in pair[1].asked()].count("rm") > 1
    assert not pair[1].containers()


def test_both_that_fail_are_both_heard(pair: tuple[Spark, Spark]) -> None:
    pair[0].will(recorded("no-interface.0", 1))
    pair[1].will(recorded("no-interface.1", 1))
    assert the_only(check(pair)).cause == "no-interface"


def test_exit_0_is_no_evidence(pair: tuple[Spark, Spark]) -> None:
    pair[0].will(prints("sparkrig-nccl stage measure\n", 0))
    verdict = the_only(check(pair))
    assert (verdict.level, verdict.cause) == ("unknown", "no-result")


def test_a_result_that_makes_no_sense(pair: tuple[Spark, Spark]) -> None:
    pair[0].will(prints(HEALTHY.replace("23.74", "0")))
    assert the_only(check(pair)).cause == "nccl-unread"


def test_a_host_that_is_lost_in_the_middle(pair: tuple[Spark, Spark]) -> None:
    pair[0].will(HANGS)
    pair[1].lost_when = "docker run"
    with within(8):
        outcome = check(pair)
    (first, left) = outcome.fabric
    assert (first.subject, first.verdict.level, first.verdict.cause) == ("pair", "unknown", "host-lost")
    assert "spark-b does not answer" in first.verdict.evidence
    assert (left.subject, left.verdict.cause) == ("spark-b", "container-left")
    assert left.verdict.cure == "docker rm -f sparkrig-nccl-7f3a, on spark-b"
    assert not pair[0].containers()


def test_a_docker_that_keeps_the_container_is_told(pair: tuple[Spark, Spark]) -> None:
    (pair[1].folder / "docker").write_text(
        '#!/bin/sh\n[ "$1" = ps ] && echo 0123456789ab\n[ "$1" = run ] && echo no; exit 1\n'
    )
    with within(15):
        outcome = check(pair)
    assert [each.verdict.cause for each in outcome.fabric] == ["no-result", "container-left"]
    assert "docker still has the container sparkrig-nccl-7f3a" in outcome.fabric[1].verdict.evidence


def test_an_interrupted_check_leaves_no_container(pair: tuple[Spark, Spark]) -> None:
    for each in pair:
        each.will(HANGS)
    user = gevent.getcurrent()

    def had_enough() -> None:
        while not all(each.containers() for each in pair):
            gevent.sleep(0.01)
        gevent.get_hub().loop.run_callback(user.throw, KeyboardInterrupt)  # as gevent hands on a Ctrl-C

    gevent.spawn(had_enough)
    with within(30), pytest.raises(KeyboardInterrupt):
        check(pair)
    assert not pair[0].containers() and not pair[1].containers()
    assert "rm -f sparkrig-nccl-7f3a" in pair[0].asked() and "rm -f sparkrig-nccl-7f3a" in pair[1].asked()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gpu", "health"),
    [
        (GPU.format(busy=96, clock=611), [("spark-a", "fault", "power-clamp"), ("spark-b", "healthy", "")]),
        (GPU.format(busy=12, clock=208), [("spark-b", "healthy", "")]),  # inconclusive
        ("trouble nvidia-smi is not installed", [("spark-b", "healthy", "")]),
        ("nonsense", [("spark-b", "healthy", "")]),
    ],
    ids=["clamped", "idle", "absent", "nonsense"],
)
def test_a_gpu_under_load(pair: tuple[Spark, Spark], gpu: str, health: list[tuple[str, str, str]]) -> None:
    pair[0].gpu = gpu
    found = [(each.subject, each.verdict.level, each.verdict.cause) for each in check(pair).health]
    assert found == health
