"""Fake hosts that answer the looks of the doctor."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparkrig.facts.examination import Examination
from tests import warm
from tests.plan.conftest import PING, Host, converged, joined, pair, recorded, sections
from tests.plan.desk import write

CROSSES = [f"ping {netdev} {size} 5 5 " for netdev in ("enp1s0f0np0", "enP2p1s0f0np0") for size in (8972, 56)]


def examined(letter: str, **changed: str) -> str:
    """What the doctor's one look prints on a host of the pair after the deploy; `changed`: other nouns' output."""
    parts = {
        "own_address": f"name spark-{letter}\naddress 127.0.0.1\n",
        "blackbox": "now 1795230000 +0000",
        "board": "now 1795230000",
        **{
            noun: text for noun, text in sections(recorded(f"fabric-{letter}")).items() if noun not in ("network",)
        },
        **sections(converged(letter)),
        **changed,
    }
    return joined({noun: parts[noun] for noun in Examination.nouns})


def hosts(a: str, b: str, *, pings: Mapping[str, list[str]] | None = None, **changes: Any) -> list[Host]:
    """A pair that prints this, and whose pings go like that (by host's letter; all come back)."""
    return [
        replace(
            each, first={"#sparkrig:end identity": seen.splitlines(), PING: (pings or {}).get(letter, CROSSES)}
        )
        for letter, seen, each in zip("ab", (a, b), pair(converged("a"), converged("b"), **changes), strict=True)
    ]


@dataclass
class Done:
    code: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.stdout))

    @property
    def told(self) -> dict[str, set[str]]:
        """By host, what is wrong or not known."""
        return {
            host["name"].removeprefix("@fake/"): {
                row["id"] for row in host["rows"] if row["status"] not in ("ok", "skipped")
            }
            for host in self.report["hosts"]
        }

    def row(self, host: str, id: str) -> dict[str, Any]:
        rows = next(each["rows"] for each in self.report["hosts"] if each["name"].endswith(host))
        return dict(next(row for row in rows if row["id"] == id))


def doctor(folder: Path, hosts: list[tuple[str, dict[str, Any]]], *words: str, **environment: str) -> Done:
    file = write(folder, hosts)
    done = warm.run("sparkrig", "doctor", str(file), *words, env={"NO_COLOR": "1", **environment})
    return Done(done.returncode, *(said.replace(str(file), "sparks.py") for said in (done.stdout, done.stderr)))


def entries(hosts: list[Host]) -> list[tuple[str, dict[str, Any]]]:
    return [host.entry() for host in hosts]


def changed(letter: str, noun: str, *pairs: tuple[str, str]) -> str:
    """What a noun of a deployed host prints, with other words in it."""
    text = {**sections(recorded(f"fabric-{letter}")), **sections(converged(letter))}[noun]
    for old, new in pairs:
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count, f"{noun} has no {old}"
    return text
