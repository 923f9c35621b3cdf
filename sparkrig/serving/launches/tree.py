"""The commands of a shell script, with what they are part of: if, case, loops, functions, groups.

What is not closed ends with the text, and a word that opens nothing is a word: prose around a command is no error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sparkrig.serving.launches.words import Arithmetic, Array, Document, Into, Operator, Token, Word, tokens

_DEEPEST = 24  # beyond it a reserved word is a word; scripts that people publish nest four levels


@dataclass(frozen=True)
class Simple:
    """One command, or assignments alone. documents: what it is given on standard input."""

    words: tuple[Word | Array | Arithmetic, ...]
    documents: tuple[Document, ...] = ()
    into: Word | None = None


class Step(NamedTuple):
    """A command and what joins it to the one before: `&&`, `||`, `|`, or nothing."""

    joiner: str
    node: Node


Block = Sequence[Step]


@dataclass(frozen=True)
class If:
    """arms: each condition with what runs where it holds; a condition without steps always holds."""

    arms: tuple[tuple[Block, Block], ...]


@dataclass(frozen=True)
class Case:
    """arms: each one's patterns, and what runs where one of them fits."""

    word: Word
    arms: tuple[tuple[tuple[Word, ...], Block], ...]


@dataclass(frozen=True)
class Loop:
    """name, words: of `for`; empty where it is `while` or `until`."""

    body: Block
    name: str = ""
    words: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Group:
    """apart: whether it is a shell of its own."""

    body: Block
    apart: bool


@dataclass(frozen=True)
class Function:
    """`name() { ... }`."""

    name: str
    body: Block


Node = Simple | If | Case | Loop | Group | Function


def parsed(text: str) -> Block:
    """The commands of a script. Raises ValueError where a quotation mark is not closed."""
    return _Parser(tokens(text)).whole()


def simple(block: Block) -> Iterator[list[str]]:
    """The words of each command in it, whatever it is part of, with what would be expanded as it stands."""
    for _, node in block:
        if isinstance(node, Simple):
            words = [each.plain if isinstance(each, Word) else f"{each}" for each in node.words]
            yield from [words] if words else []
        elif isinstance(node, If | Case):
            yield ["if" if isinstance(node, If) else "case"]
            for condition, body in node.arms:
                yield from simple([each for each in condition if isinstance(each, Step)])
                yield from simple(body)
        else:
            yield from simple(node.body)


@dataclass
class _Parser:
    tokens: Sequence[Token]
    at: int = 0
    depth: int = field(default=0)

    def whole(self) -> Block:
        steps: list[Step] = []
        while self.at < len(self.tokens):
            steps += self._block(())
            self.at += 1  # what closes nothing
        return steps

    @property
    def _next(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _word(self, ahead: int = 0) -> str:
        """The next word as it may be reserved, empty where it is quoted or none."""
        token = self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None
        return token.bare if isinstance(token, Word) else ""

    def _sign(self, ahead: int = 0) -> str:
        token = self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None
        return token.text if isinstance(token, Operator) else ""

    def _lines(self) -> None:
        while self._sign() in ("\n", ";"):
            self.at += 1

    def _block(self, ends: Iterable[str]) -> list[Step]:
        """Up to a word or an operator that ends it, which is left."""
        steps: list[Step] = []
        joiner = ""
        closing = (*ends, ")", ";;", ";&", ";;&")
        while self._next is not None and self._word() not in closing and self._sign() not in closing:
            sign = self._sign()
            if sign and sign != "(":
                joiner = joiner if sign == "\n" and joiner else sign.replace("|&", "|")
                joiner = joiner if joiner in ("&&", "||", "|") else ""
                self.at += 1
                continue
            steps.append(Step(joiner, self._node()))
            joiner = ""
        return steps

    def _node(self) -> Node:
        self.depth += 1
        found = self._compound() if self.depth <= _DEEPEST else None
        self.depth -= 1
        if found is None:
            return self._simple()
        while isinstance(self._next, (Into, Document)):
            self.at += 1
        return found

    def _compound(self) -> Node | None:
        word, sign = self._word(), self._sign()
        if sign == "(" or word == "{":
            self.at += 1
            body = self._block(("}",) if word else ())
            self._take("}" if word else ")")
            return Group(body, apart=not word)
        if word == "if":
            return self._if()
        if word == "case":
            return self._case()
        if word in ("while", "until"):
            self.at += 1
            return Loop([*self._block(("do",)), *self._body()])
        if word == "for":
            return self._for()
        return self._function()

    def _take(self, closing: str) -> None:
        if closing in (self._word(), self._sign()):
            self.at += 1

    def _if(self) -> Node:
        arms: list[tuple[Block, Block]] = []
        while self._word() in ("if", "elif"):
            self.at += 1
            condition = self._block(("then", "fi"))
            self._take("then")
            arms.append((condition, self._block(("elif", "else", "fi"))))
        if self._word() == "else":
            self.at += 1
            arms.append(((), self._block(("fi",))))
        self._take("fi")
        return If(tuple(arms))

    def _body(self) -> Block:
        self._take("do")
        body = self._block(("done",))
        self._take("done")
        return body

    def _for(self) -> Node | None:
        token = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        if isinstance(token, Arithmetic):
            self.at += 2
            self._lines()
            return Loop(self._body())
        name = self._word(1)
        if not name.isidentifier() or (self._word(2) not in ("in", "do") and self._sign(2) not in ("\n", ";")):
            return None
        self.at += 2
        words: list[Word] = []
        if self._word() == "in":
            self.at += 1
            while isinstance(token := self._next, Word):
                words.append(token)
                self.at += 1
        self._lines()
        return Loop(self._body(), name, tuple(words))

    def _case(self) -> Node | None:
        word = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        if not isinstance(word, Word) or self._word(2) != "in":
            return None
        self.at += 3
        arms: list[tuple[tuple[Word, ...], Block]] = []
        while self._next is not None and self._word() != "esac":
            patterns = self._patterns()
            arms.append((patterns, self._block(("esac",))))
            while self._sign() in (";;", ";&", ";;&", "\n", ";"):
                self.at += 1
        self._take("esac")
        return Case(word, tuple(arms))

    def _patterns(self) -> tuple[Word, ...]:
        found: list[Word] = []
        while (token := self._next) is not None and self._sign() != ")":
            found += [token] if isinstance(token, Word) else []
            self.at += 1
        self.at += 1
        return tuple(found)

    def _function(self) -> Node | None:
        named = 1 if self._word() == "function" else 0
        name = self._word(named)
        signed = self._sign(named + 1) == "(" and self._sign(named + 2) == ")"
        if not name or not (named or signed):
            return None
        start, self.at = self.at, self.at + named + 1 + 2 * signed
        self._lines()
        if self._word() != "{" and self._sign() != "(":
            self.at = start
            return None
        return Function(name, [Step("", self._node())])

    def _simple(self) -> Simple:
        words: list[Word | Array | Arithmetic] = []
        documents: list[Document] = []
        into: Word | None = None
        while (token := self._next) is not None and not isinstance(token, Operator):
            if isinstance(token, Into):
                into = token.file
            elif isinstance(token, Document):
                documents.append(token)
            else:
                words.append(token)
            self.at += 1
        if not words and not documents and into is None:
            self.at += 1
        return Simple(tuple(words), tuple(documents), into)
