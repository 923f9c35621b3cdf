"""The guard's program on this machine, with tools that answer from a file, and the pure part beside it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparkrig.network import guard
from sparkrig.network.guard import Probe, Told
from tests.tables import each_row
from tests.unit.shells import tool, well
from tests.unit.simulated import load

PROGRAM = Path(__file__).resolve().parents[3] / "templates" / "guard.py"
# what never comes true here need not be waited for
HASTY = (
    PROGRAM.read_text()
    .replace("SETTLE_S = 5", "SETTLE_S = 0")
    .replace("RETURN_S = 20", "RETURN_S = 0")
    .replace("time.sleep(pause)", "time.sleep(0.02)")
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
  systemd-run*' apply') while [ $# -gt 7 ]; do shift; done; exec "$@" >/dev/null ;;
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
# environment, the streams and the exit code are the call's own. What it syncs stands among the calls of its tools.
CALLS = """
import concurrent.futures.thread, errno, fcntl, json, os, pathlib, runpy, shutil, signal, subprocess, sys
def noted(act, name):
    def call(*handles):
        global full
        with open(f"{root}/calls", "a") as calls:
            print(name, *(os.readlink(f"/proc/self/fd/{handle}") for handle in handles), file=calls)
        full -= 1
        if full == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return act(*handles)
    return call
os.fsync, os.sync = noted(os.fsync, "fsync"), noted(os.sync, "sync")
for line in sys.stdin:
    root, environ, sys.argv = json.loads(line)
    pid = os.fork()
    if not pid:
        code = 1
        try:
            signal.alarm(60)
            os.environ.update(environ)
            full = int(environ["FULL"])
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
    "discard": ["/var/lib/sparkrig/bandwidth.json"],
}
FACTS = {"mtu", "routes", "state"}  # that an answer may change
UP = {"connection up": {"mtu": 9000}}  # what activating our profile does to the link
BACK = {"CheckpointRollback": {"mtu": 1500}}


# The program once more, by a tool of the one that runs: this goes on once it has ended, or waits for the lock.
MEANWHILE = """
SPARKRIG_ROOT=$here {python} {program} {words} >"$here/second" 2>&1 </dev/null & second=$!
until ! kill -0 $second || grep -q -e "-> FLOCK .* $second " /proc/locks; do sleep 0.02; done 2>/dev/null
"""


def shell(answers: Mapping[str, Any]) -> str:
    """Answers as a tool reads them: the first one whose text is in its line."""
    lines = []
    for text, answer in answers.items():
        lines += [f"*{shlex.quote(text)}*)"]
        lines += [answer.get("meanwhile", "")]
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
    run: str = RUN

    @property
    def folder(self) -> Path:
        return self.root / "var/lib/sparkrig/runs" / self.run / "guard"

    @property
    def calls(self) -> list[str]:
        file = self.root / "calls"
        return file.read_text().splitlines() if file.is_file() else []

    def set(self, answers: Mapping[str, Any], **facts: Any) -> None:
        (self.root / "answers").write_text(shell(answers))
        for fact, value in facts.items():
            (self.root / "facts" / fact).write_text(f"{fact_line(value)}\n")

    def call(self, *words: str, full: int = 0) -> Told:
        """What the guard answers. full: the sync that finds no room on the disk, counted from 1."""
        env = {"FULL": str(full), "SPARKRIG_ROOT": str(self.root), "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        process = calls()
        assert process.stdin and process.stdout
        order = (str(self.root), env, [str(self.folder / "guard.py"), *words])
        print(json.dumps(order), file=process.stdin, flush=True)
        assert process.stdout.readline() == "0\n", (self.root / "trouble").read_text()
        return guard.parse((self.root / "said").read_text())

    def second(self, *words: str) -> str:
        """What a tool does that calls the program, too, while it is called itself."""
        program = shlex.quote(str(self.folder / "guard.py"))
        return MEANWHILE.format(python=shlex.quote(sys.executable), program=program, words=shlex.join(words))

    @property
    def second_told(self) -> Told:
        """What that call answered, once it has ended."""
        file, end = self.root / "second", time.monotonic() + 20
        while not file.read_text().endswith("}\n"):
            assert time.monotonic() < end, file.read_text()
            time.sleep(0.01)
        return guard.parse(file.read_text())

    def again(self) -> None:
        """Forget the guarded change, as another run does with a folder of its own."""
        for each in ("state", "checkpoint", "deadline"):
            (self.folder / each).unlink(missing_ok=True)
        shutil.rmtree(self.folder / "before")

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
    for name in ("nmcli", "busctl", "ip", "systemctl", "systemd-run", "netplan"):
        (tmp_path / "bin" / name).write_text(TOOL)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / PROFILES / "old.nmconnection").write_text("before")
    found.set(UP, state="connected", mtu=1500, address="10.0.0.1", profile="ours", routes=[])
    found.folder.mkdir(parents=True)
    (found.folder / "guard.py").write_text(HASTY)
    order(found)
    return found


