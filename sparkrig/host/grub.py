"""Which kernel GRUB boots next, by the menu that Ubuntu's grub-mkconfig writes, and GRUB's variables.

The menu is a script. What is read of it is the form of Ubuntu's templates: entries with one kernel each, and one
default, which is the first entry or an entry by its name, in the menu or saved. With anything else, a number among
them, the answer is unknown, and says why.

Sources: GRUB 2.12, grub-core/normal/menu.c for what a default names, and util/grub.d for what Ubuntu writes; the
answers are compared with those of GRUB's own emulator (tests/fixtures/boot).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

from sparkrig.text import plain
from sparkrig.value import Value

FOLDER: Final = "/boot/grub"
NAMES = ("grub.cfg", "grubenv", "custom.cfg")
CFG, ENV, CUSTOM = (f"{FOLDER}/{name}" for name in NAMES)
_HEADER = "# GRUB Environment Block"  # without it GRUB takes no variable of the block
_SHOWN = 80  # characters of a name from the menu in a sentence

# first: the first entry, whatever kernel it has: the newest one; named: a title or an id with the kernel's release
# in it; other: a name without it, or an entry for the next boot alone
Way = Literal["first", "named", "other"]


@dataclass(frozen=True)
class Boot(Value):
    """What GRUB boots next.

    kernel: its release, empty where it is unknown; why: then the reason, else the title of the entry; way: how the
    entry is chosen, which decides what becomes of it with another kernel.
    """

    kernel: str
    why: str = ""
    way: Way = "first"


class Untold(ValueError):
    """The files do not tell what GRUB boots next; the message says why."""


@dataclass
class _Entry:
    """A line of the menu; always: whether any machine has it; kernels: the files that it loads."""

    names: tuple[str, str] = ("", "")
    submenu: bool = True
    always: bool = True
    kernels: list[str] = field(default_factory=list)
    entries: list[_Entry] = field(default_factory=list)


def read(rows: Iterable[str]) -> Boot | None:
    """What GRUB boots next, by what facts/grub.sh prints among other rows; None on a host without GRUB's menu."""
    files: dict[str, list[str]] = {}
    path, there, whole = "", False, False
    for row in rows:
        if row.startswith("/") and row.rpartition("/")[2] in NAMES:
            path = f"{FOLDER}/{row.rpartition('/')[2]}"
            files[path] = []
        elif row == "grub":
            there = True
        elif row == "grub-whole":
            whole, path = True, ""
        elif path and row.startswith("grub "):
            files[path].append(row.removeprefix("grub "))
    if there and not whole:
        return Boot("", f"{CFG} is longer than what is read of it")
    return boots({path: "\n".join(lines) for path, lines in files.items()}) if there else None


def boots(files: Mapping[str, str]) -> Boot:
    """What GRUB boots next, by the text of its files."""
    try:
        if CFG not in files:
            raise Untold(f"{CFG} cannot be read")
        if CUSTOM in files:
            raise Untold(f"{CUSTOM} may change the menu")
        entries, lines = _menu(files[CFG])
        variables = dict(_variables(files.get(ENV, ""))) if "load_env" in lines else {}
        return _chosen(entries, _default(lines, variables), once=bool(variables.get("next_entry")))
    except Untold as error:
        return Boot("", str(error))


# --- the menu

_ENTRY = re.compile(r"\s*(menuentry|submenu)\s.*\{\s*")
_ANY_ENTRY = re.compile(r"\b(?:menuentry|submenu)\b")
_FUNCTION = re.compile(r"function \w+ \{")
_KERNEL = re.compile(r"(?:^|[;\s])linux(?:efi|16)?\s+(\S+)")
# what makes commands of another text; Ubuntu's 41_custom reads custom.cfg where there is one
_ELSEWHERE = re.compile(
    r"(?:^|[;\s])(?:source|[.]|configfile|normal|blscfg|bls_import|eval|(?:legacy|syslinux|extract_entries)_\w+)"
    r"(?:\s+(?P<what>\S*)|$)"
)
_LOOP = re.compile(r"(?:^|[;\s])(?:for|while|until)\s")
_IF = re.compile(r"(?:^|[;\s])(if|fi)(?=[;\s]|$)")
_ID = ("--id", "$menuentry_id_option")


def _odd(line: str) -> Untold:
    return Untold(f"{CFG} has a line that Ubuntu's templates do not write there ({_shown(line)})")


def _menu(text: str) -> tuple[list[_Entry], list[str]]:
    """The entries of a menu, and its lines outside of functions.

    A block begins with a line's last `{`, and ends with a line that is a `}`.
    """
    top = _Entry()
    open_: list[_Entry | None] = [top]  # None for a function
    lines: list[str] = []
    conditions = 0
    for line in map(str.strip, text.splitlines()):
        within = open_[-1]
        if line.startswith("#"):
            continue
        if _ENTRY.fullmatch(line):
            if within is None or not within.submenu:
                raise _odd(line)
            within.entries.append(_entry(line, always=not conditions))
            open_.append(within.entries[-1])
        elif _FUNCTION.fullmatch(line):
            open_.append(None)
        elif line == "}" and len(open_) > 1:
            open_.pop()
        else:
            _judge(line)
            lines += [] if None in open_ else [line]
            conditions += sum(1 if word == "if" else -1 for word in _IF.findall(line))
            if within:
                within.kernels += _KERNEL.findall(line)
    if len(open_) > 1:
        raise Untold(f"{CFG} lacks a }}")
    return top.entries, lines


