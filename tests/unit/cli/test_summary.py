"""The summary of recorded Sparks: its figures, and the screen as it is printed."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sparkrig.bandwidth import records
from sparkrig.cli import summary
from sparkrig.files import MEASURED
from sparkrig.fleet import Fleet
from sparkrig.look.state import State
from sparkrig.network.links import Link
from sparkrig.rdma import environment
from sparkrig.rdma.rdma import Rdma
from sparkrig.render.summary import panel
from sparkrig.reports.summary import Containers, Driver, Figures, Rail, describe
from sparkrig.value import Unread
from tests import warm
from tests.plan.conftest import REBOOTED
from tests.unit.states import in_memory, link, no_profile, profile, second_profile
from tests.unit.summaries import FABRIC, LAB, OTHER, RAIL, A, B, state, text

ROOT = Path(__file__).resolve().parents[3]
FLEET = Fleet.parse(LAB)
LONE = Fleet.parse({A: {}})
Row = Figures | Unread


def with_link(found: State, netdev: str = RAIL, **changes: Any) -> State:
    link: Link = replace(found.network.links[netdev], **changes)
    return replace(found, network=replace(found.network, links={**found.network.links, netdev: link}))


def with_record(found: State, **changes: Any) -> State:
    file = found.files[MEASURED]
    kept = records.load(file.content).values()
    changed = [replace(each, **changes) if each.netdev == RAIL else each for each in kept]
    written = replace(file, content=records.dump(changed))
    return replace(found, files={**found.files, MEASURED: written})


def without_file(found: State, path: str) -> State:
    return replace(found, files={name: file for name, file in found.files.items() if name != path})


def booted(found: State) -> State:
    """The same host after another boot."""
    return replace(found, identity=replace(found.identity, boot_id=REBOOTED))


PEER = state("converged", B)


def row(found: State, name: str = A, peer: State = PEER) -> Figures:
    return describe(FLEET, name, {B: peer, name: found})


def rail(found: State) -> Rail:
    return row(found).rails[0]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The printed screen; each line of it fits, and no cell of the rails table was cut."""

    def shown(rows: Mapping[str, Row], width: int = 80, file: str = "inventories/pair.py") -> str:
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.chdir(ROOT)
        out = io.StringIO()
        monkeypatch.setattr("sys.stdout", out)
        summary._print(rows, Path(file))
        *lines, last = out.getvalue().splitlines()
        assert last.startswith("Next: ")
        assert all(len(line) <= width for line in lines)
        assert "…" not in out.getvalue()
        assert "\x1b" not in out.getvalue()
        return out.getvalue()

    return shown


def table(shown: str, netdev: str = RAIL) -> list[str]:
    """The cells of a rail's row on the first host; they stand on one line."""
    line, *_ = [line for line in shown.splitlines() if re.match(rf"│ {netdev} ", line)]
    return re.split(r"\s{2,}", line.strip("│ "))


def words(shown: str) -> str:
    """The panels' text without their frames, so that a wrapped sentence is whole again."""
    return " ".join(line.strip("│ ") for line in shown.splitlines())


@pytest.mark.parametrize("name", [A, B])
def test_a_converged_spark(name: str) -> None:
    shown = row(state("converged", name), name)
    assert shown.driver == Driver("580.173.02-0ubuntu0.24.04.1", 43, [], [], [], "")
    assert shown.spark.vendor == "NVIDIA DGX Spark Founders Edition"
    assert shown.spark.dgx_os == "7.5.0"
    assert shown.containers == Containers("1.19.0-1", nvidia_runtime=True)
    assert shown.environment == ["NCCL_IB_GID_INDEX=1"]
    assert [each.netdev for each in shown.rails] == [RAIL, OTHER]
    for each in shown.rails:
        assert each.complaints == {}
        assert each.cabled
        assert (each.address, each.mtu) == (FABRIC[name][each.netdev], 9000)
        assert (each.path_mtu, each.gid_index, each.measured_path_mtu) == (4096, 1, 4096)
        assert each.gbps and each.gbps > 0
        assert re.match(r"\d{4}-\d\d-\d\dT", each.measured_at or "")