def order(world: World, **changes: Any) -> None:
    (world.folder / "order.json").write_text(json.dumps({**ORDER, **changes}))


def wants(world: World) -> Path:
    """The folder of what systemd starts at boot."""
    return world.root / "etc/systemd/system/multi-user.target.wants"


def test_every_way_back_stands_before_the_first_change(world: World) -> None:
    world.applied()
    at = {
        text: next(n for n, call in enumerate(world.calls) if text in call)
        for text in ("--on-active=10", "Create")
    }
    kept = world.folder / "before"
    for path in (kept / PROFILES / "old.nmconnection", kept / PROFILES, kept, *kept.parents):
        at[str(path)] = world.calls.index(f"fsync {path}")
        if path == world.root:
            break
    for path in (world.folder / "guard.py", world.folder / "order.json", wants(world), wants(world).parent):
        at[str(path)] = world.calls.index(f"fsync {path}")
    assert "sync" not in world.calls, "it waits for what others write"
    change = next(n for n, call in enumerate(world.calls) if "connection modify" in call)
    assert max(at.values()) < change
    unit = (world.root / "etc/systemd/system/sparkrig-guard.service").read_text()
    assert "Before=NetworkManager.service" in unit and f"{world.folder}/guard.py recover" in unit
    assert (world.root / "etc/systemd/system/multi-user.target.wants/sparkrig-guard.service").is_symlink()
    assert "aouu 0 5 6" in " ".join(world.calls), "all devices, new connections go too"


def test_a_checkpoint_that_is_gone_is_never_a_commit(world: World) -> None:
    world.applied()
    world.set({"CheckpointDestroy": {"rc": 1, "says": "does not exist"}, **BACK})
    told = world.call("commit")
    assert told.state == "rolled-back" and "no longer had the checkpoint" in told.detail
    assert not any(" Save" in call for call in world.calls)


def test_a_late_dead_man_leaves_a_commit_alone_and_only_revert_takes_it_back(world: World) -> None:
    world.applied()
    world.call("commit")
    assert world.call("rollback", "late").state == "committed"
    world.set({**BACK, "ip link set": {"mtu": 1500}})
    assert world.call("revert", "the other half") == Told("rolled-back", "the other half")


def test_a_dead_man_that_wakes_up_during_a_commit_waits_and_leaves_it_alone(world: World) -> None:
    world.applied()
    world.set({"Connection Save": {"meanwhile": world.second("rollback", "late")}, **BACK})
    assert world.call("commit") == Told("committed")
    assert world.second_told == Told("committed")
    assert not any("CheckpointRollback" in call for call in world.calls)


def test_what_a_commit_saved_is_looked_at_again(world: World) -> None:
    """NetworkManager may apply a profile anew as it saves it, and netplan renders what it makes of it."""
    world.applied()
    world.set({"Connection Save": {"mtu": 1400}, **BACK})
    told = world.call("commit")
    assert told.state == "rolled-back" and "cx has MTU 1400" in told.detail


