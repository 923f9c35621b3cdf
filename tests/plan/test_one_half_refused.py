"""One host whose network the deploy would refuse, the other in order: each verb shows both, each fault alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
from junitparser import JUnitXml

from sparkrig.facts.fabric import Fabric
from sparkrig.refusal import Refusal
from tests.plan.conftest import JOURNAL, A, B, Host, converged, joined, pair, recorded, sections
from tests.plan.desk import Desk
from tests.plan.examined import examined
from tests.plan.examined import hosts as doctored
from tests.plan.states import netplan
from tests.tables import each_row

NETDEV, MANAGEMENT = "enp1s0f0np0", "enP7s7"
OTHER = "11111111-2222-4333-8444-666666666666"
PROFILE = f"profile {OTHER}:802-3-ethernet:/etc/NetworkManager/system-connections/cx7.nmconnection"
PROPERTIES = [f"connection.uuid:{OTHER}", "connection.id:cx7", f"connection.interface-name:{NETDEV}"]
MANAGED_BY_SSH = {"socket_interface": "management"}
Text = Callable[[str], str]


def swapped(old: str, new: str) -> Text:
    """The rows that match, otherwise; a fault that changes nothing is none."""

    def change(text: str) -> str:
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count, f"there is no {old}"
        return text

    return change


def both(*changes: Text) -> Text:
    def change(text: str) -> str:
        for each in changes:
            text = each(text)
        return text

    return change


def second_profile(text: str) -> str:
    rows = text.rstrip("\n").splitlines()
    at = max(n for n, row in enumerate(rows) if row.startswith("profile ")) + 1
    more = [f"property {row}" for row in (*PROPERTIES, "connection.autoconnect:yes", "ipv4.method:auto")]
    return "\n".join([*rows[:at], PROFILE, *rows[at:], *more]) + "\n"


def addresses(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], noun: str = "addr") -> Text:
    def changed(text: str) -> str:
        row = next(row for row in text.splitlines() if row.startswith(f"{noun} "))
        return text.replace(row, f"{noun} {json.dumps(change(json.loads(row.partition(' ')[2])))}")

    return changed


def without(netdev: str) -> Text:
    return addresses(lambda links: [link for link in links if link.get("ifname") != netdev])


def route(destination: str) -> Text:
    more = {"dst": destination, "dev": MANAGEMENT, "protocol": "static", "flags": []}
    return addresses(lambda routes: [*routes, more], "route")


def outward(netdev: str) -> Text:
    """The default route over that netdev."""
    return addresses(lambda routes: [{"dst": "default", "dev": netdev, "flags": []}, *routes], "route")


def stopped(text: str) -> str:
    gone = ("device ", "profile ", "property ")
    rows = [row for row in text.splitlines() if not row.startswith(gone)]
    return "\n".join("nm stopped" if row == "nm running" else row for row in rows) + "\n"


NOTHING_OUTWARD = both(
    swapped(r"^ssh .*\n", ""),
    addresses(lambda routes: [each for each in routes if each["dst"] != "default"], "route"),
)
DHCP = f"network: {{ethernets: {{{NETDEV}: {{dhcp4: true}}}}}}"
# the network noun of one host, changed; the settings of both
FAULTS: dict[str, tuple[Text, dict[str, Any]]] = {
    "a second profile": (second_profile, {}),
    "a second definition of netplan's": (netplan("/etc/netplan/40-cx7.yaml", DHCP), {}),
    "NetworkManager is stopped": (stopped, {}),
    "a netdev is missing": (both(without(NETDEV), swapped(rf"^(port {NETDEV} .*|device {NETDEV}:.*)\n", "")), {}),
    "a netdev has another name": (
        both(
            swapped(rf"\b{NETDEV}\b", "eth7"),
            swapped(r"connection.interface-name:eth7", f"connection.interface-name:{NETDEV}"),
        ),
        {},
    ),
    "unmanaged": (swapped(rf"^device {NETDEV}:.*$", f"device {NETDEV}:unmanaged:"), {}),
    "no carrier": (
        both(
            swapped(rf"^(port {NETDEV} p0) 1", r"\1 0"),
            swapped(rf"^device {NETDEV}:.*$", f"device {NETDEV}:unavailable:"),
        ),
        {},
    ),
    "a route collides": (route("192.168.100.0/22"), {}),
    "the fabric carries the default route": (outward(NETDEV), {}),
    "management is not found": (NOTHING_OUTWARD, MANAGED_BY_SSH),
    "management is not found and not needed": (NOTHING_OUTWARD, {}),
    "its address is gone": (
        addresses(
            lambda links: [{**link, "addr_info": []} if link.get("ifname") == NETDEV else link for link in links]
        ),
        {},
    ),
}
# a fault that no declared thing of this pair is about
HARMLESS = {"management is not found and not needed"}


def broken(half: str, change: Text, settings: dict[str, Any]) -> list[Host]:
    """A deployed pair, one host's network changed, in every look that a verb takes."""
    seen = {letter: sections(converged(letter)) for letter in "ab"}
    seen[half]["network"] = change(seen[half]["network"])
    fabric = {
        letter: {**sections(recorded(f"fabric-{letter}")), "network": seen[letter]["network"]} for letter in "ab"
    }
    texts = {letter: joined(seen[letter]) for letter in "ab"}
    return [
        replace(
            each,
            responses={
                "#sparkrig:end nics": joined({noun: fabric[letter][noun] for noun in Fabric.nouns}).splitlines(),
                JOURNAL: ["now 1795230000"],
            },
        )
        for letter, each in zip("ab", pair(texts["a"], texts["b"], **settings), strict=True)
    ]


