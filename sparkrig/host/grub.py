"""Which kernel GRUB boots next: its menu and its variables, read as GRUB reads them.

GRUB runs `grub.cfg` as a script that sets `default` and lists the entries. So does this, without a host: a
condition that only the machine can answer leaves both ways open, and what depends on it is unknown.

Sources: GRUB 2.12, grub-core/normal/menu.c for what a default names, grub-core/script for the language, and
util/grub.d for what Ubuntu writes; each rule compared with GRUB's own emulator (tests/fixtures/boot).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sparkrig.host.grub_syntax import (
    CFG,
    CUSTOM,
    DEPTH,
    ENV,
    FOLDER,
    NAMES,
    Command,
    If,
    Loop,
    Statement,
    Untold,
    Word,
    parsed,
    shown_name,
)
from sparkrig.value import Value

_STEPS = 20_000  # commands, of which a menu of ten kernels has some 200
_HEADER = "# GRUB Environment Block"  # without it GRUB takes no variable of the block
_VALUE = 4096  # characters of a variable
_WORDS = 64  # of a test


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
        run = _Run(files, {"prefix": FOLDER, "config_directory": FOLDER, "feature_menuentry_id": "y"}, {})
        run.all(parsed(files[CFG]))
        default = run.env.get("default", "")
        entry = _pick(run.entries, default)
        steady = not _once(files.get(ENV, "")) and not _counts(default or "")
        for _ in range(DEPTH):
            if not entry.submenu:
                kernel = _kernel(entry, run)
                return Boot(kernel, shown_name(entry.title), _way(run, entry, kernel) if steady else "other")
            run = run.within(entry)
            entry = _pick(run.entries, run.env.get("default", ""))
        raise Untold("its submenus nest too deep")
    except ValueError as error:
        return Boot("", str(error))


# --- the language: words, commands and blocks


# --- what it does


@dataclass(frozen=True)
class _Entry:
    """A line of the menu; title, id: None where unknown; sure: whether it is there on any machine."""

    title: str | None
    id: str | None
    block: tuple[Statement, ...]
    submenu: bool
    sure: bool

    @property
    def nameless(self) -> bool:
        return self.title is None or self.id is None


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
# What GRUB sets by itself, and what stands for arguments. None of it is in any file.
_ITS_OWN = re.compile(r"[?*@#0-9]|root|cmdpath|config_file|shim_lock|lockdown|(?:grub|net|pxe|feature|efi)_?\w*")
# What goes on in another file, or makes commands of text.
_READS = re.compile(
    r"source|[.]|configfile|normal|blscfg|bls_import|eval|(?:legacy|syslinux|extract_entries)_(?:source|configfile)"
)
_TAKES_VALUE = ("--class", "--users", "--hotkey", "--source", "--id")


@dataclass
class _Run:
    """A script in the middle of its run.

    env: the variables, None for one that is unknown; doubt: whether only the machine knows if this part runs.
    """

    files: Mapping[str, str]
    env: dict[str, str | None]
    functions: dict[str, tuple[Statement, ...]]
    entries: list[_Entry] = field(default_factory=list)
    kernels: list[str | None] = field(default_factory=list)
    doubt: bool = False
    looping: bool = False  # where a second turn may find other values than the first
    depth: int = 0
    steps: int = 0

    def within(self, entry: _Entry) -> _Run:
        """The menu of a submenu, whose default is what follows the first `>` of this one's."""
        env = {**self.env, "default": _split(self.env.get("default") or "")[1]}
        run = _Run(self.files, env, dict(self.functions), steps=self.steps)
        run.all(entry.block)
        return run

    def all(self, statements: Iterable[Statement]) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            raise Untold(f"the functions of {CFG} nest too deep")
        for each in statements:
            self.steps += 1
            if self.steps > _STEPS:
                raise Untold(f"{CFG} has more than {_STEPS} steps")
            if isinstance(each, If):
                self._if(each)
            elif isinstance(each, Loop):
                self._loop(each)
            else:
                self._command(each)
        self.depth -= 1

    def _if(self, found: If) -> None:
        before = self.doubt
        for condition, block in found.branches:
            truth = self._truth(condition)
            if truth is False:
                continue
            self.doubt = self.doubt or truth is None
            self.all(block)
            if truth:
                break
        else:
            self.all(found.otherwise)
        self.doubt = before

    def _loop(self, found: Loop) -> None:
        before, count = (self.doubt, self.looping), len(self.entries)
        self.doubt = self.looping = True
        if found.variable:
            self._set(found.variable, None)
        self.all(found.block)
        self.doubt, self.looping = before
        if len(self.entries) != count:
            raise Untold(f"a loop of {CFG} makes entries")

    def _truth(self, condition: tuple[Statement, ...]) -> bool | None:
        self.all(condition)  # a test changes nothing
        last = condition[-1] if condition else None
        if not isinstance(last, Command) or not last.words:
            return None
        words = self._expanded(last.words)
        if words[:1] == ["["] and words[-1:] == ["]"]:
            return _test(words[1:-1], self.files)
        if words[:1] == ["test"]:
            return _test(words[1:], self.files)
        return {"true": True, "false": False}.get(words[0] or "") if words else None

    def _expanded(self, words: Iterable[Word]) -> list[str | None]:
        """What the words are; a bare variable without a value is none."""
        values = ((word, self._value(word)) for word in words)
        return [value for word, value in values if value != "" or not word.bare]

    def _value(self, word: Word) -> str | None:
        parts = [text if kind == "text" else self._variable(text) for kind, text in word.pieces]
        told = [part for part in parts if part is not None]
        return "".join(told) if len(told) == len(parts) and sum(map(len, told)) <= _VALUE else None

    def _variable(self, name: str) -> str | None:
        return self.env[name] if name in self.env else None if _ITS_OWN.fullmatch(name) else ""

    def _set(self, name: str, value: str | None) -> None:
        sure = not self.looping and (not self.doubt or self._variable(name) == value)
        self.env[name] = value if sure else None

    def _command(self, command: Command) -> None:
        words = self._expanded(command.words)
        name, arguments = (words[0], words[1:]) if words else ("", [])
        if command.block is not None:
            self._block(name, arguments, command.block)
        elif name in self.functions:
            self.all(self.functions[name])
        elif name is None:
            raise Untold(f"{CFG} runs a command whose name only the machine tells")
        elif name == "load_env":
            self._load(arguments)
        elif _READS.fullmatch(name):
            self._source(name, arguments)
        elif name == "unset" and arguments and arguments[0]:
            self._set(arguments[0], "")
        elif re.fullmatch(r"linux(?:efi|16)?", name):
            self.kernels.append(next(iter(arguments), None))
        else:
            self._assign(command, name, arguments)

    def _assign(self, command: Command, name: str, arguments: list[str | None]) -> None:
        """`set NAME=VALUE`, `NAME=VALUE`, and whatever puts a value into a variable."""
        words = command.words[1:] if name == "set" else command.words
        kind, text = words[0].pieces[0] if words and words[0].pieces else ("", "")
        if kind == "text" and (found := _ASSIGNMENT.match(text)):
            value = self._value(words[0])
            self._set(found[1], value if value is None else value.partition("=")[2])
        elif name == "read":
            self._set(next(iter(arguments), None) or "", None)
        elif name not in ("[", "test"):
            for before, argument in zip([None, *arguments], arguments, strict=False):
                if before in ("--set", "-s") or (argument or "").startswith("--set="):
                    self._set((argument or "").removeprefix("--set="), None)

    def _block(self, name: str | None, arguments: list[str | None], block: tuple[Statement, ...]) -> None:
        if name == "function":
            self.functions[next(iter(arguments), None) or ""] = block
            return
        titles: list[str | None] = []
        ids: list[str | None] = []
        rest = iter(arguments)
        for argument in rest:
            if argument is None or not argument.startswith("--"):
                titles.append(argument)
            elif argument.startswith("--id="):
                ids.append(argument.removeprefix("--id="))
            elif argument in _TAKES_VALUE:
                (ids if argument == "--id" else []).append(next(rest, None))
        title = next(iter(titles), "")
        entry = _Entry(title, next(iter(ids), title), block, name == "submenu", not self.doubt)
        self.entries.append(entry)

    def _load(self, arguments: list[str | None]) -> None:
        if "-f" in arguments or "--file" in arguments:
            path = arguments[min(map(arguments.index, {"-f", "--file"} & set(arguments))) + 1 :][:1]
            if path != [ENV]:
                raise Untold(f"{CFG} loads variables of another file than {ENV}")
        names = {each for each in arguments if each and not each.startswith("-") and each != ENV}
        for name, value in _variables(self.files.get(ENV, "")):
            if not names or name in names:
                self._set(name, value)

    def _source(self, name: str, arguments: list[str | None]) -> None:
        path = next(iter(arguments), None)
        if name not in ("source", ".") or path != CUSTOM:
            raise Untold(
                f"{CFG} goes on in another place ({shown_name(name)} {shown_name(path)})".replace(" )", ")")
            )
        if CUSTOM in self.files:
            self.all(parsed(self.files[CUSTOM]))


