"""The black box as it is declared: what a deploy does about it, and its script, run with stand-ins."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.files import File, Found
from sparkrig.resources import watch
from sparkrig.runs.managed_files import OWNED, RELOADS, WRITTEN
from sparkrig.runs.undo import RESTORE, Change, Plan
from tests.unit.simulated import SimulatedHost

WANTED = watch.plan({}, on=True).write
DIGEST = watch.digest()
RUN = programs.text("operations/watch_exporter.sh")


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
    assert watch.plan(edited, on=True).write == (program,)
    assert watch.plan(found(started=""), on=True).lack == "it does not run"
    assert watch.plan(found(started="0123456789ab"), on=True).lack == "another version of it runs"
    assert watch.plan(found(link=False), on=True).lack == "it does not start with the host"
    gone = watch.plan(found(), on=False)
    assert (gone.write, gone.remove, gone.lack) == ((), (watch.UNIT_FILE, watch.PROGRAM), "it still runs")
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


class Host(SimulatedHost):
    """A host below a folder, with a systemctl that starts what the unit's file says."""

    own = r"(?<![\w.}])/(?:etc|run|var/lib|usr/local/lib)/"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.started, self.link = self.at(watch.STARTED), self.at(watch.LINK)
        for path in (watch.UNIT_FILE, watch.PROGRAM, watch.STARTED, watch.LINK):
            self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.tool(
            "systemctl",
            f"""echo "$*" >>{root}/did
case $* in
*enable*) ln -sf {self.at(watch.UNIT_FILE)} {self.link} ;;
restart*) if [ ! -e {root}/broken ]; then echo x >{self.started}; fi ;;
stop*) [ -e {self.started} ] || exit 5; rm {self.started} ;;
esac""",
        )
        self.tool("sleep")
        self.tool("sync")

    def does(self, text: str, *words: str, stdin: str = "") -> tuple[int, str]:
        done = self.sh(f"set -e\n{text}", *words, stdin=stdin)
        return done.returncode, done.stderr

    def deployed(self) -> None:
        for file in WANTED:
            self.at(file.path).write_text(file.content)
        assert self.does(watch.SETTLE) == (0, "")
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
    code, said = host.does(watch.SETTLE)
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
    rows = plan.files(docker=False)
    assert host.does(RESTORE, "before", stdin=rows) == (0, "")
    assert host.does("\n".join(plan.reloads)) == (0, "")
    left = {str(path.relative_to(host.root)) for path in host.root.rglob("*") if not path.is_dir()}
    assert left == {"bin/systemctl", "bin/sleep", "bin/sync", "did"}
    assert not host.at("/var/lib/sparkrig/blackbox").exists()
    assert not host.at("/usr/local/lib/sparkrig").exists()
    assert host.did[-2:] == [f"stop {watch.UNIT}", "daemon-reload"]


# --- the node exporter of the metrics

EXPORTER = Found("", "0644", "root:root")


def with_metrics(*, installed: bool = True, runs: bool = True, ours: bool = True) -> dict[str, Found]:
    made = found(watch.plan({}, on=True, metrics=True).write[:3], watch.digest(["--metrics"]))
    made |= {watch.EXPORTER_UNIT: EXPORTER} if installed else {}
    made |= {watch.EXPORTER_RUNS: EXPORTER} if runs else {}
    note = watch.plan({}, on=True, metrics=True).write[3]
    return made | ({watch.INSTALLED: Found(note.content, "0644", "root:root")} if ours else {})


def test_an_exporter_that_a_deploy_installed_is_noted_and_goes_with_the_setting() -> None:
    plan = watch.plan(found(), on=True, metrics=True)
    assert [each.path for each in plan.write] == [watch.METRICS, watch.UNIT_FILE, watch.INSTALLED]
    assert plan.exporter == "is not installed"
    assert not watch.plan(with_metrics(), on=True, metrics=True)
    off = watch.plan(with_metrics(), on=True)
    assert off.remove == (watch.METRICS, watch.INSTALLED) and off.reload == (watch.UNIT_FILE, watch.INSTALLED)
    assert watch.plan(with_metrics(), on=False).reload == (watch.UNIT_FILE, watch.INSTALLED)


def test_an_exporter_of_its_owner_is_never_noted_and_stays() -> None:
    standing = {**found(), watch.EXPORTER_UNIT: EXPORTER, watch.EXPORTER_RUNS: EXPORTER}
    plan = watch.plan(standing, on=True, metrics=True)
    assert [each.path for each in plan.write] == [watch.METRICS, watch.UNIT_FILE] and not plan.exporter
    assert watch.plan(with_metrics(ours=False), on=False).remove == (watch.UNIT_FILE, watch.PROGRAM, watch.METRICS)


def test_one_that_does_not_run_leaves_the_black_box_alone() -> None:
    plan = watch.plan(with_metrics(runs=False), on=True, metrics=True)
    assert (plan.paths, plan.exporter, plan.reload) == ((), "does not run", ())


