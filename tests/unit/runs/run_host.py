"""A host in a folder on which guard, lock, journal and records work together: the real programs, a simulated
NetworkManager, a systemd of timers, and clocks that a test moves.

What runs on the host alone (begin, end, a step, what is armed, undo, settling) is the program that is sent there;
templates/guard.py runs as a module (guarded_host). A run's hold on its lock is a lock of this process, which is
closed where its controller dies: tests/unit/runs/test_lock.py has lock_hold.sh itself. All of a host can be kept
and gone back to, so that histories share what they begin with.
"""

from __future__ import annotations

import copy
import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sparkrig import programs
from sparkrig.runs import lock, undo
from sparkrig.runs.journal import BEGIN, END, Journal
from sparkrig.runs.journal_look import LOOK, parse
from sparkrig.runs.undo import Plan
from tests.unit import undo_host
from tests.unit.shells import well
from tests.unit.templates import guarded_host
from tests.unit.templates.guarded_host import PROFILES

NCCL = undo_host.NCCL
SETTLE, PREPARE = (programs.text(f"operations/guard_{name}.sh") for name in ("settle", "prepare"))
WINDOW_S, GRACE_S = 90, 5
LIVE = ("armed", "applied")
BEGUN, ARMED, APPLIED, COMMITTED, UNENDED = MOMENTS = ("begun", "armed", "applied", "committed", "unended")
_CLOCKS = re.compile(r"\b\d{9,}(\.\d+)?\b")


Standing = tuple[int, bytes]  # a file's mode and content
Kept = tuple[dict[Path, Standing], "Machine"]
LINK = -1  # in place of a mode
FOLDER: Standing = (-2, b"")


class Died(Exception):
    """The controller was killed."""


@dataclass
class Machine:
    """What is no file: what NetworkManager and systemd know, and the clocks."""

    up: float = 1000.0
    wall: int = 1_800_000_000
    boot: int = 1
    runs: int = 0
    mtu: int = 1500
    memory: int = 1500  # of our profile, as NetworkManager has it; a file has what lasts
    checkpoints: dict[str, tuple[float, int, int]] = field(default_factory=dict)
    timers: dict[str, float] = field(default_factory=dict)


