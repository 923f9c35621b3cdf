"""A simple shell script, read command by command with what is known of its variables and containers.

Nothing is run, and this is no interpreter: what an `if`, `case`, loop, function, subshell, here-document or
another host decides is not followed. Where a launch depends on it the script is refused with the line, and
otherwise it is passed over. Prose around a command is no error: a reserved word that nothing closes is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sparkrig.serving import container
from sparkrig.serving.container import Described
from sparkrig.serving.launch import Launch, NotRead, Unreadable, not_read
from sparkrig.serving.launches import command
from sparkrig.serving.launches.variables import ARGUMENTS, Value, Variables
from sparkrig.serving.launches.words import PIPES, Command, commands, tokens

_MOST_READ = 1_000_000  # characters that are made of a text: `A=$A$A` doubles a value
_COMMAND = 200  # characters that a command counts for at the least
_DEEPEST = 24  # scripts in commands; what people publish nests four levels
_MOST_DOCUMENTS = 100  # each may be searched for to the end of the text
_DECLARE = frozenset({"export", "readonly", "declare", "local", "typeset"})
_READS = frozenset({"read", "mapfile", "readarray", "getopts", "unset"})
_PRINTS = frozenset({"echo", "printf", "test"})
_REMOTE = frozenset({"ssh", "tmux", "screen", "su", "runuser"})
# commands behind which `&&` goes on; another one may fail
_GOES_ON = (
    ": true cd source . set unset shift ulimit mkdir rm sleep echo printf eval pip pip3 uv apt apt-get python3"
)
_SURE = frozenset(_GOES_ON.split())
_ELEMENT = re.compile(r"([A-Za-z_]\w*)\[[^\]=]*\]\+?=")
_SETS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--")  # of a sum
_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*['\"\\]?([\w.!-]+)['\"]?")
_PRINTED = re.compile(r"(?:.*\{)?\s*cat\s*")  # which is read by nobody


@dataclass
class World:
    """What all shells of one text share.

    containers, functions: names of what it starts and has; elsewhere: scripts that it runs and has not; installs:
    ray and vllm, where it installs them; left: characters that may still be made; depth: of scripts in scripts.
    """

    containers: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    errors: list[Unreadable] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    installs: set[str] = field(default_factory=set)
    left: int = _MOST_READ
    depth: int = 0

    def take(self, characters: int) -> None:
        """Raises Unreadable where that is too much."""
        self.left -= characters
        if self.left < 0:
            raise Unreadable("it is longer than any launch")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Raises Unreadable where no launch nests as deep."""
        if self.depth >= _DEEPEST:
            raise Unreadable("it nests deeper than any launch")
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


def _commented(text: str) -> str:
    """The first flag behind `#` in a script of one line, which YAML has made of several (`>`); else empty."""
    words = text.split() if "\n" not in text.strip() else []
    behind = words[words.index("#") :] if "#" in words else []
    return next((word for word in behind if word.startswith("--")), "")


