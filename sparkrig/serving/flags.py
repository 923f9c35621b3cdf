"""What each minor version of vLLM takes: flags of `vllm serve`, their values and defaults, environment variables.

models/vllm/flags.yaml holds it, read from vLLM's published source (`python -m scripts.vllm_flags`). A version that
was not read is unknown: every answer on it is None, so that a rule stays silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sparkrig.serving.lint.families import Family
from sparkrig.text import nearest

Version = tuple[int, ...]
"""Of vLLM, for comparison."""

# switch on: has no --no-NAME; texts: every word up to the next flag
Takes = Literal["switch", "switch on", "switch or text", "text", "texts", "whole number", "number", "json"]
_PAIRS = (("enable-", "disable-"), ("disable-", "enable-"))
_ALIKE = 0.75  # of difflib: below it the words are two, not one misspelt; our own reasoning


def version(text: str) -> Version | None:
    """`0.19.2rc1.dev154+g1c2c1eb8b` as (0, 19, 2); None where the text begins with no version."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(each or 0) for each in found.groups()) if found else None


def shown(version: Version | None) -> str:
    """`0.19.2`; empty for none."""
    return ".".join(map(str, version or ()))


@dataclass(frozen=True)
class Flag:
    """A flag of one version of vLLM, or `NAME.field` of the JSON object that NAME takes.

    also: its other names, a short one with its dash; default: None for none, in angle brackets where vLLM computes
    it; values: what it takes, empty for anything; open: whether plugins or models add to the values; deprecated:
    vLLM's own sentence, empty where it has none; deprecated_values: of the values, those that vLLM calls so.
    """

    name: str
    takes: Takes = "text"
    also: tuple[str, ...] = ()
    default: Any = None
    values: tuple[str, ...] = ()
    open: bool = False
    deprecated: str = ""
    deprecated_values: tuple[str, ...] = ()

    def accepts(self, value: str) -> bool | None:
        """Whether vLLM takes a value; None where its values are not all known.

        Case and dashes do not count: vLLM itself reads --moe-backend and --attention-backend so.
        """
        if not self.values or value in ("", "None"):  # which vLLM reads as none given
            return None
        if _plain(value) in {_plain(each) for each in self.values}:
            return True
        return None if self.open else False

    def nearest(self, value: str) -> str:
        """The value that a misspelt one is most like, empty where none is."""
        return _nearest(value, self.values)


@dataclass(frozen=True)
class Release:
    """A release of vLLM that was read. version: whole, such as 0.27.1; sha256: of its source package.

    opposites: whether `--disable-X` switches `--enable-X` off, and the other way round.
    """

    version: str
    released: date
    sha256: str
    opposites: bool = False


@dataclass(frozen=True)
class Table:
    """What one release takes. flags: by their names without dashes."""

    release: Release
    flags: Mapping[str, Flag]
    variables: frozenset[str]

    @cached_property
    def _names(self) -> Mapping[str, Flag]:
        return {**{name: flag for flag in self.flags.values() for name in flag.also}, **self.flags}

    def find(self, name: str) -> Flag | None:
        """The flag that a name means to vLLM's parser: `_` is `-`, `no-NAME`, a beginning that only one has.

        A long name may come without its dashes, a short one has one.
        """
        wanted, dot, rest = _long(name).partition(".")
        owner = self._names.get(wanted) or self._opposite(wanted) or self._beginning(wanted)
        if owner is None or not dot:
            return owner
        return self.flags.get(f"{owner.name}.{rest.partition('.')[0].rstrip('+')}") or self._loose(owner)

    def _opposite(self, name: str) -> Flag | None:
        flag = self._names.get(name.removeprefix("no-"))
        if flag and flag.takes == "switch":
            return flag
        pairs = [after + name.removeprefix(before) for before, after in _PAIRS if name.startswith(before)]
        other = self._names.get(pairs[0]) if pairs and self.release.opposites else None
        return other if other and other.takes == "switch" else None

    def _beginning(self, name: str) -> Flag | None:
        found = {flag.name: flag for key, flag in self._names.items() if key.startswith(name) and "." not in key}
        return next(iter(found.values())) if len(found) == 1 and len(name) > 1 else None

    def _loose(self, owner: Flag) -> Flag | None:
        """A JSON object of which no field is known may have any."""
        fields = any(name.startswith(f"{owner.name}.") for name in self.flags)
        return owner if owner.takes == "json" and not fields else None

    def nearest(self, name: str) -> str:
        """The name that a misspelt one is most like, empty where none is."""
        wanted = _long(name)
        if "." in wanted:
            return _nearest(wanted, [flag for flag in self.flags if "." in flag])
        return _nearest(wanted, [each for each in self._names if "." not in each and each[0] != "-"])