def test_what_was_saved_is_on_the_disk_before_it_counts_as_committed(world: World) -> None:
    """After a power cut the host has what its state says: the change with its files, or neither."""
    world.applied()
    written = [f"{PROFILES}/new.nmconnection", "etc/netplan/90-NM-new.yaml"]
    world.set({"Connection Save": {"writes": dict.fromkeys(written, "saved")}})
    before = len(world.calls)
    assert world.call("commit") == Told("committed")
    calls = world.calls[before:]
    saved = next(n for n, call in enumerate(calls) if "Connection Save" in call)
    committed = calls.index(f"fsync {world.folder}/.state.committed")
    for place in (*written, PROFILES, "etc/netplan"):
        assert saved < calls.index(f"fsync {world.root}/{place}") < committed, place


def test_a_second_commit_does_nothing(world: World) -> None:
    """A controller asks again where an answer was lost; that the checkpoint is gone is no reason to go back."""
    world.applied()
    world.call("commit")
    calls = len(world.calls)
    world.set({"CheckpointDestroy": {"rc": 1, "says": "does not exist"}, **BACK})
    assert world.call("commit") == Told("committed")
    assert len(world.calls) == calls


def test_a_rail_is_as_ordered_only_with_its_roce_gid(world: World) -> None:
    port = world.root / "sys/class/infiniband/rocep1s0f0/ports/1"
    for file, text in {"gid_attrs/ndevs/0": "cx", "gids/0": "fe80", "gids/3": "another"}.items():
        (port / file).parent.mkdir(parents=True, exist_ok=True)
        (port / file).write_text(f"{text}\n")
    world.set({**UP, **BACK})
    told = world.call("start")
    assert told.state == "rolled-back" and "cx has no RoCE GID for 10.0.0.1/24" in told.detail
    (port / "gids/3").write_text("gid\n")
    world.again()
    world.applied()


SUM = {
    text: hashlib.sha256(text.encode()).hexdigest() for text in ("before", "uuid=ours", "uuid=theirs", "net: {}")
}
OURS, THEIRS, MOVED = (
    f"{PROFILES}/sparkrig-cx.nmconnection",
    f"{PROFILES}/Wired 1.nmconnection",
    "etc/netplan/4.yaml",
)


@pytest.mark.slow  # a call for each sync of a commit
def test_each_write_of_a_commit_may_fail_alone(world: World) -> None:
    """Whichever it is: what is committed has noted what it changed, and what is taken back is as before."""
    count, states = 0, set()
    while True:
        count += 1
        world.set({**UP, **BACK}, mtu=1500)
        world.applied()
        world.set({"Connection Save": {"writes": {OURS: "uuid=ours"}}, **BACK, "ip link set": {"mtu": 1500}})
        before = len(world.calls)
        told = world.call("commit", full=count)
        syncs = [call for call in world.calls[before:] if call.startswith("fsync")]
        states.add(told.state)
        if told.state == "committed":
            assert SUM["uuid=ours"] in (world.folder / "changed").read_text(), syncs
        else:
            assert told.state == "rolled-back" and not (world.root / OURS).exists(), syncs
        assert world.call("recover") == told
        (world.root / OURS).unlink(missing_ok=True)
        (world.folder / "changed").unlink(missing_ok=True)
        world.again()
        if len(syncs) < count:
            break
    assert states == {"committed", "rolled-back"} and count > 8


def taking_back(world: World, mine: dict[str, str] | None) -> None:
    """An undo of a run that made our profile, removed THEIRS and moved MOVED; what it knows to be ours."""
    earlier = world.folder.parent.parent / "20261120T000000Z-0000" / "guard" / "before"
    (earlier / PROFILES).mkdir(parents=True)
    (earlier / "etc/netplan").mkdir()
    made = {**ORDER, "remove": ["uuid-theirs"], "move": [f"/{MOVED}"]}
    made["profiles"] = [{"uuid": "uuid=ours", "verb": "add", "properties": {}}]
    (earlier.parent / "order.json").write_text(json.dumps(made))
    (earlier / THEIRS).write_text("uuid-theirs")
    (earlier / MOVED).write_text("net: {}")
    (world.root / OURS).write_text("uuid=ours")
    link = {"connected": True, "external": False, "profile": "ours", "mtu": 1500, "carrier": True}
    links = {"cx": {**link, "addresses": ["10.0.0.1/24"]}}
    (earlier / "links.json").write_text(json.dumps({"links": links, "default": []}))
    order(world, profiles=[], links=[], restore=f"/{earlier.relative_to(world.root)}", mine=mine)


