"""What the authors of a recipe run in its container before the server: its mods, and the commands of pre_exec.

They run in the container alone, and after consent: the setting `serve_mods` has the digest of all their text, so
that a change of one letter asks again. `sparkrig models show FILE` shows them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from sparkrig import programs
from sparkrig.cure import local, quoted, with_setting
from sparkrig.refusal import Refusal
from sparkrig.settings import Settings
from sparkrig.text import listed


@dataclass(frozen=True)
class Step:
    """One of them. command: of a shell, empty for a mod; files: of a mod by their paths below its folder."""

    name: str
    command: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def document(steps: Sequence[Step]) -> str:
    """All of them as data, on one line; empty for none."""
    return json.dumps([asdict(step) for step in steps], sort_keys=True) if steps else ""


def digest(steps: Sequence[Step]) -> str:
    """What `serve_mods` has where a person agreed to them."""
    return f"sha256:{hashlib.sha256(document(steps).encode()).hexdigest()}"


def agreed(source: str, steps: Sequence[Step], mine: Settings) -> str:
    """Their document, if a person agreed to it. source: of the recipe, in words. Raises Refusal."""
    if steps and mine.serve_mods != digest(steps):
        names = listed([step.name for step in steps])
        why = "other programs than those of serve_mods" if mine.serve_mods else "programs of its authors"
        raise Refusal(
            f"{source} runs {why} in its container: {names}",
            local(
                f"sparkrig models show {quoted(mine.recipe or 'FILE')}",
                f", read them, then {with_setting('serve_mods', digest(steps))}",
            ),
        )
    return document(steps)


def program(told: str) -> str:
    """The file that runs them in the container. told: as `document` has them."""
    return f"{programs.file('serving/steps.py')}# {told}\n"
