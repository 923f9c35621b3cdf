"""T1: `sparkrig bandwidth --quick` and the probe on fake hosts: what they measure, find, keep and cost."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.plan.conftest import A, B, Host, converged, pair, rebooted, run_deploy, sections, well
from tests.plan.desk import Desk, commands, noted
from tests.plan.states import perftest
from tests.tables import each_row

MEASURES, SERVES, ENDS = "ping=$1 limit=$2", "life=$1 wait=$2", "run=$1 why=$2"
# pieces of the words of a client, which are asked for in this order: both rails, rail 1 alone, rail 0 alone
BOTH, ONE, ZERO = "18515 1 enP2p1s0f0np0", "--report_gbits' 1 enP2p1s0f0np0", MEASURES
SERVERS = ["flaps 0 0", "server 0 18515", "flaps 1 0", "server 1 18516"]
CABLE = {"bandwidth_floor": None}


def rail(number: int, gbps: float) -> list[str]:
    """What a client prints of one rail."""
    table = [f"table {line}" for line in perftest(gbps).splitlines()]
    return [f"rail {number}", "flaps 0", *table, "table exit 0", "flaps 0"]


def fabric(
    both: tuple[float, float], one: float = 0, zero: float = 0, servers: list[str] = SERVERS, **settings: Any
) -> list[Host]:
    """A pair in spec whose rails carry that, in Gb/s: at once, rail 1 alone, rail 0 alone."""
    sender, receiver = pair(converged("a"), converged("b"), **{**CABLE, **settings})
    told = {BOTH: rail(0, both[0]) + rail(1, both[1]), ONE: rail(1, one), ZERO: rail(0, zero)}
    ends = ["flaps 0 0", "flaps 1 0"]
    return [replace(sender, first=told), replace(receiver, first={SERVES: servers, ENDS: ends})]


def measured(desk: Desk) -> list[str]:
    """The rails of each measurement, in order."""
    sent = [text for host, text in map(ast.literal_eval, commands(desk)) if host == A and MEASURES in text]
    return ["".join(re.findall(r" ([01]) en\S+ roce", text)) for text in sent]


def levels(pair: dict[str, Any]) -> list[tuple[str, str]]:
    return [(row["verdict"]["level"], row["verdict"]["cause"]) for row in pair["rails"]]


OK = ("healthy", "")
REDUCED, SHARED, REFUSED = ("degraded", "reduced"), ("degraded", "pair-reduced"), ("unknown", "no-server")
FAILED = [*SERVERS[:2], "flaps 1 0", "failed 1 it ended"]
ROWS: dict[str, tuple[Any, ...]] = {
    "healthy": (fabric((98.0, 97.5)), ["01"], 0, [OK, OK]),
    "a slow rail": (fabric((111.0, 55.0), one=55.2), ["01", "1"], 2, [OK, REDUCED]),
    "both": (fabric((55.0, 54.0), one=54.5, zero=55.2), ["01", "0", "1"], 2, [REDUCED, REDUCED]),
    "what they share": (fabric((60.0, 61.0), one=111.8, zero=111.7), ["01", "0", "1", "01"], 2, [SHARED, SHARED]),
    "one does not start": (fabric((98.0, 0.0), zero=98.0, servers=FAILED), ["0", ""], 3, [OK, REFUSED]),
}


def test_what_quick_measures_and_what_it_finds(desk: Desk) -> None:
    def holds(hosts: list[Host], asked: list[str], code: int, rails: list[tuple[str, str]]) -> None:
        done = noted(desk, hosts).typed("bandwidth", "--quick", "--json")
        (found,) = done.report["pairs"]
        assert (done.code, levels(found)) == (code, rails), done.said
        assert measured(desk) == asked

    each_row(ROWS, holds)


def test_two_on_a_declared_switch_are_not_advised_to_do_without_it(desk: Desk) -> None:
    """Through the processor of a switch; a pair on a cable is advised to have no switch in between."""

    def cures(folder: Path, **settings: Any) -> set[str]:
        folder.mkdir()
        hosts = fabric((4.9, 4.9), one=4.9, zero=4.9, **settings)
        (found,) = noted(Desk(folder), hosts).typed("bandwidth", "--quick", "--json").report["pairs"]
        assert levels(found) == [("fault", "detour")] * 2
        return {row["verdict"]["cure"].partition(";")[0] for row in found["rails"]}

    assert cures(desk.folder / "cable") == {"join the Sparks by a cable without a switch"}
    switched = cures(desk.folder / "switch", topology="switch")
    assert len(switched) == 1 and "one bridge with hardware offloading" in switched.pop()


def test_a_rail_that_is_missing_leaves_the_other_to_be_measured_alone(desk: Desk) -> None:
    hosts = fabric((0.0, 0.0), zero=111.8)
    dark = sections(converged("b"))["network"].replace("port enP2p1s0f0np0 p0 1", "port enP2p1s0f0np0 p0 0")
    looked = hosts[1].fabric()["#sparkrig:end nics"]
    text = "\n".join(looked).replace(sections("\n".join([*looked, ""]))["network"].strip(), dark.strip())
    hosts[1] = replace(hosts[1], responses={"#sparkrig:end nics": text.splitlines()})
    done = noted(desk, hosts).typed("bandwidth", "--quick", "--json")
    (found,) = done.report["pairs"]
    assert (done.code, levels(found)) == (2, [OK, ("fault", "half-plugged")])
    assert measured(desk) == ["0"]


def test_a_healthy_pair_costs_one_measurement_and_one_look(desk: Desk) -> None:
    """Of each host: its lock is ordered, taken, kept and given back; one look; the trial."""
    done = noted(desk, fabric((98.0, 97.5))).typed("bandwidth", "--quick")
    assert done.code == 0, done.out
    sent = [host for host, _ in map(ast.literal_eval, commands(desk))]
    assert (sent.count(A), sent.count(B)) == (4 + 1 + 1, 4 + 1 + 2), "a client here, servers and their end there"
    said = " ".join(done.out.split())
    assert "rails 0 and 1: not-alone: healthy beside other rails; what is reached alone" in said


# paramiko's word for a session that sparkrig.ssh.heartbeat gave up, as a host was busy for half a minute
LOSES = """
from paramiko.ssh_exception import SSHException as _Error
from pyinfra.connectors.fake import FakeConnector as _Fake
_asked, _gone = _Fake.run_shell_command, []
def _loses(self, command, *words, **more):
    if {piece!r} in str(command) and len(_gone) < {times}:
        _gone.append(self.host.name)
        raise _Error("SSH session not active")
    return _asked(self, command, *words, **more)
