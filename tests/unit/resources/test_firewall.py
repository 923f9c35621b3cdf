"""The firewall: what its list opens, with real packets between namespaces; what a look reads; what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import File, Found
from sparkrig.fleet import Fleet
from sparkrig.network.links import Route
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.firewall import FIREWALL, LINK, RULES, UNIT, UNIT_FILE, Firewall
from sparkrig.serving.served import Own
from tests.tables import each_row
from tests.unit.firewalled import Knock, firewalled, follows, looked_at
from tests.unit.shells import sh, tool, well
from tests.unit.states import PAIR, SEEN, A, B

OPEN = Firewall(nft=True)
ALLOW = ["8000 from 192.168.1.20", "9100", "from 192.168.1.30", "5353/udp", "8000 from fd01::/64"]


def host(seen: Firewall = OPEN, files: tuple[File, ...] = (), **data: Any) -> Subject:
    """The first host of a pair in spec, to which a run came from 192.168.1.20 by port 2222. data: its settings."""
    fleet = Fleet.parse({each: {**values, **(data if each == A else {})} for each, values in PAIR.items()})
    state = SEEN[A]
    network = replace(state.network, caller="192.168.1.20", door=2222)
    there = {**state.files, **{file.path: Found(file.content, "0644", "root:root") for file in files}}
    state = replace(state, network=network, files=there, others={"firewall": seen})
    return subject(A, fleet, {A: state, B: SEEN[B]})


def rules(*allow: str | int) -> str:
    """The file of a host with this list."""
    return next(
        file.content for file in FIREWALL.changes(host(firewall_allow=[*allow])).wanted if file.path == RULES
    )


LAN, LAN6, FABRIC, DOCKER = "192.168.1.10", "fd01::10", "192.168.100.11", "172.17.0.10"
KNOCKS = {
    "ssh by the port of this run": (Knock("lan", LAN, 2222), True),
    "ssh by IPv6": (Knock("lan", LAN6, 2222), True),
    "no port of the list": (Knock("lan", LAN, 5000), False),
    "nor by IPv6": (Knock("lan", LAN6, 5000), False),
    "a port of the list": (Knock("lan", LAN, 9100), True),
    "every port for one address": (Knock("lan", LAN, 5001, source="192.168.1.30"), True),
    "mDNS": (Knock("lan", LAN, 5353, udp=True), True),
    "no port of UDP": (Knock("lan", LAN, 5002, udp=True), False),
    "RoCE over the fabric": (Knock("member", FABRIC, 4791, udp=True), True),
    "RoCE from elsewhere": (Knock("lan", LAN, 4791, udp=True), False),
    "any port over the fabric": (Knock("member", FABRIC, 29500), True),
    "published, for the address of the list": (Knock("lan", LAN, 8000, source="192.168.1.20"), True),
    "published, by IPv6": (Knock("lan", LAN6, 8000), True),
    "published, and not in the list": (Knock("lan", LAN, 8080), False),
    "published, and not in the list, by IPv6": (Knock("lan", LAN6, 8080), False),
    "published, over the fabric": (Knock("member", FABRIC, 8080), True),
    "the host itself": (Knock("host", "127.0.0.1", 5000), True),
    "the host by its own address": (Knock("host", LAN, 5000), True),
    "the host from a container": (Knock("container", DOCKER, 5000), True),
    "the LAN from a container": (Knock("container", "192.168.1.20", 7000), True),
    "the LAN from the host": (Knock("host", "192.168.1.20", 7000), True),
}


def test_packets_that_the_list_has_come_in_and_no_others(tmp_path: Path) -> None:
    found, seen = firewalled(tmp_path, rules(*ALLOW), {name: knock for name, (knock, _) in KNOCKS.items()})
    expected = {name: reached for name, (_, reached) in KNOCKS.items()}
    assert found == {**expected, "the connection of before": True}
    assert seen.follows and seen.refused >= 4 and seen.published >= 2, seen


def test_without_the_rules_all_of_it_comes_in(tmp_path: Path) -> None:
    """What the test before sees is the rules' doing."""
    found, seen = firewalled(tmp_path, "", {name: knock for name, (knock, _) in KNOCKS.items()})
    assert {*found.values()} == {True}, found
    assert seen.live is None


BROKEN = {
    "a rule more": (
        "nft insert rule inet sparkrig input tcp dport 99 accept",
        "not declared: input: tcp dport 99 accept",
    ),
    "a rule less": (
        """nft delete rule inet sparkrig input handle $(nft -a list chain inet sparkrig input |
           sed -n 's/.*counter name "refused" drop # handle //p')""",
        'missing: input: counter name "refused" drop',
    ),
    "none": ("nft flush ruleset", "no rule of it is loaded"),
    "another order": (
        "nft add rule inet sparkrig input iifname lo accept; nft delete rule inet sparkrig input handle "
        "$(nft -a list chain inet sparkrig input | sed -n '/iifname \"lo\"/{s/.*# handle //p;q}')",
        "its rules stand in another order",
    ),
    "another's table": ("nft add table inet other", ""),
}


