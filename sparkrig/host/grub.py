"""Which kernel GRUB boots next, by the menu that Ubuntu's grub-mkconfig writes, and GRUB's variables.

The menu is a script. What is read of it is the form of Ubuntu's templates: one default, which is a name, a number
or the saved entry, and entries with one kernel each. With anything else the answer is unknown, and says why.

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
_DEPTH = 4  # of submenus; Ubuntu has one

# first: the first entry, whatever kernel it has: the newest one; named: a title or an id with the kernel's release
# in it; other: a number, which is another entry once a kernel comes or goes, or an entry for the next boot alone
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

    title: str
    id: str
    submenu: bool
    always: bool
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
        default = _default(lines, variables)
        return _chosen(entries, default, steady=not variables.get("next_entry") and not _counts(default))
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


def _menu(text: str) -> tuple[list[_Entry], list[str]]:
    """The entries of a menu, and its lines outside of functions.

    A block begins with a line's last `{`, and ends with a line that is a `}`.
    """
    top = _Entry("", "", submenu=True, always=True)
    open_: list[_Entry | None] = [top]  # None for a function
    lines: list[str] = []
    conditions = 0
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("#"):
            continue
        if _ENTRY.fullmatch(line):
            entry = _entry(bare, always=not conditions)
            within = open_[-1]
            if within is None or not within.submenu:
                raise Untold(f"{CFG} has an entry where Ubuntu's templates have none")
            within.entries.append(entry)
            open_.append(entry)
        elif _FUNCTION.fullmatch(bare):
            open_.append(None)
        elif bare == "}":
            if len(open_) == 1:
                raise Untold(f"{CFG} ends a block that did not begin")
            open_.pop()
        else:
            _judge(bare)
            lines += [] if None in open_ else [bare]
            conditions += sum(1 if word == "if" else -1 for word in _IF.findall(bare))
            if within := open_[-1]:
                within.kernels += _KERNEL.findall(bare)
    if len(open_) > 1:
        raise Untold(f"{CFG} lacks a }}")
    return top.entries, lines


def _judge(line: str) -> None:
    """Raises Untold for a line that Ubuntu's templates do not write, and that may change what boots."""
    elsewhere = _ELSEWHERE.search(line)
    if elsewhere and not (elsewhere["what"] or "").endswith("/custom.cfg"):
        raise Untold(f"{CFG} goes on in another place ({_shown(elsewhere[0])})")
    if line.endswith("{") or _LOOP.search(line) or _ANY_ENTRY.search(line.replace("menuentry_id_option", "")):
        raise Untold(f"{CFG} has a line that Ubuntu's templates do not write ({_shown(line)})")


def _entry(line: str, *, always: bool) -> _Entry:
    try:
        kind, title, *words = shlex.split(line.removesuffix("{"))
    except ValueError:
        raise Untold(f"{CFG} has an entry that cannot be read ({_shown(line)})") from None
    own = next((after for word, after in pairwise(words) if word in _ID), title)
    if {"{", "}"} & {*words}:
        raise Untold(f"{CFG} has an entry and more in one line ({_shown(line)})")
    if "$" in title + own:
        raise Untold(f"{CFG} has an entry whose name only the machine tells ({_shown(line)})")
    return _Entry(title, own, kind == "submenu", always)


_ID = ("--id", "$menuentry_id_option")

# --- which entry

_DEFAULT = re.compile(r"\bdefault=|\b(?:set|unset|read)\s+default\b|--set[ =]default\b")
_SET = re.compile(r"""(?:set\s+)?default=(?:"([^"]*)"|'([^']*)'|([^\s"'$;]*))""")
_NEXT, _SAVED = "${next_entry}", "${saved_entry}"


def _default(lines: Iterable[str], variables: Mapping[str, str]) -> str:
    """What the menu's default is now: the entry for the next boot alone, else the one in the menu or saved."""
    found = [_SET.fullmatch(line) for line in lines if _DEFAULT.search(line)]
    values = ["".join(each.groups("")) if each else "$" for each in found]
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


def _chosen(entries: Sequence[_Entry], default: str, *, steady: bool) -> Boot:
    """What a default names: entries within submenus, parted by `>`. steady: whether it names it each time."""
    for _ in range(_DEPTH):
        name, rest = _split(default)
        entry = _pick(entries, name)
        if not entry.submenu:
            kernel = _kernel(entry)
            named = name in (entry.title, entry.id) and kernel in name
            way: Way = "named" if named else "first" if entry is entries[0] else "other"
            return Boot(kernel, _shown(entry.title), way if steady else "other")
        entries, default = entry.entries, rest
    raise Untold("its submenus nest too deep")


def _counts(default: str) -> bool:
    """Whether a default chooses by a number, at any depth. A lone 0 is the first entry of every menu."""
    head, *rest = default.split(">")
    return any(map(str.isdecimal, rest)) or (head.isdecimal() and head != "0")


def _split(default: str) -> tuple[str, str]:
    """The entry that a default names, and what it names within it. `>>` stands for a `>` of the name."""
    parts = re.split(r"(?<!>)>(?!>)", default, maxsplit=1)
    return parts[0].replace(">>", ">"), "".join(parts[1:])


def _pick(entries: Sequence[_Entry], name: str) -> _Entry:
    """The entry of that number or name; the first one where none has it."""
    if not entries:
        raise Untold("its menu has no entry")
    number = int(name) if re.fullmatch(r"0|[1-9]\d{0,3}", name) else None
    if number is None and re.match(r"[\s\d+\\-]", name):
        raise Untold(f"its default ({_shown(name)}) is neither a name nor a plain number")
    if number is not None:
        at = number if number < len(entries) else 0
        matter = entries[: at + 1]
    else:
        at = next((at for at, entry in enumerate(entries) if name in (entry.title, entry.id)), 0)
        matter = [entries[at]]
    if not all(entry.always for entry in matter):
        raise Untold(f"its default ({_shown(name)}) depends on an entry that only some machines have")
    return entries[at]


_IMAGE = re.compile(r"(?:vmlinu[xz]|Image|kernel)-([0-9][A-Za-z0-9._+~-]{0,99}?)(?:[.]efi(?:[.]signed)?)?")


def _kernel(entry: _Entry) -> str:
    """The release of the kernel that an entry loads."""
    if len({*entry.kernels}) != 1:
        many = "one of several kernels" if entry.kernels else "no kernel"
        raise Untold(f"its entry '{_shown(entry.title)}' loads {many}")
    release = _IMAGE.fullmatch(entry.kernels[0].rpartition("/")[2])
    if not release:
        raise Untold(f"its entry '{_shown(entry.title)}' loads a kernel whose file does not name its release")
    return release[1]


def _shown(text: str) -> str:
    return plain(text)[:_SHOWN].strip()
