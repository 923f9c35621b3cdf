"""The guard's program on this machine, with tools that answer from a file, and the pure part beside it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

import pytest

from sparkrig import guard, network
from sparkrig.guard import Ping, Told

PROGRAM = Path(__file__).resolve().parents[2] / "templates" / "guard.py"
# what never comes true here need not be waited for
HASTY = (
    PROGRAM.read_text()
    .replace("SETTLE_S = 5", "SETTLE_S = 0")
    .replace("RETURN_S = 20", "RETURN_S = 0")
    .replace("time.sleep(0.3)", "time.sleep(0.02)")
)
RUN = "20261121T031500Z-ab12"
PROFILES = "etc/NetworkManager/system-connections"

# Every tool is this one script: it writes down how it was called, and acts on `answers` and `facts` of its host.
TOOL = r"""#!/bin/sh
here=$SPARKRIG_ROOT line="${0##*/} $*"
printf '%s\n' "$line" >>"$here/calls"
. "$here/answers"
for fact in mtu address profile routes state; do read -r $fact <"$here/facts/$fact"; done
case "$line" in
  systemd-run*' apply') while [ $# -gt 3 ]; do shift; done; exec "$@" >/dev/null ;;
  ip*' route'*) echo "$routes" ;;
  ip*' address'*)
    printf '[{"ifname": "cx", "mtu": %s, "flags": ["UP", "LOWER_UP"], "addr_info": [%s]}]\n' "$mtu" \
      "{\"family\": \"inet\", \"local\": \"$address\", \"prefixlen\": 24}" ;;
  nmcli*' -t '*' device'*) echo "cx:$state:$profile" ;;
  nmcli*' --active'*) echo "$profile" ;;
  *CheckpointCreate*) echo 'o "/checkpoint/1"' ;;
  *Checkpoints*) echo '{"type": "ao", "data": []}' ;;
  *GetConnectionByUuid*) echo 'o "/settings/1"' ;;