def _variables(text: str) -> Iterator[tuple[str, str]]:
    """The variables of GRUB's environment block; its lines escape `\\` and the end of a line."""
    for line in text.split("\n") if text.startswith(_HEADER) else ():
        if found := _ASSIGNMENT.fullmatch(line):
            yield found[1], re.sub(r"\\(.)", r"\1", found[2])


def _test(words: Sequence[str | None], files: Mapping[str, str]) -> bool | None:
    """The result of `[ WORDS ]`, None where a word or a file is unknown."""
    if len(words) > _WORDS:
        return None
    for joint, decides in (("-o", True), ("-a", False)):
        if joint in words[1:-1]:
            at = words.index(joint, 1)
            sides = _test(words[:at], files), _test(words[at + 1 :], files)
            return decides if decides in sides else None if None in sides else not decides
    match words:
        case []:
            return False
        case ["!", *rest] if rest:
            truth = _test(rest, files)
            return truth if truth is None else not truth
        case [("-z" | "-n") as kind, word]:
            return None if word is None else (word == "") == (kind == "-z")
        case [("-e" | "-f" | "-s"), path] if path in (CFG, ENV, CUSTOM):
            return path in files
        case [left, ("=" | "==" | "!=") as kind, right]:
            return None if left is None or right is None else (left == right) == (kind != "!=")
        case [word] if word is not None:
            return word != ""
    return None


