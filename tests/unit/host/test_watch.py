"""The black box as it is declared: what a deploy does about it, and its script, run with stand-ins."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.files import File, Found
from sparkrig.host import watch
from sparkrig.runs.managed_files import OWNED, RELOADS, WRITTEN
from sparkrig.runs.undo import RESTORE, Change, Plan
from tests.unit.shells import sh, tool

WANTED = watch.plan({}, on=True).write
DIGEST = watch.digest()


def found(files: tuple[File, ...] = WANTED, started: str = DIGEST, *, link: bool = True) -> dict[str, Found]:
    made = {file.path: Found(file.content, file.mode, "root:root") for file in files}
    if started:
        made[watch.STARTED] = Found(f"{started}\n", "0600", "root:root")
    return made | ({watch.LINK: made[watch.UNIT_FILE]} if link else {})


def test_a_host_that_is_as_declared_is_left_alone() -> None:
    assert not watch.plan(found(), on=True)
    assert not watch.plan({}, on=False)


def test_what_a_deploy_does() -> None:
    program, unit = WANTED
    assert (program.path, unit.path) == (watch.PROGRAM, watch.UNIT_FILE)
    edited = found((replace(program, content="x"), unit))
    assert watch.plan(edited, on=True) == watch.Plan(write=(program,))
    assert watch.plan(found(started=""), on=True).lack == "it does not run"
    assert watch.plan(found(started="0123456789ab"), on=True).lack == "another version of it runs"
    assert watch.plan(found(link=False), on=True).lack == "it does not start with the host"
    gone = watch.plan(found(), on=False)
    assert gone == watch.Plan(remove=(watch.UNIT_FILE, watch.PROGRAM), lack="it still runs")
    assert watch.plan({watch.STARTED: found()[watch.STARTED]}, on=False)


def test_a_new_program_is_a_new_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a run that broke off between the files and the start would leave the old program at work."""
    monkeypatch.setattr(programs, "file", lambda _: "another program\n")
    assert watch.plan(found(), on=True).write[1].content != WANTED[1].content
    assert watch.plan(found(), on=True).lack == "another version of it runs"


def test_what_the_process_makes_is_looked_at_and_never_written() -> None:
    for path in (watch.STARTED, watch.LINK):
        assert path in OWNED and path not in WRITTEN
    assert RELOADS[watch.UNIT_FILE] == RELOADS[watch.PROGRAM] == watch.SETTLE


class Host:
    """A host below a folder, with a systemctl that starts what the unit's file says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.started, self.link = self.at(watch.STARTED), self.at(watch.LINK)
        for path in (watch.UNIT_FILE, watch.PROGRAM, watch.STARTED, watch.LINK):
            self.at(path).parent.mkdir(parents=True, exist_ok=True)
        tool(
            root / "bin",
            "systemctl",
            f"""echo "$*" >>{root}/did
case $* in
*enable*) ln -sf {self.at(watch.UNIT_FILE)} {self.link} ;;
restart*) if [ ! -e {root}/broken ]; then echo x >{self.started}; fi ;;
stop*) [ -e {self.started} ] || exit 5; rm {self.started} ;;
esac""",
        )
        tool(root / "bin", "sleep", "")
        tool(root / "bin", "sync", "")

    def at(self, path: str) -> Path:
        return Path(f"{self.root}{path}")

    def sh(self, text: str, *words: str, stdin: str = "") -> tuple[int, str]:
        here = re.sub(
            r"(?<![\w.}])/(?:etc|run|var/lib|usr/local/lib)/", lambda path: f"{self.root}{path[0]}", text
        )
        done = sh(f"set -e\n{here}", *words, path=self.root / "bin", stdin=stdin)
        return done.returncode, done.stderr

    @property
    def did(self) -> list[str]:
        file = self.root / "did"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines

    def deployed(self) -> None:
        for file in WANTED:
            self.at(file.path).write_text(file.content)
        assert self.sh(watch.SETTLE) == (0, "")
        ring = self.at("/var/lib/sparkrig/blackbox/ring")
        ring.parent.mkdir(parents=True)
        ring.write_text("rows")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_it_is_started_anew_and_waited_for(host: Host) -> None:
    host.deployed()
    assert host.did == ["daemon-reload", f"--quiet enable {watch.UNIT}", f"restart {watch.UNIT}"]
    assert host.started.exists() and host.link.is_symlink()


def test_one_that_does_not_start_fails_the_step(host: Host) -> None:
    (host.root / "broken").touch()
    host.at(watch.UNIT_FILE).write_text("x")
    code, said = host.sh(watch.SETTLE)
    assert code == 1 and "does not start; try: journalctl -u sparkrig-blackbox.service" in said


@pytest.mark.parametrize("runs", [True, False])
def test_an_undo_takes_all_of_it_away(host: Host, runs: bool) -> None:
    """The step of an undo for files and that for services, as they come one after the other."""
    host.deployed()
    if not runs:
        host.started.unlink()
    changes = tuple(Change(f"file {file.path}", "remove") for file in WANTED)
    plan = Plan("R1", changes)
    assert plan.reloads == [watch.SETTLE]
    rows = plan.files(docker=False).replace(" /", f" {host.root}/")
    assert host.sh(RESTORE, "before", stdin=rows) == (0, "")
    assert host.sh("\n".join(plan.reloads)) == (0, "")
    left = {str(path.relative_to(host.root)) for path in host.root.rglob("*") if not path.is_dir()}
    assert left == {"bin/systemctl", "bin/sleep", "bin/sync", "did"}
    assert not host.at("/var/lib/sparkrig/blackbox").exists()
    assert not host.at("/usr/local/lib/sparkrig").exists()
    assert host.did[-2:] == [f"stop {watch.UNIT}", "daemon-reload"]