def test_what_was_changed_by_hand_is_named(tmp_path: Path) -> None:
    def holds(then: str, said: str) -> None:
        assert looked_at(tmp_path, rules(8000), then).astray == said

    each_row(BROKEN, holds)


def test_a_firewall_of_others_is_seen(tmp_path: Path) -> None:
    chain = "{ type filter hook input priority 0; policy drop; }"
    seen = looked_at(tmp_path, rules(), f"nft add table ip filter; nft add chain ip filter INPUT '{chain}'")
    assert seen.closed == ("ip filter INPUT",)


def test_rows_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="no row begins with 'fil'"):
        FIREWALL.parse(["fil table"])
    with pytest.raises(ValueError, match="'pf' is no firewall that is known"):
        FIREWALL.parse(["other pf"])


def files(*allow: str) -> tuple[File, ...]:
    """What a deploy leaves, the unit's link as it is read through."""
    wanted = FIREWALL.changes(host(firewall_allow=[*allow])).wanted
    return (*wanted, File(LINK, wanted[1].content))


def test_a_host_in_spec_is_left_and_what_differs_is_named() -> None:
    rows = ("input: tcp dport 22 accept",)
    settled, there = replace(OPEN, live=rows, filed=rows, refused=7, published=3), files("8000")
    table: dict[str, tuple[Firewall, tuple[File, ...], list[str], tuple[str, str]]] = {
        "in spec": (settled, there, [], ("ok", "loaded; 7 packets refused since, and 3 to ports of containers")),
        "nothing yet": (OPEN, (), [RULES, UNIT_FILE], ("drift", "it does not start with the host")),
        "edited by hand": (settled, files("9"), [RULES], ("ok", "loaded; 7")),
        "a rule gone": (
            replace(settled, live=("x",)),
            there,
            [],
            ("drift", "not declared: x; missing: input: tcp"),
        ),
        "flushed": (replace(settled, live=None), there, [], ("drift", "no rule of it is loaded")),
        "not at the start": (settled, there[:2], [], ("drift", "it does not start with the host")),
    }

    def holds(seen: Firewall, stand: tuple[File, ...], paths: list[str], expected: tuple[str, str]) -> None:
        one = host(seen, stand, firewall_allow=["8000"])
        changes = FIREWALL.changes(one)
        assert [*changes.paths] == paths and changes.wanted
        checks = {check.id: check for check in FIREWALL.checks(one)}
        assert checks["firewall.files"].status == ("drift" if paths else "ok")
        status, found = expected
        assert (checks["firewall.rules"].status, checks["firewall.rules"].found[: len(found)]) == (status, found)
        assert bool(changes) == any(check.wrong for check in checks.values())

    each_row(table, holds)


def test_without_the_setting_ours_goes_and_nothing_else_is_asked() -> None:
    assert not FIREWALL.changes(host()) and [*FIREWALL.checks(host(replace(OPEN, nft=False, other="ufw")))] == []
    gone = FIREWALL.changes(host(OPEN, files()))
    assert gone.remove == (RULES, UNIT_FILE)
    left = host(replace(OPEN, live=("x",)))
    assert FIREWALL.changes(left).remove == (RULES,), "a table of ours without its file"
    assert [check.found for check in FIREWALL.checks(left)] == [
        "no firewall of sparkrig's",
        "its rules are still loaded",
    ]


def test_the_setting_is_read_back() -> None:
    def allowed(*there: File) -> Any:
        return FIREWALL.settings_of(host(OPEN, there).found)

    assert allowed(*files("8000", "ssh from 10.0.0.0/8", "from 192.168.1.20")) == {
        "firewall_allow": ["8000", "ssh from 10.0.0.0/8", "from 192.168.1.20"]
    }
    for text in ("", "# firewall_allow = [1", '# firewall_allow = ["x y"]', "# firewall_allow = 7"):
        assert allowed(File(RULES, text)) == {}
    assert allowed() == {}


REFUSED = {
    "no nft": (Firewall(), ["8000"], "nft is not installed"),
    "ufw": (replace(OPEN, other="ufw"), ["8000"], "ufw is this host's firewall"),
    "another's chain": (replace(OPEN, closed=("ip filter INPUT",)), [], r"drops what it .* \(ip filter INPUT\)"),
    "ssh for others": (OPEN, ["ssh from 10.0.0.0/8", "8000"], "comes from 192.168.1.20, which is in no network"),
    "ssh by the port of no run": (OPEN, ["ssh from 10.0.0.0/8", "22"], "this run comes from 192.168.1.20"),
}
TAKEN = {
    "the network of this run": ["ssh from 192.168.1.0/24"],
    "one of several": ["ssh from 10.0.0.0/8", "ssh from 192.168.1.20"],
    "its port by number": ["ssh from 10.0.0.0/8", "2222"],
    "every port of it": ["ssh from 10.0.0.0/8", "from 192.168.1.20"],
    "ssh for everyone beside": ["ssh from 10.0.0.0/8", "ssh"],
    "no word of ssh": ["8000"],
    "nothing at all": [],
}