def _judge(line: str) -> None:
    """Raises Untold for a line that Ubuntu's templates do not write, and that may change what boots."""
    elsewhere = _ELSEWHERE.search(line)
    another = elsewhere and not (elsewhere["what"] or "").endswith("/custom.cfg")
    entry = _ANY_ENTRY.search(line.replace("menuentry_id_option", ""))
    if another or entry or line.endswith("{") or line == "}" or _LOOP.search(line):
        raise _odd(line)


def _entry(line: str, *, always: bool) -> _Entry:
    try:
        kind, title, *words = shlex.split(line.removesuffix("{"))
    except ValueError:
        raise _odd(line) from None
    own = next((after for word, after in pairwise(words) if word in _ID), title)
    if {"{", "}"} & {*words} or "$" in title + own:  # more than an entry, or a name that only the machine tells
        raise _odd(line)
    return _Entry((title, own), kind == "submenu", always)


# --- which entry

_DEFAULT = re.compile(r"\bdefault=|\b(?:set|unset|read)\s+default\b|--set[ =]default\b")
_SET = re.compile(r"""(?:set\s+)?default=(?:"([^"]*)"|'([^']*)'|([^\s"'$;]*))""")
_NEXT, _SAVED = "${next_entry}", "${saved_entry}"


def _default(lines: Iterable[str], variables: Mapping[str, str]) -> str:
    """What the menu's default is now: the entry for the next boot alone, else the one in the menu or saved."""
    settings = [_SET.fullmatch(line) for line in lines if _DEFAULT.search(line)]
    values = ["".join(each.groups("")) if each else "$" for each in settings]
    own = values[-1] if values else ""
    if ("$" in own and own != _SAVED) or values[:-1] not in ([], [_NEXT]):
        raise Untold(f"{CFG} sets its default in another way than Ubuntu's templates")
    for name in ("initrdfail", "prev_entry", "prev_saved_entry", "default"):
        if variables.get(name):
            raise Untold(f"{ENV} has {name}, of a boot before")
    if values[:-1] and variables.get("next_entry"):
        return variables["next_entry"]
    return variables.get("saved_entry", "") if own == _SAVED else own


def _variables(text: str) -> Iterator[tuple[str, str]]:
    """The variables of GRUB's environment block; its lines escape `\\` and the end of a line."""
    for line in text.split("\n") if text.startswith(f"{_HEADER}\n") else ():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            yield name, re.sub(r"\\(.)", r"\1", value)


def _chosen(entries: Sequence[_Entry], default: str, *, once: bool) -> Boot:
    """What a default names: the first entry, or one by its name, within a submenu as `SUBMENU>ENTRY`."""
    name, _, inner = default.partition(">")
    entry = _named(entries, "" if name == "0" else name)
    if inner:
        name, entry = inner, _named(entry.entries, inner)
    if not entry.always:
        raise Untold(f"its entry '{_shown(entry.names[0])}' is one that only some machines have")
    kernel = _kernel(entry)
    named = name in entry.names and kernel in name
    way: Way = "named" if named else "first" if entry is entries[0] else "other"
    return Boot(kernel, _shown(entry.names[0]), "other" if once else way)


def _named(entries: Sequence[_Entry], name: str) -> _Entry:
    """The entry of that name; the first one for none. GRUB takes what begins with a digit for a number."""
    if not entries:
        raise Untold("its menu has no entry")
    named = [entry for entry in entries if name in entry.names] if name else entries
    if not named or re.match(r"[\s\d+\\-]", name):
        raise Untold(f"its default ({_shown(name)}) is not the name of an entry")
    return named[0]


_IMAGE = re.compile(r"(?:vmlinu[xz]|Image|kernel)-([0-9][A-Za-z0-9._+~-]{0,99}?)(?:[.]efi(?:[.]signed)?)?")


def _kernel(entry: _Entry) -> str:
    """The release of the kernel that an entry loads."""
    if len({*entry.kernels}) != 1:
        many = "one of several kernels" if entry.kernels else "no kernel"
        raise Untold(f"its entry '{_shown(entry.names[0])}' loads {many}")
    release = _IMAGE.fullmatch(entry.kernels[0].rpartition("/")[2])
    if not release:
        raise Untold(f"its entry '{_shown(entry.names[0])}' loads a kernel whose file does not name its release")
    return release[1]


def _shown(text: str) -> str:
    return plain(text)[:_SHOWN].strip()
