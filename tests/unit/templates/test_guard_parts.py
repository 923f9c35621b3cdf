"""What the guard's verbs are made of: what it reads of links and files, how it judges them, what it puts back."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparkrig import programs
from sparkrig.operations import guard as operations
from tests.tables import each_row
from tests.unit.shells import sh
from tests.unit.templates.guarded_host import NETPLAN, PROFILES, UNITS, VOLATILE, Host, link, loaded

UP = {"connected": True, "external": False, "passing": False, "profile": "ours", "mtu": 1500, "carrier": True}
CX = {**UP, "addresses": ["10.0.0.1/24"]}
OFF = {**CX, "connected": False, "profile": "", "addresses": []}
WANTED = {"netdev": "cx", "mtu": 9000, "address": "10.0.0.1/24", "gid": "gid"}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


# --- what links are


def test_links_are_what_networkmanager_manages_and_the_kernel_has(host: Host) -> None:
    host.links = {
        "cx": link(addresses=["10.0.0.2/24", "10.0.0.1/24"], mtu=9000),
        "dark": link(state="unavailable", profile="", addresses=[], carrier=False),
        "docker0": link(state="connected (externally)", profile="docker"),
        "up": link(state="connecting (getting IP configuration)", profile="later"),
        "down": link(state="deactivating", profile="earlier"),
        "theirs": link(state="unmanaged", profile=""),
    }
    host.effects["ip -j"] = lambda: json.dumps(
        [*map(host.shown, host.links, host.links.values()), {"ifname": None}]
    )
    shown = host.program.links()
    external = {**UP, "connected": False, "external": True, "profile": "", "addresses": ["10.0.0.1/24"]}
    passing = {**external, "external": False, "passing": True}
    assert shown == {
        "cx": {**UP, "mtu": 9000, "addresses": ["10.0.0.1/24", "10.0.0.2/24"]},
        "dark": {**OFF, "carrier": False},
        "docker0": external,
        "up": passing,
        "down": passing,
    }
    host.effects["nmcli -t"] = "gone:connected:ours\ncx:connected:a:b"
    assert [each["profile"] for each in host.program.links().values()] == ["a:b"]


def test_default_routes_are_told_by_gateway_and_link(host: Host) -> None:
    host.routes = [{"gateway": "b", "dev": "lan"}, {"dev": "wlan"}, {"gateway": "a"}]
    assert host.program.default_routes() == ["a over several links", "b over lan", "none over wlan"]
    assert host.since() == ["ip -4 -j route show default"]


def test_a_link_is_described_in_words(host: Host) -> None:
    was = {**CX, "addresses": ["10.0.0.1/24", "10.0.0.2/24"]}
    assert host.program.moved("cx", was, OFF) == (
        "cx was connected by ours, MTU 1500, 10.0.0.1/24, 10.0.0.2/24 and is not connected, MTU 1500, no address"
    )
    assert host.program.moved("cx", OFF, None) == "cx was not connected, MTU 1500, no address and is gone"


UNLIKE: dict[str, tuple[Any, ...]] = {
    "as ordered": ({"mtu": 9000}, ""),
    "gone": (None, "cx has no carrier"),
    "dark": ({"mtu": 9000, "carrier": False}, "cx has no carrier"),
    "too small": ({"mtu": 1500}, "cx has MTU 1500 and 10.0.0.1/24, 9000 and 10.0.0.1/24 are expected"),
    "too large": ({"mtu": 9216}, "cx has MTU 9216 and 10.0.0.1/24, 9000 and 10.0.0.1/24 are expected"),
    "another address": (
        {"mtu": 9000, "addresses": ["10.0.0.2/24", "10.0.0.3/24"]},
        "cx has MTU 9000 and 10.0.0.2/24, 10.0.0.3/24, 9000 and 10.0.0.1/24 are expected",
    ),
    "none": ({"mtu": 9000, "addresses": []}, "cx has MTU 9000 and no address, 9000 and 10.0.0.1/24 are expected"),
}


def test_what_a_link_is_not(host: Host) -> None:
    def row(found: dict[str, Any] | None, why: str) -> None:
        assert host.program.unlike(WANTED, None if found is None else {**CX, **found}) == why

    each_row(UNLIKE, row)
    gids(host, cx=["fe80", "another"])
    assert host.program.unlike(WANTED, {**CX, "mtu": 9000}) == "cx has no RoCE GID for 10.0.0.1/24"


def test_the_slots_of_a_table_are_read_by_their_index_until_the_gid_is_found(host: Host) -> None:
    """Of a thousand slots each costs a read, and those in use come first."""
    gids(host, cx=["fe80", "0", "gid", *["0"] * 20])
    (port,) = host.root.glob("sys/class/infiniband/*/ports/*")
    assert [slot.name for slot in host.program.slots(port)] == [str(index) for index in range(23)]
    was, read = host.program.content, list[str]()

    def content(file: Path) -> str:
        read.append(file.name)
        return str(was(file))

    host.program.content = content
    assert host.program.has_gid("cx", "gid") is True and read == ["0", "0", "1", "2"]
    assert host.program.slots(host.root / "none") == []


def gids(host: Host, **netdevs: list[str]) -> None:
    """RDMA devices by netdev, with their GID tables; an empty slot cannot be read on a real one."""
    for netdev, found in netdevs.items():
        port = host.root / f"sys/class/infiniband/roce_{netdev}/ports/1"
        (port / "gid_attrs/ndevs").mkdir(parents=True, exist_ok=True)
        (port / "gids").mkdir(exist_ok=True)
        (port / "gid_attrs/ndevs/0").write_text(f"{netdev}\n")
        for index, gid in enumerate(found):
            (port / f"gids/{index}").write_text(f"{gid}\n")


def test_every_rdma_device_of_a_netdev_has_the_gid(host: Host) -> None:
    has = host.program.has_gid
    assert has("cx", "gid") is True, "no RDMA device"
    gids(host, cx=["fe80", "gid"], cy=["fe80"])
    assert has("cx", "gid") is True and has("cy", "gid") is False and has("lan", "gid") is True
    gids(host, zy=["fe80", *["0"] * 9, "gid"])  # an index of two digits
    assert has("zy", "gid") is True
    gids(host, aa=["gid"], zz=["gid"])
    assert has("cx", "another") is False


def test_what_cannot_be_read_is_empty(host: Host) -> None:
    file = host.root / "file"
    file.write_bytes(b"  a \xff\n")
    os.mkfifo(host.root / "fifo")
    closed = SimpleNamespace(is_file=lambda: True, read_text=lambda **_: raised(OSError("no slot")))
    content = host.program.content
    assert (content(file), content(host.root / "fifo"), content(closed)) == ("a \N{REPLACEMENT CHARACTER}", "", "")


def raised(error: Exception) -> str:
    raise error


# --- verifying


def verify(host: Host, **order: Any) -> str:
    """What is amiss, in words; empty where nothing is. The clock begins anew."""
    host.now = 1000
    host.order(**order)
    try:
        host.program.verify(host.guard, host.guard.order)
    except host.program.Trouble as trouble:
        return str(trouble)
    return ""


def test_only_what_was_ordered_has_changed(host: Host) -> None:
    host.links |= {
        "other": link(profile="theirs", addresses=["10.1.0.1/24"]),
        "asks": link(state="disconnected", profile="", addresses=[]),
    }
    host.program.snapshot(host.guard, {"cx"})
    assert verify(host) == "cx has MTU 1500 and 10.0.0.1/24, 9000 and 10.0.0.1/24 are expected"
    assert host.now == pytest.approx(1020, abs=0.31), "no less than was ordered"
    host.links["cx"]["mtu"] = 9000
    assert verify(host) == "" and host.now == 1000
    host.links["asks"]["mtu"] = 9000
    assert verify(host) == "", "a link that was not connected may come and go"
    smaller = (
        "other was connected by theirs, MTU 1500, 10.1.0.1/24 and is connected by theirs, MTU 1400, 10.1.0.1/24"
    )
    host.links["other"]["mtu"] = 1400
    assert verify(host) == smaller
    assert verify(host, remove=["theirs"]) == ""
    assert verify(host, restore="/var/before") == ""
    host.routes = [{"gateway": "192.0.2.1", "dev": "cx"}]
    route = "the default route was ['192.0.2.1 over lan'] and is ['192.0.2.1 over cx']"
    assert verify(host) == f"{smaller}; {route}"
    assert verify(host, restore="/var/before") == ""
    host.links["cx"]["mtu"] = 1400
    assert verify(host, restore="/var/before").startswith("cx has MTU 1400")
    host.links["other"]["mtu"] = 1600
    assert "MTU 1600" in verify(host)
    host.links["cx"]["mtu"], host.links["other"]["mtu"] = 9000, 1500
    host.routes = [{"gateway": "0", "dev": "lan"}]
    assert verify(host) == "the default route was ['192.0.2.1 over lan'] and is ['0 over lan']"
    host.routes = [{"gateway": "9", "dev": "lan"}]
    assert verify(host) == "the default route was ['192.0.2.1 over lan'] and is ['9 over lan']"


def test_a_look_that_comes_too_late_is_said(host: Host) -> None:
    host.program.snapshot(host.guard, {"cx"})
    looks: list[None] = []

    def settle() -> None:
        looks.append(None)
        if host.now >= 1020:
            host.links["cx"]["mtu"] = 9000 if len(looks) > 68 else 1500

    host.effects["ip -j"] = settle
    host.program.until = lambda *_: False
    host.links["cx"]["mtu"] = 9000
    assert verify(host) == "the links settled too late"


# --- one guard at a time


def test_another_guard_is_found_by_the_unit_at_boot(host: Host) -> None:
    program = host.program
    assert program.at_boot() is None
    (host.root / UNITS / "sparkrig-guard.service").write_text("[Unit]\nAfter=x\nRequires=y\nWants=\nZ=1\n")
    assert program.at_boot() is None
    for run, state, refused in (("0other", "armed", 1), ("zother", "applied", 1), ("zother", "committed", 0)):
        folder = host.folder.parent.with_name(run) / "guard"
        folder.mkdir(parents=True, exist_ok=True)
        other = program.Guard(folder)
        program.write(program.BOOT_UNIT, program.boot_unit(other))
        assert program.at_boot() == folder
        other.say(state)
        if not refused:
            program.require_no_other_guard(host.guard)
            continue
        with pytest.raises(program.Trouble) as trouble:
            program.require_no_other_guard(host.guard)
        assert str(trouble.value) == f"run {run} has a change here that is neither confirmed nor taken back"
        unit = program.BOOT_UNIT.read_text()
        host.since()
        program.disarm(host.guard)
        assert program.BOOT_UNIT.read_text() == unit
        assert host.since() == [
            "systemctl stop sparkrig-deadman-RUN.timer",
            "systemctl list-units --all --plain --no-legend sparkrig-guard.service",
            "systemctl --no-block daemon-reload",
        ]
    program.write(program.BOOT_UNIT, program.boot_unit(host.guard))
    host.guard.say("armed")
    program.require_no_other_guard(host.guard)


def test_the_checkpoint_of_another_tool_is_named(host: Host) -> None:
    host.checkpoints = ["/theirs/1", "/theirs/2", "/theirs/3"]
    with pytest.raises(host.program.Trouble) as trouble:
        host.program.require_free_checkpoint()
    assert str(trouble.value) == (
        "another tool holds a NetworkManager checkpoint (/theirs/1), which has to be confirmed or to run out"
    )


def test_one_at_a_time(host: Host) -> None:
    host.program.fcntl = fcntl
    path = host.guard.lock
    with host.guard.alone(), path.open("a") as second, pytest.raises(BlockingIOError):
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with path.open("a") as second:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)


# --- what an undo takes back


def earlier(host: Host, **order: Any) -> Path:
    """The snapshot of a run that made our profile of cx, removed `theirs` and moved a file of netplan."""
    folder = host.root / "var/lib/sparkrig/runs/earlier/guard"
    before = folder / "before"
    (before / PROFILES).mkdir(parents=True)
    (before / NETPLAN).mkdir(parents=True)
    (before / PROFILES / "theirs").write_text("uuid=uuid-theirs")
    (before / NETPLAN / "4.yaml").write_text("net: {}")
    profiles = [{"uuid": "uuid-ours", "verb": "add", "properties": {}}]
    plain = {"profiles": profiles, "remove": ["uuid-theirs"], "move": ["/etc/netplan/4.yaml"]}
    plain["links"] = [WANTED, {**WANTED, "netdev": "cy"}]
    text = json.dumps({"restore": None, **plain, **order})
    (folder / "order.json").write_text(text)
    links = {"cx": OFF, "cy": {**CX, "profile": "uuid-theirs"}, "wlan": {**CX, "profile": "wifi"}}
    (before / "links.json").write_text(json.dumps({"links": links, "default": []}))
    (host.root / PROFILES / "ours").write_text("uuid=uuid-ours")
    (host.root / PROFILES / "other").write_text("uuid=another")
    host.links = {"cx": link(profile="uuid-ours"), "cy": link(state="disconnected", profile="", addresses=[])}
    host.links["lan"] = link(profile="lan")
    return before


def without(host: Host, before: Path, **order: Any) -> tuple[dict[str, str], dict[str, Any], list[str]]:
    """Files and links to go back to, and what stays."""
    host.order(profiles=[], links=[], restore=f"/{before.relative_to(host.root)}", **order)
    host.program.snapshot(host.guard, set())
    wanted, left = host.program.without(host.guard, before)
    assert wanted == host.folder / "wanted" and wanted.stat().st_mode & 0o777 == 0o700
    files = {
        str(file.relative_to(wanted)): file.read_text()
        for place in (PROFILES, NETPLAN)
        for file in (wanted / place).iterdir()
    }
    return files, json.loads((wanted / "links.json").read_text())["links"], left


BACK = {
    f"{PROFILES}/old": "before",
    f"{PROFILES}/other": "uuid=another",
    f"{PROFILES}/theirs": "uuid=uuid-theirs",
    f"{NETPLAN}/4.yaml": "net: {}",
}


def test_what_a_run_changed_goes_back_and_nothing_else(host: Host) -> None:
    before = earlier(host)
    mine = {f"/{PROFILES}/ours": host.program.digest(host.root / PROFILES / "ours")}
    absent = {f"/{PROFILES}/theirs": "absent", f"/{NETPLAN}/4.yaml": "absent"}
    files, links, left = without(host, before, mine={**mine, **absent})
    assert (files, left) == (BACK, [])
    assert links == {"cx": OFF, "cy": {**CX, "profile": "uuid-theirs"}, "lan": {**CX, "profile": "lan"}}


def test_an_undo_that_knows_nothing_takes_all_of_it(host: Host) -> None:
    before = earlier(host)
    (host.root / PROFILES / "ours").write_text("uuid=uuid-ours edited")
    files, _, left = without(host, before)
    assert (files, left) == (BACK, [])


def test_what_another_changed_stays_with_its_link(host: Host) -> None:
    before = earlier(host)
    (host.root / PROFILES / "ours").write_text("uuid=uuid-ours edited")
    (host.root / NETPLAN / "4.yaml").write_text("net: {mine: 1}")
    (host.root / "elsewhere").write_text("uuid=uuid-theirs")
    (host.root / PROFILES / "theirs").symlink_to(host.root / "elsewhere")
    files, links, left = without(host, before, mine={})
    assert left == [f"/{PROFILES}/ours", f"/{PROFILES}/theirs", f"/{NETPLAN}/4.yaml"]
    assert files == {
        **BACK,
        f"{PROFILES}/ours": "uuid=uuid-ours edited",
        f"{NETPLAN}/4.yaml": "net: {mine: 1}",
        f"{PROFILES}/theirs": "uuid=uuid-theirs",
    }
    assert links["cx"] == {**CX, "profile": "uuid-ours"}, "its profile stays"
    assert links["cy"] == {**CX, "profile": "uuid-theirs"}


@pytest.mark.parametrize("text", ["uuid=uuid-ours mine", "uuid=uuid-ours edited"])
def test_the_link_of_a_profile_that_stays_stays_and_no_other(host: Host, text: str) -> None:
    before = earlier(host)
    (host.root / PROFILES / "ours").write_text(text)
    host.links["cy"] = link(profile="uuid-theirs", mtu=9000)
    _, links, left = without(host, before, mine={f"/{PROFILES}/theirs": "absent", f"/{NETPLAN}/4.yaml": "absent"})
    assert left == [f"/{PROFILES}/ours"] and links["cx"]["profile"] == "uuid-ours"
    assert links["cy"] == {**CX, "profile": "uuid-theirs"}, "as it was, not as it is"


def test_a_link_that_our_profile_made_since_is_not_kept(host: Host) -> None:
    before = earlier(host)
    host.links["cz"] = link(profile="uuid-ours")
    _, links, _ = without(host, before)
    assert set(links) == {"cx", "cy", "lan"}


def test_a_link_to_nothing_in_the_place_of_a_file_stays(host: Host) -> None:
    before = earlier(host)
    (host.root / PROFILES / "ours").unlink()
    (host.root / PROFILES / "theirs").symlink_to("/nowhere")
    _, _, left = without(host, before, mine={f"/{NETPLAN}/4.yaml": "absent"})
    assert left == [f"/{PROFILES}/theirs"]


def test_what_is_as_before_already_goes_back(host: Host) -> None:
    before = earlier(host)
    (host.root / NETPLAN / "4.yaml").write_text("net: {}")
    (host.root / PROFILES / "ours").unlink()
    files, _, left = without(host, before, mine={f"/{PROFILES}/theirs": "absent"})
    assert (files, left) == (BACK, [])


def test_the_undo_of_an_undo_is_about_what_the_first_run_was(host: Host) -> None:
    before = earlier(host)
    again = host.root / "var/lib/sparkrig/runs/again/guard"
    again.mkdir(parents=True)
    order = {
        "remove": ["x"],
        "move": [],
        "links": [],
        "profiles": [],
        "restore": f"/{before.relative_to(host.root)}",
    }
    (again / "order.json").write_text(json.dumps(order))
    origin = host.program.Origin(again)
    assert origin.uuids == {"uuid-ours", "uuid-theirs"} and origin.netdevs == {"cx", "cy"}
    assert origin.moved == {"etc/netplan/4.yaml"}
    assert origin.concerns("cx", OFF) and origin.concerns("lan", {"profile": "uuid-ours"})
    assert origin.concerns("cx", {"profile": "other"}) and not origin.concerns("lan", {"profile": "other"})


def test_a_commit_notes_what_it_made_of_each_file(host: Host) -> None:
    host.order(profiles=[{"uuid": "uuid-ours"}], move=["/etc/netplan/4.yaml"], remove=["uuid-theirs"])
    for path, text in {
        "etc/netplan/4.yaml": "net",
        f"{PROFILES}/same": "uuid-ours",
        f"{PROFILES}/theirs": "uuid-theirs",
    }.items():
        (host.root / path).write_text(text)
    host.program.snapshot(host.guard, {"cx"})
    (host.root / "etc/netplan/4.yaml").unlink()
    (host.root / PROFILES / "theirs").unlink()
    for name in ("new", "with\na newline"):
        (host.root / PROFILES / name).write_text("uuid-ours new")
    (host.root / PROFILES / "other").write_text("uuid-another")
    host.since()
    host.program.note_changes(host.guard)
    digest = host.program.digest
    rows = (host.folder / "changed").read_text().splitlines()
    assert rows == [
        f"absent {digest(host.root / PROFILES / 'new')} /{PROFILES}/new",
        f"{digest(host.guard.before / PROFILES / 'theirs')} absent /{PROFILES}/theirs",
        f"{digest(host.guard.before / NETPLAN / '4.yaml')} absent /{NETPLAN}/4.yaml",
    ]
    assert digest(host.root / "etc/netplan/4.yaml") == "absent" and len(rows[0].split()[1]) == 64
    size = (host.folder / "changed").stat().st_size
    assert host.since() == [f"fsync GUARD/.changed {size}", "fsync GUARD"] and not host.guard.changes.exists()


# --- what differs, and putting it back


def test_files_that_differ_are_ours_in_memory_and_all_that_last(host: Host) -> None:
    (host.root / VOLATILE / "sparkrig-kept").write_text("before")
    host.program.snapshot(host.guard, {"cx"})
    for place in (PROFILES, NETPLAN):
        (host.root / place / "b").write_text("new")
        (host.root / place / "a").write_text("new")
    (host.root / PROFILES / "old").write_text("spoiled")
    (host.root / PROFILES / "folder").mkdir()
    (host.root / VOLATILE / "sparkrig-kept").write_text("edited")
    for name in ("sparkrig-b", "sparkrig-a", "lo"):
        (host.root / VOLATILE / name).write_text("new")
    stale = [f"{PROFILES}/a", f"{PROFILES}/b", f"{PROFILES}/old", f"{NETPLAN}/a", f"{NETPLAN}/b"]
    stale += [f"{VOLATILE}/sparkrig-a", f"{VOLATILE}/sparkrig-b"]
    before = host.guard.before
    assert host.program.stale_files(before) == stale
    was = json.loads((before / "links.json").read_text())["links"]
    assert host.program.differences(before, was) == [f"{path} differs" for path in stale]
    assert host.program.restore_files(before) == stale and host.program.stale_files(before) == []
    assert host.program.restore_files(before) == []


DIFFER: dict[str, tuple[dict[str, Any], bool]] = {
    "the same": ({}, False),
    "without a carrier": ({"carrier": False}, False),
    "another MTU": ({"mtu": 1400}, True),
    "a larger MTU": ({"mtu": 9000}, True),
    "another profile": ({"profile": "zzzz"}, True),
    "an earlier profile": ({"profile": "aaaa"}, True),
    "another address": ({"addresses": ["10.0.0.0/24"]}, True),
    "a later address": ({"addresses": ["10.0.0.9/24"]}, True),
    "disconnected": ({"state": "disconnected"}, True),
    "external": ({"state": "connected (externally)"}, True),
}


def test_links_that_differ(host: Host) -> None:
    (host.root / PROFILES / "old").unlink()

    def row(changes: dict[str, Any], differs: bool) -> None:
        host.links = {"cx": link(**changes)}
        found = host.program.differences(host.folder, {"cx": CX})
        assert found == ([host.program.moved("cx", CX, host.program.links()["cx"])] if differs else [])

    each_row(DIFFER, row)
    host.links = {"cx": link(state="disconnected", profile="", addresses=["10.9.9.9/24"])}
    assert host.program.differences(host.folder, {"cx": OFF}) == [], "only a connected link is told by its address"
    host.links = {}
    assert host.program.differences(host.folder, {"cx": OFF}) == [
        "cx was not connected, MTU 1500, no address and is gone"
    ]


def test_links_that_cannot_be_read_are_a_difference(host: Host) -> None:
    (host.root / PROFILES / "old").unlink()
    for fault in host.program.FAULTS:
        host.effects["ip -j"] = fault("no")
        assert host.program.differences(host.folder, {"cx": CX}) == ["'no'" if fault is KeyError else "no"]
        host.program.restore_links({"cx": CX})
    assert all(line == "look" for line in host.since())


RESTORED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "as it was": (CX, CX, []),
    "down": (CX, OFF, ["nmcli --wait 60 connection up ours in 80 s"]),
    "by an earlier profile": (CX, {**CX, "profile": "aaaa"}, ["nmcli --wait 60 connection up ours in 80 s"]),
    "by a later profile": (CX, {**CX, "profile": "zzzz"}, ["nmcli --wait 60 connection up ours in 80 s"]),
    "with another address": (CX, {**CX, "addresses": []}, ["nmcli --wait 60 connection up ours in 80 s"]),
    "up, and was not": (OFF, CX, ["nmcli device disconnect cx"]),
    "external, and was not": (OFF, {**OFF, "external": True}, ["nmcli device disconnect cx"]),
    "down, as it was": (OFF, {**OFF, "addresses": ["10.0.0.9/24"]}, []),
    "smaller": (CX, {**CX, "mtu": 1400}, ["ip link set cx mtu 1500"]),
    "larger": (CX, {**CX, "mtu": 9000}, ["ip link set cx mtu 1500"]),
}


def test_a_link_goes_back_to_what_it_was(host: Host) -> None:
    host.program.Limits.patience = 2

    def row(was: dict[str, Any], here: dict[str, Any], did: list[str]) -> None:
        host.program.restore_link("cx", was, here)
        assert host.since() == did

    each_row(RESTORED, row)
    host.effects = {"up": host.trouble(), "mtu": host.trouble(), "disconnect": host.trouble()}
    host.program.restore_link("cx", CX, {**OFF, "mtu": 9000})
    host.program.restore_link("cx", OFF, {**CX, "mtu": 9000})
    assert len(host.since()) == 4


def test_links_that_are_gone_are_passed_over(host: Host) -> None:
    host.links["cx"]["mtu"] = 9000
    host.program.restore_links({"gone": CX, "cx": CX})
    assert host.since() == ["look", "ip link set cx mtu 1500"]
    host.program.restore_links({"gone": CX})
    assert host.since() == ["look"]


def test_an_answer_of_networkmanager_is_one_with_its_links(host: Host) -> None:
    assert host.program.nm_answers() is True
    assert host.since() == ["nmcli -t -f RUNNING general", "look"]
    for fault in host.program.FAULTS:
        for text in ("RUNNING", "DEVICE"):
            host.effects = {text: fault("no")}
            assert host.program.nm_answers() is False


def test_nothing_is_left_of_what_was_put_back(host: Host) -> None:
    host.program.snapshot(host.guard, {"cx"})
    assert host.program.put_back(host.guard.before) == []
    host.links["cx"]["mtu"] = 9000
    host.effects["ip link set"] = host.sets("cx", mtu=1500)
    assert host.program.put_back(host.guard.before) == []
    host.links["cx"]["mtu"] = 9000
    host.effects["ip link set"] = ""
    assert len(host.program.put_back(host.guard.before)) == 1


def test_a_rollback_of_networkmanager_alone_is_waited_for(host: Host) -> None:
    host.program.snapshot(host.guard, {"cx"})
    begun = host.now
    host.effects["ip link set"] = host.sets("cx", mtu=1500)
    host.links["cx"]["mtu"] = 9000
    assert host.program.put_back(host.guard.before) == [] and host.now == begun
    host.links["cx"]["mtu"] = 9000
    assert host.program.put_back(host.guard.before, 3) == [] and host.now >= begun + 3


def test_a_file_is_put_back_or_taken_away(host: Host) -> None:
    kept, here = host.root / "kept", host.root / "new/folder/here"
    kept.write_text("text")
    host.program.restore_file(kept, here)
    assert here.read_text() == "text" and [file.name for file in here.parent.iterdir()] == ["here"]
    kept.write_text("another")
    host.program.restore_file(kept, here)
    assert here.read_text() == "another"
    for _ in range(2):
        host.program.restore_file(host.root / "none", here)
        assert not here.exists()


def test_a_copy_has_mode_times_and_owner_and_is_roots_alone_until_then(host: Host) -> None:
    source, target = host.root / "source", host.root / "target"
    source.write_text("secret")
    source.chmod(0o640)
    os.utime(source, (1, 2))
    target.write_text("what a power cut left")
    program, owners, first = host.program, list[tuple[int, int]](), list[int]()
    real = os.open

    def opened(path: Any, flags: int, mode: int = 0o777) -> int:
        first.extend((flags, mode))
        return real(path, flags, mode)

    program.os = SimpleNamespace(
        **{**vars(program.os), "open": opened, "fchown": lambda _, *who: owners.append(who)}
    )
    assert program.copy_owned(str(source), str(target)) == str(target)
    assert first == [os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600]
    assert owners == [(source.stat().st_uid, source.stat().st_gid)]
    found = target.stat()
    assert (found.st_mode & 0o777, found.st_mtime, target.read_text()) == (0o640, 2, "secret")
    assert host.since() == ["fsync /target 6"]
    target.unlink()
    program.copy_owned(source, target)
    assert target.read_text() == "secret"


def test_what_is_no_file_is_not_copied(host: Host) -> None:
    (host.root / "mask").symlink_to("/dev/null")
    (host.root / "file").write_text("")
    assert host.program.no_files(str(host.root), ["mask", "file", "etc"]) == ["mask", "etc"]


# --- the disk


def test_a_file_is_written_whole(host: Host) -> None:
    file = host.root / "file"
    for text in ("first", "and the second"):
        host.program.write(file, text)
        assert file.read_text() == text
        assert host.since() == [f"fsync /.file.new {len(text)}", "fsync ROOT"]


def test_a_file_with_room_is_overwritten_in_it(host: Host) -> None:
    file = host.root / "file"
    file.write_text("x" * 20000)
    host.program.overwrite(file, "short")
    assert file.read_text() == "short" and host.since() == ["fsync /file 5"]
    host.program.overwrite(file, "\N{BULLET}" * 9000)
    assert file.read_text() == "\N{BULLET}" * (16384 // 3), "no half of a letter"
    host.program.overwrite(file, "x" * 16384)
    assert file.stat().st_size == 16384
    host.program.overwrite(file, "x" * 16385)
    assert file.stat().st_size == 16384
    host.program.overwrite(file, "a\udcff")
    assert file.read_text() == "a\\udcff"


def test_folders_are_synced_with_their_files(host: Host) -> None:
    (host.root / PROFILES / "mask").symlink_to("/dev/null")
    (host.root / PROFILES / "link").symlink_to("old")
    (host.root / PROFILES / "folder").mkdir()
    host.program.sync("none", PROFILES, NETPLAN)
    assert host.since() == [
        "fsync /etc/NetworkManager/system-connections/old 6",
        "fsync /etc/NetworkManager/system-connections",
        "fsync /etc/netplan",
    ]


def test_a_folder_is_synced_with_all_in_it_and_its_names(host: Host) -> None:
    (host.folder / "a/b").mkdir(parents=True)
    (host.folder / "a/b/file").write_text("x")
    (host.folder / "order.json").write_text("{}")
    host.program.sync_all(host.folder)
    above = (
        "/var/lib/sparkrig/runs/RUN",
        "/var/lib/sparkrig/runs",
        "/var/lib/sparkrig",
        "/var/lib",
        "/var",
        "ROOT",
    )
    assert host.since() == [
        *("fsync GUARD/order.json 2", "fsync GUARD", "fsync GUARD/a", "fsync GUARD/a/b/file 1", "fsync GUARD/a/b"),
        *(f"fsync {path}" for path in above),
    ]


def test_what_is_synced_is_closed(host: Host) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    host.program.fsync(host.root)
    host.program.os.fsync = lambda _: raised(OSError("no"))
    with pytest.raises(OSError, match="no"):
        host.program.fsync(host.root)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_state_is_noted_in_the_room_that_it_has(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.guard.before.mkdir()
    host.guard.reserve()
    host.since()
    host.guard.say("applied", "why")
    assert host.since() == ["fsync GUARD/.state.applied 12", "fsync GUARD"]
    assert (host.told(), (host.folder / "state").read_text()) == (("applied", "why"), "applied\nwhy\n")
    host.guard.say("applied", "again")
    assert host.since() == ["fsync GUARD/.state.new 14", "fsync GUARD"] and host.told() == ("applied", "again")
    host.program.overwrite = lambda *_: raised(OSError("full"))
    host.program.fsync = lambda *_: raised(OSError("no sync"))
    host.guard.say("rolled-back", "lost")
    state, detail = host.told()
    assert state == "rolled-back" and detail.endswith("not as before: unknown, as the disk was full")
    assert capsys.readouterr().err == "full\nno sync\n"


def test_a_step_is_noted_and_synced(host: Host) -> None:
    for number, what in enumerate(("begun", "ended 0")):
        host.now = 1000.9 + number
        host.guard.journal(what)
    assert host.steps() == ["1000 begun links", "1001 ended 0 links"]
    assert host.since() == [f"fsync /var/lib/sparkrig/runs/RUN/steps {size}" for size in (17, 36)]


# --- commands


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """The guard with its own way of calling a tool."""
    return loaded(tmp_path)


def test_a_command_is_given_its_time_and_an_english_tongue(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], dict[str, Any]]] = []

    def run(command: list[str], **words: Any) -> Any:
        asked.append((command, words))
        return SimpleNamespace(returncode=0, stdout="out", stderr="err")

    monkeypatch.setattr(program.subprocess, "run", run)
    program.Limits.patience = 2
    for seconds, given in (((), 20), ((7,), 7)):
        assert program.run(["tool", "word"], *seconds) == "out"
        command, words = asked.pop()
        env = words.pop("env")
        assert (command, words["timeout"], env["LC_ALL"]) == (["tool", "word"], given, "C.UTF-8")
        assert {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "PYTEST_CURRENT_TEST": env["PYTEST_CURRENT_TEST"],
        }.items() <= env.items()
        program.attempt(["tool"], *seconds)
        assert asked.pop()[1]["timeout"] == given


FAILS = {
    "with a word of its own": ("echo a; echo b >&2; exit 3", "sh -c echo a; echo b >&2; exit 3 one ...: b"),
    "with what it printed": ("echo ' a  b'; exit 1", "sh -c echo ' a  b'; exit 1 one ...: a b"),
}


def test_what_a_command_said_is_the_trouble(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["sh", "-c", "echo a; echo b >&2"]) == "a\n"

    def row(script: str, why: str) -> None:
        command = ["sh", "-c", script, "one", "two"]
        with pytest.raises(program.Trouble) as trouble:
            program.run(command)
        assert str(trouble.value) == why
        program.attempt(command)
        assert capsys.readouterr().err == f"{why}\n"

    each_row(FAILS, row)
    with pytest.raises(program.Trouble, match=r"^/no/such/tool: \[Errno 2\]"):
        program.run(["/no/such/tool", "word"])
    with pytest.raises(program.Trouble, match=r"^sleep: .* timed out after 0.01 seconds"):
        program.run(["sleep", "9"], 0.01)


def test_the_program_calls_itself(host: Host) -> None:
    host.program.python("apply", host.guard, ["head", "er"], "a word")
    assert host.since() == ["head er python3 GUARD/guard.py apply a word"]


def test_a_verb_is_imported_from_its_folder_and_stays_compiled(host: Host, tmp_path: Path) -> None:
    """The words of the host's own unit and of each question, which are the same ones."""
    shared = programs.text("operations/guard_verb.sh")
    assert f"python3 -I -S -c \\\n    '{host.program.BY_IMPORT}' \"$@\"\n" in shared
    run = tmp_path / "run"
    (run / "guard").mkdir(parents=True)
    (run / "guard/guard.py").write_text("def main(words):\n    print(__file__, words)\n    return 3\n")
    done = sh(operations.ASK, str(run / "guard"), "revert", "a 'why'")
    assert (done.returncode, done.stdout) == (3, f"{run}/guard/guard.py ['revert', \"a 'why'\"]\n")
    assert sh(operations.ASK, str(run / "guard"), "wait", "").stdout.endswith(" ['wait']\n")
    assert [*(run / "guard/__pycache__").glob("guard.*.pyc")]