def test_what_the_exporter_has_is_looked_at_and_never_written() -> None:
    for path in (watch.EXPORTER_UNIT, watch.EXPORTER_RUNS):
        assert path in OWNED and path not in WRITTEN
    assert watch.INSTALLED in WRITTEN


def exporter(host: Host, pids: str) -> tuple[int, str]:
    """Have it run. pids: its main process at each look, the last one for ever."""
    (host.root / "pids").write_text(pids.replace(" ", "\n") + "\n")
    host.tool(
        "systemctl",
        f"""case $1 in
show) head -1 {host.root}/pids; if [ "$(wc -l <{host.root}/pids)" -gt 1 ]; then sed -i 1d {host.root}/pids; fi ;;
*) echo "$*" >>{host.root}/did; [ ! -e {host.root}/masked ] ;;
esac""",
    )
    return host.does(RUN)


def test_an_exporter_runs_once_one_process_of_it_stays(host: Host) -> None:
    for pids in ("7", "0 0 7", "7 0 8", "7 8 9"):
        assert exporter(host, pids) == (0, ""), pids
        assert host.did == ["--quiet enable --now prometheus-node-exporter.service"]


def test_one_whose_port_is_taken_fails_the_step(host: Host) -> None:
    for pids in ("0", "7 0", "7 7 0", "7 8 " * 20 + "0"):
        code, said = exporter(host, pids.strip())
        assert code == 1 and "prometheus-node-exporter.service does not stay alive; another program" in said, pids
        assert said.count("\n") == 1
    (host.root / "masked").touch()
    assert exporter(host, "7")[0] == 1


class Packages:
    """dpkg with one package. It is as dpkg 1.21 behaves: --no-act with a package that others need ends with 1."""

    def __init__(self, host: Host) -> None:
        self.host, self.state = host, host.root / "state"
        self.state.write_text("installed")
        host.tool("dpkg-query", f"cat {self.state}")
        host.tool(
            "dpkg",
            f"""echo "dpkg $*" >>{host.root}/did
if [ -e {host.root}/needed ]; then exit 1; fi
case $* in *--no-act*) exit 0 ;; esac
if [ -e {host.root}/busy ]; then rm {host.root}/busy; exit 2; fi
: >{self.state}""",
        )
        host.tool(
            "systemd-run",
            f'echo "systemd-run" >>{host.root}/did; while [ "$1" != /bin/sh ]; do shift; done; exec "$@"',
        )

    @property
    def there(self) -> str:
        return self.state.read_text()


ACT, PURGE = (f"dpkg {words}--purge prometheus-node-exporter" for words in ("--no-act ", ""))


def test_a_package_goes_with_its_note_also_where_dpkg_is_busy_for_a_while(host: Host) -> None:
    packages = Packages(host)
    (host.root / "busy").touch()
    assert host.does(watch.RELEASE) == (0, "")
    assert (host.did, packages.there) == ([ACT, "systemd-run", PURGE, PURGE], "")
    assert host.does(watch.RELEASE) == (0, "") and host.did == []  # it is gone


def test_a_package_stays_while_the_note_stands_or_another_one_needs_it(host: Host) -> None:
    packages = Packages(host)
    host.at(watch.INSTALLED).write_text("")
    assert host.does(watch.RELEASE) == (0, "") and host.did == []
    host.at(watch.INSTALLED).unlink()
    (host.root / "needed").touch()
    assert host.does(watch.RELEASE) == (0, "") and host.did == [ACT]
    assert packages.there == "installed"


def test_an_undo_takes_package_and_readings_away(host: Host) -> None:
    packages = Packages(host)
    files = watch.plan({}, on=True, metrics=True).write
    for file in files:
        host.at(file.path).write_text(file.content)
    prom = host.at("/var/lib/prometheus/node-exporter/sparkrig.prom")
    prom.parent.mkdir(parents=True)
    prom.write_text("x")
    plan = Plan("R1", tuple(Change(f"file {file.path}", "remove") for file in files))
    assert plan.reloads == [watch.SETTLE, watch.RELEASE]
    assert host.does(RESTORE, "before", stdin=plan.files(docker=False)) == (0, "")
    assert host.does("\n".join(plan.reloads)) == (0, "")
    assert packages.there == "" and not prom.exists() and not host.at("/usr/local/lib/sparkrig").exists()


def test_a_black_box_without_metrics_is_what_it_was_before_there_were_any() -> None:
    """A host that has one already keeps it, with its digest, as it is."""
    assert [each.path for each in WANTED] == [watch.PROGRAM, watch.UNIT_FILE]
    assert watch.digest() == hashlib.sha256(WANTED[0].content.encode()).hexdigest()[:12]
    assert f"{watch.PROGRAM} {DIGEST}\n" in WANTED[1].content
