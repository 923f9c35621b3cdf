"""The guard's verbs word for word: every command with its limit, every lock and every sync, in one order."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tables import each_row
from tests.unit.templates.guarded_host import NETPLAN, PROFILES, UNITS, VOLATILE, Host, link

UNIT = f"{UNITS}/sparkrig-guard.service"
WANTS = f"{UNITS}/multi-user.target.wants"
RECORD = "var/lib/sparkrig/bandwidth.json"
LOOKED = ["look", "ip -4 -j route show default"]
DESTROYED = "busctl call NM /NM NM CheckpointDestroy o /a/path"
BY_NETWORKMANAGER = "busctl call NM /NM NM CheckpointRollback o /a/path in 30 s"
SYNCED = [
    "fsync /etc/NetworkManager/system-connections/old 6",
    "fsync /etc/NetworkManager/system-connections",
    "fsync /etc/netplan",
]
STOPPED = "systemctl stop sparkrig-deadman-RUN.timer"
ASKED = "systemctl list-units --all --plain --no-legend sparkrig-guard.service"
DISARMED = [
    STOPPED,
    "fsync /etc/systemd/system/multi-user.target.wants",
    "fsync /etc/systemd/system",
    ASKED,
    "systemctl --no-block daemon-reload",
]
RELEASED = "fsync GUARD"  # the room for what is put back


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def every_kind(host: Host) -> None:
    """An order with a profile of each verb, some to remove, a file to move and a record to discard."""
    (host.root / NETPLAN / "40-cx7.yaml").write_text("network: {}")
    (host.root / RECORD).write_text("good")
    profiles = [
        {"uuid": "new", "verb": "add", "properties": {"ipv4.method": "manual", "ipv4.dns": ""}},
        {"uuid": "ours", "verb": "modify", "properties": {"mtu": "9000"}},
        {"uuid": "aaaa", "verb": "activate", "properties": {"mtu": "9000"}},
        {"uuid": "zzzz", "verb": "zzzz", "properties": {}},
    ]
    moved = ["/etc/netplan/40-cx7.yaml", "/etc/netplan/gone.yaml"]
    host.order(profiles=profiles, remove=["theirs", "idle"], move=moved, discard=[f"/{RECORD}", "/var/none"])
    host.active = ["theirs", "ours"]
    host.effects["connection up ours"] = host.sets("cx", mtu=9000)


# --- arming


def test_a_snapshot_keeps_files_and_what_the_links_are(host: Host) -> None:
    (host.root / PROFILES / "mask").symlink_to("/dev/null")
    (host.root / VOLATILE / "lo").write_text("in memory")
    (host.root / NETPLAN).rmdir()
    up = {"connected": True, "external": False, "passing": False, "profile": "ours", "mtu": 1500, "carrier": True}
    host.links |= {
        "coming": link(state="connecting (prepare)", profile=""),
        "ordered": link(state="deactivating", profile=""),
        "docker0": link(state="connected (externally)", profile="docker"),
        "theirs": link(state="connecting (externally)", profile="docker"),
    }
    host.program.sync_all = lambda folder: host.note(f"sync all of {folder}")
    before = os.umask(0)
    try:
        host.program.snapshot(host.guard, {"ordered", "theirs"})
    finally:
        os.umask(before)
    found = json.loads((host.guard.before / "links.json").read_text())
    lan = {**up, "profile": "lan", "addresses": ["192.0.2.2/24"]}
    going = {**up, "connected": False, "passing": True, "profile": "", "addresses": ["10.0.0.1/24"]}
    assert found == {
        "links": {"cx": {**up, "addresses": ["10.0.0.1/24"]}, "lan": lan, "ordered": going},
        "default": ["192.0.2.1 over lan"],
    }
    files = {str(path.relative_to(host.guard.before)) for path in host.guard.before.rglob("*") if path.is_file()}
    assert files == {f"{PROFILES}/old", f"{VOLATILE}/lo", "links.json"}
    assert host.guard.before.stat().st_mode & 0o777 == 0o700
    links, size = len((host.guard.before / "links.json").read_text()), host.guard.room.stat().st_size
    assert size == 6 + 9 + links + 2 * 4096 * 4
    reserved = [f"GUARD/..{name}" for name in ("state.applied", "state.committed", "state.rolled-back", "changed")]
    assert host.since() == [
        "fsync GUARD/before/etc/NetworkManager/system-connections/old 6",
        "fsync GUARD/before/run/NetworkManager/system-connections/lo 9",
        *LOOKED,
        *(f"fsync GUARD/before/.links.json.new {links}", "fsync GUARD/before"),
        *(line for path in reserved for line in (f"fsync {path}.new 16384", "fsync GUARD")),
        "sync all of GUARD",
    ]
    assert host.guard.lock.read_text() == "" and host.guard.changes.read_text().strip() == ""
    for state in ("applied", "committed", "rolled-back"):
        word, _, detail = host.guard.reserved(state).read_text().partition("\n")
        assert (word, "unknown, as the disk was full" in detail) == (state, state == "rolled-back")


def test_room_is_taken_for_each_file_and_given_back(host: Host) -> None:
    host.guard.before.mkdir()
    (host.guard.before / "a").mkdir()
    (host.guard.before / "a/file").write_text("x" * 5000)
    host.guard.reserve()
    assert host.guard.room.stat().st_size == 5000 + 2 * 4096 * 2
    host.guard.release()
    assert not host.guard.room.exists() and host.since()[-1] == RELEASED
    host.guard.release()
    assert host.since() == []


def test_every_way_back_is_armed(host: Host) -> None:
    host.now = 1000.25
    for again in (False, True):
        host.program.arm(host.guard, 90)
        unit = (host.root / UNIT).read_text()
        assert host.since() == [
            f"fsync /etc/systemd/system/.sparkrig-guard.service.new {len(unit)}",
            "fsync /etc/systemd/system",
            "fsync /etc/systemd/system/multi-user.target.wants",
            "fsync /etc/systemd/system",
            "systemd-run --quiet --collect --unit=sparkrig-deadman-RUN --on-active=95 "
            "--timer-property=AccuracySec=1s python3 GUARD/guard.py rollback it was not confirmed within 90 s",
            "busctl call NM /NM NM CheckpointCreate aouu 0 90 6",
            "fsync GUARD/.checkpoint.new 7",
            "fsync GUARD",
            "fsync GUARD/.deadline.new 44",
            "fsync GUARD",
            "fsync GUARD/.state.new 7",
            "fsync GUARD",
        ], again
    assert unit.splitlines() == [
        "[Unit]",
        "Description=sparkrig: take back a change that was not confirmed before the reboot",
        "DefaultDependencies=no",
        f"RequiresMountsFor={host.folder}",
        "After=local-fs.target",
        "Before=NetworkManager.service network-pre.target",
        "",
        "[Service]",
        "Type=oneshot",
        f"ExecStart={sys.executable} {host.folder}/guard.py recover",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    assert (host.root / WANTS / "sparkrig-guard.service").readlink() == Path("../sparkrig-guard.service")
    told = host.guard.told()
    assert (
        told == {"state": "armed", "detail": "", "left": 90}
        and (host.folder / "checkpoint").read_text() == "/a/path"
    )
    host.now += 89.96
    assert host.guard.told()["left"] == 0 and host.guard.state == "armed"
    host.now -= 9.96
    assert host.guard.told()["left"] == 10
    host.now -= 0.37
    assert host.guard.told()["left"] == 10.4
    host.now += 999
    assert host.guard.told()["left"] == 0
    host.guard.say("committed")
    host.now = 0
    assert host.guard.told() == {"state": "committed", "detail": "", "left": 0}


def test_a_checkpoint_is_given_up_where_it_cannot_be_noted(host: Host) -> None:
    for fault in host.program.FAULTS:
        (host.folder / "deadline").unlink(missing_ok=True)
        host.guard.say = lambda *_, fault=fault: raised(fault("no room"))
        with pytest.raises(fault, match="no room"):
            host.program.arm(host.guard, 90)
        assert host.since()[-1] == DESTROYED, fault


def raised(error: Exception) -> None:
    raise error


def test_what_starts_is_armed_first_and_then_applied_by_a_unit(host: Host) -> None:
    host.effects["connection up"] = host.sets("cx", mtu=9000)
    for name in ("require_no_other_guard", "require_free_checkpoint", "snapshot", "arm"):
        noted(host, name)
    host.program.start(host.guard)
    did = host.since("fsync", "look", "ip", "lock", "nmcli")
    assert did == [
        "require_no_other_guard",
        "require_free_checkpoint",
        "busctl --json=short get-property NM /NM NM Checkpoints",
        "snapshot",
        "arm",
        "systemd-run --quiet --collect --unit=sparkrig-deadman-RUN --on-active=95 "
        "--timer-property=AccuracySec=1s python3 GUARD/guard.py rollback it was not confirmed within 90 s",
        "busctl call NM /NM NM CheckpointCreate aouu 0 90 6",
        "systemd-run --quiet --collect --unit=sparkrig-apply-RUN --property=RuntimeMaxSec=90 "
        f"python3 -I -S -c {host.program.BY_IMPORT} GUARD apply",
    ]
    assert host.told() == ("applied", "") and host.steps() == ["1000 begun links"]
    assert host.guard.unsaid == {}


def noted(host: Host, name: str) -> None:
    """Has a function of the guard noted as it is called."""
    was = getattr(host.program, name)

    def call(*words: Any) -> Any:
        host.note(name)
        return was(*words)

    setattr(host.program, name, call)


def test_only_the_ordered_links_are_kept_while_they_come_up(host: Host) -> None:
    host.links["cx"] = link(state="connecting", profile="", mtu=9000)
    host.links["new"] = link(state="connecting", profile="")
    host.effects["connection up"] = host.sets("cx", state="connected", profile="ours")
    host.program.start(host.guard)
    links = json.loads((host.guard.before / "links.json").read_text())["links"]
    assert host.told() == ("applied", "") and set(links) == {"cx", "lan"}


STARTS = {
    "another's checkpoint": "get-property",
    "a snapshot": "nmcli -t -f DEVICE",
    "the dead-man": "--on-active",
    "the checkpoint": "CheckpointCreate",
}


def test_what_cannot_be_armed_changes_nothing(tmp_path: Path) -> None:
    def row(text: str) -> None:
        for number, fault in enumerate((None, OSError, ValueError, KeyError)):
            host = Host(tmp_path / f"{len(text)}.{number}")
            host.effects[text] = (fault or host.program.Trouble)("no room")
            host.program.start(host.guard)
            why = "'no room'" if fault is KeyError else "no room"
            assert host.told() == ("rolled-back", f"{why}; nothing was changed")
            assert host.guard.unsaid == {
                "state": "rolled-back",
                "detail": f"{why}; nothing was changed",
                "left": 0,
            }
            assert host.steps() == ["1000 begun links", "1000 ended 1 links"]
            did = host.since("fsync")
            assert did[-3:] == [STOPPED, *DISARMED[3:]]
            assert not any("nmcli connection" in line or "apply" in line for line in did)
            assert not (host.root / UNIT).exists() and not host.guard.room.exists()

    each_row({name: (text,) for name, text in STARTS.items()}, row)


def test_a_full_disk_is_told_by_the_answer_alone(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the state nor the step can be written; both are tried, each by itself."""
    begun = [host.guard.journal]
    host.guard.journal = lambda what: begun.pop()(what) if begun else raised(OSError("full"))
    host.guard.say = lambda *_: raised(OSError("full, too"))
    host.effects["get-property"] = host.trouble()
    host.program.start(host.guard)
    assert capsys.readouterr().err == "full, too\nfull\n"
    assert host.guard.unsaid["detail"] == "no; nothing was changed"