def files(world: World) -> dict[str, str]:
    places = [world.root / place for place in (PROFILES, "etc/netplan")]
    return {
        str(file.relative_to(world.root)): f"-> {file.readlink()}" if file.is_symlink() else file.read_text()
        for place in places
        for file in place.iterdir()
    }


def link_of_another(file: Path) -> None:
    """With the very content."""
    (file.parent.parent / "elsewhere").write_text(file.read_text())
    file.unlink()
    file.symlink_to("../elsewhere")


# what another one does to the files of a run, and which of them stays as it is
SINCE_THEN: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "nothing": (lambda _: None, []),
    "edits ours": (lambda root: (root / OURS).write_text("uuid=ours dns=9.9.9.9"), [OURS]),
    "links ours": (lambda root: link_of_another(root / OURS), [OURS]),
    "makes what was moved anew": (lambda root: (root / MOVED).write_text("net: {mine: 1}"), [MOVED]),
    "makes what was removed anew": (lambda root: (root / THEIRS).write_text("uuid-theirs mine"), [THEIRS]),
    "copies ours": (lambda root: (root / PROFILES / "copy").write_text("uuid=ours"), [f"{PROFILES}/copy"]),
    "puts back what was moved": (lambda root: (root / MOVED).write_text("net: {}"), []),
    "deletes ours": (lambda root: (root / OURS).unlink(), []),
}
AS_BEFORE = {f"{PROFILES}/old.nmconnection": "before", THEIRS: "uuid-theirs", MOVED: "net: {}"}


@pytest.mark.parametrize(
    "way_back",
    ["", pytest.param("rollback", marks=pytest.mark.slow), pytest.param("recover", marks=pytest.mark.slow)],
)
def test_a_file_of_the_network_that_another_one_changed_since_stays(
    world: World, tmp_path_factory: pytest.TempPathFactory, way_back: str
) -> None:
    """Of an undo, and of what takes the undo back itself."""

    def row(act: Callable[[Path], object], stays: list[str]) -> None:
        for path in (OURS, THEIRS, MOVED, f"{PROFILES}/copy"):
            (world.root / path).unlink(missing_ok=True)
        shutil.rmtree(world.folder.parent.parent)
        world.folder.mkdir(parents=True)
        (world.folder / "guard.py").write_text(HASTY)
        taking_back(world, {f"/{OURS}": SUM["uuid=ours"], f"/{THEIRS}": "absent", f"/{MOVED}": "absent"})
        act(world.root)
        now = files(world)
        told = world.call("start")
        said = told.detail.split("; ") if told.detail else []
        assert (told.state, said) == ("applied", [f"/{path}{guard.STAYS}" for path in stays])
        expected = {path: text for path, text in now.items() if path in stays}
        assert files(world) == {**AS_BEFORE, **expected}
        if way_back:
            assert world.call(way_back, *(["why"] if way_back == "rollback" else [])).state == "rolled-back"
            assert files(world) == now

    each_row(SINCE_THEN, row)


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


# --- a full disk

# /etc and /var of the world $1 on one real file system of 1 MB; $2 python, $3 the guard, $4 how it is filled
FULL = r"""
set -e
root=$1 python=$2 guard=$3 filled=$4 # the tools have their facts elsewhere
mkdir "$root/disk"
mount -t tmpfs -o size=1m,nr_inodes=200 tmpfs "$root/disk"
for place in etc var; do
  cp -a "$root/$place" "$root/disk/$place"
  mount --bind "$root/disk/$place" "$root/$place"
done
full() {
  case $filled in
  room) head -c 4m /dev/zero >"$root/disk/fill" || : ;;
  names) n=0; while printf "" >"$root/disk/fill.$n"; do n=$((n + 1)); done ;;
  esac 2>/dev/null
  if printf x 2>/dev/null >"$root/var/another"; then rm "$root/var/another"; echo "there is room left"; exit 1; fi
}
call() { "$python" -I -S "$guard" "$@"; }
"""
FILLED = ("room", "names")