# --- which entry


def _split(default: str) -> tuple[str, str]:
    """The entry that a default names, and what it names within it. `>>` stands for a `>` of the name."""
    head, rest = re.fullmatch(r"((?:[^>]|>>)*)(?:>(.*))?", default, re.DOTALL).groups()  # type: ignore[union-attr]
    return head.replace(">>", ">"), rest or ""


def _number(default: str) -> int | None:
    """The number that a default begins with, as GRUB reads it: what follows it is passed over."""
    text = default.lstrip(" \t\n\r\v\f")
    found = re.match(r"0x(?P<hex>[0-9a-fA-F]*)|0(?P<octal>[0-7]+)|(?P<decimal>[0-9]+)", text)
    if not found or found["hex"] == "":
        return None
    base = 16 if found["hex"] else 8 if found["octal"] else 10
    value = int(found[found.lastgroup or 0], base)
    if value >= 2**64:
        return -1
    return (value & 0xFFFFFFFF) - (value & 0x80000000) * 2  # (int) of an unsigned long


def _pick(entries: Sequence[_Entry], default: str | None) -> _Entry:
    """The entry that a default names; the first one where it names none. Raises Untold."""
    if default is None:
        raise Untold("its default depends on what only the machine tells")
    if not entries:
        raise Untold("its menu has no entry")
    number, name = _number(default), _split(default)[0]
    named = [at for at, each in enumerate(entries) if name in (each.title, each.id)]
    if number is not None:
        at = number if 0 <= number < len(entries) else 0
        matter = [each for each in entries[: at + 1] if not each.sure]
    elif named:
        at = named[0]
        matter = [each for each in entries[:at] if each.nameless] + [
            each for each in [entries[at]] if not each.sure
        ]
    else:
        at = 0
        matter = [each for each in entries if each.nameless] + [each for each in entries[:1] if not each.sure]
    if matter:
        raise Untold(f"its default ({shown_name(default)}) depends on an entry that only some machines have")
    return entries[at]


def _counts(default: str) -> bool:
    """Whether a default chooses by a number, at any depth. A lone 0 is the first entry of every menu."""
    head, *rest = default.split(">")
    return bool(_number(head)) or any(_number(part) is not None for part in rest)


def _way(run: _Run, entry: _Entry, kernel: str) -> Way:
    """How its menu chooses an entry. `Ubuntu`, the first one, gets each newest kernel from update-grub."""
    name = _split(run.env.get("default") or "")[0]
    if name in (entry.title, entry.id) and kernel in name:
        return "named"
    return "first" if entry is run.entries[0] else "other"


def _once(environment: str) -> bool:
    """Whether an entry is set for the next boot alone."""
    return any(row.startswith("next_entry=") and row != "next_entry=" for row in environment.splitlines())


_IMAGE = re.compile(r"(?:vmlinu[xz]|Image|kernel)-([0-9][A-Za-z0-9._+~-]{0,99}?)(?:[.]efi(?:[.]signed)?)?")


def _kernel(entry: _Entry, run: _Run) -> str:
    """The release of the kernel that an entry loads. Raises Untold."""
    run.kernels.clear()
    run.all(entry.block)
    found = {_release(path) for path in run.kernels}
    title = shown_name(entry.title)
    if not found:
        raise Untold(f"its entry '{title}' loads no kernel")
    if len(found) > 1:
        raise Untold(f"its entry '{title}' loads one of several kernels")
    release = found.pop()
    if not release:
        raise Untold(f"its entry '{title}' loads a kernel whose file does not name its release")
    return release


def _release(path: str | None) -> str:
    found = _IMAGE.fullmatch((path or "").rpartition("/")[2])
    return found[1] if found else ""