def test_what_no_unit_can_apply_is_taken_back(host: Host) -> None:
    host.effects["--unit=sparkrig-apply"] = host.trouble("systemd has gone")
    host.program.start(host.guard)
    assert host.told() == ("rolled-back", "systemd has gone")
    assert host.since("fsync")[-7:] == [
        "systemctl stop sparkrig-apply-RUN.service",
        "lock GUARD/lock",
        BY_NETWORKMANAGER,
        "look",
        STOPPED,
        *DISARMED[3:],
    ]


def test_what_starts_waits_for_the_unit(host: Host) -> None:
    """It applies side by side; the answer is what came of it."""
    host.effects["--unit=sparkrig-apply"] = ""
    host.effects["connection up"] = host.sets("cx", mtu=9000)

    def sleep(seconds: float) -> None:
        host.now += seconds
        if host.now > 1003:
            host.program.apply(host.guard)

    host.program.time.sleep = sleep
    host.program.start(host.guard)
    assert host.told() == ("applied", "") and 1003 < host.now < 1004


def test_it_is_waited_for_whatever_ends_it(host: Host) -> None:
    """For the window, the dead-man, and all of a way back."""
    host.guard.say("armed")
    host.program.Limits.patience = 2
    host.program.wait(host.guard)
    assert host.now - 1000 == pytest.approx(90 + 5 + 2 * (10 + 765), abs=0.31)
    for state in ("applied", "committed", "rolled-back", "none"):
        host.guard.say(state)
        host.now = 1000
        host.program.wait(host.guard)
        assert host.now == 1000


