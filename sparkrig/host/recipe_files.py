"""NVIDIA's recipes of DGX OS releases, as a Spark's files have them: bounded, and each spoils itself alone."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Annotated, Final

from annotated_types import MaxLen

from sparkrig.host import release_upgrade, update_facts
from sparkrig.host.driver import Package
from sparkrig.host.releases import Recipe, Releases, leading_numbers
from sparkrig.parsing import archive, debian_version, document, grammar
from sparkrig.parsing.expected import short
from sparkrig.parsing.grammar import Grammar
from sparkrig.text import plain

MOST_RECIPES: Final = 40  # NVIDIA published eleven within the first year

_MOST_BYTES = 1_572_864  # of the archive, as facts/releases.sh has it
_MOST_ROWS = 2000  # of one list of a recipe; the longest one recorded has 147
_LONGEST = 128  # characters of a version
_NAME = Grammar("name of a release", r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_PART = Grammar("name of a part with firmware", r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_NUMBER = Grammar("version of firmware", r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,5}")
_FILE = Grammar("name of a recipe's file", r"[A-Za-z0-9._-]{1,255}")
_TITLE = 60  # characters
_WHY = 200  # characters of a reason
_BETA = "ebeta"
_DRIVER_NAME = re.compile(r"nvidia-driver(?:-[0-9]{3})?(?:-open)?")

_Text = Annotated[str, MaxLen(_LONGEST)]


@dataclass(frozen=True)
class _Row:
    name: _Text
    version: _Text


_Rows = Annotated[tuple[_Row, ...], MaxLen(_MOST_ROWS)]


@dataclass(frozen=True)
class _Metadata:
    name: _Text
    releaseDate: _Text  # noqa: N815 - NVIDIA's name
    external_name: _Text | None = None


@dataclass(frozen=True)
class _Document:
    """What is read of a recipe's file."""

    metadata: _Metadata
    package: _Rows = ()
    firmware: _Rows = ()
    connectx: _Rows = ()
    software: _Rows = ()


def parse(lines: Iterable[str]) -> Releases:
    """Read the releases fact. Raises ValueError where a row makes no sense; a bad recipe spoils itself alone.

    Its rows are `left FILE WHY`, `recipes BASE64` (a compressed tar archive of the files) and
    `dpkg WANT STATUS NAME VERSION`.
    """
    left: dict[str, str] = {}
    files: list[archive.Member] = []
    rows: list[Package] = []
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word == "left":
            name, _, why = rest.partition(" ")
            left[name if name == "-" else _FILE.held(name)] = plain(why)[:_WHY]
        elif word == "recipes":
            files.extend(archive.files(_unpacked(base64.b64decode(rest, validate=True))))
        elif word == "dpkg":
            want, status, name, version, *_ = [*rest.split(" "), "", "", "", ""]
            rows.append(Package(grammar.PACKAGE.held(name), want, status, version))
    recipes = _recipes(files, left)
    installed = {row.name: _version(row.version) for row in reversed(rows) if row.installed}
    removed = {row.name for row in rows if row.status == "config-files"} - {*installed}
    return Releases(recipes, left, installed, tuple(sorted(removed)))


def _unpacked(data: bytes) -> bytes:
    """What gzip compressed, up to the size that the program lets pass. Raises ValueError for any other."""
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = unpack.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"the recipes cannot be unpacked ({error})") from None
    if not unpack.eof:
        raise ValueError(f"the recipes are cut short, or have more than {_MOST_BYTES} bytes")
    return found


def _recipes(files: Sequence[archive.Member], left: dict[str, str]) -> tuple[Recipe, ...]:
    """The recipes of those files, the oldest first; `left` gets the others with the reason."""
    if len(files) > MOST_RECIPES:
        raise ValueError(f"{len(files)} recipes are more than the {MOST_RECIPES} expected")
    found: dict[str, Recipe] = {}
    for file in files:
        name = _FILE.held(file.path)
        try:
            recipe = _recipe(file.content)
            if release_upgrade.is_meant(recipe.dgx_release):
                raise ValueError(f"{recipe.shown} is a release upgrade; {update_facts.to_come().shown}")
            if recipe.name in found:
                raise ValueError("another file is the recipe of the same release")
        except ValueError as error:  # of Unicode, JSON and base64, too
            left[name] = plain(str(error))[:_WHY]
            continue
        found[recipe.name] = recipe
    real = [each for each in found.values() if _BETA not in each.name.lower()]
    return tuple(sorted(real, key=lambda each: (each.date, leading_numbers(each.name), each.name)))


@lru_cache(maxsize=2 * MOST_RECIPES)  # those of all Sparks of a fleet are the same
def _recipe(content: bytes) -> Recipe:
    """One recipe. Raises ValueError where it is none."""
    whole = document.read(_Document, content)
    packages = _versions(whole.package, grammar.PACKAGE, grammar.VERSION)
    software = {row.name: row.version for row in whole.software}
    if not packages:
        raise ValueError("it names no package")
    return Recipe(
        _NAME.held(whole.metadata.name),
        short(" ".join(plain(whole.metadata.external_name or "").split()))[:_TITLE],
        date.fromisoformat(whole.metadata.releaseDate[:10]).isoformat(),
        grammar.KERNEL.held(software.get("kernel", "")),
        _driver(grammar.DRIVER.held(software.get("driver", "")), packages),
        packages,
        _versions(whole.firmware, _PART, _NUMBER),
        next(iter(_versions(whole.connectx, _PART, _NUMBER).values()), ""),
    )


def _versions(rows: Iterable[_Row], name: Grammar, version: Grammar) -> dict[str, str]:
    """Version by name of a list in a recipe."""
    return {name.held(row.name): version.held(row.version) for row in rows}


def _driver(told: str, packages: Mapping[str, str]) -> str:
    """The newer of what a recipe tells and what its packages install: in one of them (May 2026) they differ."""
    of_packages = [
        upstream
        for name, version in packages.items()
        if _DRIVER_NAME.fullmatch(name) and grammar.DRIVER.fits(upstream := debian_version.upstream(version))
    ]
    return max([told, *of_packages], key=leading_numbers)


def _version(text: str) -> str:
    if len(text) > _LONGEST:
        raise ValueError(f"{short(text)!r} is no version of a Debian package")
    return grammar.VERSION.held(text)