def test_what_is_done_side_by_side_all_ends_before_its_first_fault_is_raised(program: Any) -> None:
    did, first = list[str](), threading.Event()

    def act(row: str) -> None:
        if row == "bad":
            first.set()
            raise ZeroDivisionError(row)  # also what is no trouble of a tool's
        assert first.wait(10)
        time.sleep(0.01)
        did.append(row)

    with pytest.raises(ZeroDivisionError, match="bad"):
        program.side_by_side(act, ["a", "bad", "b"])
    assert sorted(did) == ["a", "b"]
    program.side_by_side(act, ["c"])
    program.side_by_side(act, [])
    assert sorted(did) == ["a", "b", "c"]


def test_what_may_fail_is_said_and_no_more(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done: list[tuple[int, ...]] = []
    program.try_to(lambda *words: done.append(words), 1, 2)
    assert done == [(1, 2)]
    for fault in program.FAULTS:
        program.try_to(raised, fault("no"))
        assert capsys.readouterr().err.strip("'\n") == "no"
    with pytest.raises(ZeroDivisionError):
        program.try_to(lambda: 1 // 0)


def test_looking_again_ends_in_time(host: Host) -> None:
    host.now, left = 0.0, [False, True]
    assert host.program.until(lambda: left.pop(0), 9) is True and host.now == 0.3
    host.now = 0.0
    assert host.program.until(lambda: False, 0.3) is False and host.now == 0.3
    assert host.program.until(lambda: False, 0) is False and host.now == 0.3
    host.now, left = 0.0, [False, False, True]
    assert host.program.until(lambda: left.pop(0), 9, pause=0.1) is True and host.now == 0.2


def test_netplan_renders_where_it_is(host: Host) -> None:
    def generated() -> list[str]:
        host.program.generate()
        return host.since()

    host.program.Limits.patience = 2
    assert generated() == ["netplan generate in 60 s"]
    host.program.shutil.which = lambda name: None if name == "netplan" else name
    assert generated() == []
    host.program.shutil.which = str
    (host.root / NETPLAN).rmdir()
    assert generated() == []
    host.program.reload_definitions()
    assert host.since() == ["nmcli connection reload"]


def test_only_what_is_active_is_taken_down(host: Host) -> None:
    host.active = ["aa", "ab"]
    for uuid in ("aa", "a", "b"):
        host.program.deactivate(uuid)
    active = "nmcli -t -f UUID connection show --active"
    assert host.since() == [active, "nmcli connection down aa", active, active]


# --- the whole program


def test_an_answer_is_one_object(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.program.__file__ = str(host.folder / "guard.py")
    host.order(patience=2.5)
    host.guard.say("committed", "and so on")
    for verb in ("start", "wait", "apply", "commit", "rollback", "revert", "recover"):
        setattr(host.program, verb, lambda guard, *words, verb=verb: host.note(f"{verb} {guard.run} {words}"))
        host.since()
        assert host.program.main([verb, "why"]) == 0
        assert host.since() == [f"{verb} RUN ('why',)"]
        assert json.loads(capsys.readouterr().out) == {"state": "committed", "detail": "and so on", "left": 0}
    assert host.program.Limits.patience == 2.5
    host.order()
    host.program.main(["wait"])
    assert host.program.Limits.patience == 1
    host.program.start = lambda guard: guard.unsaid.update(state="rolled-back", detail="full", left=0)
    capsys.readouterr()
    host.program.main(["start"])
    assert json.loads(capsys.readouterr().out) == {"state": "rolled-back", "detail": "full", "left": 0}


def test_an_order_that_cannot_be_read_stops_no_way_back(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.program.__file__ = str(host.folder / "guard.py")
    (host.folder / "order.json").write_text("half of")
    host.program.recover = lambda guard: host.note("recover")
    assert host.program.main(["recover"]) == 0 and host.since() == ["recover"]
    assert host.program.Limits.patience == 1 and host.program.slow(3) == 3
    assert json.loads(capsys.readouterr().out)["state"] == "none"


def test_it_is_run_with_the_words_after_its_name(host: Host) -> None:
    (host.folder / "guard.py").write_text(Path(host.program.__spec__.origin).read_text())
    words = [sys.executable, str(host.folder / "guard.py"), "wait"]
    env = {**os.environ, "SPARKRIG_ROOT": str(host.root)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env, timeout=60)
    assert (done.returncode, json.loads(done.stdout)["state"]) == (0, "none"), done.stderr