def on_a_full_disk(world: World, filled: str, script: str) -> list[str]:
    """What a script prints that runs with the world on a small disk of its own."""
    words = [str(world.root), sys.executable, str(world.folder / "guard.py"), filled]
    env = {"SPARKRIG_ROOT": str(world.root), "PATH": f"{world.root}/bin:{os.environ['PATH']}"}
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", FULL + script, "sh", *words]
    done = well(subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60))
    return done.stdout.splitlines()


# what was put back once is not put back again: a profile that came since stays, at the next boot and deploy
SINCE = rf"""
rm -f "$root"/disk/fill*
echo since >"$root/{PROFILES}/since.nmconnection"
call recover
call rollback "superseded by another run"
ls "$root/{PROFILES}" "$root/etc/systemd/system"
"""


@pytest.mark.parametrize("filled", FILLED)
def test_a_rollback_on_a_full_disk_is_noted_and_never_done_again(world: World, filled: str) -> None:
    """What the change took away comes back, too: there is room that was kept for it."""
    world.set({**UP, **BACK})
    spoil = f'call start; rm "$root/{PROFILES}/old.nmconnection"; full; call rollback why'
    applied, back, recovered, again, *left = on_a_full_disk(world, filled, f"{spoil}\n{SINCE}")
    assert guard.parse(applied).state == "applied"
    assert [guard.parse(each) for each in (back, recovered, again)] == [Told("rolled-back", "why")] * 3
    assert {"old.nmconnection", "since.nmconnection"} < set(left) and "sparkrig-guard.service" not in left


@pytest.mark.parametrize("filled", FILLED)
def test_a_disk_that_fills_up_while_the_change_is_applied_stops_no_way_back(world: World, filled: str) -> None:
    world.set({"connection up": {"mtu": 9000, "meanwhile": '. "$here/full"'}, **BACK})
    save = "{ echo filled=$filled root=$here; sed -n '/^full()/,/^}/p' \"$root/full.sh\"; echo full; }"
    (world.root / "full.sh").write_text(FULL)
    script = f'here=$root; {save} >"$root/full"; call start; call rollback why\n{SINCE}'
    applied, back, recovered, again, *left = on_a_full_disk(world, filled, script)
    assert guard.parse(applied).state == "applied"
    assert [guard.parse(each) for each in (back, recovered, again)] == [Told("rolled-back", "why")] * 3
    assert "since.nmconnection" in left and "sparkrig-guard.service" not in left


@pytest.mark.slow  # a process for each row
@pytest.mark.parametrize("filled", FILLED)
def test_a_commit_on_a_full_disk_is_noted(world: World, filled: str) -> None:
    """Where NetworkManager had nothing to write any more; else its own error takes the change back."""
    lines = on_a_full_disk(world, filled, f"call start; full; call commit\n{SINCE}")
    assert [guard.parse(each).state for each in lines[1:4]] == ["committed"] * 3
    assert "since.nmconnection" in lines[4:] and "sparkrig-guard.service" not in lines[4:]


def test_a_disk_without_room_for_the_way_back_is_refused_before_anything_is_changed(world: World) -> None:
    (line,) = on_a_full_disk(world, "room", "full; call start")
    told = guard.parse(line)
    assert told.state == "rolled-back" and told.detail.endswith("No space left on device; nothing was changed")
    assert not any("connection modify" in call or "CheckpointCreate" in call for call in world.calls)


@pytest.mark.slow  # seconds of real waiting or of many processes
def test_each_write_of_a_rollback_may_fail_alone(world: World) -> None:
    """A file system that finds out at the sync that it has no room: one sync after the other."""
    count = 0
    while True:
        count += 1
        world.set({**UP, **BACK}, mtu=1500)
        world.applied()
        (world.root / PROFILES / "new.nmconnection").write_text("saved")
        before = len(world.calls)
        told = world.call("rollback", "why", full=count)
        syncs = [call for call in world.calls[before:] if call.startswith("fsync")]
        assert told.state == "rolled-back", syncs
        assert not (world.root / "etc/systemd/system/sparkrig-guard.service").exists(), syncs
        (world.root / PROFILES / "since.nmconnection").write_text("since")
        assert world.call("recover") == world.call("rollback", "superseded") == told
        assert (world.root / PROFILES / "since.nmconnection").exists()
        (world.root / PROFILES / "since.nmconnection").unlink()
        world.again()
        if len(syncs) < count:
            break
    assert count > 8


