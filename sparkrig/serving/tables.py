"""The tables of models: what a set of them holds, in what it differs from another one, and whether it is old."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from sparkrig.serving.flags import Knowledge
from sparkrig.serving.lint.rule import Rule
from sparkrig.serving.model import Catalogue
from sparkrig.text import some

_OLD_DAYS = 60  # owners serve models of the last two months (docs/background/reasons.md)
_NAMED = 5  # of rows that are new, changed or gone
_IMAGES = "images that launches start"


@dataclass(frozen=True)
class Tables:
    """One set. day: the newest on which something in it was seen to hold."""

    catalogue: Catalogue
    rules: Mapping[str, Rule]
    knowledge: Knowledge
    day: date

    def parts(self) -> dict[str, Mapping[str, object]]:
        """Its rows, by what they are and by name. An image stands by itself, for it is what a host will run."""
        launches = (launch for model in self.catalogue.models.values() for launch in model.launches)
        vllm = self.knowledge
        return {
            "models": self.catalogue.models,
            _IMAGES: {launch.image: True for launch in launches if launch.image},
            "sources": self.catalogue.sources,
            "rules of lint": self.rules,
            "families of lint": {", ".join(family.model): family for family in vllm.families},
            "versions of vLLM": {".".join(map(str, minor)): row for minor, row in vllm.releases.items()},
            "flags of vLLM": {f"--{name}": row for name, row in vllm.histories.items()},
            "variables of vLLM": vllm.variables,
            "images of NVIDIA": vllm.images,
        }


def changes(before: Tables, after: Tables) -> Iterator[str]:
    """What an update changes, a line each kind of row; nothing where both hold the same."""
    old, new = before.parts(), after.parts()
    for kind, rows in new.items():
        gone = [name for name in old[kind] if name not in rows]
        added = [name for name in rows if name not in old[kind]]
        changed = [name for name, row in rows.items() if name in old[kind] and old[kind][name] != row]
        counts = {"new": added, "changed": changed, "gone": gone}
        # images are named to the last one: a person agrees to what a host will run
        most = max(map(len, counts.values())) if kind == _IMAGES else _NAMED
        told = [f"{len(names)} {word} ({some(names, most)})" for word, names in counts.items() if names]
        if told:
            yield f"{kind}: {', '.join(told)}"


def age(day: date, today: date) -> str:
    """That tables are old, and what to do; empty where they are not."""
    old = (today - day).days > _OLD_DAYS
    return f"Tables are of {day}. Try: sparkrig models update SOURCE" if old else ""
