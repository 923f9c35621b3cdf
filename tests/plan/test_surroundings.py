"""Every verb where something around it is amiss: a stream, the working folder, its environment, a home.

What is wanted is one sentence in place of a traceback, and the verb's own answer wherever it does not need what is
missing. The verbs are those of the command, and what is typed is the example of their help.
"""

from __future__ import annotations

import errno
import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sparkrig.cli import main
from sparkrig.cli.main import _VERBS
from sparkrig.drift.io import drift_files
from tests import warm
from tests.plan import fleet
from tests.plan.conftest import ROOT, B, converged, pair, recorded, run_deploy
from tests.plan.desk import Desk, write
from tests.plan.guarded import GUARDED
from tests.tables import each_row
from tests.unit.sshd import free_ports

pytestmark = pytest.mark.slow  # each verb in each of them: 13 s on one core
SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))
CODES = (0, 1, 2, 3)
# no lab is started, no question is asked, and no name is looked up
INSTEAD = {
    "apply": ["inventories/sparks.py", "--yes"],
    "lab": ["status"],
    "support": ["inventories/sparks.py", "--yes", "--output", "NEW"],
    "unlock": ["inventories/sparks.py", "--yes"],
    "explain": [],
    "serve": ["inventories/sparks.py", "--for", "coding", "--dry"],
    "schedule": ["inventories/sparks.py", "--remove"],
    "mcp": ["NOWHERE"],
}
# verbs with an inventory that wait for no host
AT_ONCE = {"accept", "blackbox", "doctor", "drift", "mcp", "plan", "schedule", "support", "update"}
TOO_LONG = "/" + 300 * "x"  # root is refused it, too


