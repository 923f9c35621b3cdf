"""What writing a file of ours would change in the one that stands there, line by line, fit to be shown.

The lines are a host's own: they are cleaned and cut, and a value whose name marks it as a secret is left out.
The GID block follows the devices by itself (templates/refresh_gid.py), so it is no change.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from sparkrig.files import File, Found
from sparkrig.host import branches
from sparkrig.network import environment, gid
from sparkrig.parsing import line_ends
from sparkrig.redaction.secret_names import names_a_secret
from sparkrig.resources import trust
from sparkrig.text import listed, plain

SHOWN = 400  # rows of one diff; a file of a host may be a megabyte of noise
_MOST = 2000  # lines of a host's file that are compared
_WIDTH = 120  # characters of a row
_NAMED = 3  # as many lines of a sentence are shown; more are counted
_ASSIGNED = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=")
# by path, the setting that keeps variables of one's own there
_SETTINGS = {environment.NCCL_CONF: "nccl_conf", environment.CONTAINER_ENV: "environment"}
_NO_FRAGMENT = (trust.KNOWN_HOSTS, environment.RAILS, environment.GID_MODULE, environment.REFRESH)


def diff(path: str, before: str, after: str) -> tuple[str, ...]:
    """A unified diff with three lines of context, bounded, without control characters and secrets.

    Where lines end in another way a row before it states that, for the lines look the same.
    """
    from sparkrig.redaction.credentials import masked  # its patterns take time, and few runs write a file

    rows = chain(
        ends(before, after),
        difflib.unified_diff(line_ends.lines(before), line_ends.lines(after), path, path, lineterm=""),
    )
    told = [_cut(plain(row)) for row, _ in zip(rows, range(SHOWN + 1), strict=False)]
    shown = masked("\n".join(told[:SHOWN])).split("\n") if told else []
    return (*shown, *(["... more lines differ"] if len(told) > SHOWN else []))


def sentence(wanted: File, found: Found, *, named: bool = True) -> str:
    """In what a file differs from what is wanted, in words; empty where it does not.

    named: whether the lines themselves are; else it is counted what writing the file does, above a diff.
    """
    fit = found.owner == "root:root" and wanted.mode in (found.mode, "keep")
    odd = [] if fit else [f"{found.mode} {found.owner}"]
    here, declared = sides(wanted, found)
    odd += [f"it is {found.fault}"] if found.fault else []
    odd += line_ends.differ(found.content, wanted.content)
    if here != declared:
        there, stands = line_ends.lines(declared), line_ends.lines(here)
        more, less = [row for row in stands if row not in there], [row for row in there if row not in stands]
        counts = [*_count(more, "more"), *_count(less, "less")]
        if not named:
            ways = ((more, "to remove"), (less, "to add"))
            counts = [f"{len(rows)} line{'s' * (len(rows) > 1)} {what}" for rows, what in ways if rows]
        odd.append(", ".join(counts) or "its lines stand in another order")
    return ", ".join(odd)


def _count(lines: list[str], word: str) -> Iterator[str]:
    """How many, and the first few; nothing where there are none."""
    if lines:
        first = "; ".join(map(shown, lines[:_NAMED]))
        more = f"; and {len(lines) - _NAMED} lines" if len(lines) > _NAMED else ""
        yield f"{len(lines)} line{'s' if len(lines) > 1 else ''} {word} ({first}{more})"


def differences(write: Iterable[File], remove: Iterable[str], files: Mapping[str, Found]) -> list[str]:
    """What is to be written and removed, a sentence each. files: as they stand on the host."""
    absent = [f"{file.path} is absent" for file in write if file.path not in files]
    odd = [f"{file.path}: {sentence(file, files[file.path])}" for file in write if file.path in files]
    return [*absent, *odd, *(f"{path} is not declared" for path in remove)]


def ends(before: str, after: str) -> tuple[str, ...]:
    """In what way lines end otherwise, as rows above a diff."""
    return tuple(f"# {said}" for said in line_ends.differ(before, after))


def keeping(wanted: File, found: Found) -> str:
    """What keeps lines that writing a file would take away, as words that end a sentence; empty without lines."""
    path, lines = wanted.path, _lost(wanted, found)
    if path in _SETTINGS:
        lines = [line for line in lines if not _own(line, found)]
    if not lines:
        return ""
    names = [match[1] for line in lines if (match := _ASSIGNED.match(line))]
    hidden, plain_names = [name for name in names if names_a_secret(name)], [*filter(_told, names)]
    if path in _SETTINGS:
        parts = [f"the setting {_SETTINGS[path]} keeps {listed(plain_names)}"] if plain_names else []
        parts += [f"the setting secrets is for {listed(hidden)}"] if hidden else []
        return "; ".join(parts) or f"the setting {_SETTINGS[path]} keeps variables, and nothing keeps other lines"
    if path in _NO_FRAGMENT:
        return "nothing keeps them there"
    if {*_lines(wanted)} - {*_lines(replace(wanted, content=found.content))}:  # a file beside it would undo ours
        what = "the pin was" if path == branches.PIN_PATH else "lines of sparkrig's were"
        return f"{what} changed, and the deploy puts back what is declared"
    return "a file of your own beside it keeps them"


def _lost(wanted: File, found: Found) -> list[str]:
    """The lines that only the host has, which writing the file takes away; as they stand there."""
    there = {*_lines(wanted)}
    here = _lines(replace(wanted, content=found.content))[:_MOST]
    return [line for line in here if line.strip() and line not in there]


def _own(line: str, found: Found) -> bool:
    """Whether an earlier deploy wrote a line of a file of variables: one that no setting gave, or the head.

    A file without our name in it is not ours (templates/programs/operations/files_write.sh).
    """
    if "sparkrig" not in found.content.lower():
        return False
    assigned = _ASSIGNED.match(line)
    return assigned[1] in environment.NAMES if assigned else line.startswith("#") and "sparkrig" in line


def _told(name: str) -> bool:
    return not names_a_secret(name)


def shown(line: str) -> str:
    """A line of a host's file as it may be shown."""
    from sparkrig.redaction.credentials import masked  # its patterns take time, and few files differ

    found = _ASSIGNED.match(line)
    return _cut(f"{found[1]}=(a secret, not shown)" if found and names_a_secret(found[1]) else masked(plain(line)))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


def sides(wanted: File, found: Found) -> tuple[str, str]:
    """What stands there and what is wanted, with the same ends of lines.

    A GID block follows the devices by itself: where both have one, both have the wanted one here.
    """
    alike = line_ends.like(found.content, wanted.content)
    if wanted.path not in environment.WITH_GIDS:
        return alike, wanted.content
    with suppress(ValueError):  # one of them has none: it comes with the file, or goes with it
        start = wanted.content.index(gid.BLOCK_BEGIN)
        end = wanted.content.index(gid.BLOCK_END, start) + len(gid.BLOCK_END)
        alike = gid.replace_block(alike, wanted.content[start:end])
    return alike, wanted.content


def without_gids(file: File) -> str:
    """The text without what follows the devices by itself."""
    try:
        return gid.replace_block(file.content, "") if file.path in environment.WITH_GIDS else file.content
    except ValueError:
        return file.content


def _lines(file: File) -> list[str]:
    return line_ends.lines(without_gids(file))