def test_a_long_reason_does_not_hide_what_is_not_as_before(world: World) -> None:
    world.applied()
    world.set({})
    told = world.call("rollback", "why " * 9000)
    assert not told.restored and "not as before: cx was connected by ours, MTU 1500" in told.detail


# --- one guard at a time, and files that only root reads


def test_a_refused_second_guard_leaves_the_first_its_way_back(world: World) -> None:
    world.applied()
    unit = world.root / "etc/systemd/system/sparkrig-guard.service"
    was = unit.read_text()
    second = World(world.root, "20261121T031600Z-cd34")
    second.folder.mkdir(parents=True)
    shutil.copy(world.folder / "guard.py", second.folder)
    order(second)
    told = second.call("start")
    assert told == Told(
        "rolled-back", f"run {RUN} has a change here that is neither confirmed nor taken back; nothing was changed"
    )
    assert unit.read_text() == was and (wants(world) / unit.name).is_symlink()
    assert second.call("recover").state == "rolled-back"
    assert unit.read_text() == was
    world.set(BACK)
    assert world.call("rollback", "why") == Told("rolled-back", "why")
    assert not unit.exists() and not (wants(world) / unit.name).is_symlink()


def test_a_unit_that_a_removed_run_left_behind_stops_no_other(world: World) -> None:
    world.applied()
    shutil.rmtree(world.folder / "before")
    second = World(world.root, "20261121T031600Z-cd34")
    world.folder.rename(world.folder.parent / "gone")
    second.folder.mkdir(parents=True)
    (second.folder / "guard.py").write_text(HASTY)
    order(second)
    second.applied()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_restored_file_is_for_root_alone_until_it_has_its_mode(program: Any, tmp_path: Path, mode: int) -> None:
    """It may hold the secret of a Wi-Fi network."""
    kept, here, seen = tmp_path / "kept", tmp_path / "here", []
    kept.write_text("secret")
    kept.chmod(mode)

    def copy(old: Any, new: Any) -> None:
        seen.append(Path(f"{tmp_path}/.here.sparkrig").stat().st_mode & 0o777)
        new.write(old.read())

    program.shutil = SimpleNamespace(**{**vars(shutil), "copyfileobj": copy})
    before = os.umask(0)
    try:
        program.restore_file(kept, here)
    finally:
        os.umask(before)
    assert seen == [0o600] and here.stat().st_mode & 0o777 == mode and here.read_text() == "secret"
    kept.write_text("another")
    (tmp_path / ".here.sparkrig").write_text("half of it, as a power cut left it")
    program.restore_file(kept, here)
    assert here.read_text() == "another" and here.stat().st_mtime_ns == kept.stat().st_mtime_ns


# --- the time that a way back takes

NAMES = [f"cx{number}" for number in range(8)]