def test_what_would_shut_this_run_out_or_mix_is_refused() -> None:
    def holds(seen: Firewall, allow: list[str], why: str) -> None:
        with pytest.raises(Refusal, match=why):
            FIREWALL.judge(host(seen, firewall_allow=allow))
        (check,) = FIREWALL.checks(host(seen, firewall_allow=allow))
        assert check.id == "firewall.files" and check.status == "drift"

    each_row(REFUSED, holds)
    each_row(
        {name: (allow,) for name, allow in TAKEN.items()}, lambda allow: FIREWALL.judge(host(firewall_allow=allow))
    )


def test_a_run_that_came_over_the_fabric_or_from_the_host_is_let_in_anyway() -> None:
    one = host(firewall_allow=["ssh from 10.0.0.0/8"])
    others: tuple[dict[str, Any], ...] = (
        {"ssh": "enp1s0f0np0"},
        {"caller": "127.0.0.1"},
        {"caller": "::1"},
        {"caller": ""},
    )
    for other in others:
        network = replace(one.found.network, **other)
        FIREWALL.judge(replace(one, found=replace(one.found, network=network)))


def test_members_that_meet_on_the_management_network_have_to_be_let_in() -> None:
    data: dict[str, Any] = {"socket_interface": "management"}
    netdev, address = host().found.network.management or ("", None)
    with pytest.raises(Refusal, match=f"NCCL, Gloo and Ray of its members meet on {netdev}"):
        FIREWALL.judge(host(firewall_allow=["8000"], **data))
    assert address is not None
    FIREWALL.judge(host(firewall_allow=[f"from {address.network}"], **data))
    with pytest.raises(Refusal):
        FIREWALL.judge(host(firewall_allow=[f"8000 from {address.network}"], **data))


def test_a_server_that_answers_and_is_not_let_in_is_named() -> None:
    def ports(allow: list[str], *bound: str, **data: Any) -> list[tuple[str, str]]:
        one = host(firewall_allow=allow, **data)
        serving = replace(one.found.serving, named={"chat": Own(bound=bound)})
        one = replace(one, found=replace(one.found, serving=serving))
        return [(check.status, check.found) for check in FIREWALL.checks(one) if check.id == "firewall.ports"]

    assert ports([], "127.0.0.1:8000") == []
    assert ports([], "127.0.0.1:8000", "192.168.1.10:8000") == [("drift", "not let in: port 8000 of a server")]
    assert ports(["serve"], "*:8000") == ports(["8000"], "*:8000") == [("ok", "port 8000 of a server let in")]
    assert ports(["8000/udp"], "[::]:8000")[0][0] == "drift"
    both = {"watch": True, "watch_metrics": True}
    assert ports([], **both) == [("drift", "not let in: port 9100 of the metrics")]
    assert ports(["metrics from 192.168.1.5"], **both)[0][0] == "ok"


def test_a_bridge_that_leads_outward_is_none_of_dockers() -> None:
    one = host(firewall_allow=[])
    links = {**one.found.network.links}
    name, link = next(iter(links.items()))
    network = replace(
        one.found.network, links={**links, name: replace(link, master="br0")}, routes=(Route(None, "br0"),)
    )
    text = FIREWALL.changes(replace(one, found=replace(one.found, network=network))).wanted[0].content
    assert 'iifname "br0" return' in text and "return" not in rules()


def loaded(root: Path, *, there: bool) -> list[str]:
    """The commands that make the rules that run follow their file, or its absence."""
    file = root / "firewall.nft"
    file.unlink(missing_ok=True)
    if there:
        file.write_text("")
    for name in ("systemctl", "nft"):
        tool(root / "bin", name, f'echo "{name} $*" >>{root}/ran')
    (root / "ran").write_text("")
    text = FIREWALL.guard.live.replace(RULES, str(file)).replace("/etc/systemd", f"{root}/systemd")
    well(sh(text, path=root / "bin"))
    return (root / "ran").read_text().splitlines()


def test_rules_are_loaded_by_their_unit_or_go_with_it(tmp_path: Path) -> None:
    reload = ["systemctl daemon-reload", f"systemctl --quiet enable {UNIT}", f"systemctl reload-or-restart {UNIT}"]
    assert loaded(tmp_path, there=True) == reload
    table = "table inet sparkrig"
    stop = [f"systemctl stop {UNIT}", "systemctl daemon-reload", f"nft list {table}", f"nft delete {table}"]
    assert loaded(tmp_path, there=False) == stop


VERIFIED = {
    "as the file": (":", True),
    "a rule more": ("nft insert rule inet sparkrig input tcp dport 99 accept", False),
    "no table": ("nft delete table inet sparkrig", False),
    "a table without a file": ('rm "$1"', False),
    "neither": ('rm "$1"; nft delete table inet sparkrig', True),
    "a file of nonsense": ('echo nonsense >"$1"', False),
}


def test_that_the_rules_are_those_of_the_file_is_proven(tmp_path: Path) -> None:
    def holds(then: str, proven: bool) -> None:
        assert follows(tmp_path, rules(8000), then) is proven

    each_row(VERIFIED, holds)