# --- applying


def test_what_is_applied_is_in_memory(host: Host) -> None:
    every_kind(host)
    host.program.snapshot(host.guard, {"cx"})
    host.guard.say("armed")
    host.since()
    host.program.Limits.patience = 2
    host.program.apply(host.guard)
    assert host.since() == [
        "nmcli connection add save no type ethernet connection.uuid new ipv4.method manual ipv4.dns ",
        "nmcli connection modify --temporary ours mtu 9000",
        "nmcli --wait 20 connection up new in 40 s",
        "nmcli --wait 20 connection up ours in 40 s",
        "nmcli --wait 20 connection up aaaa in 40 s",
        "nmcli --wait 20 connection up zzzz in 40 s",
        "nmcli -t -f UUID connection show --active",
        "nmcli connection down theirs",
        "nmcli -t -f UUID connection show --active",
        *LOOKED,
        "lock GUARD/lock",
        "fsync GUARD/.state.applied 9",
        "fsync GUARD",
    ]
    assert host.told() == ("applied", "")


def test_an_apply_that_ends_late_changes_no_state(host: Host) -> None:
    for state in ("rolled-back", "aaa"):
        host.program.shutil.rmtree(host.guard.before, ignore_errors=True)
        host.program.snapshot(host.guard, {"cx"})
        host.guard.say(state)
        host.effects["connection up"] = host.sets("cx", mtu=9000)
        host.program.apply(host.guard)
        assert host.told() == (state, "")