@pytest.mark.parametrize("name", [A, B])
def test_a_fresh_spark(name: str) -> None:
    shown = row(state("fresh", name), name)
    assert (shown.driver.held, len(shown.driver.unheld)) == (0, 43)
    assert shown.containers == Containers(None, nvidia_runtime=False)
    assert shown.environment is None
    for each in shown.rails:
        assert set(each.complaints) == {"address", "gid_index", "gbps", "mtu"}
        assert (each.gid_index, each.gbps, each.measured_at) == (None, None, None)


BAD: dict[str, tuple[Callable[[], State], str, str, str]] = {
    "wrong MTU": (lambda: with_link(state(), mtu=1500), "mtu", "MTU 1500, 9000 expected", "1500 ✗"),
    "missing address": (
        lambda: with_link(state(), addresses=()),
        "address",
        "192.168.100.11/24 is not on the link",
        "192.168.100.11/24 ✗",
    ),
    "address with another prefix": (
        lambda: with_link(state(), addresses=(IPv4Interface("192.168.100.11/16"),)),
        "address",
        "192.168.100.11/24 is not on the link",
        "192.168.100.11/24 ✗",
    ),
    "no GID": (
        lambda: replace(state(), rdma=replace(state().rdma, gids=())),
        "gid_index",
        "no RoCE v2 GID for 192.168.100.11",
        "none ✗",
    ),
    "not measured": (
        lambda: without_file(state(), MEASURED),
        "gbps",
        "not measured",
        "none ✗",
    ),
    "too slow": (
        lambda: with_record(state(), gbps=0.001),
        "gbps",
        "0.00 Gb/s, at least 0.01 expected",
        "0.00 ✗",
    ),
    "small path MTU": (
        lambda: with_record(state(), gbps=111.86, path_mtu=1024),
        "gbps",
        "111.86 Gb/s at path MTU 1024, 4096 expected: the MTU of one end is too small",
        "111.86 ✗",
    ),
    "measured to another peer": (
        lambda: with_record(state(), peer="10.9.9.9", gbps=111.86),
        "gbps",
        "measured as 192.168.100.11 to 10.9.9.9 at MTU 9000, not as declared",
        "111.86 ✗",
    ),
}