@dataclass
class Place:
    """A folder with an inventory of a pair that refuses connections; what was typed where nothing is amiss."""

    folder: Path
    ports: list[int]
    numbers: Iterator[int] = field(default_factory=count)
    plain: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)

    def typed(self, verb: str, **how: Any) -> subprocess.CompletedProcess[str]:
        env = {"SPARKRIG_WAIT_S": "0", "NO_COLOR": "1", "XDG_STATE_HOME": str(self.folder / "state")}
        env |= {"SPARKRIG_LAB_DIR": str(self.folder / "lab"), **how.pop("env", {})}
        where = self.folder / "desk"
        if how.get("gone"):
            where = self.folder / "gone"
            where.mkdir()
        return warm.run("sparkrig", verb, *self.words(verb), cwd=where, env=env, timeout=20, **how)

    def words(self, verb: str) -> list[str]:
        """Those of its example, about this place."""
        _, _, *words = shlex.split(_VERBS[verb].example)
        known = {
            "NEW": str(self.folder / f"{next(self.numbers)}.tar.gz"),  # its own names are of one second
            "inventories/sparks.py": str(self.folder / "sparks.py"),
            "http://spark-a:8000": f"http://127.0.0.1:{self.ports[0]}",
            "nvidia@spark-a.local": f"nvidia@127.0.0.1:{self.ports[0]}",
        }
        return [known.get(word, word) for word in INSTEAD.get(verb, words)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("surroundings")
    made = Place(folder, free_ports(2))
    login = {"ssh_hostname": "127.0.0.1", "ssh_user": "nvidia", "ssh_known_hosts_file": str(folder / "known")}
    names = zip(fleet.names(2), made.ports, strict=True)
    write(folder, [(name, {**fleet.settings(0, at), **login, "ssh_port": port}) for (name, _, at), port in names])
    shutil.copytree(ROOT / "inventories" / "group_data", folder / "desk" / "inventories" / "group_data")
    made.plain = {verb: made.typed(verb) for verb in _VERBS}
    return made


def sentence(done: subprocess.CompletedProcess[str], words: str) -> None:
    """That it ended with this one sentence, and nothing else."""
    assert done.returncode == 1, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert re.search(rf"^Error: .*{words}.* Try: ", line), line


def as_plain(place: Place, verb: str, done: subprocess.CompletedProcess[str]) -> None:
    """That it ended as where nothing is amiss, whatever else it said."""
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr, done.stderr
    assert done.returncode == place.plain[verb].returncode, done


def headline(done: subprocess.CompletedProcess[str]) -> str:
    """Its first line, less the minute in which it was typed."""
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", "NOW", done.stdout.partition("\n")[0])


def test_where_nothing_is_amiss_each_verb_has_an_answer(place: Place) -> None:
    def holds(verb: str) -> None:
        as_plain(place, verb, done := place.plain[verb])
        assert done.returncode in CODES and done.stdout + done.stderr

    each_row(_VERBS.keys(), holds)


def test_closed_input_is_empty_and_closed_standard_error_is_no_reason_to_end(place: Place) -> None:
    each_row(_VERBS.keys(), lambda verb: as_plain(place, verb, place.typed(verb, streams={0: None})))
    each_row(_VERBS.keys(), lambda verb: as_plain(place, verb, place.typed(verb, streams={2: None})))


def test_with_closed_output_nothing_is_begun(place: Place) -> None:
    def holds(verb: str) -> None:
        sentence(place.typed(verb, streams={1: None}), "standard output is closed")
        assert place.typed(verb, streams={0: None, 1: None, 2: None}).returncode == 1

    each_row(_VERBS.keys(), holds)


def test_what_cannot_be_shown_is_an_error(place: Place) -> None:
    def holds(verb: str) -> None:
        done = place.typed(verb, streams={1: "/dev/full"})
        if not place.plain[verb].stdout:
            as_plain(place, verb, done)
            return
        *_, last = done.stderr.splitlines()
        assert "Traceback" not in done.stderr
        assert re.fullmatch(
            r"Error: what is shown cannot be written: no space left on device\. Try: df -h.*", last
        )
        assert done.returncode == 1

    assert sum(bool(done.stdout) for done in place.plain.values()) > len(_VERBS) / 2
    each_row(_VERBS.keys(), holds)


def test_without_a_working_folder_nothing_is_begun(place: Place) -> None:
    each_row(_VERBS.keys(), lambda verb: sentence(place.typed(verb, gone=True), "the working folder is gone"))


def test_a_wait_that_is_none_is_refused_by_the_verbs_that_wait(place: Place) -> None:
    """nan was waited for until the end of days."""

    def holds(verb: str) -> None:
        done = place.typed(verb, env={"SPARKRIG_WAIT_S": "nan"})
        if "inventories/sparks.py" in _VERBS[verb].example and verb not in AT_ONCE:
            sentence(done, "SPARKRIG_WAIT_S is 'nan', and seconds from 0 to 86400 are expected")
        else:
            as_plain(place, verb, done)

    each_row(_VERBS.keys(), holds)
    for bad in ("soon", "-5", "inf", "-inf", "1e9", "9" * 400, "\x1b[2J"):
        done = place.typed("status", env={"SPARKRIG_WAIT_S": bad})
        sentence(done, "SPARKRIG_WAIT_S is ")
        assert done.stderr.strip().isprintable()


@pytest.mark.parametrize(
    "env",
    [{"HOME": "/proc/none", "XDG_STATE_HOME": None}, {"HOME": None, "XDG_STATE_HOME": TOO_LONG}],
    ids=["a home that is not there", "no home and no state folder"],
)
def test_no_verb_needs_a_home_for_its_answer(place: Place, env: dict[str, str | None]) -> None:
    def holds(verb: str) -> None:
        as_plain(place, verb, done := place.typed(verb, env=env))
        assert headline(done) == headline(place.plain[verb])

    each_row(_VERBS.keys(), holds)


def test_a_user_who_is_not_known_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as a number (docker run --user 12345)."""

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setenv("HOME", "/home/spark")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    verb = ["completion", "zsh"]
    assert CliRunner().invoke(main.sparkrig, verb).exit_code == 0
    assert os.environ["HOME"] == "/home/spark"
    monkeypatch.delenv("HOME")
    assert CliRunner().invoke(main.sparkrig, verb).exit_code == 0
    assert drift_files.last(Path("pair.py")).is_relative_to("/nonexistent")


@pytest.mark.parametrize("unbuffered", ["", "1"])  # a buffer that cannot be written is tried again at the end
def test_a_shell_closes_and_fills_them_so(unbuffered: str) -> None:
    """The program itself: what stands in for it above has its streams from a loaded process."""
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    words = ("completion bash >/dev/full", "models >&-", "explain <&-", "models | exit 0")
    for end, code, said in zip(
        words, (1, 1, 1, 0), ("no space left", "is closed", "nothing was given", ""), strict=True
    ):
        run = ["sh", "-c", f"{shlex.quote(SPARKRIG)} {end}"]
        done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60, env=env)
        assert done.returncode == code, done
        assert said in done.stderr and len(done.stderr.splitlines()) == bool(said), done.stderr


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A pair of which one host is not as declared."""
    return Desk(tmp_path).has(pair(converged("a"), recorded("fresh-b")))


def test_a_report_that_cannot_be_kept_is_shown_whole(desk: Desk, tmp_path: Path) -> None:
    whole = desk.drift()
    assert whole.code == 2 and whole.wrong[B] and not whole.said

    def holds(state: str) -> None:
        words = ["drift", str(desk.inventory), "--json", "--prom", str(tmp_path / "prom")]
        done = warm.run("sparkrig", *words, env={"XDG_STATE_HOME": state})
        assert done.returncode == 2
        rows = [[(row["id"], row["status"]) for row in host["rows"]] for host in json.loads(done.stdout)["hosts"]]
        assert rows == [[(row["id"], row["status"]) for row in host["rows"]] for host in whole.report["hosts"]]
        assert re.search(
            r"^Warning: this report is not kept, .* cannot be \w+: .*\. Try: ls -ld", done.stderr, re.M
        )
        assert (tmp_path / "prom").stat().st_size
        (tmp_path / "prom").unlink()

    (tmp_path / "file").touch()
    each_row([TOO_LONG, "/proc/none", str(tmp_path / "file")], holds)


def test_a_last_report_that_cannot_be_read_is_left_out_and_replaced(desk: Desk, tmp_path: Path) -> None:
    desk.drift()
    (last,) = (tmp_path / "state" / "sparkrig" / "drift").iterdir()
    last.write_text("half of")
    done = desk.drift()
    assert done.code == 2 and done.wrong[B]
    (line,) = done.said.splitlines()
    assert line.startswith("Warning: the last report is left out, and what is new is not shown: ")
    assert not desk.drift().said


def test_a_report_that_cannot_be_shown_is_kept(desk: Desk, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    done = warm.run("sparkrig", "drift", str(desk.inventory), env=env, streams={1: "/dev/full"})
    assert done.returncode == 1 and os.strerror(errno.ENOSPC).lower() in done.stderr
    assert list((tmp_path / "state" / "sparkrig" / "drift").iterdir())


def test_a_deploy_needs_no_state_folder_and_says_what_it_is_for(tmp_path: Path) -> None:
    hosts = pair(recorded("fresh-a"), recorded("fresh-b"))
    for host in hosts:
        host.responses = GUARDED
    run = run_deploy(tmp_path, hosts, "-y", file="deploys/network.py", state=TOO_LONG)
    assert run.code == 0 and "Traceback" not in run.stderr
    assert run.stderr.count("this machine cannot note that it works on this host") == len(hosts)
    assert "after a crash: sparkrig unlock" in run.stderr