def test_what_does_not_apply_is_given_up(host: Host) -> None:
    for fault in (host.program.Trouble, OSError, ValueError, IndexError):
        host.in_state("armed")
        host.effects["connection up"] = fault("no such luck")
        host.program.apply(host.guard)
        assert host.told() == ("rolled-back", "no such luck")
        assert host.since("fsync", "nmcli") == ["lock GUARD/lock", "look", STOPPED, *DISARMED[3:]]


def test_what_an_undo_leaves_to_others_is_told(host: Host) -> None:
    host.program.without = lambda guard, earlier: (earlier, ["/etc/a", "/etc/b"])
    host.program.put_back = lambda wanted: [f"{wanted.relative_to(host.root)} differs"]
    host.in_state("armed")
    host.order(profiles=[], links=[], restore="/var/before")
    host.program.apply(host.guard)
    stays = " stays as another one left it"
    assert host.told() == ("applied", f"var/before differs; /etc/a{stays}; /etc/b{stays}")


# --- committing


def test_a_commit_decides_saves_looks_syncs_and_disarms(host: Host) -> None:
    every_kind(host)
    host.program.start(host.guard)
    host.since()
    host.program.commit(host.guard)
    saved = [
        line
        for uuid in ("new", "ours", "aaaa", "zzzz")
        for line in (
            f"busctl call NM /NM/Settings NM.Settings GetConnectionByUuid s {uuid}",
            "busctl call NM /a/path NM.Settings.Connection Save",
        )
    ]
    changed = (host.folder / "changed").read_text()
    moved = host.program.digest(host.guard.before / NETPLAN / "40-cx7.yaml")
    assert changed == f"{moved} absent /{NETPLAN}/40-cx7.yaml\n"
    assert host.since() == [
        "lock GUARD/lock",
        DESTROYED,
        *saved,
        "nmcli connection delete theirs",
        "nmcli connection delete idle",
        "netplan generate in 30 s",
        "nmcli connection reload",
        *LOOKED,
        *SYNCED,
        f"fsync GUARD/.changed {len(changed)}",
        "fsync GUARD",
        "fsync GUARD/.state.committed 11",
        "fsync GUARD",
        *DISARMED[:3],
        RELEASED,
        *DISARMED[3:],
        "fsync /var/lib/sparkrig/runs/RUN/steps 36",
    ]
    assert host.told() == ("committed", "") and host.steps() == ["1000 begun links", "1000 ended 0 links"]
    assert not (host.root / RECORD).exists() and not (host.root / UNIT).exists()
    assert (host.folder / "discarded-bandwidth.json").read_text() == "good"
    assert host.files(NETPLAN) == {} and not (host.root / WANTS / "sparkrig-guard.service").is_symlink()
    host.program.commit(host.guard)
    assert host.since() == ["lock GUARD/lock"]


