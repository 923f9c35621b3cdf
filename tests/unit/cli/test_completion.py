"""What a shell completes: asked of click as each shell asks, and of a real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sparkrig.cli.main import _VERBS
from sparkrig.drift.drift import Host, Report, Row
from sparkrig.drift.io import drift_files
from sparkrig.resources.check import Status

BIN = Path(sys.executable).parent
ENVIRONMENT = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": "/nonexistent"}
INVENTORIES = ["inventories/fleet.py", "inventories/pair.py"]

CASES: dict[str, tuple[str, list[str]]] = {
    "verbs": ("sparkrig ", sorted(_VERBS)),
    "verbs by their beginning": ("sparkrig su", ["support"]),
    "options of the command": ("sparkrig --v", ["--version"]),
    "options of a verb": ("sparkrig status --", ["--runs", "--json", "--help"]),
    "what a verb takes": ("sparkrig completion ", ["bash", "fish", "zsh"]),
    "verbs of the lab": ("sparkrig lab re", ["reset", "rewire"]),
    "nodes of the lab": ("sparkrig lab power spark-", ["spark-a", "spark-b", "spark-c", "spark-d", "spark-s"]),
    "what they take": ("sparkrig lab cable spark-a p", ["p0", "p1"]),
    "inventories": ("sparkrig drift ", INVENTORIES),
    "inventories after an option": ("sparkrig status --json inventories/p", ["inventories/pair.py"]),
    "models": ("sparkrig models show qwen3.5-1", ["qwen3.5-122b-a10b"]),
    "workloads": ("sparkrig bench inventories/pair.py long-8k long-", ["long-8k", "long-32k", "long-128k"]),
    "nothing to accept": ("sparkrig accept own.py ", []),
    "nothing": ("sparkrig lab down ", []),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inventories" / "group_data").mkdir(parents=True)
    for name in (*INVENTORIES, "inventories/group_data/all.py", "own.py"):
        (tmp_path / name).write_text("")
    return tmp_path


def run(folder: Path, *words: str | Path, **more: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env={**ENVIRONMENT, **more}, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


def in_bash(folder: Path, typed: str) -> list[str]:
    """What a real bash would offer, by the function that it calls when Tab is pressed."""
    script = """
    eval "$(sparkrig completion bash)"
    [[ $(complete -p sparkrig) == *"-F _sparkrig_completion"* ]] || exit 1
    compopt() { echo compopt "$@"; }  # bash's own works within a completion alone
    IFS=' ' read -ra COMP_WORDS <<<"$1."
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_WORDS[-1]=${COMP_WORDS[-1]%.}
    _sparkrig_completion sparkrig "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
    [ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
    """
    return run(folder, "bash", "--norc", "-c", script, "bash", typed).splitlines()


@pytest.mark.slow  # starts a shell
@pytest.mark.parametrize(("typed", "offered"), CASES.values(), ids=CASES)
def test_what_bash_offers(folder: Path, typed: str, offered: list[str]) -> None:
    assert in_bash(folder, typed) == offered


def test_what_may_be_accepted_is_what_the_last_report_told_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    found: dict[str, Status] = {"net.a.mtu": "drift", "net.b.mtu": "ok"}
    rows = [Row(id=id, status=status, want="", found="") for id, status in found.items()]
    report = Report(
        version="1",
        inventory="own.py",
        started=datetime.now(UTC),
        seconds=1,
        exit=2,
        hosts=[Host(name="spark-a", exit=2, rows=rows), Host(name="spark-b", exit=0, rows=rows[1:])],
    )
    drift_files.keep(folder / "own.py", report)
    asked = {"_SPARKRIG_COMPLETE": "bash_complete", "XDG_STATE_HOME": str(folder)}
    offered = run(folder, "sparkrig", COMP_WORDS="sparkrig accept own.py ", COMP_CWORD="3", **asked)
    assert offered.split() == ["plain,net.a.mtu"]


@pytest.mark.slow
def test_bash_completes_any_other_file_by_itself(folder: Path) -> None:
    assert in_bash(folder, "sparkrig drift ow") == ["compopt -o default"]


@pytest.mark.parametrize(
    ("shell", "word", "lines"),
    [
        ("zsh", "1", ["plain", "unlock", _VERBS["unlock"].help]),
        ("fish", "unl", [f"plain,unlock\t{_VERBS['unlock'].help}"]),
    ],
)
def test_zsh_and_fish_are_told_what_a_verb_is_for(folder: Path, shell: str, word: str, lines: list[str]) -> None:
    asked = {"COMP_WORDS": "sparkrig unl", "COMP_CWORD": word, "_SPARKRIG_COMPLETE": f"{shell}_complete"}
    assert run(folder, "sparkrig", **asked).splitlines() == lines
    assert "_SPARKRIG_COMPLETE=" + f"{shell}_complete" in run(folder, "sparkrig", "completion", shell)


def test_verbs_are_completed_without_loading_them(folder: Path) -> None:
    code = """if True:
        import atexit, sys
        atexit.register(lambda: print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr))
        from sparkrig.cli.main import main
        main()"""
    asked = {"COMP_WORDS": "sparkrig ", "COMP_CWORD": "1", "_SPARKRIG_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**ENVIRONMENT, **asked}, capture_output=True, text=True, check=True
    )
    assert "plain,drift" in done.stdout
    assert not {*done.stderr.split()} & {
        "pyinfra",
        "rich",
        "pydantic",
        "lab",
        "paramiko",
        "gevent",
        "sparkrig.facts",
    }