class Slowest:
    """Time, and tools that take all of theirs: `hangs` until NetworkManager was restarted so many times."""

    def __init__(self, program: Any, hangs: int) -> None:
        self.program, self.hangs, self.now, self.calls = program, hangs, 0.0, list[str]()
        program.run, program.side_by_side = self.run, self.side_by_side
        program.time = SimpleNamespace(
            **{**vars(time), "time": self.clock, "monotonic": self.clock, "sleep": self.sleep}
        )

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def run(self, command: list[str], seconds: float = 0) -> str:
        line = " ".join(command)
        self.calls.append(line)
        self.now += seconds or self.program.slow(self.program.ASK_S)
        if self.restarts() < self.hangs:
            raise self.program.Trouble(f"{line}: timed out")
        entry = {"mtu": 1500, "flags": ["LOWER_UP"], "addr_info": []}
        return {
            "ip -j": json.dumps([{**entry, "ifname": name} for name in NAMES]),
            "ip -4": "[]",
            "nmcli -t": "\n".join(f"{name}:disconnected:" for name in NAMES),
            "busctl --json=short": '{"data": []}',
            "busctl call": 'o "/a/path"',
            "systemctl list-units": "sparkrig-guard.service loaded",
        }.get(" ".join(command[:2]), "")

    def restarts(self) -> int:
        return sum("restart NetworkManager" in call for call in self.calls)

    def side_by_side(self, act: Callable[[Any], None], rows: list[Any]) -> None:
        """The slowest row counts."""
        began, ends, faults = self.now, [], []
        for row in rows:
            self.now = began
            try:
                act(row)
            except self.program.FAULTS as fault:
                faults.append(fault)
            ends.append(self.now)
        self.now = max(ends, default=began)
        if faults:
            raise faults[0]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The guard as a module, for a host in a folder."""
    monkeypatch.setenv("SPARKRIG_ROOT", str(tmp_path))
    return load(PROGRAM)


def slowest(program: Any, root: Path, state: str, hangs: int, patience: float) -> tuple[Slowest, guard.Order]:
    """A guard in that state whose links were up, and now are down; one file, netplan's, cannot be put back."""
    profiles = [{"uuid": name, "verb": "add", "properties": {}} for name in NAMES]
    links = [{"netdev": name, "mtu": 9000, "address": "10.0.0.1/24", "gid": "gid"} for name in NAMES]
    seconds = int(guard.LIVE_S * patience)
    made = guard.Order("links", 90, seconds, patience, profiles, ["theirs"], ["/etc/netplan/a.yaml"], links)
    folder = root / RUN / "guard"
    was = {"connected": True, "external": False, "profile": "p", "mtu": 9000, "carrier": True, "addresses": ["a"]}
    if state != "none":
        (folder / "before/etc/netplan").mkdir(parents=True)
        (folder / "before/etc/netplan/old").write_text("before")
        (folder / "before/links.json").write_text(json.dumps({"links": dict.fromkeys(NAMES, was), "default": []}))
        (folder / "state").write_text(f"{state}\n")
        (folder / "checkpoint").write_text("/checkpoint/1")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "order.json").write_text(made.dump())
    for place in (PROFILES, "etc/netplan/.old.sparkrig", "etc/systemd/system"):
        (root / place).mkdir(parents=True, exist_ok=True)
    program.shutil = SimpleNamespace(**{**vars(shutil), "which": str})
    program.Limits.patience = patience
    return Slowest(program, hangs), made


@pytest.mark.parametrize("patience", [1.0, 2.0])
@pytest.mark.parametrize(("hangs", "restarts"), [(0, 1), (1, 2), (9, 2)])
def test_each_step_may_take_its_time_and_the_last_means_is_reached(
    program: Any, tmp_path: Path, patience: float, hangs: int, restarts: int
) -> None:
    """Eight links that do not come up, and tools that hang for ever, until NetworkManager restarts, or never."""
    made, order = slowest(program, tmp_path, "applied", hangs, patience)
    program.back(program.Guard(tmp_path / RUN / "guard"), "why")
    assert made.restarts() == restarts
    assert made.now <= guard.BACK_S * patience
    if hangs == 1:
        assert made.now > 0.8 * guard.BACK_S * patience, "no more than that is needed"
    if hangs < 2:
        assert sum("connection up p" in call for call in made.calls) >= len(NAMES)
    assert order.patience == patience


@pytest.mark.parametrize("patience", [1.0, 2.0])
@pytest.mark.parametrize(
    ("verb", "state", "words"),
    [
        ("start", "none", ()),
        ("wait", "armed", ()),
        ("commit", "applied", ()),
        ("revert", "armed", ("why",)),
        ("revert", "committed", ("why",)),
    ],
)
def test_a_host_is_given_the_time_for_each_answer(
    program: Any, tmp_path: Path, patience: float, verb: str, state: str, words: tuple[str, ...]
) -> None:
    made, order = slowest(program, tmp_path, state, 0, patience)
    getattr(program, verb)(program.Guard(tmp_path / RUN / "guard"), *words)
    assert 0.4 * order.limit(verb) < made.now <= order.limit(verb)