# what no figure on the screen shows
HIDDEN: dict[str, tuple[Callable[[State], State], str, str]] = {
    "another address too": (
        link(addresses=(IPv4Interface("192.168.100.11/24"), IPv4Interface("10.9.0.1/24"))),
        "address",
        "the link has 192.168.100.11/24, 10.9.0.1/24, 192.168.100.11/24 alone expected",
    ),
    "IPv6": (link(ipv6=True), "ipv6", "the link has an IPv6 address"),
    "profile": (
        profile(RAIL, **{"802-3-ethernet.mtu": "1500", "connection.autoconnect": "no"}),
        "profile",
        "connection.autoconnect of the profile is no, yes expected; "
        "802-3-ethernet.mtu of the profile is 1500, 9000 expected",
    ),
    "no profile": (no_profile(RAIL), "profile", "no profile yet"),
    "in memory": (in_memory(RAIL), "profile", "the profile is only in memory"),
    "second": (
        second_profile(),
        "others",
        "NetworkManager profile 'mine' (/etc/NetworkManager/system-connections/mine.nmconnection) "
        f"defines {RAIL} (DHCP)",
    ),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_what_the_deploy_would_change_is_said_where_the_figures_are_right(case: str) -> None:
    change, field, sentence = HIDDEN[case]
    assert rail(change(state())).complaints == {field: sentence}


def test_what_is_wrong_with_the_profile_asks_for_a_deploy(screen: Callable[..., str]) -> None:
    shown = screen({A: row(profile(RAIL, **{"802-3-ethernet.mtu": "1500"})(state()))}, 120)
    assert f"✗ {RAIL}: 802-3-ethernet.mtu of the profile is 1500, 9000 expected" in words(shown)
    assert shown.splitlines()[-1] == "Next: pyinfra inventories/pair.py deploys/cluster.py"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("case", BAD)
def test_a_rail_that_is_not_as_declared(case: str, width: int, screen: Callable[..., str]) -> None:
    make, field, sentence, cell = BAD[case]
    found = make()
    assert rail(found).complaints == {field: sentence}
    shown = screen({A: row(found), B: row(state("converged", B), B)}, width)
    assert cell in table(shown)
    assert f"✗ {RAIL}: {sentence}" in words(shown)
    assert shown.splitlines()[-1] == "Next: pyinfra inventories/pair.py deploys/cluster.py"


def test_a_figure_from_before_a_boot_is_not_known_and_says_what_measures(screen: Callable[..., str]) -> None:
    shown = row(state(), peer=booted(PEER))
    assert shown.rails[0].complaints == {"gbps": f"not measured since the boot of {B}"}
    assert (shown.rails[0].unknown, shown.rails[0].gbps) == (["gbps"], 0.44)
    printed = screen({A: shown})
    assert table(printed)[-1] == "0.44 ?"
    assert f"? {RAIL}: not measured since the boot of {B}" in words(printed) and "✗" not in printed
    assert printed.splitlines()[-1] == "Next: pyinfra inventories/pair.py deploys/probe.py"


def test_what_is_wrong_beside_a_figure_from_before_a_boot_comes_first(screen: Callable[..., str]) -> None:
    printed = screen({A: row(with_link(state(), mtu=1500), peer=booted(PEER))})
    assert f"✗ {RAIL}: MTU 1500, 9000 expected" in words(printed)
    assert f"? {RAIL}: not measured since the boot of {B}" in words(printed)
    assert printed.splitlines()[-1] == "Next: pyinfra inventories/pair.py deploys/cluster.py"


def test_no_rdma_device_under_a_rail() -> None:
    assert rail(replace(state(), rdma=Rdma())).complaints == {
        "device": "no RDMA device sits on it",
        "gid_index": "no RoCE v2 GID for 192.168.100.11",
    }


@pytest.mark.parametrize("gone", [True, False])
def test_a_cable_that_is_not_there(gone: bool, screen: Callable[..., str]) -> None:
    found = with_link(state(), carrier=False)
    if gone:  # an uncabled ConnectX-7 leaves the PCI bus
        links = {name: link for name, link in found.network.links.items() if name != RAIL}
        found = replace(found, network=replace(found.network, links=links))
    why = "there is no such netdev" if gone else "the link has no carrier"
    assert rail(found).complaints == {"cabled": why}
    shown = screen({A: row(found)})
    assert table(shown)[1] == "uncabled ✗"
    assert f"✗ {RAIL}: {why}" in shown

    lone = Fleet.parse({A: {"fabric": FABRIC[A]}})  # on a Spark on its own it is normal
    alone = describe(lone, A, {A: found})
    assert alone.rails[0].complaints == {}
    assert table(screen({A: alone}))[1] == "uncabled"


def test_a_lone_spark_without_rdma(screen: Callable[..., str]) -> None:
    found = replace(state(), rdma=Rdma())
    file = found.files[environment.CONTAINER_ENV]
    bare = "\n".join(line for line in file.content.splitlines() if "NCCL_IB" not in line)
    found = replace(found, files={**found.files, environment.CONTAINER_ENV: replace(file, content=bare)})
    shown = describe(LONE, A, {A: found})
    assert (shown.rails, shown.environment) == ([], [])
    printed = screen({A: shown}, file="inventories/solo.py")
    assert "no RDMA on this Spark" in printed
    assert "rail" not in printed
    assert printed.splitlines()[-1] == "Next: pytest tests/state --inventory inventories/solo.py"


def test_apt_that_could_not_simulate(screen: Callable[..., str]) -> None:
    found = state()
    found = replace(found, driver=replace(found.driver, upgrade=None, trouble="Could not get lock [dpkg]"))
    shown = row(found)
    assert shown.driver.would_move is None
    printed = screen({A: shown})
    assert "? apt could not simulate an upgrade (Could not get lock [dpkg])" in words(printed)
    assert "moves none" not in printed
    assert "deploys/cluster.py" in printed.splitlines()[-1]


def test_an_upgrade_that_would_move_the_driver(screen: Callable[..., str]) -> None:
    found = state()
    moves = {"nvidia-driver-580-open": "install 590.1", "vim": "install 2"}
    shown = row(replace(found, driver=replace(found.driver, upgrade=moves)))
    assert shown.driver.would_move == ["nvidia-driver-580-open: install 590.1"]
    assert "✗ an upgrade moves 1" in words(screen({A: shown}))


@pytest.mark.parametrize("kind", ["fresh", "converged"])
def test_on_a_narrow_screen_no_figure_is_lost(kind: str, screen: Callable[..., str]) -> None:
    """The table's columns were cut off at the right edge of 40 columns, without a sign of it."""
    rows = {name: row(state(kind, name), name) for name in (A, B)}
    printed = screen(rows, 40).replace("✗", " ").replace("✓", " ").split(B)[0]
    for each in rows[A].rails:
        ((_, block),) = [(head, rest) for head, rest in [printed.split(f" {each.netdev} ", 1)] if rest]
        for heading, value in (("address", each.address), ("MTU", each.mtu), ("device", each.device)):
            assert re.search(rf"│ {heading} +{re.escape(str(value))} +│", block), (heading, block)
        assert re.search(r"│ GID +\S+ +│", block) and re.search(r"│ Gb/s +\S+ +│", block)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("kind", ["fresh", "converged"])
def test_the_screen(kind: str, width: int, screen: Callable[..., str]) -> None:
    rows = {name: row(state(kind, name), name) for name in (A, B)}
    printed = screen(rows, width)
    for name in rows:
        assert f"╭─ {name} ─" in printed
    for each in rows[A].rails:
        # every figure stands whole in the row of its rail
        (line,) = [line for line in printed.split(B)[0].splitlines() if line.startswith(f"│ {each.netdev} ")]
        for value in (each.address, str(each.mtu), each.device):
            assert f" {value} " in line
        assert ("✗" in line) == (kind == "fresh")
    expected = {
        "fresh": "Next: pyinfra inventories/pair.py deploys/cluster.py",
        "converged": "Next: pytest tests/state --inventory inventories/pair.py",
    }
    assert printed.splitlines()[-1] == expected[kind]


def test_the_widest_rail_fits_80_columns(screen: Callable[..., str]) -> None:
    wide = {**LAB[A], "fabric": {RAIL: "192.168.100.111/24", OTHER: "192.168.101.111/24"}}
    fleet = Fleet.parse({A: wide, B: LAB[B]})
    found = with_record(with_link(with_link(state(), mtu=1500), OTHER, mtu=1500), gbps=111.86)
    shown = table(screen({A: describe(fleet, A, {A: found})}), OTHER)
    assert shown == [OTHER, "192.168.101.111/24 ✗", "1500 ✗", "roceP2p1s0f0", "none ✗", "0.43 ✗"]


def test_next_can_be_typed_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {A: row(state())}
    typed = summary._next(rows, Path("my sparks.py"))
    assert typed == f"cd {shlex.quote(str(ROOT))} && pytest tests/state --inventory '{tmp_path}/my sparks.py'"


def test_a_host_that_is_markup(screen: Callable[..., str]) -> None:
    printed = screen({"[red]x": Unread("Could not connect ([Errno 111] refused)")})
    assert "─ [red]x ─" in printed
    assert "not read: Could not connect ([Errno 111] refused)" in printed
    assert printed.splitlines()[-1] == ("Next: sparkrig doctor inventories/pair.py access")


# --- the whole command, on real pyinfra with fake hosts


def fleet_file(folder: Path, **hosts: dict[str, Any]) -> Path:
    file = folder / "pair.py"
    file.write_text(
        "from sparkrig.inventory import stop_together as _together\n_together()\n"
        f"sparks = {list(hosts.items())!r}\n"
    )
    return file


def fake(name: str, **changes: Any) -> dict[str, Any]:
    answers = {"#sparkrig:end identity": text("converged", name).splitlines()}
    return {**LAB[name], "fake_responses": answers, "fake_delay": 0, "fake_delay_jitter": 0, **changes}


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two inventories of a pair: one that answers, and one whose second host refuses the connection."""
    whole, half = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("half")
    gone = {**LAB[B], "ssh_hostname": "127.0.0.1", "ssh_port": 9, "ssh_user": "nobody"}
    return (
        fleet_file(whole, **{f"@fake/{A}": fake(A), f"@fake/{B}": fake(B)}),
        fleet_file(half, **{f"@fake/{A}": fake(A), B: gone}),
    )


def sparkrig(*typed: str) -> subprocess.CompletedProcess[str]:
    env = {"HOME": "/nonexistent", "NO_COLOR": "1", "COLUMNS": "80", "SPARKRIG_WAIT_S": "0"}
    return warm.run("sparkrig", "summary", *typed, env=env)


def test_json_is_whole(reached: tuple[Path, Path]) -> None:
    done = sparkrig("--json", str(reached[0]))
    assert (done.returncode, done.stderr) == (0, "")
    hosts = {f"@fake/{name}": asdict(row(state("converged", name), name)) for name in (A, B)}
    assert json.loads(done.stdout) == {"schema": "sparkrig.summary/1", "hosts": hosts}


def test_a_host_that_is_not_reached_hides_nothing(reached: tuple[Path, Path]) -> None:
    done = sparkrig(str(reached[1]))
    assert done.returncode == 3
    # nothing, or on a busy machine what took over two seconds
    assert all(
        re.fullmatch(r"\S+: (connecting \.\.\.|\w+ after \d+ s)", each) for each in done.stderr.splitlines()
    )
    assert f"╭─ @fake/{A} ─" in done.stdout
    assert "0.44 ✓" in done.stdout
    assert "not read: Could not connect (" in done.stdout
    assert done.stdout.splitlines()[-1] == f"Next: sparkrig doctor {reached[1]} access"


def test_json_names_the_host_that_is_not_reached(reached: tuple[Path, Path]) -> None:
    done = sparkrig("--json", str(reached[1]))
    assert done.returncode == 3
    found = json.loads(done.stdout)["hosts"]
    assert list(found) == [f"@fake/{A}", B]
    assert found[f"@fake/{A}"]["rails"][0]["complaints"] == {}
    assert "Could not connect" in found[B]["unread"]


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (("@nope/a", {}), "Invalid connector: nope"),
        (("@ssh/a", {"ssh_port": "ssh"}), "@ssh/a: ssh_port is expected to be a whole number. Edit "),
    ],
    ids=["connector", "connection"],
)
def test_data_that_pyinfra_refuses_is_a_sentence(tmp_path: Path, host: Any, words: str) -> None:
    file = tmp_path / "solo.py"
    file.write_text(f"sparks = [{host!r}]\n")
    done = sparkrig(str(file))
    assert (done.returncode, done.stdout) == (1, "")
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"Error: {words}")


def test_colour_on_a_terminal_only() -> None:
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=80, color_system="standard", no_color=False).print(
        panel(A, row(state("fresh")))
    )
    assert "\x1b[31m" in out.getvalue()
