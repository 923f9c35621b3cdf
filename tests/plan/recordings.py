"""Sparks put together from what their owners recorded; the rest is what the virtual pair printed.

The recordings are in tests/fixtures/sparks, with their sources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkrig import driver
from tests.plan.conftest import ROOT, converged, recorded, sections

FOLDER = ROOT / "tests" / "fixtures" / "sparks"
DRIVER = "580.173.02"  # what nvidia-smi answers on each of them
# whose /etc/dgx-release stands for a unit that has none recorded
RELEASES = {"sparketa": "sparkjr", "sparkjr": "sparkjr", "sparky": "asus-fr"}
UNITS = tuple(RELEASES)


def packages(unit: str) -> dict[str, str]:
    """The recorded packages of a unit: name -> version."""
    rows = (FOLDER / f"{unit}-packages.csv").read_text().splitlines()
    return {name: version for name, _, version in (row.partition(",") for row in rows)}


def fresh(unit: str, letter: str) -> str:
    """What a unit prints before the first deploy, as half `letter` of a pair."""
    return _put_together(recorded(f"fresh-{letter}"), unit, held=set())


def deployed(unit: str, letter: str) -> str:
    """What a unit prints after a deploy."""
    return _put_together(converged(letter), unit, held=set(hold_set(unit)))


def hold_set(unit: str) -> list[str]:
    """What a deploy holds of a unit's packages."""
    return driver.hold_set(driver.parse([*_rows(unit, set()), "simulated 0"]), 580)


def _rows(unit: str, held: set[str]) -> list[str]:
    return [
        f"dpkg {'hold' if name in held else 'install'} installed {name} {version}"
        for name, version in packages(unit).items()
    ]


def _put_together(text: str, unit: str, held: set[str]) -> str:
    parts = sections(text)
    listed = packages(unit)
    release = (FOLDER / f"{RELEASES[unit]}-dgx-release.txt").read_text().splitlines()
    kernel = max(name.removeprefix("linux-image-") for name in listed if re.match(r"linux-image-\d", name))
    identity = [
        row for row in parts["identity"].splitlines() if not row.startswith(("release", "kernel", "machine="))
    ]
    parts["identity"] = "\n".join(
        [*identity, "machine=aarch64", f"kernel={kernel}", *(f"release {row}" for row in release)]
    )
    parts["packages"] = "\n".join([*_rows(unit, held), f"module {DRIVER}", "simulated 0"])
    if toolkit := listed.get("nvidia-container-toolkit"):
        parts["containers"] = re.sub(r"^toolkit .*$", f"toolkit {toolkit}", parts["containers"], flags=re.M)
    return _joined(parts)


def _joined(parts: Mapping[str, str]) -> str:
    return "".join(f"{text.strip()}\n\n#sparkrig:end {noun} 0\n" for noun, text in parts.items())