class Manager(guarded_host.Host):
    """NetworkManager with one profile of ours, and systemd's timers."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        shutil.rmtree(self.folder.parent)
        self.it = Machine()
        self.dies = False
        self.save()
        self.program.BOOT_ID = root / "proc/sys/kernel/random/boot_id"

    @property
    def profile(self) -> Path:
        return self.root / PROFILES / "ours"

    def save(self) -> None:
        self.profile.write_text(f"uuid=ours\nmtu={self.it.memory}\n")

    def reload(self) -> None:
        self.it.memory = int(self.profile.read_text().split("=")[-1])

    def sets_mtu(self, mtu: int) -> None:
        self.it.mtu = mtu
        self.links["cx"]["mtu"] = mtu

    def answer(self, line: str) -> str:
        last = line.rpartition(" ")[2]
        if line.endswith("apply") and self.dies:
            raise Died
        if "modify --temporary ours" in line:
            self.it.memory = int(last)
        elif "connection up ours" in line:
            self.sets_mtu(self.it.memory)
        elif "connection reload" in line:
            self.reload()
        elif line.startswith("ip link set cx mtu"):
            self.sets_mtu(int(last))
        elif line.endswith(".Connection Save"):
            self.save()
        elif "--on-active" in line:
            run = re.findall(r"--unit=sparkrig-deadman-(\S+)", line)[0]
            self.it.timers[run] = self.now + int(re.findall(r"--on-active=(\d+)", line)[0])
        elif line.startswith("systemctl stop sparkrig-deadman-"):
            self.it.timers.pop(line.removeprefix("systemctl stop sparkrig-deadman-").removesuffix(".timer"), None)
        elif "restart NetworkManager" in line:
            self.it.checkpoints.clear()
            self.reload()
            self.sets_mtu(self.it.memory)
        elif "Checkpoint" in line:
            return self.checkpoint(line, last)
        return super().answer(line)

    def checkpoint(self, line: str, last: str) -> str:
        known = self.it.checkpoints
        if "get-property" in line:
            return json.dumps({"type": "ao", "data": [*known]})
        if "Create" in line:
            known["/cp"] = (self.now + WINDOW_S, self.it.mtu, self.it.memory)
            return 'o "/cp"'
        if last not in known:
            raise self.trouble(f"no checkpoint {last}")
        _, mtu, memory = known.pop(last)
        if "Rollback" in line:
            self.it.memory = memory
            self.sets_mtu(mtu)
        return ""

    def opened(self, folder: Path) -> Any:
        return self.program.Guard(folder)


class Spark(undo_host.Spark):
    """One host, and what controllers do to it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.nm = Manager(root)
        self.hold: IO[str] | None = None
        for name in ("apt-mark", "sync", "chown", "dpkg-query"):
            (self.bin / name).unlink()
            (self.bin / name).symlink_to("/bin/true")
        self.tool("date", f'read -r now <{root}/wall; echo "$now"')
        self.tool("python3", f'printf "%s\\t%s\\n" "$1" "$3" >>{root}/asked')
        self.clocks()

    # the host

    def here(self, text: str) -> str:
        text = re.sub(r"(?<![\w/])/proc/(uptime|sys/kernel)", rf"{self.root}/proc/\1", text)
        return super().here(text)

    def clocks(self) -> None:
        it = self.nm.it
        it.up = self.nm.now
        (self.root / "proc/sys/kernel/random").mkdir(parents=True, exist_ok=True)
        (self.root / "proc/uptime").write_text(f"{it.up:.2f} 1.00\n")
        (self.root / "proc/sys/kernel/random/boot_id").write_text(f"boot-{it.boot}\n")
        (self.root / "wall").write_text(f"{it.wall}\n")

    def passes(self, seconds: float) -> None:
        """Time goes by: what is due is done, in its order."""
        nm, end = self.nm, self.nm.now + seconds
        while True:
            due = [(at, "", name) for name, (at, _, _) in nm.it.checkpoints.items()]
            due += [(at, "deadman", run) for run, at in nm.it.timers.items()]
            if not due or min(due)[0] > end:
                break
            at, kind, name = min(due)
            nm.now = max(nm.now, at)
            if kind:
                del nm.it.timers[name]
                nm.program.rollback(nm.opened(self.guard(name)), f"it was not confirmed within {WINDOW_S} s")
            else:
                nm.checkpoint("Rollback", name)
        nm.now = max(end, nm.now)
        self.clocks()

    def guard(self, run: str) -> Path:
        return self.root / "var/lib/sparkrig/runs" / run / "guard"

    def loses_power(self) -> None:
        nm = self.nm
        shutil.rmtree(self.root / "run/sparkrig", ignore_errors=True)
        nm.it.checkpoints, nm.it.timers, nm.now = {}, {}, 10.0
        nm.it.boot += 1
        self.clocks()
        if folder := nm.program.at_boot():
            nm.program.recover(nm.opened(folder))
        nm.reload()
        nm.sets_mtu(nm.it.memory)
        self.clocks()

    def edits_link(self) -> None:
        """As nmcli does it: at once, in memory and in the file."""
        self.nm.it.memory = 4321
        self.nm.save()
        self.nm.sets_mtu(4321)

    def steps_clock(self) -> None:
        self.nm.it.wall -= 100_000_000
        self.clocks()

    # a controller

    def begin(self, run: str, undoes: str = "") -> None:
        self.takes(run)
        done = well(self.sh(BEGIN, run, lock.given(run, "ann@laptop", "x", "0", undoes), "", NCCL))
        assert re.match("lock (free|stale) ", done.stdout), done.stdout
        assert not done.stderr, done.stderr

    def takes(self, run: str) -> None:
        """As lock_hold.sh does it."""
        folder = self.root / "run/sparkrig"
        folder.mkdir(parents=True, exist_ok=True)
        self.hold = (folder / f"holder.{run}").open("w")
        fcntl.flock(self.hold, fcntl.LOCK_EX)

    def dies(self) -> None:
        if self.hold:
            self.hold.close()
            self.hold = None

    def end(self, run: str) -> None:
        well(self.sh(END, run, "", NCCL))
        self.dies()

    def lock_can_be_taken(self) -> None:
        """By a run that then changes nothing."""
        self.takes(PROBE)
        done = self.sh(f"{lock.LOCK}\nrm -rf $lock", PROBE, lock.given(PROBE, "ann@laptop", "x", "0"), "")
        assert re.match("lock (free|stale) ", done.stdout), (done.stdout, done.stderr)
        self.dies()

    @property
    def lock(self) -> Path:
        return self.root / "run/sparkrig/lock"

    def look(self) -> Journal:
        done = well(self.sh(LOOK, NCCL))
        return parse(done.stdout.replace(str(self.root), "").splitlines())

    def settle(self, why: str) -> None:
        """As guard_settle.sh orders it: what it calls runs here, and what it would wait for passes."""
        well(self.sh(SETTLE, "0", why))
        self.asked()
        if self.armed():
            self.passes(WINDOW_S + GRACE_S)

    def asked(self) -> None:
        """What the host was told to take back."""
        file = self.root / "asked"
        for line in file.read_text().splitlines() if file.exists() else []:
            path, _, why = line.partition("\t")
            self.nm.program.rollback(self.nm.opened(Path(path).parent), why)
        file.unlink(missing_ok=True)
        self.clocks()

    def armed(self) -> set[str]:
        """The truth, by the files themselves."""
        states = (self.root / "var/lib/sparkrig/runs").glob("*/guard/state")
        return {state.parents[1].name for state in states if state.read_text().split("\n")[0] in LIVE}

    def guarded(self, run: str, order: Mapping[str, Any], dies: str) -> bool:
        """A change of the network, up to where its controller dies; whether it was committed."""
        nm = self.nm
        well(self.sh(PREPARE, run))
        self.asked()
        nm.folder = self.guard(run)
        nm.folder.mkdir()
        nm.order(**order)
        nm.guard, nm.dies = nm.opened(nm.folder), dies == ARMED
        try:
            nm.program.start(nm.guard)
        finally:
            nm.dies = False
            self.clocks()
        if dies == APPLIED:
            raise Died
        nm.program.commit(nm.guard)
        self.clocks()
        return bool(nm.guard.state == "committed")

    def takes_back(self, plan: Plan, run: str) -> None:
        """All of an undo but the network."""
        if rows := plan.files(docker=False):
            well(self.step(run, undo.RESTORE, f"{lock.RUNS}/{plan.run}/before/files", stdin=rows))

    # keeping and going back

    def kept(self) -> Kept:
        self.nm.it.up = self.nm.now
        files = {path: standing(path) for path in self.root.rglob("*") if self.bin not in (path, path.parent)}
        return files, copy.deepcopy(self.nm.it)

    def back_to(self, kept: Kept) -> None:
        self.dies()
        now, (files, machine) = self.kept()[0], kept
        for path in sorted(now, reverse=True):
            if now[path] != files.get(path):
                path.rmdir() if now[path] == FOLDER else path.unlink()
        for path in sorted(files):
            if files[path] != now.get(path):
                stand(path, *files[path])
        self.nm.it = copy.deepcopy(machine)
        self.nm.now = machine.up
        self.nm.links["cx"]["mtu"] = machine.mtu
        self.nm.acts.clear()
        self.clocks()

    def digest(self, kept: Kept) -> str:
        """The same for two hosts that only clocks tell apart."""
        files, it = kept
        rows = []
        for path, (mode, content) in sorted(files.items()):
            if path.name not in ("deadline", "wall", "uptime", "seen", "seen.new", "status"):
                text = _CLOCKS.sub("TIME", content.decode(errors="replace"))
                rows.append((str(path), mode, text.replace(f"boot-{it.boot}", "BOOT")))
        left = sorted((run, round(at - it.up)) for run, at in it.timers.items())
        points = sorted((name, round(at - it.up), *more) for name, (at, *more) in it.checkpoints.items())
        known = (rows, left, points, it.mtu, it.memory, it.runs, it.wall)
        return hashlib.sha256(repr(known).encode()).hexdigest()


def standing(path: Path) -> Standing:
    if path.is_symlink():
        return LINK, bytes(path.readlink())
    return FOLDER if path.is_dir() else (path.stat().st_mode & 0o777, path.read_bytes())


def stand(path: Path, mode: int, content: bytes) -> None:
    if mode == LINK:
        path.symlink_to(content.decode())
    elif mode == FOLDER[0]:
        path.mkdir()
    else:
        path.write_bytes(content)
        path.chmod(mode)


PROBE = "20261121T999999Z-ab12"
