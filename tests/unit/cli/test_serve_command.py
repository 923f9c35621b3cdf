"""What `sparkrig serve` asks at a terminal, and what of its words becomes a setting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from sparkrig.checks import server_plan
from sparkrig.cli import files, serve
from sparkrig.drift.render.plan import Sheet
from sparkrig.refusal import Refusal
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.purposes import PURPOSES, Proposal, rate
from sparkrig.serving.wish import Sizing, Wish
from sparkrig.terminal import private_file, terminal
from tests.tables import each_row

KNOWN = catalogue()


def proposal(name: str) -> Proposal:
    model = KNOWN.models[name]
    wish = Wish(model, model.best(), 1, {}, {}, "an-image")
    return Proposal(wish, Sizing(0.5, 4096), rate(model))


def test_the_number_that_is_typed_is_what_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    asked: list[str] = []

    def prompt(question: str, **how: Any) -> int:
        asked.append(question)
        return int(how["type"].max)

    monkeypatch.setattr(terminal, "prompt", prompt)
    assert serve._purpose() == [*PURPOSES][-1]
    run: Any = SimpleNamespace(
        proposed=lambda _: [proposal("gpt-oss-120b"), proposal("mixtral-8x7b")], known=KNOWN
    )
    console = Console(width=80, record=True, file=None, quiet=False)
    with console.capture() as shown:
        door = serve._Door(run, Sheet(console), server_plan.Report(inventory=""), "", dry=False, yes=False)
        assert door._chosen("chat").wish.model.name == "mixtral-8x7b"
        door.yes = True
        assert door._chosen("chat").wish.model.name == "gpt-oss-120b"
    assert asked == ["What is it for", "Which one"]
    assert "1  gpt-oss-120b: 60.8 GiB, 4096 tokens of context" in shown.get()
    run.proposed = lambda _: []
    with pytest.raises(Refusal, match="no model of the catalogue for chat fits"):
        door._chosen("chat")


def test_ctrl_c_at_a_question_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def aborted(*_: object, **__: object) -> None:
        raise click.Abort

    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    for name in ("prompt", "confirm"):
        monkeypatch.setattr(terminal, name, aborted)
    found = [proposal("gpt-oss-120b"), proposal("mixtral-8x7b")]
    run: Any = SimpleNamespace(proposed=lambda _: found, known=KNOWN)  # which can carry nothing out
    report = server_plan.Report(inventory="")
    door = serve._Door(run, Sheet(Console(quiet=True)), report, "", dry=False, yes=False)

    def holds(asks: Callable[[], object]) -> None:
        with pytest.raises(SystemExit, match="1"), files.interruptible(lambda: ""):
            asks()
        assert capsys.readouterr().err.endswith("\nInterrupted; nothing was changed.\n")

    each_row([serve._purpose, lambda: door._chosen("chat"), lambda: door._carry_out("Serve this?")], holds)


def test_an_inventory_that_is_missing_is_said_before_a_question_is_asked(tmp_path: Path) -> None:
    done = CliRunner().invoke(serve.serve, [str(tmp_path / "none.py"), "--for", "coding"])
    assert done.exit_code == 1 and "there is no inventory file" in done.output, "and not that nobody can be asked"


def test_words_become_settings() -> None:
    def holds(words: dict[str, Any], own: dict[str, Any], settings: dict[str, Any]) -> None:
        asked = {"model": None, "name": "", "context": None, "data": {}, "lan": False, "stop": False, **words}
        assert server_plan.given(**asked, own=own) == settings

    flags = {"serve_flags": {"max-num-seqs": 4}}
    each_row(
        [
            ({"model": "a"}, {}, {"model": "a"}),
            ({"model": "r.yaml#b"}, {}, {"recipe": "r.yaml#b"}),
            ({"stop": True, "name": "n"}, {}, {"serve_name": "n", "model": "none"}),
            ({"context": 9}, flags, {"serve_flags": {"max-num-seqs": 4, "max-model-len": 9}}),
            ({"context": 9, "name": "n"}, flags, {"serve_name": "n", "serve_flags": {"max-model-len": 9}}),
            ({"context": 9}, {"serve_engine": "llama.cpp"}, {"serve_flags": {"ctx-size": 9}}),
            ({"model": "r.yaml", "data": {"serve_mods": "a"}}, {}, {"recipe": "r.yaml", "serve_mods": "a"}),
            ({"lan": True}, {}, {}),
            ({"lan": True}, {"serve_listen": "local"}, {"serve_listen": "management"}),
        ],
        holds,
    )


def test_a_key_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "spark-a"
    private_file.make_key(file)
    key = private_file.read(file)
    private_file.make_key(file)
    assert private_file.read(file) == key and len(key.strip()) == 64
    assert file.parent.stat().st_mode & 0o777 == 0o700
    file.chmod(0o644)
    with pytest.raises(Refusal, match="can be read by others"):
        private_file.make_key(file)
