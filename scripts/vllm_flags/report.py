"""What changed between two versions of vLLM, and which rules of lint it touches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.vllm_flags.rules import PARSER
from sparkrig.serving import arguments
from sparkrig.serving.flags import Flag, Knowledge, Table, Version


@dataclass(frozen=True)
class Change:
    """name: a flag with its dashes, or a variable; says: what happened to it."""

    name: str
    says: str


def report(known: Knowledge, old: Version, new: Version, named: Mapping[str, set[str]]) -> str:
    """The report as text. named: for each flag and variable, what of ours names it."""
    before, after = known.table(old), known.table(new)
    titles = f"vLLM {before.release.version} to {after.release.version} ({after.release.released})"
    parts = [titles, "=" * len(titles)]
    for title, changes in _sections(before, after):
        found = [*changes]
        if found:
            parts += ["", f"{title} ({len(found)})", *_lines(found, named)]
    gone = [each for each in sorted(named) if not _there(each, after)]
    if gone:
        parts += ["", f"Named by us, and not in {after.release.version} ({len(gone)})"]
        parts += [f"  {each}: {_since(known, each)}{_by(named, each)}" for each in gone]
    wrong = [*otherwise(after)]
    if wrong:
        parts += [
            "",
            f"Taken otherwise by {PARSER} ({len(wrong)})",
            *(f"  {each.name}: {each.says}" for each in wrong),
        ]
    return "\n".join(parts) + "\n"


def _sections(before: Table, after: Table) -> Iterator[tuple[str, Iterable[Change]]]:
    both = [(before.flags[name], after.flags[name]) for name in before.flags if name in after.flags]
    removed = [flag for name, flag in before.flags.items() if name not in after.flags]
    yield "Removed flags", (Change(f"--{flag.name}", _instead(flag, after)) for flag in removed)
    yield "Renamed flags", _renamed(both)
    yield (
        "Deprecated",
        (Change(f"--{new.name}", new.deprecated) for new in after.flags.values() if new.deprecated),
    )
    yield "Changed defaults", _changed_defaults(both)
    yield "Changed values", _changed_values(both)
    yield (
        "Changed kinds",
        (
            Change(f"--{new.name}", f"takes {old.takes}, then {new.takes}")
            for old, new in both
            if old.takes != new.takes
        ),
    )
    added = [flag for name, flag in after.flags.items() if name not in before.flags]
    yield (
        "Added flags",
        (Change(f"--{flag.name}", _described(flag)) for flag in added if not _within(flag, before)),
    )
    yield "Removed variables", (Change(each, "") for each in sorted(before.variables - after.variables))
    yield "Added variables", (Change(each, "") for each in sorted(after.variables - before.variables))


def otherwise(table: Table) -> Iterator[Change]:
    """Flags of which our own parser of launches takes more words, or fewer, than vLLM does."""
    ours = {name: word for names, word in _KINDS.items() for name in names}
    for name, flag in table.flags.items():
        kind = _WORDS.get(flag.takes, "one word")
        mine = ours.get(name, "one word")
        if "." not in name and kind != mine and flag.takes != "switch or text":
            yield Change(f"--{name}", f"{kind}; {mine} for us")


# A flag that our parser does not know has one word, where one follows that is no flag
_KINDS: Mapping[frozenset[str], str] = {
    arguments._SWITCHES: "no word",
    arguments._MANY: "every word up to the next flag",
}
_WORDS = {"switch": "no word", "switch on": "no word", "texts": "every word up to the next flag"}


def _instead(flag: Flag, after: Table) -> str:
    """What takes the place of a flag, by vLLM's own words or by its parser."""
    if found := after.find(flag.name):
        return f"now another name of --{found.name}"
    return flag.deprecated


def _renamed(both: Iterable[tuple[Flag, Flag]]) -> Iterator[Change]:
    """Other names that came or went."""
    for old, new in both:
        came, went = sorted({*new.also} - {*old.also}), sorted({*old.also} - {*new.also})
        says = [f"also {_dashed(each)}" for each in came] + [f"no longer {_dashed(each)}" for each in went]
        if says:
            yield Change(f"--{new.name}", ", ".join(says))


def _changed_defaults(both: Iterable[tuple[Flag, Flag]]) -> Iterator[Change]:
    for old, new in both:
        if (type(old.default), old.default) != (type(new.default), new.default):
            yield Change(f"--{new.name}", f"{_worded(old.default)}, then {_worded(new.default)}")


def _changed_values(both: Iterable[tuple[Flag, Flag]]) -> Iterator[Change]:
    for old, new in both:
        came, went = sorted({*new.values} - {*old.values}), sorted({*old.values} - {*new.values})
        says = ([f"without {', '.join(went)}"] if went else []) + ([f"with {', '.join(came)}"] if came else [])
        if says:
            yield Change(f"--{new.name}", "; ".join(says))


def _described(flag: Flag) -> str:
    values = f" of {', '.join(flag.values)}" if 0 < len(flag.values) <= 8 else ""
    return f"{flag.takes}{values}" + (f", by default {flag.default}" if flag.default is not None else "")


def _within(flag: Flag, before: Table) -> bool:
    """Whether a flag is a field of a JSON object that is new itself."""
    owner, dot, _ = flag.name.partition(".")
    return bool(dot) and owner not in before.flags


def _lines(changes: Iterable[Change], named: Mapping[str, set[str]]) -> Iterator[str]:
    for each in changes:
        yield f"  {each.name}{f': {each.says}' if each.says else ''}{_by(named, each.name)}"


def _by(named: Mapping[str, set[str]], name: str) -> str:
    return f"   <- {', '.join(sorted(named[name]))}" if name in named else ""


def _there(name: str, table: Table) -> bool:
    return table.find(name) is not None if name.startswith("--") else name in table.variables


def _since(known: Knowledge, name: str) -> str:
    bare = name.removeprefix("--")
    since = known.removed(bare) if name != bare else known.variable_removed(name)
    return f"gone since {since[0]}.{since[1]}" if since else "in no version that was read"


def _dashed(name: str) -> str:
    return name if re.match(r"-[^-]", name) else f"--{name}"


def _worded(value: Any) -> str:
    return "none" if value is None else f"{value!r}"