esac
"""

# A process that has loaded what the program imports, and runs each call of it in a copy of itself: the
# environment, the streams and the exit code are the call's own.
CALLS = """
import fcntl, json, os, pathlib, runpy, shutil, signal, subprocess, sys
for line in sys.stdin:
    root, environ, sys.argv = json.loads(line)
    pid = os.fork()
    if not pid:
        code = 1
        try:
            signal.alarm(60)
            os.environ.update(environ)
            for stream, name in (1, "said"), (2, "trouble"):
                os.dup2(os.open(f"{root}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            code = end.code
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""

ORDER: dict[str, Any] = {
    "step": "links",
    "window": 5,
    "seconds": 0.2,
    "profiles": [{"uuid": "ours", "verb": "modify", "properties": {"802-3-ethernet.mtu": "9000"}}],
    "remove": [],
    "move": [],
    "links": [{"netdev": "cx", "mtu": 9000, "address": "10.0.0.1/24", "gid": "gid"}],
    "restore": None,
}
FACTS = {"mtu", "routes", "state"}  # that an answer may change
UP = {"connection up": {"mtu": 9000}}  # what activating our profile does to the link
BACK = {"CheckpointRollback": {"mtu": 1500}}


def shell(answers: Mapping[str, Any]) -> str:
    """Answers as a tool reads them: the first one whose text is in its line."""
    lines = []
    for text, answer in answers.items():
        lines += [f"*{shlex.quote(text)}*)"]
        for path, content in answer.get("writes", {}).items():
            lines += [f'  printf %s {shlex.quote(content)} >"$here/{path}"']
        for fact in FACTS & answer.keys():
            lines += [f'  echo {shlex.quote(fact_line(answer[fact]))} >"$here/facts/{fact}"']
        lines += [f"  printf '%s\\n' {shlex.quote(answer.get('says', ''))}; exit {answer.get('rc', 0)} ;;"]
    return "\n".join(['case "$line" in', *lines, "esac\n"])


def fact_line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@cache
def calls() -> subprocess.Popen[str]:
    """The process that calls the program."""
    words = [sys.executable, "-I", "-S", "-c", CALLS]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@dataclass
class World:
    """A host in a folder."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "var/lib/sparkrig/runs" / RUN / "guard"

    @property
    def calls(self) -> list[str]:
        file = self.root / "calls"
        return file.read_text().splitlines() if file.is_file() else []

    def set(self, answers: Mapping[str, Any], **facts: Any) -> None:
        (self.root / "answers").write_text(shell(answers))
        for fact, value in facts.items():
            (self.root / "facts" / fact).write_text(f"{fact_line(value)}\n")

    def call(self, *words: str) -> Told:
        env = {"SPARKRIG_ROOT": str(self.root), "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        process = calls()
        assert process.stdin and process.stdout
        order = (str(self.root), env, [str(self.folder / "guard.py"), *words])
        print(json.dumps(order), file=process.stdin, flush=True)
        assert process.stdout.readline() == "0\n", (self.root / "trouble").read_text()
        return guard.parse((self.root / "said").read_text())

    def applied(self) -> None:
        """Arm and apply, as systemd would run it."""
        assert self.call("start").state == "applied"


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    for place in (
        PROFILES,
        "etc/netplan",
        "etc/systemd/system",
        "run/NetworkManager/system-connections",
        "bin",
        "facts",
    ):
        (tmp_path / place).mkdir(parents=True)
    for tool in ("nmcli", "busctl", "ip", "systemctl", "systemd-run", "netplan"):
        (tmp_path / "bin" / tool).write_text(TOOL)
        (tmp_path / "bin" / tool).chmod(0o755)
    (tmp_path / PROFILES / "old.nmconnection").write_text("before")
    found.set(UP, state="connected", mtu=1500, address="10.0.0.1", profile="ours", routes=[])
    found.folder.mkdir(parents=True)
    (found.folder / "guard.py").write_text(HASTY)
    order(found)
    return found


def order(world: World, **changes: Any) -> None:
    (world.folder / "order.json").write_text(json.dumps({**ORDER, **changes}))


def test_every_way_back_stands_before_the_first_change(world: World) -> None:
    world.applied()
    at = {
        text: next(n for n, call in enumerate(world.calls) if text in call)
        for text in ("--on-active=10", "Create")
    }
    change = next(n for n, call in enumerate(world.calls) if "connection modify" in call)
    assert max(at.values()) < change
    unit = (world.root / "etc/systemd/system/sparkrig-guard.service").read_text()
    assert "Before=NetworkManager.service" in unit and f"{world.folder}/guard.py recover" in unit
    assert (world.root / "etc/systemd/system/multi-user.target.wants/sparkrig-guard.service").is_symlink()
    assert "aouu 0 5 6" in " ".join(world.calls), "all devices, new connections go too"


def test_what_is_applied_is_in_memory_only(world: World) -> None:
    world.applied()
    assert any("modify --temporary ours" in call for call in world.calls)
    assert not any(" Save" in call for call in world.calls)


def test_a_commit_makes_it_permanent_and_disarms(world: World) -> None:
    order(world, remove=["theirs"], move=["/etc/netplan/40-cx7.yaml"])
    (world.root / "etc/netplan/40-cx7.yaml").write_text("network: {}")
    world.applied()
    assert world.call("commit") == Told("committed")
    destroyed = next(n for n, call in enumerate(world.calls) if "CheckpointDestroy o /checkpoint/1" in call)
    saved = next(n for n, call in enumerate(world.calls) if "/settings/1" in call and "Save" in call)
    assert destroyed < saved, "nothing is made permanent that may have been rolled back already"
    assert "nmcli connection delete theirs" in world.calls
    assert not (world.root / "etc/netplan/40-cx7.yaml").exists()
    assert (world.folder / "before/etc/netplan/40-cx7.yaml").read_text() == "network: {}"
    assert not (world.root / "etc/systemd/system/sparkrig-guard.service").exists()
    assert f"systemctl stop sparkrig-deadman-{RUN}.timer" in world.calls
    steps = (world.folder.parent / "steps").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in steps] == ["begun links", "ended 0 links"]


def test_a_checkpoint_that_is_gone_is_never_a_commit(world: World) -> None:
    world.applied()
    world.set({"CheckpointDestroy": {"rc": 1, "says": "does not exist"}, **BACK})
    told = world.call("commit")
    assert told.state == "rolled-back" and "no longer had the checkpoint" in told.detail
    assert not any(" Save" in call for call in world.calls)


@pytest.mark.parametrize("failing", ["Connection Save", "connection delete"])
def test_what_cannot_be_made_permanent_is_taken_back(world: World, failing: str) -> None:
    order(world, remove=["theirs"])
    world.applied()
    spoiled = {f"{PROFILES}/new.nmconnection": "half done"}
    world.set({failing: {"rc": 1, "says": "no room", "writes": spoiled}, **BACK})
    told = world.call("commit")
    assert told.state == "rolled-back" and "no room" in told.detail
    assert [file.name for file in (world.root / PROFILES).glob("*")] == ["old.nmconnection"]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"connection up": {"rc": 4, "says": "IP configuration could not be reserved"}}, "could not be reserved"),
        ({"connection up": {"mtu": 1400}}, "cx has MTU 1400 and 10.0.0.1/24, 9000 and 10.0.0.1/24 are expected"),
    ],
    ids=["activation fails", "link is not as ordered"],
)
def test_a_change_that_does_not_take_is_put_back_at_once(world: World, answers: dict[str, Any], why: str) -> None:
    world.set({**answers, **BACK})
    told = world.call("start")
    assert told.state == "rolled-back" and why in told.detail
    assert "busctl call org.freedesktop.NetworkManager" in " ".join(world.calls)


def test_another_default_route_is_no_success(world: World) -> None:
    world.set({"connection up": {"mtu": 9000, "routes": [{"gateway": "10.0.0.9", "dev": "cx"}]}, **BACK})
    told = world.call("start")
    assert told.state == "rolled-back" and "default route" in told.detail


def test_somebody_elses_checkpoint_is_refused_before_anything_is_armed(world: World) -> None:
    world.set({"get-property": {"says": '{"type": "ao", "data": ["/theirs/7"]}'}})
    told = world.call("start")
    assert told.state == "rolled-back" and "/theirs/7" in told.detail and "nothing was changed" in told.detail
    assert not any("CheckpointCreate" in call or "connection modify" in call for call in world.calls)
    assert not (world.root / "etc/systemd/system/sparkrig-guard.service").exists()


def test_the_dead_man_puts_files_and_links_back_without_a_checkpoint(world: World) -> None:
    world.applied()
    (world.root / PROFILES / "old.nmconnection").write_text("spoiled")
    (world.root / PROFILES / "new.nmconnection").write_text("added")
    (world.root / "run/NetworkManager/system-connections/sparkrig-cx.nmconnection").write_text("in memory")
    (world.root / "run/NetworkManager/system-connections/theirs.nmconnection").write_text("not ours")
    world.set({"CheckpointRollback": {"rc": 1, "says": "does not exist"}, "ip link set": {"mtu": 1500}})
    assert world.call("rollback", "it was not confirmed") == Told("rolled-back", "it was not confirmed")
    assert (world.root / PROFILES / "old.nmconnection").read_text() == "before"
    assert [file.name for file in (world.root / PROFILES).glob("*")] == ["old.nmconnection"]
    left = [file.name for file in (world.root / "run/NetworkManager/system-connections").glob("*")]
    assert left == ["theirs.nmconnection"]
    assert "ip link set cx mtu 1500" in world.calls


def test_a_link_that_a_restarted_networkmanager_calls_external_goes_back_too(world: World) -> None:
    """What was in memory is forgotten then, and the link keeps its address and MTU."""
    world.set(UP, state="disconnected")
    world.applied()
    external = {"device disconnect cx": {"state": "disconnected"}, "ip link set": {"mtu": 1500}}
    world.set({"CheckpointRollback": {"rc": 1}, **external}, state="connected (externally)")
    assert world.call("rollback", "why") == Told("rolled-back", "why")
    assert "nmcli device disconnect cx" in world.calls and "ip link set cx mtu 1500" in world.calls


def test_what_could_not_be_put_back_is_said(world: World) -> None:
    world.applied()
    world.set({})
    told = world.call("rollback", "why")
    assert told.state == "rolled-back"
    assert "not as before: cx was connected by ours, MTU 1500" in told.detail
    assert "systemctl restart NetworkManager" in world.calls, "the last means"


def test_a_reboot_inside_the_window_restores_the_files(world: World) -> None:
    world.applied()
    (world.root / PROFILES / "new.nmconnection").write_text("added")
    calls = len(world.calls)
    assert world.call("recover").state == "rolled-back"
    assert [file.name for file in (world.root / PROFILES).glob("*")] == ["old.nmconnection"]
    assert not any("nmcli" in call for call in world.calls[calls:]), "NetworkManager does not run yet"
    assert not (world.root / "etc/systemd/system/sparkrig-guard.service").exists()


def test_a_reboot_after_the_commit_changes_nothing(world: World) -> None:
    world.applied()
    world.call("commit")
    (world.root / PROFILES / "new.nmconnection").write_text("saved")
    assert world.call("recover").state == "committed"
    assert (world.root / PROFILES / "new.nmconnection").exists()


def test_a_late_dead_man_leaves_a_commit_alone_and_only_revert_takes_it_back(world: World) -> None:
    world.applied()
    world.call("commit")
    assert world.call("rollback", "late").state == "committed"
    world.set({**BACK, "ip link set": {"mtu": 1500}})
    assert world.call("revert", "the other half") == Told("rolled-back", "the other half")


def test_a_second_commit_and_a_commit_after_a_rollback_do_nothing(world: World) -> None:
    world.applied()
    world.set(BACK)
    world.call("rollback", "why")
    assert world.call("commit").state == "rolled-back"


def test_what_an_earlier_run_changed_is_put_back_and_nothing_else(world: World) -> None:
    """A profile that somebody made or edited since is his, and so is one that only looks old."""
    earlier = world.folder.parent.parent / "20261120T000000Z-0000" / "guard" / "before"
    (earlier / PROFILES).mkdir(parents=True)
    (earlier / "etc/netplan").mkdir()
    (earlier.parent / "order.json").write_text(
        json.dumps({**ORDER, "remove": ["uuid-theirs"], "move": ["/etc/netplan/40-cx7.yaml"]})
    )
    (earlier / PROFILES / "theirs.nmconnection").write_text("uuid=uuid-theirs")
    (earlier / PROFILES / "old.nmconnection").write_text("as it was then")
    (earlier / "etc/netplan/40-cx7.yaml").write_text("network: {}")
    (world.root / PROFILES / "sparkrig-cx.nmconnection").write_text("uuid=ours")
    (world.root / PROFILES / "wifi.nmconnection").write_text("made since")
    now = {file.name: file.read_text() for file in (world.root / PROFILES).glob("*")}
    link = {"connected": True, "external": False, "profile": "ours", "mtu": 1500, "carrier": True}
    away = {**link, "profile": "wifi", "addresses": ["10.0.9.9/24"]}
    links = {"cx": {**link, "addresses": ["10.0.0.1/24"]}, "wlan": away}
    (earlier / "links.json").write_text(json.dumps({"links": links, "default": []}))
    order(world, profiles=[], links=[], restore=f"/{earlier.relative_to(world.root)}")
    assert world.call("start").state == "applied"
    found = {file.name: file.read_text() for file in (world.root / PROFILES).glob("*")}
    assert found == {
        "old.nmconnection": "before",
        "wifi.nmconnection": "made since",
        "theirs.nmconnection": "uuid=uuid-theirs",
    }
    assert (world.root / "etc/netplan/40-cx7.yaml").exists()
    assert not any("wifi" in call for call in world.calls), "no link that somebody else set up is touched"
    assert "systemctl restart NetworkManager" not in world.calls
    world.call("rollback", "why")
    assert {file.name: file.read_text() for file in (world.root / PROFILES).glob("*")} == now
    assert not (world.root / "etc/netplan/40-cx7.yaml").exists()


def test_what_an_undo_could_not_put_back_is_said_with_its_commit(world: World) -> None:
    earlier = world.folder.parent.parent / "20261120T000000Z-0000" / "guard" / "before"
    earlier.mkdir(parents=True)
    (earlier.parent / "order.json").write_text(json.dumps(ORDER))
    link = {"connected": True, "external": False, "profile": "ours", "mtu": 4000, "carrier": True}
    links = {"cx": {**link, "addresses": ["10.0.0.1/24"]}}
    (earlier / "links.json").write_text(json.dumps({"links": links, "default": []}))
    order(world, profiles=[], links=[], restore=f"/{earlier.relative_to(world.root)}")
    assert world.call("start").state == "applied"
    told = world.call("commit")
    assert told.state == "committed" and "cx was connected by ours, MTU 4000" in told.detail


def test_whoever_goes_back_from_outside_ends_what_still_applies(world: World) -> None:
    """Else the apply unit of a dead controller goes on changing after the rollback of the next run."""
    world.applied()
    (world.folder / "state").write_text("armed\n")
    world.set(BACK)
    world.call("rollback", "superseded")
    ended = world.calls.index(f"systemctl stop sparkrig-apply-{RUN}.service")
    assert ended < next(n for n, call in enumerate(world.calls) if "CheckpointRollback" in call)


def test_an_apply_that_gives_up_does_not_end_itself(world: World) -> None:
    world.set({"connection up": {"rc": 4}, **BACK})
    assert world.call("start").state == "rolled-back"
    assert not any("systemctl stop sparkrig-apply" in call for call in world.calls)


def test_an_answer_of_a_tool_that_makes_no_sense_is_a_failure_like_any_other(world: World) -> None:
    world.set({"get-property": {"says": "{}"}})
    told = world.call("start")
    assert told.state == "rolled-back" and "nothing was changed" in told.detail
    assert not (world.root / "etc/systemd/system/sparkrig-guard.service").exists()


def test_a_default_route_over_several_links_is_one_too(world: World) -> None:
    world.set(UP, routes=[{"dst": "default", "nexthops": [{"dev": "cx"}, {"dev": "cy"}]}])
    world.applied()


def test_a_file_that_cannot_be_put_back_does_not_hold_up_the_links(world: World) -> None:
    world.applied()
    (world.root / PROFILES / "old.nmconnection").write_text("spoiled")
    (world.root / PROFILES / ".old.nmconnection.sparkrig").mkdir()
    world.set({"CheckpointRollback": {"rc": 1}, "ip link set": {"mtu": 1500}})
    told = world.call("rollback", "why")
    assert told == Told("rolled-back", f"why; not as before: {PROFILES}/old.nmconnection differs")
    assert not told.restored and "ip link set cx mtu 1500" in world.calls


def test_a_mask_is_left_as_it_is(world: World) -> None:
    """NetworkManager hides a profile, and netplan a file, with a link to /dev/null."""
    mask = world.root / PROFILES / "uuid.nmmeta"
    mask.symlink_to("/dev/null")
    world.applied()
    world.set(BACK)
    assert world.call("rollback", "why") == Told("rolled-back", "why")
    assert mask.is_symlink()


def test_a_netplan_file_that_went_with_its_profile_is_no_trouble(world: World) -> None:
    order(world, move=["/etc/netplan/40-cx7.yaml"])
    world.applied()
    assert world.call("commit") == Told("committed")


def test_netplan_renders_again_what_a_reboot_put_back(world: World) -> None:
    """Its generator ran at boot before the files were restored, and NetworkManager reads what it rendered."""
    world.applied()
    world.call("recover")
    assert "netplan generate" not in world.calls, "nothing was put back"
    (world.folder / "state").write_text("applied\n")
    (world.root / "etc/netplan/90-NM-ours.yaml").write_text("half a commit")
    assert world.call("recover").state == "rolled-back"
    assert "netplan generate" in world.calls


# --- the pure part


def test_an_order_names_what_goes_and_what_must_be_live() -> None:
    change = network.Change("cx", "add", {"a": "b"}, IPv4Interface("192.168.100.11/24"), 9000, "no profile yet")
    plan = network.Plan((change,), (("uuid", "name"),), (), move=("/etc/netplan/40-cx7.yaml",))
    made = json.loads(guard.order(plan, "links", 90, 20).dump())
    assert made["remove"] == ["uuid"] and made["move"] == ["/etc/netplan/40-cx7.yaml"] and made["restore"] is None
    assert made["profiles"] == [{"uuid": network.uuid("cx"), "verb": "add", "properties": {"a": "b"}}]
    assert made["links"][0]["gid"] == "0000:0000:0000:0000:0000:ffff:c0a8:640b"


@pytest.mark.parametrize("text", ["", "done", '{"state": "applied"}', "[1]", "null"])
def test_an_answer_that_is_none_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be understood"):
        guard.parse(text)


def test_an_answer_may_have_words_before_it() -> None:
    assert guard.parse('nmcli: ...\n{"state": "applied", "detail": "", "left": 3.5}\n') == Told("applied", "", 3.5)


def test_silent_rails_are_named_with_their_whole_packet() -> None:
    text = "silent 0 cx 10.0.0.2 8972 message too long, mtu=1500\nsilent 1 cy 10.0.1.2 8972 \ndone\n"
    assert guard.silent(text) == [
        "no answer on rail 0 from 10.0.0.2 over cx to 9000 bytes (message too long, mtu=1500)",
        "no answer on rail 1 from 10.0.1.2 over cy to 9000 bytes",
    ]
    assert guard.silent("done\n") == []


def test_a_ping_leaves_room_for_its_headers() -> None:
    assert guard.link_words(5, [Ping(0, "cx", "10.0.0.2", 9000)]) == ["5", "0", "cx", "10.0.0.2", "8972"]


def test_a_link_that_was_just_coming_up_is_not_cut_off_by_the_way_back(world: World) -> None:
    """Whoever plugged it in while the change was on its way keeps it."""
    order(world, links=[{**ORDER["links"][0], "netdev": "gone"}])
    up = {"CheckpointRollback": {"state": "connected"}}
    world.set(up, state="connecting (getting IP configuration)")
    assert world.call("start").state == "rolled-back"
    assert not any("disconnect" in call or "restart" in call for call in world.calls)


def test_a_checkpoint_that_cannot_be_noted_is_given_up(world: World) -> None:
    (world.folder / "deadline").mkdir()
    told = world.call("start")
    assert told.state == "rolled-back" and told.detail.endswith("nothing was changed")
    assert any("CheckpointDestroy o /checkpoint/1" in call for call in world.calls)