def test_what_is_not_applied_is_not_committed(host: Host) -> None:
    for state in ("none", "armed", "rolled-back", "committed", "aaa", "zzz"):
        host.guard.say(state)
        host.since()
        host.program.commit(host.guard)
        assert (host.since(), host.told()) == (["lock GUARD/lock"], (state, ""))


COMMITS = {
    "the checkpoint": ("CheckpointDestroy", True),
    "a profile": ("GetConnectionByUuid", False),
    "a file of it": ("Connection Save", False),
    "what goes": ("connection delete", False),
    "a look": ("ip -4", False),
}


def test_what_cannot_be_committed_goes_back(tmp_path: Path) -> None:
    def row(text: str, is_gone: bool) -> None:
        for number, fault in enumerate((None, OSError, ValueError, KeyError)):
            host = Host(tmp_path / f"{text.replace('/', '')}{number}")
            host.order(remove=["theirs"])
            host.applied()
            host.effects = {
                text: (fault or host.program.Trouble)("no"),
                "CheckpointRollback": host.sets("cx", mtu=1500),
            }
            host.program.commit(host.guard)
            why = "NetworkManager no longer had the checkpoint (it ran out, or NetworkManager was restarted)"
            if fault or not is_gone:
                why = "'no'" if fault is KeyError else "no"
            assert host.told() == ("rolled-back", why)
            assert host.steps()[-1] == "1000 ended 1 links" and not (host.root / UNIT).exists()

    each_row(COMMITS, row)


def test_systemd_is_reloaded_only_where_it_has_read_the_unit_of_the_boot(host: Host) -> None:
    """A reload runs every generator of systemd, which a slow host feels in its next steps."""

    def disarms(loaded: str | Exception, reloads: bool) -> None:
        host.effects["list-units"] = loaded
        host.since()
        host.program.disarm(host.guard)
        did = host.since("fsync")
        assert did == [STOPPED, ASKED, *(DISARMED[4:] if reloads else [])]

    each_row([("", False), (f"{host.loaded}\n", True), (host.trouble("no bus"), True)], disarms)


def test_a_commit_keeps_what_its_apply_left(host: Host) -> None:
    host.applied()
    host.guard.say("applied", "/etc/a stays")
    host.program.commit(host.guard)
    assert host.told() == ("committed", "/etc/a stays")


