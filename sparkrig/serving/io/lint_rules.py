"""The rules of lint as they lie in models/lint/, a file a topic; a user's own folder models/lint/ adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.serving.io import catalogue_files, vllm_flags
from sparkrig.serving.lint.judgement import CHECKS
from sparkrig.serving.lint.rule import TOPICS, Rule

_FOLDER = "lint"
# YAML takes `off` for false
_OFF = (False, "off")


def rules(beside: Path | None = None) -> tuple[Rule, ...]:
    """All rules of the tables in use.

    beside: the user's own folder models/, of which a row takes the place of ours of the same id, and one with
    `severity: off` drops it. Raises Refusal where a file cannot be read, or a row cannot stand.
    """
    known = shipped(catalogue_files.used())
    if beside is None:
        return tuple(known.values())
    for file, id, row in _rows(beside / _FOLDER):
        if isinstance(row, dict) and row.get("severity") in _OFF:
            known = _without(id, known, file)
        else:
            known = {**known, id: _rule(file, id, row)}
    return tuple(known.values())


@cache
def shipped(folder: Path) -> Mapping[str, Rule]:
    """Those of a folder of tables, by their ids."""
    return {id: _rule(file, id, row) for file, id, row in _rows(folder / _FOLDER)}


def _rows(folder: Path) -> Iterator[tuple[Path, str, Any]]:
    known = (*TOPICS, vllm_flags.FAMILIES.stem)
    strange = [file for file in sorted(folder.glob("*.yaml")) if file.stem not in known]
    if strange:
        raise Refusal(
            f"{strange[0]}: its name is no topic of lint, {', '.join(TOPICS)} expected",
            f"mv {quoted_path(strange[0])} {quoted_path(strange[0].with_stem('serving'))}",
        )
    for file in (folder / f"{topic}.yaml" for topic in TOPICS):
        if file.exists():
            yield from ((file, str(id), row) for id, row in catalogue_files.read(file).items())


def _rule(file: Path, id: str, row: Any) -> Rule:
    named = {**row, "id": id, "topic": file.stem} if isinstance(row, dict) else row
    rule = catalogue_files.checked(Rule, named, file, id)
    if not rule.when and id not in CHECKS:
        raise Refusal(f"{file}: {id}: `when` expected, for no code computes it", catalogue_files.mend(file))
    return rule


def _without(id: str, known: Mapping[str, Rule], file: Path) -> Mapping[str, Rule]:
    if id not in known:
        raise Refusal(f"{file}: {id}: there is no such rule to drop", "sparkrig lint --list")
    return {name: rule for name, rule in known.items() if name != id}