SAID = Refusal("its peer is refused", "sparkrig doctor INVENTORY")


Row = tuple[str, str, Text, dict[str, Any]]


# each fault alone, on one host after the other: tests/unit/test_agreement.py has each on the same one
ROWS: dict[str, Row] = {
    f"{name}, on {half}": (name, half, change, settings)
    for (name, (change, settings)), half in zip(FAULTS.items(), cycle("ba"), strict=False)
}


def drifts(desk: Desk, rows: Mapping[str, Row]) -> None:
    junit, prom, page = (desk.folder / name for name in ("a.xml", "a.prom", "a.html"))

    def reports(name: str, half: str, change: Text, settings: dict[str, Any]) -> None:
        for file in (junit, prom, page):
            file.unlink(missing_ok=True)
        desk.has(broken(half, change, settings))
        done = desk.drift("--junit", str(junit), "--prom", str(prom), "--html", str(page))
        here, other = (A, B) if half == "a" else (B, A)
        assert done.said == "" and [host["name"] for host in done.report["hosts"]] == [A, B], done.said
        if name in HARMLESS:
            assert (done.code, done.wrong[here]) == (0, set())
            return
        assert done.code in (2, 3) and done.wrong[here], (done.code, done.wrong)
        assert settings or not done.wrong[other], done.wrong
        found = JUnitXml.fromfile(str(junit))
        assert found.failures + found.errors >= 1
        assert re.search(rf'^sparkrig_drift_items{{host="{here}",.*}} [1-9]', prom.read_text(), re.MULTILINE)
        assert here in page.read_text()

    each_row(rows, reports)


def tables(desk: Desk, rows: Mapping[str, Row]) -> None:
    def shown(name: str, half: str, change: Text, settings: dict[str, Any]) -> None:
        done = desk.has(broken(half, change, settings)).typed("drift")
        assert (done.code in (2, 3) or name in HARMLESS, done.said) == (True, ""), done.said
        assert "2 hosts · " in done.out
        assert re.search(r"net\.|environment\.", done.out) or name in HARMLESS, done.out

    each_row(rows, shown)


def doctors(desk: Desk, rows: Mapping[str, Row]) -> None:
    def named(name: str, half: str, change: Text, settings: dict[str, Any]) -> None:
        network = {"network": change(sections(converged(half))["network"])}
        texts = {each: examined(each, **(network if each == half else {})) for each in "ab"}
        done = desk.has(doctored(texts["a"], texts["b"], **settings)).typed("doctor", "--json")
        here = A if half == "a" else B
        assert [host["name"] for host in done.report["hosts"]] == [A, B], done.said
        if name in HARMLESS:
            assert (done.code, done.wrong[here]) == (0, set())
        else:
            assert done.code in (2, 3) and done.wrong[here], (done.code, done.wrong)

    each_row(rows, named)


def shows(desk: Desk, verb: str, rows: Mapping[str, Row]) -> None:
    def both_halves(_: str, half: str, change: Text, settings: dict[str, Any]) -> None:
        done = desk.has(broken(half, change, settings)).typed(verb, "--json")
        assert done.code in (0, 2, 3) and "Error" not in done.said, done.said
        document = json.dumps(done.report)
        assert all(name in document for name in (A, B)) and "unread" not in document, document
        screen = desk.typed(verb)
        assert screen.code == done.code and all(name in screen.out for name in (A, B)), screen.out + screen.said

    each_row(rows, both_halves)


@pytest.mark.slow  # each verb in each form
def test_drift_reports_both_halves_in_every_form(desk: Desk) -> None:
    drifts(desk, ROWS)


@pytest.mark.slow
def test_drift_shows_both_halves(desk: Desk) -> None:
    tables(desk, dict([*ROWS.items()][:4]))


@pytest.mark.slow  # each verb in each form
def test_doctor_names_the_half(desk: Desk) -> None:
    doctors(desk, dict([*ROWS.items()][::2]))


@pytest.mark.slow  # each verb in each form
@pytest.mark.parametrize("verb", ["status", "topology"])
def test_what_only_shows_shows_both_halves(desk: Desk, verb: str) -> None:
    shows(desk, verb, dict([*ROWS.items()][:: 12 if verb == "status" else 3]))


def test_a_refusal_that_no_operation_caught_is_a_finding_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of a peer was refused in the middle of the other host's plan, and ended the report of both."""
    from sparkrig.deploys import dry
    from sparkrig.facts.spark import Spark
    from sparkrig.fleet import Fleet

    def planned(run: object, deploy: object, spark: Any, host: object) -> None:
        if spark.name == A:
            raise SAID

    monkeypatch.setattr(dry, "add_deploy", planned)
    monkeypatch.setattr(dry, "judge", lambda *_, **__: [])
    hosts = pair(converged("a"), converged("b"))
    data = {host.name: dict(host.data) for host in hosts}
    found = {host.name: Spark().process(host.seen.splitlines()) for host in hosts}
    made = dry.plan(data, Fleet.parse(data), found)
    assert {name: [str(each) for each in steps] for name, steps in made.items()} == {A: [str(SAID)], B: []}