def test_without_a_file_to_move_nothing_is_read_again(host: Host) -> None:
    host.applied()
    host.program.commit(host.guard)
    assert not any(
        ("reload" in line and "daemon" not in line) or "netplan generate" in line for line in host.since()
    )


# --- going back


def test_a_rollback_ends_what_still_applies(host: Host) -> None:
    for state, ends in (("armed", True), ("applied", False), ("aaa", False), ("zzz", False)):
        host.in_state(state)
        host.program.rollback(host.guard, "why")
        assert ("systemctl stop sparkrig-apply-RUN.service" in host.since()) is ends
        assert host.told() == (("rolled-back", "why") if state in ("armed", "applied") else (state, ""))
    host.in_state("armed")
    host.program.revert(host.guard, "why")
    assert "systemctl stop sparkrig-apply-RUN.service" in host.since()


def test_the_way_back_reads_any_bytes(host: Host) -> None:
    for file in ("state", "deadline", "order.json"):
        host.in_state("applied")
        (host.folder / file).write_bytes(b"\xff\xfe")
        if file == "state":
            host.program.commit(host.guard)
        assert host.told()[0] == ("armed" if file == "state" else "applied")
        host.program.rollback(host.guard, "why")
        assert host.told() == ("rolled-back", "why")


def test_a_rollback_that_networkmanager_does(host: Host) -> None:
    host.applied()
    host.effects["CheckpointRollback"] = host.sets("cx", mtu=1500)
    host.program.Limits.patience = 2
    host.program.rollback(host.guard, "why")
    assert host.since() == [
        "lock GUARD/lock",
        RELEASED,
        "busctl call NM /NM NM CheckpointRollback o /a/path in 60 s",
        "look",
        *SYNCED,
        "fsync GUARD/.state.rolled-back 16",
        "fsync GUARD",
        "fsync /var/lib/sparkrig/runs/RUN/steps 36",
        *DISARMED,
    ]
    assert host.told() == ("rolled-back", "why") and host.steps()[-1] == "1000 ended 1 links"
    assert host.now == 1000
    for verb in (host.program.rollback, host.program.revert):
        verb(host.guard, "again")
        assert (host.since(), host.told()) == (["lock GUARD/lock"], ("rolled-back", "why"))


def test_a_revert_takes_back_what_was_committed_with_its_record(host: Host) -> None:
    (host.root / RECORD).write_text("good")
    host.order(discard=[f"/{RECORD}", "/var/none"])
    host.applied()
    assert (host.root / RECORD).read_text() == "good", "what is not confirmed discards nothing"
    host.program.commit(host.guard)
    assert not (host.root / RECORD).exists()
    host.effects["ip link set cx"] = host.sets("cx", mtu=1500)
    host.program.revert(host.guard, "the other half")
    assert host.told() == ("rolled-back", "the other half") and (host.root / RECORD).read_text() == "good"