def test_the_host_takes_its_patience_from_the_order(world: World) -> None:
    order(world, patience=2.5)
    world.applied()
    world.set({"CheckpointRollback": {"rc": 1}}, state="disconnected")
    world.call("rollback", "why")
    assert "nmcli --wait 75 connection up ours" in world.calls


def test_links_go_back_side_by_side(program: Any) -> None:
    """One that is slow, or never comes up, takes no time from the one that ssh comes in on."""
    here = {"connected": False, "external": False, "profile": "", "mtu": 9000, "addresses": []}
    was = {**here, "connected": True, "profile": "p"}
    together = threading.Barrier(len(NAMES), timeout=10)
    program.links = lambda: dict.fromkeys(NAMES, here)
    program.run = lambda *_: together.wait() and ""
    program.restore_links(dict.fromkeys(NAMES, was))
    assert not together.broken


def test_links_are_activated_side_by_side_and_all_end_before_one_is_given_up(world: World) -> None:
    """What is given up while another link still comes up would be changed after its way back."""
    profiles = [{"uuid": uuid, "verb": "modify", "properties": {"a": "b"}} for uuid in ("ours", "more")]
    order(world, profiles=profiles)
    await_other = 'n=0; until [ -e "$here/began" ] || [ $n -gt 500 ]; do sleep 0.02; n=$((n + 1)); done'
    slow = 'touch "$here/began"; sleep 0.3; touch "$here/ended"'
    world.set(
        {
            "connection up ours": {"meanwhile": await_other, "rc": 4, "says": "no"},
            "connection up more": {"meanwhile": slow},
            "CheckpointRollback": {"meanwhile": 'echo "ended: $(ls "$here" | grep -c ended)" >>"$here/calls"'},
        }
    )
    assert world.call("start").state == "rolled-back"
    assert (world.root / "began").exists() and "ended: 1" in world.calls
    defined = [n for n, call in enumerate(world.calls) if "connection modify" in call]
    assert max(defined) < min(n for n, call in enumerate(world.calls) if "connection up" in call)


def test_both_sides_of_the_guard_count_with_the_same_numbers(program: Any) -> None:
    for name in ("GRACE_S", "ASK_S", "RELOAD_S", "BACK_S", "NOT_RESTORED", "STAYS"):
        assert getattr(program, name) == getattr(guard, name), name
    page = " ".join((PROGRAM.parents[1] / "docs/safety.md").read_text().split())
    assert f"waits for a host for {guard.BACK_S} s " in page


# --- what it asks of the other half


def test_the_rails_are_asked_with_packets_that_may_not_be_split(tmp_path: Path) -> None:
    """A smaller MTU on the way then answers with an error, where a packet in pieces would get through."""
    split = 'case "$*" in *10.0.1.2) echo "ping: Message too long, mtu=1500"; exit 1; esac'
    tool(tmp_path, "ping", f'echo "$*" >>"${{0%/*}}/asked"; {split}')
    words = guard.link_words(0, [Probe(0, "cx", "10.0.0.2", 9000), Probe(1, "cy", "10.0.1.2", 9000)])
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", guard.LINK, "link", *words], env=env, capture_output=True, text=True, check=True
    )
    assert guard.silent(done.stdout) == [
        "no answer on rail 1 from 10.0.1.2 over cy to 9000 bytes (Message too long, mtu=1500)"
    ]
    for line, netdev in zip((tmp_path / "asked").read_text().splitlines(), ("cx", "cy"), strict=True):
        assert "-M do" in line and "-s 8972" in line and f"-I {netdev}" in line


@pytest.mark.slow
def test_a_link_that_was_just_coming_up_is_not_cut_off_by_the_way_back(world: World) -> None:
    """Whoever plugged it in while the change was on its way keeps it."""
    order(world, links=[{**ORDER["links"][0], "netdev": "gone"}])
    up = {"CheckpointRollback": {"state": "connected"}}
    world.set(up, state="connecting (getting IP configuration)")
    assert world.call("start").state == "rolled-back"
    assert not any("disconnect" in call or "restart" in call for call in world.calls)
