"""A shell script, read command by command with what is known of its variables, files and containers.

Nothing is run. A command that sets something unseen makes it unknown; what only runs in a branch is read for the
launches in it, and changes what holds afterwards only where it is known to be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches import command, conditions, tree
from sparkrig.serving.launches.started import Starter, World
from sparkrig.serving.launches.tree import Block, Case, Function, Group, If, Loop, Node, Simple
from sparkrig.serving.launches.variables import HIDDEN, POSITIONAL, Value, Variables, symbol
from sparkrig.serving.launches.words import Arithmetic, Array, Document, Word, parts

_COMMAND = 200
_DEEPEST = 48  # commands in branches, functions, scripts in commands
_DECLARE = frozenset({"export", "readonly", "declare", "local", "typeset"})
_READS = frozenset({"read", "mapfile", "readarray", "getopts"})
# commands that ask something: their answer is not known
_ASKS = frozenset(
    ("grep", "command", "which", "type", "hash", "pgrep", "curl", "ping", "ls", "docker", "podman", "systemctl")
)


class Shell(Starter):
    """One shell."""

    def __init__(
        self, source: str, given: Mapping[str, str | None] | None = None, world: World | None = None
    ) -> None:
        super().__init__(source, given, world)
        self.functions: dict[str, Block] = {}
        self.called: set[str] = set()
        self.running: list[str] = []
        self.saved: list[dict[str, Value | None]] = []  # of each function that runs, what `local` hides

    def read(self, text: str) -> list[Launch]:
        """The launches of a script. Raises Unreadable where a quotation mark is not closed."""
        self._follow(text)
        for name in [*self.functions]:
            if name not in self.called:
                with self._apart():
                    self._call(name, ())
        return [
            replace(
                each,
                installs_ray=each.installs_ray or self.installs_ray,
                installs_vllm=each.installs_vllm or self.installs_vllm,
            )
            for each in self.launches
        ]

    def _follow(self, text: str) -> None:
        """Reads a script in this shell; not again inside itself."""
        self.world.left -= len(text)
        if self.world.left <= 0 or text in self.world.running:
            return
        self.world.running.add(text)
        try:
            self._block(tree.parsed(text))
        except ValueError as error:
            raise Unreadable(str(error)) from None
        finally:
            self.world.running.remove(text)

    def command(self, words: Sequence[str]) -> list[Launch]:
        """The launches of a command whose words another shell has parted."""
        self._run([*words], {}, "", None)
        return self.launches

    # --- what runs, and what only may

    def _block(self, block: Block) -> bool | None:
        """Reads commands. Whether the last succeeds, None where that is not known."""
        outcome: bool | None = True
        if self.world.depth >= _DEEPEST:
            return None
        self.world.depth += 1
        for number, (joiner, node) in enumerate(block):
            piped = joiner == "|" or (number + 1 < len(block) and block[number + 1].joiner == "|")
            if self.world.left <= 0:
                break
            if joiner in ("&&", "||"):
                outcome = self._joined(node, outcome, wanted=joiner == "&&")
            elif piped:
                outcome = None
                with self._apart():
                    self._node(node)
            else:
                outcome = self._node(node)
        self.world.depth -= 1
        return outcome

    def _joined(self, node: Node, outcome: bool | None, *, wanted: bool) -> bool | None:
        if outcome is wanted:
            return self._node(node)
        before = self.variables.copy()
        self._node(node)
        if outcome is None:
            self.variables.merge([before, self.variables.copy()])
            return None
        self.variables = before
        return outcome

    @contextmanager
    def _apart(self) -> Iterator[list[Variables]]:
        """Reads something whose variables are its own; the list has what they became."""
        before, inside, became = self.variables.copy(), self.inside, list[Variables]()
        self.world.left -= len(before.values)
        yield became
        became.append(self.variables)
        self.variables, self.inside = before, inside

    def _node(self, node: Node) -> bool | None:
        if isinstance(node, Simple):
            return self._simple(node)
        if isinstance(node, If):
            self._if(node)
        elif isinstance(node, Case):
            self._case(node)
        elif isinstance(node, Loop):
            self._loop(node)
        elif isinstance(node, Function):
            self.functions[node.name] = node.body
        elif isinstance(node, Group):
            if not node.apart:
                return self._block(node.body)
            with self._apart():
                self._block(node.body)
        return None

    def _if(self, node: If) -> None:
        def holds(condition: Block) -> bool | None:
            return self._block(condition) if condition else True

        self._ways((partial(holds, condition), body) for condition, body in node.arms)

    def _case(self, node: Case) -> None:
        found = self.variables.text(node.word.parts)

        def fits(patterns: Sequence[Word]) -> bool | None:
            texts = [self.variables.text(each.parts) for each in patterns]
            if "*" in texts:
                return True
            if "$" in found or any("$" in each for each in texts):
                return None
            return any(conditions.holds([found, "=", each], lambda _: False) for each in texts)

        self._ways((partial(fits, patterns), body) for patterns, body in node.arms)

    def _ways(self, arms: Iterable[tuple[Callable[[], bool | None], Block]]) -> None:
        """Reads the arms of a branch, and keeps what holds after those that may be taken."""
        maybe: list[Variables] = []
        settled = False
        for condition, body in arms:
            outcome = False if settled else condition()
            with self._apart() as became:
                self._block(body)
            maybe += [] if outcome is False else became
            settled = settled or outcome is True
        self.variables.merge(maybe if settled else [*maybe, self.variables.copy()])

    def _loop(self, node: Loop) -> None:
        values = self.variables.all_fields(node.words)
        before = self.variables.copy()
        if node.name:
            self.variables.assign(node.name, values[0] if len(values) == 1 else symbol(node.name))
        self._block(node.body)
        self.variables.merge([before, self.variables.copy()])

    def _call(self, name: str, given: Sequence[str]) -> bool | None:
        """Reads a function's body; not again inside itself."""
        if name in self.running:
            return None
        self.called.add(name)
        self.running.append(name)
        self.saved.append({each: self.variables.values.get(each) for each in POSITIONAL})
        another = {**self.variables.another}
        if given:
            self.variables.give(given)
        outcome = self._block(self.functions[name])
        self.variables.another = another
        self.running.pop()
        for each, value in self.saved.pop().items():
            self.variables.values.pop(each, None)
            self.variables.values |= {} if value is None else {each: value}
        return outcome

    # --- one command

    def _simple(self, node: Simple) -> bool | None:
        given = [*node.words]
        self.world.left -= _COMMAND
        if given and isinstance(given[0], Arithmetic):
            return None
        lead: dict[str, Value] = {}
        while given and (assigned := self._assignment(given[0])) is not None:
            lead[assigned[0]] = assigned[1]
            given = given[1:]
        if not given and not node.documents:
            for name, value in lead.items():
                self.variables.assign(name, value)
            return True
        if given and isinstance(given[0], Word) and given[0].bare in _DECLARE:
            self._declare(given[0].bare, given[1:])
            return True
        words = [word for word in given if isinstance(word, Word)]
        if words and words[0].bare == "[[":
            fields = [self.variables.text(word.parts) for word in words]
        else:
            fields = self.variables.all_fields(words)
        before = {name: value for name, value in lead.items() if isinstance(value, str)}
        into = self.variables.text(node.into.parts) if node.into else None
        document = self._document(node.documents[-1]) if node.documents else ""
        return self._run(fields, before, document, into)

    def _document(self, document: Document) -> str:
        return self.variables.text(parts(document.text, marks=True)) if document.expands else document.text

    def _assignment(self, word: Word | Array | Arithmetic) -> tuple[str, Value] | None:
        if isinstance(word, Array):
            return word.name, self.variables.array(word)
        first = word.parts[0] if isinstance(word, Word) and word.parts else None
        if first is None or first.kind != "text" or first.quoted or "=" not in first.text:
            return None
        name, _, text = first.text.partition("=")
        more = name.endswith("+")
        name = name.removesuffix("+")
        if not name.isidentifier() or not isinstance(word, Word):
            return None
        rest = (first._replace(text=text), *word.parts[1:])
        value = self.variables.text(rest)
        if any(part.kind == "command" and value in (part.source, HIDDEN) for part in rest[1:]):
            value = symbol(name)
        before = self.variables.values.get(name, "") if more else ""
        return name, (*before, value) if isinstance(before, tuple) else before + value

    def _declare(self, how: str, given: Sequence[Word | Array | Arithmetic]) -> None:
        options = [word.bare for word in given if isinstance(word, Word) and word.bare.startswith(("-", "+"))]
        exported = how == "export" or any("x" in each for each in options if each.startswith("-"))
        for word in given:
            found = self._assignment(word)
            name = found[0] if found else word.bare if isinstance(word, Word) else ""
            if not name.isidentifier():
                continue
            if found and any("n" in each for each in options) and str(found[1]).isidentifier():
                self.variables.another[name] = self.variables.real(str(found[1]))
                continue
            if how in ("local", "declare", "typeset") and self.saved and not exported:
                self.saved[-1].setdefault(name, self.variables.values.get(name))
            if found:
                self.variables.assign(name, found[1], exported=exported)
            elif exported:
                self.variables.exported[name] = None

    def _run(self, words: list[str], before: Mapping[str, str], document: str, into: str | None) -> bool | None:
        """One command by its words, as Starter.starts has them. Whether it succeeds."""
        self.world.left -= sum(map(len, words))
        name = command.base(words[0]) if words else ""
        self.installs_ray = self.installs_ray or command.installs_ray(words)
        self.installs_vllm = self.installs_vllm or command.installs_vllm(words)
        if name in ("[", "[[", "test"):
            inner = words[1:-1] if name != "test" else words[1:]
            return conditions.holds(inner, self.variables.unset)
        if name in self.functions:
            return self._call(name, words[1:])
        if name in (":", "true", "false", "exit"):
            self.inside = None if name == "exit" else self.inside
            return name != "false"
        if not self._changes(name, words):
            self.starts(words, before, document, into)
        return None if name in _ASKS else True

    def _followed(self, text: str) -> None:
        try:
            self._follow(text)
        except Unreadable as error:
            self.world.errors.append(str(error))

    def _changes(self, name: str, words: Sequence[str]) -> bool:
        """A command that changes the shell alone. False where it is none."""
        if name == "eval":
            self._followed(" ".join(words[1:]))
        elif (
            name in ("source", ".")
            and (file := self.world.files.get("".join(words[1:2]).removeprefix("./"))) is not None
        ):
            self._followed(file)
        elif name in _READS or (name == "printf" and words[1:2] == ["-v"]):
            for each in words[1:]:
                if each.isidentifier():
                    self.variables.hide(each)
        elif name == "unset":
            for each in words[1:]:
                self.variables.values.pop(each, None)
                self.variables.exported.pop(each, None)
        elif name == "set":
            self.variables.all_exported |= "-a" in words or "allexport" in words
        elif name == "shift":
            for each in POSITIONAL:
                self.variables.values.pop(each, None)
        elif name in ("cp", "mv") and len(words) > 2 and words[-2] in self.world.files:
            self.world.write(words[-1], self.world.files[words[-2]])
        else:
            return False
        return True