_Fake.run_shell_command = _loses
"""


def test_a_session_that_breaks_off_is_no_verdict_and_is_asked_again(desk: Desk) -> None:
    """Seen on a fresh pair beside other load: peer-died, exit 2, where doctor and the deploy had just passed."""

    def holds(times: int, code: int, rails: list[tuple[str, str]]) -> None:
        noted(desk, fabric((98.0, 97.5)))
        desk.inventory.write_text(LOSES.format(piece=MEASURES, times=times) + desk.inventory.read_text())
        done = desk.typed("bandwidth", "--quick", "--json")
        (found,) = done.report["pairs"]
        assert (done.code, levels(found)) == (code, rails), done.said
        sent = [text for host, text in map(ast.literal_eval, commands(desk)) if host == B]
        acts = [SERVES in text for text in sent if SERVES in text or ENDS in text]
        assert acts[:5] == [True, False, False, True, False], "the first servers end before there are others"

    lost = ("unknown", "host-lost")
    each_row({"once": (1, 0, [OK, OK]), "each time": (9, 3, [lost, lost])}, holds)


def test_the_probe_measures_at_once_and_keeps_what_that_shows(desk: Desk) -> None:
    """After a boot nothing is asked again that the first look of the run has shown."""
    hosts = fabric((98.0, 97.5))
    hosts[0] = replace(hosts[0], seen=rebooted(hosts[0].seen))
    run = well(run_deploy(desk.folder, hosts, "-y", file="deploys/probe.py"))
    mine = [text for host, text in run.sent if host == "spark-a"]
    assert len([text for text in mine if MEASURES in text]) == 1
    (look,) = [text for text in mine if "#sparkrig:end users" in text]
    assert "#sparkrig:end nics" in look and not re.search(r"#sparkrig:end (network|rdma|files) ", look)
    assert "rails 0 and 1: healthy beside other rails; what is reached alone" in run.stderr
    kept = [host for host, text in run.sent if "while read -r folder name mode content" in text]
    assert sorted(kept) == ["spark-a", "spark-b"]