@dataclass(frozen=True)
class Knowledge:
    """Every version that was read, oldest first, by its minor version: (0, 24).

    read: the day of the last look; images: the version in each of NVIDIA's images, by its month: 26.08; families:
    of models, by their names.
    """

    read: date
    releases: Mapping[Version, Release]
    histories: Mapping[str, _FlagRow]
    variables: Mapping[str, str | None]
    images: Mapping[str, Version] = field(default_factory=dict)
    families: tuple[Family, ...] = ()
    _tables: dict[Version, Table] = field(default_factory=dict, compare=False, repr=False)

    @property
    def newest(self) -> Release:
        return self.releases[max(self.releases)]

    def flags(self, of: Version | None) -> Table | None:
        """What a version takes; None where it is unknown.

        A patch release beyond the one that was read is unknown: nightly builds, which many images for the Spark
        are, have such numbers, and take what only the next version does.
        """
        minor = (*of[:2],) if of else ()
        release = self.releases.get(minor)
        if of is None or release is None or of > (version(release.version) or ()):
            return None
        return self.table(minor)

    def table(self, minor: Version) -> Table:
        """The same of a minor version that was read."""
        if minor not in self._tables:
            made = {name: row.flag(name, minor) for name, row in self.histories.items()}
            found = {name: each for name, each in made.items() if each}
            names = frozenset(name for name, spans in self.variables.items() if within(spans, minor))
            self._tables[minor] = Table(self.releases[minor], found, names)
        return self._tables[minor]

    def takes(self, name: str, of: Version | None) -> bool:
        """Whether a version has a flag; one beyond the tables counts as the newest, one before them has none."""
        if of is not None and of < min(self.releases):
            return False
        return (self.flags(of) or self.table(max(self.releases))).find(name) is not None

    def removed(self, name: str) -> Version | None:
        """The minor version that a flag is gone since; None where the newest has it, or none ever had."""
        return self._gone(self._having(name))

    def variable_removed(self, name: str) -> Version | None:
        """The same of an environment variable."""
        if name not in self.variables:
            return None
        return self._gone([within(self.variables[name], release) for release in self.releases])

    def _having(self, name: str) -> list[bool]:
        row = self.histories.get(_long(name))
        return [
            bool(row and within(row.spans, release)) or self.table(release).find(name) is not None
            for release in self.releases
        ]

    def _gone(self, having: list[bool]) -> Version | None:
        """The version since which none has it; None where the newest has it, or none ever had."""
        if having[-1] or not any(having):
            return None
        return [*self.releases][len(having) - having[::-1].index(True)]


# --- the file


class _OfFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class _ReleaseRow(_OfFile):
    version: str
    released: date
    sha256: str
    opposites: bool = False


class _FlagRow(_OfFile):
    """A flag over all versions. What changed is a mapping of spans (`from 0.24`, `0.20 to 0.22`) to what held."""

    spans: str | None = Field(None, alias="in")
    takes: Any = "text"
    also: Any = ()
    default: Any = None
    values: list[str] = []
    values_in: dict[str, str] = {}
    open: Any = False
    deprecated: Any = ""
    deprecated_values: Any = ()

    def flag(self, name: str, minor: Version) -> Flag | None:
        """The flag as a minor version has it, None where it has none."""
        if not within(self.spans, minor):
            return None
        some = [value for value, spans in self.values_in.items() if within(spans, minor)]
        return Flag(
            name=name,
            takes=at(self.takes, minor) or "text",
            also=tuple(at(self.also, minor) or ()),
            default=at(self.default, minor),
            values=tuple(sorted([*self.values, *some])),
            open=at(self.open, minor) or False,
            deprecated=at(self.deprecated, minor) or "",
            deprecated_values=tuple(at(self.deprecated_values, minor) or ()),
        )


class File(_OfFile):
    """models/vllm/flags.yaml. variables: the spans of each, none for all versions."""

    read: date
    versions: dict[str, _ReleaseRow]
    flags: dict[str, _FlagRow]
    variables: dict[str, str | None]

    def knowledge(self) -> Knowledge:
        releases = {_minor(name): Release(**row.model_dump()) for name, row in self.versions.items()}
        return Knowledge(self.read, dict(sorted(releases.items())), self.flags, self.variables)


class Images(_OfFile):
    """The version of vLLM in images whose tag does not show it.

    nvidia: by the year and month of its tag.
    """

    nvidia: dict[
        Annotated[str, StringConstraints(pattern=r"^\d\d\.\d\d$")],
        Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")],
    ]

    @property
    def versions(self) -> dict[str, Version]:
        return {month: version(each) or () for month, each in self.nvidia.items()}


def at(found: Any, minor: Version) -> Any:
    """What held in a minor version, of a value or of a mapping of spans to values."""
    if not isinstance(found, Mapping):
        return found
    return next((value for spans, value in found.items() if within(spans, minor)), None)


@cache
def within(spans: str | None, minor: Version) -> bool:
    """Whether a minor version lies in one of the spans; none are all versions."""
    return spans is None or any(_in_one(each, minor) for each in spans.split(", "))


def _in_one(span: str, minor: Version) -> bool:
    found = re.fullmatch(r"in (\S+)|from (\S+)|(?:(\d\S*) )?to (\S+)", span)
    if found is None:
        raise ValueError(f"{span!r} is no span of versions: `from 0.24`, `to 0.23`, `0.20 to 0.22`, `in 0.20`")
    only, since, first, last = (_minor(each) if each else None for each in found.groups())
    first, last = first or since or only, last or only
    return (first is None or first <= minor) and (last is None or minor <= last)


def _minor(text: str) -> Version:
    first, second = text.split(".")
    return int(first), int(second)


def _long(name: str) -> str:
    """A name as it stands in a table: the field of a JSON object keeps its underscores."""
    head, dot, field_ = name.removeprefix("--").partition(".")
    return head.replace("_", "-") + dot + field_


def _plain(text: str) -> str:
    return text.lower().replace("-", "_")


def _nearest(word: str, words: Iterable[str]) -> str:
    plain = {_plain(each): each for each in sorted(words)}
    return plain.get(nearest(_plain(word), plain, _ALIKE), "")
