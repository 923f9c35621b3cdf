"""The `sparkrig` command as it is typed: help that is cheap, errors of one line, exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.commands import contexts
from sparkrig.cli.main import _VERBS
from tests import warm
from tests.faults.looks import LOOKS, NOT_LOOKS
from tests.tables import each_row, table

SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))
VERBS = sorted(_VERBS)
COLUMNS, SCREEN = 80, 40


def sparkrig(*words: str) -> subprocess.CompletedProcess[str]:
    return warm.run("sparkrig", *words, timeout=30)


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_verb(flag: str) -> None:
    shown = sparkrig(flag)
    assert shown.returncode == 0
    assert {"lab", "status"} <= set(VERBS)
    for verb in VERBS:
        assert re.search(rf"^  {verb} +\S", shown.stdout, re.MULTILINE), verb


def test_each_verb_is_tried_as_one_that_only_looks_or_is_none() -> None:
    """By tests/faults/test_looking.py, on guests: a new verb has to say which it is."""
    tried = {words[1] for words in LOOKS.values() if words[0] == "sparkrig"}
    assert set(VERBS) == tried | NOT_LOOKS


def test_help_and_explain_load_nothing_heavy() -> None:
    code = """if True:
        import atexit, json, sys
        atexit.register(lambda: json.dump(sorted({name.split('.')[0] for name in sys.modules}), sys.stderr))
        sys.argv = ['sparkrig', '--help']
        import sparkrig.explain.tools  # all that `explain` judges by
        from sparkrig.cli.main import main
        main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stderr))
    assert "click" in loaded
    assert not loaded & {
        "pyinfra",
        "pyinfra_cli",
        "rich",
        "pydantic",
        "lab",
        "paramiko",
        "gevent",
        "sparkrig.facts",
    }


def test_the_end_looks_for_no_garbage() -> None:
    code = """if True:
        import atexit, gc, sys
        atexit.register(lambda: print(gc.get_freeze_count(), gc.get_count()[0], file=sys.stderr))
        sys.argv = ['sparkrig', '--help']
        from sparkrig.cli.main import main
        main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frozen, left = map(int, done.stderr.split())
    assert frozen > 10_000 > left


@pytest.mark.slow  # starts processes
def test_drift_loads_what_judges_while_it_waits() -> None:
    code = """if True:
        import json, sys
        import sparkrig.cli.drift as drift
        before = sorted(sys.modules)
        from sparkrig.ssh import session
        import gevent
        with session._loading(drift._MEANWHILE):
            with gevent.Timeout(60):
                while not set(drift._MEANWHILE) <= set(sys.modules):
                    gevent.sleep(0.01)
        json.dump(before, sys.stdout)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    later = {
        "pyinfra",
        "sparkrig.resources.state",
        "sparkrig.checks.resources",
        "sparkrig.facts",
        "sparkrig.deploys",
        "rich",
    }
    assert not later & {*json.loads(done.stdout)}


@pytest.mark.slow  # starts a process
def test_a_deploy_loads_nothing_that_judges_a_server() -> None:
    code = "import sys; from sparkrig.ssh import session; import sparkrig.deploys.cluster; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {*done.stdout.split()}
    assert "sparkrig.deploys.cluster" in loaded
    assert not {"sparkrig.checks.server", "sparkrig.serving.plan", "sparkrig.serving.launch_text"} & loaded


def test_each_verb_has_help_with_an_example_that_is_that_verb() -> None:
    def holds(verb: str) -> None:
        shown = sparkrig(verb, "--help")
        assert shown.returncode == 0
        assert re.search(rf"^  Example: sparkrig {verb} \S+", shown.stdout, re.MULTILINE)

    each_row(VERBS, holds)


COMMANDS = {context.command_path: context for context in contexts() if context.parent}


def test_the_example_of_each_command_can_be_typed_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def holds(path: str) -> None:
        (line,) = re.findall(r"^  Example: (.*)", COMMANDS[path].get_help(), re.MULTILINE)
        assert COMMANDS[path].command.epilog == f"\b\nExample: {line}", "it is wrapped"
        assert line.startswith(path)
        COMMANDS[path].command.make_context(path, shlex.split(line.removeprefix(path)))

    monkeypatch.chdir(tmp_path)
    Path("ib_write_bw.txt").touch()
    each_row([*COMMANDS], holds)


def test_a_wrong_word_is_one_line_and_no_drift() -> None:
    def holds(words: str, line: str) -> None:
        done = sparkrig(*words.split())
        assert done.returncode == 1  # 2 means drift
        assert done.stdout == ""
        (shown,) = done.stderr.splitlines()
        assert shown.startswith(line)
        assert "ry: " in shown

    each_row(table(__file__, "a wrong word is one line and no drift"), holds)


def test_the_old_name_of_a_verb_answers_and_names_the_new_one() -> None:
    done = sparkrig("summary", "no/such.py")
    warning, error = done.stderr.splitlines()
    assert (done.returncode, warning) == (1, "Warning: sparkrig summary is now sparkrig status")
    assert error.startswith("Error: there is no inventory file no/such.py")
    assert "summary" not in VERBS


def test_no_verb_is_three_commands_and_an_error() -> None:
    done = sparkrig()
    assert (done.returncode, done.stdout) == (1, "")
    commands = re.findall(r"^  (sparkrig .*?)(?:  |$)", done.stderr, re.MULTILINE)
    typed = [words.split()[1] for words in commands]
    assert typed[:2] == ["doctor", "onboard"]
    assert {*typed} <= {*VERBS, "--help"}
    assert max(map(len, done.stderr.splitlines())) < COLUMNS


def test_no_verb_of_the_lab_is_its_help_and_an_error() -> None:
    done = sparkrig("lab")
    assert (done.returncode, done.stderr.split()[:3]) == (1, ["Usage:", "sparkrig", "lab"])


def test_each_verb_fits_one_line_of_the_help_and_its_own_help_a_screen() -> None:
    """40 lines of 80 columns, so that the beginning is not scrolled away."""
    lines = sparkrig("--help").stdout.splitlines()
    assert all(any(line.startswith(f"  {verb} ") and line.endswith(".") for line in lines) for verb in VERBS)

    def fits(verb: str) -> None:
        assert len(sparkrig(verb, "--help").stdout.splitlines()) <= SCREEN

    each_row(VERBS, fits)


def test_an_inventory_that_cannot_stand_is_a_sentence(tmp_path: Path) -> None:
    def holds(text: str, words: str) -> None:
        file = tmp_path / "pair.py"
        file.write_text(text)
        done = sparkrig("status", str(file))
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        (line,) = done.stderr.splitlines()
        assert line.startswith("Error: ")
        assert words in line
        assert str(file) in line

    each_row(table(__file__, "an inventory that cannot stand is a sentence"), holds)


def test_the_version() -> None:
    shown = sparkrig("--version")
    assert (shown.returncode, shown.stdout.startswith("sparkrig, version ")) == (0, True)


def test_the_console_script_is_the_one_of_this_environment() -> None:
    assert os.access(SPARKRIG, os.X_OK)


def test_a_message_in_quotes_is_explained_without_a_file() -> None:
    done = sparkrig("explain", "RuntimeError: NCCL error: unhandled system error")
    assert done.returncode == 2 and "NCCL failed" in done.stdout


def test_onboard_in_a_folder_without_a_project_names_the_way_to_one(tmp_path: Path) -> None:
    done = warm.run("sparkrig", "onboard", "nvidia@127.0.0.1", "--json", cwd=tmp_path, timeout=30)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("Try: sparkrig init sparks && cd sparks, and the same there"), done.stderr
