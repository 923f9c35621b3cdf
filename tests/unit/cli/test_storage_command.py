"""`sparkrig storage`: the question, and what is done after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkrig.facts.storage import Disk
from sparkrig.ssh.remote import Lost
from tests.tables import each_row
from tests.unit import storages
from tests.unit.disks import ONE, TWO


def test_anything_but_a_yes_is_a_no(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def holds(answer: str, code: int, touched: list[str]) -> None:
        seen: dict[str, Disk | Lost] = {"spark-a": storages.found(), "spark-b": Lost("away")}
        done, hosts = storages.typed(monkeypatch, tmp_path, seen, "--remove", TWO, answer=answer)
        assert (done.exit_code, hosts) == (code, touched), done.output
        assert "Remove it from spark-a? [y/N]" in done.stderr

    each_row((("y\n", 3, ["spark-a"]), ("\n", 3, []), ("n\n", 3, []), ("x\n\n", 3, [])), holds)
    alone = {"spark-a": storages.found()}
    done, hosts = storages.typed(monkeypatch, tmp_path, alone, "--remove", TWO, answer="\n")
    assert (done.exit_code, hosts) == (1, [])


def test_what_is_refused_is_not_asked_about(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = {"spark-a": storages.found()}
    done, hosts = storages.typed(monkeypatch, tmp_path, seen, "--remove", ONE, "--yes")
    assert (done.exit_code, hosts) == (1, []) and "Remove it" not in done.output
    assert "refused: openai/gpt-oss-120b is needed: " in done.stdout and "Undo cannot" not in done.stdout


def test_what_a_recipe_of_the_inventory_names_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text(f"{{recipe_version: '1', model: {TWO}, container: r.io/x:1, command: vllm serve {TWO}}}")
    seen = {"spark-a": storages.found()}
    done, hosts = storages.typed(monkeypatch, tmp_path, seen, "--remove", TWO, "--yes", recipe=str(file))
    assert (done.exit_code, hosts) == (1, []) and "the setting recipe (" in done.stdout
    file.unlink()
    done, hosts = storages.typed(monkeypatch, tmp_path, seen, "--remove", TWO, "--yes", recipe=str(file))
    assert (done.exit_code, hosts) == (1, []) and "it is not known what needs" in done.stdout
