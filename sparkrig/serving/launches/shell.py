"""A shell script, read command by command with what is known of its variables and containers.

Nothing is run, and this is no interpreter: what an `if`, `case`, loop, function, here-document or another host
decides is not followed. Where a launch depends on it the script is refused with the line, and otherwise it is
passed over. Prose around a command is no error: a reserved word that nothing closes is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sparkrig.serving import container
from sparkrig.serving.container import Described
from sparkrig.serving.launch import Launch, NotRead, Unreadable, not_read
from sparkrig.serving.launches import command, variables
from sparkrig.serving.launches.variables import ARGUMENTS, DECLARE, Left, Value, Variables
from sparkrig.serving.launches.words import RESERVED, Token, blocks, command_end, commands, function_at, tokens

_COMMAND = 200  # characters that a command counts for at the least
_DEEPEST = 24  # scripts in commands; what people publish nests four levels
_LOOPS, _PIPES = ("for", "select"), ("|", "|&")
_READS = frozenset({"read", "mapfile", "readarray", "getopts", "unset"})
_WRAPPERS = frozenset({"exec", "eval", "sudo", "nohup", "env"})
_PRINTS = frozenset({"echo", "printf", "test"})
_REMOTE = frozenset({"ssh", "tmux", "screen", "su", "runuser"})
# commands behind which `&&` goes on; another one may fail
_GOES_ON = (
    ": true cd source . set unset shift ulimit mkdir rm sleep echo printf eval pip pip3 uv apt apt-get python3"
)
_SURE = frozenset(_GOES_ON.split())
_ELEMENT = re.compile(r"([A-Za-z_]\w*)\[[^\]=]*\]\+?=")
_SETS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--")  # of a sum


@dataclass
class World:
    """What all shells of one text share.

    containers, functions: names of what it starts and has; elsewhere: scripts that it runs and has not; installs:
    ray and vllm, where it installs them; depth: how many scripts are read, one in another.
    """

    containers: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    errors: list[Unreadable] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    installs: set[str] = field(default_factory=set)
    left: Left = field(default_factory=Left)
    depth: int = 0

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


class Shell:
    """One shell. source: of its launches, in words; given: the environment that it starts with."""

    def __init__(
        self, source: str, given: Mapping[str, str | None] | None = None, world: World | None = None
    ) -> None:
        self.source = source
        self.world = world or World()
        self.variables = Variables(given, self.world.left)
        self.launches: list[Launch] = []
        self.inside = False  # whether what follows is typed in a container
        self.starts_ray = False
        self.line = 1

    def read(self, text: str) -> list[Launch]:
        """The launches of a script. Raises Unreadable, NotRead where it depends on what is not read."""
        self.world.left.take(len(text))
        try:
            with self.world.deeper():
                self._statements([*tokens(text)])
        except NotRead:
            raise
        except ValueError as error:
            raise Unreadable(str(error)) from None
        ray, vllm = "ray" in self.world.installs, "vllm" in self.world.installs
        return [replace(launch, installs_ray=ray, installs_vllm=vllm) for launch in self.launches]

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

    # --- what may run, and what does

    def _statements(self, script: Sequence[Token]) -> None:
        """Follows what surely runs; a group of commands in brackets is no other than its commands."""
        closed, leave = blocks(script), dict[int, Variables]()
        at, joiner, surely = 0, "", True
        while at < len(script):
            self.variables = leave.pop(at, self.variables)
            token, (function, body) = script[at], function_at(script, at)
            opens = body if body in closed else at
            if opens not in closed and (token.sign or token.bare in RESERVED):
                # a line end goes on with what joins
                joiner = joiner if not token.sign or (token.sign == "\n" and joiner) else token.sign
                at += 1
                continue
            self.line, end = token.line, closed[opens] + 1 if opens in closed else command_end(script, at)
            surely = joiner not in ("&&", "||", *_PIPES) or (joiner == "&&" and surely)
            piped = joiner in _PIPES or (end < len(script) and script[end].sign in _PIPES)
            if piped or token.sign == "(":  # a shell of its own
                leave[end], self.variables = self.variables, self.variables.copy()
            if opens not in closed:
                surely = self._behind(script[at:end], "" if surely or piped else joiner, piped=piped) and surely
            elif opens == at and token.text in ("(", "{") and (surely or piped):
                end = at + 1  # its commands are read like others
            else:
                self._block(script[at:end], function if opens == body else "")
                surely = False
            at, joiner = end, ""
        self.variables = leave.pop(at, self.variables)

    def _block(self, script: Sequence[Token], function: str) -> None:
        """Passes over what may run, and refuses it where a launch is in it. function: the name of one."""
        word = script[0].text
        name = {"{": "braces", "(": "parentheses"}.get(word, f"`{word}`")
        name = f"the function {function}" if function else name
        trial = self._trial()
        for given in commands(script):
            trial.line = given[0].line
            trial._command(given)
        if trial.launches:
            raise self._not_read(f"launches in {name}")
        why = f"{self._line} sets in {name} what the launch needs"
        changed = trial.variables.changed
        self.variables.exported |= trial.variables.exported
        if function:  # which may be called from here on, whatever is set before
            self.world.functions.add(function)
            changed -= trial.variables.local
            self.variables.doubted |= dict.fromkeys(changed, why)
        self.variables.question(changed, why)

    def _trial(self) -> Shell:
        """A shell that starts with what is known here, and changes nothing of it."""
        made = Shell(self.source, {}, self.world)
        made.variables, made.inside, made.line = self.variables.copy(), self.inside, self.line
        return made

    # --- one command

    def _behind(self, given: Sequence[Token], joiner: str, *, piped: bool) -> bool:
        """A command behind `&&` or `||`, which may not run. Whether what follows by `&&` surely does."""
        before, self.variables.changed = self.variables.changed, set()
        sure = self._command(given, piped=piped)
        if joiner:
            why = f"{self._line} sets behind `{joiner}` what the launch needs"
            self.variables.question([*self.variables.changed], why)
        self.variables.changed |= before
        return sure

    def _command(self, given: Sequence[Token], *, piped: bool = False) -> bool:
        self.world.left.take(_COMMAND)
        words = [token for token in given if token.kind in ("word", "test", "array")]
        documents = [token.text for token in given if token.kind == "document"]
        lead: dict[str, Value] = {}
        while words and (assigned := self.variables.assignment(words[0])) is not None:
            lead[assigned[0]] = assigned[1]
            words = words[1:]
        if not words and not documents:
            for name, value in lead.items():
                self.variables.assign(name, value)
        elif words and words[0].bare in DECLARE:
            self.variables.declare(words[0].bare, words[1:])
        else:
            tested = words and words[0].kind == "test"  # which is not expanded
            bare = (token.bare for token in words if token.bare)
            fields = [words[0].text] if tested else self.variables.all_fields(bare)
            writes = piped or any(token.kind == "into" for token in given)
            given_on = documents if writes or fields[:1] != ["cat"] else []  # which only prints
            if given_on and self._nested(given_on[-1], self._trial()):  # a script, or a file that it writes
                raise self._not_read("launches from a here-document")
            self._launching(fields, {name: value for name, value in lead.items() if isinstance(value, str)})
            return not fields or fields[0] in _SURE
        return True

    def _launching(self, words: list[str], lead: Mapping[str, str]) -> None:
        """Runs a command, and refuses a launch for which something is in doubt."""
        before = len(self.launches)
        self._run(words, lead)
        made = self.launches[before:]
        used = [*words, *(value or "" for each in made for value in each.environment.values())]
        if why := variables.doubt(used):
            if made:
                raise not_read(why)
            rest = [word for word in words if word not in _WRAPPERS]
            docker = command.CONTAINER_ENGINES & {*rest} and "run" in rest
            if docker or all(variables.doubt([each]) for each in rest):
                self.world.errors.append(not_read(why))
        if any("$(" in f"{each.model} {each.container.image if each.container else ''}" for each in made):
            raise self._not_read("takes a name from what a command prints")

    def _run(self, words: list[str], lead: Mapping[str, str]) -> None:
        self.world.left.take(sum(map(len, words)))
        name = command.base(words[0]) if words else ""
        self.world.installs |= command.installs(words)
        self.starts_ray = self.starts_ray or command.starts_ray(words)
        for variable in _sets(name, words):
            self.variables.hide(variable)
        if not words or name in _PRINTS or words[0].startswith("["):
            return
        if name in self.world.functions or name in _REMOTE:
            self._elsewhere(words)
        elif not self._changes(name, words):
            self._starts(words, {**self.variables.environment, **lead, **command.assigned(words)})

    def _elsewhere(self, words: Sequence[str]) -> None:
        """A function, or a command on another host or in a terminal of its own: none may launch."""
        trial = self._trial()
        with self.world.deeper():
            if words[0] in _REMOTE:
                self._nested(" ".join(words[1:]), trial)
            if trial.launches or trial.command(words[1:]):
                raise self._not_read(f"launches by `{words[0]}`")
        # `local -n` may name a variable
        given = [word for word in words[1:] if word in self.variables.values]
        self.variables.question(given, f"{self._line} sets by {words[0]} what the launch needs")

    def _changes(self, name: str, words: Sequence[str]) -> bool:
        """A command that changes the shell alone. False where it is none."""
        if name == "eval":
            why = f"{self._line} may set by `eval` what the launch needs"
            self._nested(" ".join(words[1:]), self)
            self.variables.question([*self.variables.values] if "$" in "".join(words) else [], why)
        elif name == "set" and "--" in words:
            self.variables.question(ARGUMENTS, f"{self._line} sets the arguments of the script")
        elif name == "exit":
            self.inside = False
        else:
            return False
        return True

    # --- what a command starts

    def _starts(self, words: Sequence[str], environment: Mapping[str, str | None]) -> None:
        if (cluster := command.cluster(words)) is not None:
            found = self.contained(replace(cluster, environment=_passed(cluster, environment)))
            self.launches += [replace(each, wrapper=command.RUN_CLUSTER) for each in found]
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
            found = self._nested(text, shell, words[words.index(text) + 2 :])
        else:
            found = [*command.bare(words, environment, self.source)]
            file = command.script_file(words) or ""
            self.world.elsewhere += [file] if file.endswith(".sh") else []
        if found and (self.inside or entered):
            raise self._not_read("launches in a container that is started before it")
        self.inside = self.inside or (entered and command.base(words[-1]) in command.SHELLS)
        self.launches += [replace(each, unseen=each.unseen or unseen) for each in found]

    def _in_container(self, words: Sequence[str], environment: Mapping[str, str | None]) -> bool:
        """`docker run`. False where it is none."""
        place = next(
            (at for at, word in enumerate(words) if command.base(word) in command.CONTAINER_ENGINES), None
        )
        verbs = ("run", "create", "exec", "compose")
        at = next((at for at in range((place or 0) + 1, len(words)) if words[at] in verbs), None)
        if place is None or at is None or words[at] in ("compose", "exec"):
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
            found = self._nested(text, shell, described.words[described.words.index(text) + 2 :])
            if not found and shell.starts_ray:
                found = [Launch(source, environment=described.environment, ray=True)]
        else:
            found = [*command.contained(described, source)]
        return [command.within(each, described) for each in found]


def programs(text: str) -> list[list[str]]:
    """The words of each command of a script, with what would be expanded as it stands. Raises ValueError."""
    unknown = Variables()
    given = ([token for token in each if token.kind != "into"] for each in commands([*tokens(text)]))
    return [[unknown.text(token.text) for token in each] for each in given if each]


def _sets(name: str, words: Sequence[str]) -> list[str]:
    """The variables to which a command gives a value that is not known."""
    if name in _LOOPS:
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