def test_what_was_changed_is_put_back_without_networkmanager(host: Host) -> None:
    """The checkpoint has gone; files and links go back, with a restart of NetworkManager where that is needed."""
    every_kind(host)
    host.program.start(host.guard)
    for place, text in {f"{PROFILES}/old": "spoiled", f"{PROFILES}/new": "added"}.items():
        (host.root / place).write_text(text)
    (host.root / NETPLAN / "40-cx7.yaml").unlink()
    (host.root / VOLATILE / "sparkrig-cx").write_text("in memory")
    (host.root / VOLATILE / "theirs").write_text("in memory")
    host.effects = {"CheckpointRollback": host.trouble()}
    restarted: list[None] = []
    host.effects["restart NetworkManager"] = lambda: restarted.append(None)
    host.effects["ip link set cx"] = lambda: restarted and host.links["cx"].update(mtu=1500)
    host.since()
    host.program.Limits.patience = 2
    host.program.give_up(host.guard, "why")
    did = host.since()
    files = sorted(line for line in did if line.endswith((".old.sparkrig 6", ".40-cx7.yaml.sparkrig 11")))
    assert files == [
        "fsync /etc/NetworkManager/system-connections/.old.sparkrig 6",
        "fsync /etc/netplan/.40-cx7.yaml.sparkrig 11",
    ]
    assert [line for line in did if line not in files] == [
        "lock GUARD/lock",
        RELEASED,
        "busctl call NM /NM NM CheckpointRollback o /a/path in 60 s",
        "look",
        "looks again for 10.2 s",
        "nmcli -t -f RUNNING general",
        "look",
        "netplan generate in 60 s",
        "nmcli connection reload",
        "look",
        "ip link set cx mtu 1500",
        "look",
        "looks again for 40.2 s",
        "systemctl restart NetworkManager in 200 s",
        "nmcli -t -f RUNNING general",
        "look",
        "look",
        "ip link set cx mtu 1500",
        "look",
        *SYNCED[:2],
        "fsync /etc/netplan/40-cx7.yaml 11",
        SYNCED[2],
        "fsync GUARD/.state.rolled-back 16",
        "fsync GUARD",
        "fsync /var/lib/sparkrig/runs/RUN/steps 36",
        *DISARMED,
    ]
    assert host.files() == {"old": "before"} and host.files(NETPLAN) == {"40-cx7.yaml": "network: {}"}
    assert host.files(VOLATILE) == {"theirs": "in memory"} and host.told() == ("rolled-back", "why")


def test_a_networkmanager_that_does_not_answer_is_restarted_first(host: Host) -> None:
    host.applied()
    dead = [host.trouble("timed out")]
    host.effects = {"CheckpointRollback": host.trouble(), "restart NetworkManager": lambda: dead.clear()}
    host.effects["nmcli -t"] = lambda: raised(dead[0]) if dead else None
    host.effects["ip link set cx"] = host.sets("cx", mtu=1500)
    host.program.give_up(host.guard, "why")
    assert host.since("fsync")[2:] == [
        "look",
        "looks again for 5.1 s",
        "nmcli -t -f RUNNING general",
        "systemctl restart NetworkManager in 100 s",
        "nmcli -t -f RUNNING general",
        "look",
        "look",
        "ip link set cx mtu 1500",
        "look",
        STOPPED,
        *DISARMED[3:],
    ]
    assert host.told() == ("rolled-back", "why")


def test_what_is_not_as_before_is_said_after_the_reason(host: Host) -> None:
    host.applied()
    host.effects = {"CheckpointRollback": host.trouble()}
    host.program.give_up(host.guard, "why" * 999)
    left = "cx was connected by ours, MTU 1500, 10.0.0.1/24 and is connected by ours, MTU 9000, 10.0.0.1/24"
    assert host.told() == ("rolled-back", f"{('why' * 999)[:1000]}; not as before: {left}")
    assert host.program.ended("why" * 999, []) == ("why" * 999)[:1000]
    assert host.program.ended("why", ["a", "b"]) == "why; not as before: a; b"


def test_a_networkmanager_that_stays_dead_holds_up_nothing(host: Host) -> None:
    host.applied()
    (host.root / PROFILES / "old").write_text("spoiled")
    host.effects = {"CheckpointRollback": host.trouble(), "nmcli": host.trouble("nmcli: timed out")}
    host.program.give_up(host.guard, "why")
    assert host.files() == {"old": "before"}
    assert host.told() == ("rolled-back", "why; not as before: nmcli: timed out")
    assert host.now - 1000 == pytest.approx(5 + 2 * (30 + 20), abs=1.5)