class Shell:
    """One shell. source: of its launches, in words; given: the environment that it starts with."""

    def __init__(
        self, source: str, given: Mapping[str, str | None] | None = None, world: World | None = None
    ) -> None:
        self.source = source
        self.world = world or World()
        self.variables = Variables(given or {}, self.world.take)
        self.launches: list[Launch] = []
        self.inside = False  # whether what follows is typed in a container
        self.starts_ray = False
        self.line = 1

    def read(self, text: str) -> list[Launch]:
        """The launches of a script. Raises Unreadable, NotRead where it depends on what is not read."""
        self.world.take(len(text))
        try:
            with self.world.deeper():
                self._script(text)
        except Unreadable:
            raise
        except ValueError as error:
            raise Unreadable(str(error)) from None
        ray, vllm = "ray" in self.world.installs, "vllm" in self.world.installs
        lost = _commented(text)
        return [
            replace(launch, installs_ray=ray, installs_vllm=vllm, commented=launch.commented or lost)
            for launch in self.launches
        ]

    def command(self, words: Sequence[str]) -> list[Launch]:
        """The launches of a command whose words another shell has parted."""
        self._run([*words], {})
        return self.launches

    @property
    def _line(self) -> str:
        place = "" if self.source == "the command line" else f" of {self.source}"
        return f"line {self.line}{place}"

    def _not_read(self, what: str) -> NotRead:
        return not_read(f"{self._line} {what}")

    def _script(self, text: str) -> None:
        surely = True  # whether what follows by `&&` runs
        for given in commands([*tokens(self._without_documents(text))]):
            self.line = given.line
            surely = not given.block and (given.joiner not in ("&&", "||") or (given.joiner == "&&" and surely))
            self.variables.why = self._doubt(given, surely=surely)
            self.variables.met.clear()
            before = len(self.launches)
            surely = self._command(given) and surely and not given.piped
            if given.block and len(self.launches) > before:
                raise self._not_read(f"launches in {given.block}")

    def _doubt(self, given: Command, *, surely: bool) -> str:
        """Why it is in doubt whether a command sets what follows; empty where it surely does."""
        if given.block:
            name = given.block.removeprefix("the function ")
            self.world.functions |= {name} if name != given.block else set()
            return f"{self._line} sets in {given.block} what the launch needs"
        if given.piped or not surely:
            sign = PIPES[0] if given.piped else given.joiner
            return f"{self._line} sets behind `{sign}` what the launch needs"
        return ""

    def _without_documents(self, text: str) -> str:
        """A script without its here-documents; the lines stay as many. Raises NotRead where one has a launch."""
        lines, made, count = text.split("\n"), list[str](), 0
        while (at := len(made)) < len(lines):
            begin, end = _DOCUMENT.search(lines[at]), None
            if begin:
                ends = (place for place in range(at + 1, len(lines)) if lines[place].strip(" \t\r") == begin[1])
                end, count = next(ends, None), count + 1
            if count > _MOST_DOCUMENTS:
                raise Unreadable("it has more here-documents than any launch")
            made += [lines[at], *[""] * (end - at if end else 0)]
            printed = begin and _PRINTED.fullmatch(lines[at].replace(begin[0], "", 1))
            if end and not printed and any(command.served(line.split()) for line in lines[at + 1 : end]):
                self.line = at + 1
                raise self._not_read("launches from a here-document")
        return "\n".join(made)

    # --- one command

    def _command(self, given: Command) -> bool:
        """Runs a command. Whether it surely succeeds."""
        self.world.take(_COMMAND)
        words, variables = [*given.tokens], self.variables
        lead: dict[str, Value] = {}
        while words and (assigned := variables.assignment(words[0])) is not None:
            lead[assigned[0]] = assigned[1]
            words = words[1:]
        if not words:
            for name, value in lead.items():
                variables.assign(name, value)
        elif words[0].bare in _DECLARE:
            variables.declare(words[0].bare, words[1:], inside=given.block.startswith("the function"))
        else:
            bare = [word.text if word.kind == "test" else word.bare for word in words]
            fields = bare[:1] if words[0].kind == "test" else variables.all_fields(filter(None, bare))
            self._launching(fields, {name: value for name, value in lead.items() if isinstance(value, str)})
            return not fields or fields[0] in _SURE
        return True

    def _launching(self, words: list[str], lead: Mapping[str, str]) -> None:
        """Runs a command, and refuses a launch for which something is in doubt."""
        before = len(self.launches)
        self._run(words, lead)
        made = self.launches[before:]
        if why := next(iter(self.variables.met), ""):
            if made:
                raise not_read(why)
            if command.CONTAINER_ENGINES & {*words} and "run" in words:
                self.world.errors.append(not_read(why))
        images = [launch.container.image for launch in made if launch.container]
        if any("$(" in name for name in (*images, *(launch.model for launch in made))):
            raise self._not_read("takes a name from what a command prints")

    def _run(self, words: list[str], lead: Mapping[str, str]) -> None:
        self.world.take(sum(map(len, words)))
        name = command.base(words[0]) if words else ""
        self.world.installs |= command.installs(words)
        self.starts_ray = self.starts_ray or command.starts_ray(words)
        for variable in _sets(name, words):
            self.variables.hide(variable)
        if not words or name in _PRINTS or words[0].startswith("["):
            return
        if name in self.world.functions or name in _REMOTE:
            self._elsewhere(words)
        elif name == "eval":
            self._eval(words[1:])
        elif name == "set" and "--" in words:
            self.variables.question(ARGUMENTS, f"{self._line} sets the arguments of the script")
        elif name == "exit":
            self.inside = False
        else:
            self._starts(words, {**self.variables.environment(), **lead, **command.assigned(words)})

    def _eval(self, words: Sequence[str]) -> None:
        """Reads a script in this shell. All is in doubt after one that may not run, or is not all known."""
        line, doubts = self.line, [*filter(None, [self.variables.why]), *self.variables.met]
        self._nested(" ".join(words), self)
        self.line = line
        self.variables.met += doubts
        doubts += [f"{self._line} may set by `eval` what the launch needs"] * any("$" in word for word in words)
        self.variables.question([*self.variables.values] if doubts else [], "".join(doubts[:1]))

    def _elsewhere(self, words: Sequence[str]) -> None:
        """A function, or a command on another host or in a terminal of its own: none may launch."""
        other = Shell(self.source, self.variables.environment(), self.world)
        with self.world.deeper():
            if words[0] in _REMOTE:
                self._nested(" ".join(words[1:]), other)
            if other.launches or other.command(words[1:]):
                raise self._not_read(f"launches by `{words[0]}`")
        # `local -n` may name a variable
        given = [word for word in words[1:] if word in self.variables.values]
        self.variables.question(given, f"{self._line} sets by {words[0]} what the launch needs")

    # --- what a command starts

    def _starts(self, words: Sequence[str], environment: Mapping[str, str | None]) -> None:
        if (cluster := command.cluster(words)) is not None:
            nodes = self.contained(replace(cluster, environment=_passed(cluster, environment)))
            self.launches += [replace(node, wrapper=command.RUN_CLUSTER) for node in nodes]
        elif not self._in_container(words, environment):
            self._here(words, environment)

    def _nested(self, text: str, shell: Shell, arguments: Sequence[str] = ()) -> list[Launch]:
        """The launches of a script in a command, which is no error where it cannot be parted."""
        if arguments:
            shell.variables.question(ARGUMENTS, f"{self._line} gives arguments to the script of a shell")
        try:
            return shell.read(text)
        except NotRead:
            raise
        except Unreadable as error:
            self.world.errors.append(error)
            return []

    def _here(self, words: Sequence[str], environment: Mapping[str, str | None]) -> None:
        """A command that names no container; it may be typed inside one."""
        inner = container.options(words[words.index("exec") + 1 :])[0] if "exec" in words else {}
        environment = {**environment, **container.environment(inner.get("env", ()))}
        unseen = command.enters(words)
        entered = unseen and bool(self.world.containers & {*words})
        text = command.shell_script(words)
        if text is not None:
            shell = Shell(self.source, environment, self.world)
            shell.inside = self.inside
            launches = self._nested(text, shell, words[words.index(text) + 2 :])
        else:
            launches = [*command.bare(words, environment, self.source)]
            file = command.script_file(words) or ""
            self.world.elsewhere += [file] if file.endswith(".sh") else []
        if launches and (self.inside or entered):
            raise self._not_read("launches in a container that is started before it")
        self.inside = self.inside or (entered and command.base(words[-1]) in command.SHELLS)
        self.launches += [replace(launch, unseen=launch.unseen or unseen) for launch in launches]

    def _in_container(self, words: Sequence[str], environment: Mapping[str, str | None]) -> bool:
        """`docker run`. False where it is none."""
        engines = [at for at, word in enumerate(words) if command.base(word) in command.CONTAINER_ENGINES]
        after = engines[0] + 1 if engines else len(words)
        verbs = ("run", "create", "exec", "compose")
        at = next((at for at in range(after, len(words)) if words[at] in verbs), None)
        if at is None or words[at] in ("compose", "exec"):
            return False
        rest = words[at + 1 :]
        try:
            described = container.typed(rest)
        except ValueError as error:
            self.world.errors.append(Unreadable(str(error)))
            return True
        described = replace(described, environment=_passed(described, environment))
        given, _ = container.options(rest)
        self.world.containers |= {*given.get("name", ())}
        shell = len(described.words) == 1 and command.base(described.words[0]) in command.SHELLS
        self.inside = self.inside or (shell and "interactive" in given and "detach" not in given)
        self.launches += self.contained(described, f"docker run {described.container.image}")
        return True

    def contained(self, described: Described, source: str = "") -> list[Launch]:
        """What a container runs."""
        source = source or self.source
        text = command.shell_script(described.words)
        if text is not None:
            shell = Shell(source, described.environment, self.world)
            launches = self._nested(text, shell, described.words[described.words.index(text) + 2 :])
            if not launches and shell.starts_ray:
                launches = [Launch(source, environment=described.environment, ray=True)]
        else:
            launches = [*command.contained(described, source)]
        return [command.within(launch, described) for launch in launches]


def programs(text: str) -> list[list[str]]:
    """The words of each command of a script, with what would be expanded as it stands. Raises ValueError."""
    unknown = Variables({}, World().take)
    return [[unknown.text(token.text) for token in each.tokens] for each in commands([*tokens(text)])]


def _sets(name: str, words: Sequence[str]) -> list[str]:
    """The variables to which a command gives a value that is not known."""
    if name in ("for", "select"):
        return [*words[1:2]]
    if name in _READS or (name == "printf" and words[1:2] == ["-v"]):
        return [word for word in words[1:] if word.isidentifier()]
    if name == "let" or "".join(words[:1]).startswith("(("):
        total = " ".join(words)
        return re.findall(r"[A-Za-z_]\w*", total) if _SETS.search(total) else []
    element = _ELEMENT.match("".join(words[:1]))
    return [element[1]] if element else []


def _passed(described: Described, environment: Mapping[str, str | None]) -> dict[str, str | None]:
    """The environment of a container, with the values that are passed on from here."""
    given = described.environment.items()
    return {name: environment.get(name) if value is None else value for name, value in given}