def test_one_thing_that_fails_holds_up_no_other(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a way back: the room, the record, the syncs, the state, the step, the unit, each by itself."""
    host.order(discard=[f"/{RECORD}"])
    host.applied()
    program, guard = host.program, host.guard
    (host.folder / "discarded-bandwidth.json").write_text("good")
    (host.root / RECORD).mkdir()
    guard.release = lambda: raised(OSError("release"))
    guard.journal = lambda _: raised(OSError("journal"))
    guard.say = lambda *_: raised(OSError("say"))
    program.sync = lambda *_: raised(OSError("sync"))
    program.BOOT_LINK, program.BOOT_UNIT = Refusing("link"), Refusing("unit")
    program.at_boot = lambda: host.folder
    program.fsync = lambda path: raised(OSError(f"fsync {path}"))
    host.effects = {
        text: host.trouble(text) for text in ("CheckpointRollback", "deadman", "list-units", "daemon-reload")
    }
    host.links["cx"]["mtu"] = 1500
    program.give_up(guard, "why")
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "bandwidth" not in line] == [
        *("release", "CheckpointRollback", "sync", "say", "journal", "deadman", "link", "unit"),
        *("fsync a folder of link", "fsync a folder of unit", "release", "daemon-reload"),
    ]
    assert sum("bandwidth" in line for line in said) == 1


class Refusing:
    """A path that cannot be removed."""

    def __init__(self, name: str) -> None:
        self.name, self.parent = name, f"a folder of {name}"

    def unlink(self, missing_ok: bool) -> None:
        assert missing_ok
        raise OSError(self.name)


def test_a_reboot_restores_files_alone(host: Host) -> None:
    host.program.Limits.patience = 2
    for state in ("armed", "applied"):
        host.in_state(state)
        (host.root / PROFILES / "old").write_text("spoiled")
        (host.root / PROFILES / "new").write_text("added")
        host.program.recover(host.guard)
        assert host.since() == [
            RELEASED,
            "fsync /etc/NetworkManager/system-connections/.old.sparkrig 6",
            *SYNCED,
            "fsync GUARD/.state.rolled-back 66",
            "fsync GUARD",
            f"fsync /var/lib/sparkrig/runs/RUN/steps {19 if state == 'armed' else 38}",
            *DISARMED,
        ]
        assert host.files() == {"old": "before"} and host.steps()[-1] == "1000 ended 1 links"
        assert host.told() == ("rolled-back", "the host was rebooted before the change was confirmed")


@pytest.mark.parametrize(("place", "renders"), [("", False), (PROFILES, False), (NETPLAN, True)])
@pytest.mark.parametrize("verb", ["recover", "back"])
def test_netplan_renders_only_what_went_back_of_its_own(host: Host, verb: str, place: str, renders: bool) -> None:
    """It has systemd read every unit anew, which keeps a slow host busy for seconds."""
    host.in_state("applied")
    if place:
        (host.root / place / "new").write_text("added")
    host.program.recover(host.guard) if verb == "recover" else host.program.back(host.guard, "why")
    did = host.since()
    assert ("netplan generate in 30 s" in did) is renders
    assert ("nmcli connection reload" in did) is (bool(place) and verb == "back")


def test_a_reboot_says_what_it_could_not_restore(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.in_state("applied")
    (host.root / NETPLAN / "new").write_text("added")
    host.program.restore_file = lambda *_: raised(OSError("restore"))
    host.guard.release = lambda: raised(OSError("release"))
    host.program.generate = lambda: raised(OSError("generate"))
    host.program.sync = lambda *_: raised(OSError("sync"))
    host.guard.journal = lambda _: raised(OSError("journal"))
    host.program.recover(host.guard)
    why = "the host was rebooted before the change was confirmed"
    assert host.told() == ("rolled-back", f"{why}; not as before: {NETPLAN}/new differs")
    assert capsys.readouterr().err.split() == ["release", "restore", "generate", "sync", "journal", "release"]


def test_a_reboot_after_the_end_disarms_alone(host: Host) -> None:
    for state in ("none", "committed", "rolled-back"):
        host.in_state(state)
        host.program.recover(host.guard)
        assert host.told() == (state, "") and host.since() == [*DISARMED[:3], RELEASED, *DISARMED[3:]]


def test_a_reboot_whose_state_cannot_be_written_goes_on(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.in_state("applied")
    host.guard.say = lambda *_: raised(OSError("say"))
    host.program.recover(host.guard)
    assert capsys.readouterr().err == "say\n" and host.steps()[-1] == "1000 ended 1 links"
