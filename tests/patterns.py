"""All patterns of the product, found by its code, and texts hostile to each, made from what it repeats."""

from __future__ import annotations

import ast
import importlib
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sparkrig.parsing.grammar import Grammar

_ROOT = Path(__file__).resolve().parents[1]
_ROOMS = ("sparkrig", "facts", "operations", "deploys", "templates")
_PATCHED = (
    "sparkrig.operations.update_run",
    "sparkrig.operations.updating",
    "sparkrig.io.session",
    "sparkrig.io.frame",
)
# Which argument of each function of re has the flags.
_FLAGS = {"search": 2, "match": 2, "fullmatch": 2, "finditer": 2, "findall": 2, "split": 3, "sub": 4, "compile": 1}
_CALLS = {f"re.{each}" for each in _FLAGS}
_DEEPEST = 5
_MAY = re.compile(r"\bre\.|Grammar\(|\.(?:match|fullmatch|search|finditer)\(")


class Use(NamedTuple):
    """A pattern, where it stands, and how it is used: a method, finditer where the code does not tell."""

    place: str
    how: str
    words: re.Pattern[str]


def uses(tables: Mapping[str, Any]) -> tuple[list[Use], list[str]]:
    """Each pattern in each of its uses, and the calls in functions whose pattern is known only while they run.

    tables: for each such call, what has its patterns: strings in a table, at any depth.
    """
    found: dict[tuple[str, int, str], Use] = {}
    untold: list[str] = []

    def add(place: str, how: str, words: re.Pattern[str]) -> None:
        found.setdefault((words.pattern, words.flags, how), Use(place, how, words))

    texts = {path: path.read_text(encoding="utf-8") for path in _files()}
    trees = {path: ast.parse(text) for path, text in texts.items() if _MAY.search(text)}
    everywhere = _methods(*trees.values(), of_others=True)
    for path, tree in trees.items():
        place, names = str(path.relative_to(_ROOT)), _names(path, tree)
        methods = everywhere | _methods(tree)
        for name, value in names.items():
            for how, words in _patterns(value):
                for each in methods.get(name, ()) if isinstance(value, re.Pattern) else ():
                    add(f"{place} {name}", each, words)
                if name not in methods or not isinstance(value, re.Pattern):
                    add(f"{place} {name}", how, words)
        for call in _calls(tree):
            made, told = _compiled(call, names), f"{place} {ast.unparse(call)}"
            if made is None and told not in tables:
                untold.append(told)
            for text in _strings(tables.get(told, ())):
                add(told, _how(call), re.compile(text, re.MULTILINE))
            if made and isinstance(made.pattern, str):
                add(told, _how(call), made)
    return [*found.values()], untold


def _files() -> Iterator[Path]:
    for room in _ROOMS:
        yield from (path for path in sorted((_ROOT / room).rglob("*.py")) if "project" not in path.parts)


def _names(path: Path, tree: ast.Module) -> dict[str, Any]:
    """What the names of a module stand for: as imported, or, where that cannot be, as far as constants tell."""
    name = ".".join(path.relative_to(_ROOT).with_suffix("").parts).removesuffix(".__init__")
    if not name.startswith("templates") and name not in _PATCHED:
        return dict(vars(importlib.import_module(name)))
    names: dict[str, Any] = {"re": re}
    for line in tree.body:
        if isinstance(line, (ast.Assign, ast.AnnAssign)):
            try:
                exec(compile(ast.Module([line], []), str(path), "exec"), names)
            except Exception:  # it needs more than constants
                continue
    del names["__builtins__"]
    return names


def _methods(*trees: ast.Module, of_others: bool = False) -> dict[str, set[str]]:
    """How each name is used as a pattern; of_others: only as that of another module, as in `hub.ID.match`."""
    methods: dict[str, set[str]] = {}
    for node in (each for tree in trees for each in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and node.attr in _FLAGS:
            if isinstance(node.value, ast.Attribute):
                methods.setdefault(node.value.attr, set()).add(node.attr)
            elif isinstance(node.value, ast.Name) and not of_others:
                methods.setdefault(node.value.id, set()).add(node.attr)
    return methods


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Each call of re within a function; what others make is found by its name."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in _CALLS:
                    yield node


def _how(call: ast.Call) -> str:
    name = ast.unparse(call.func).removeprefix("re.")
    return "finditer" if name == "compile" else name


def _compiled(call: ast.Call, names: Mapping[str, Any]) -> re.Pattern[str] | None:
    """Its pattern, an x for each value that is known only while it runs; None for one that is all such."""
    flags = [word.value for word in call.keywords if word.arg == "flags"]
    flags += call.args[_FLAGS[ast.unparse(call.func).removeprefix("re.")] :]
    try:
        words = _value(_WithoutLocals(names).visit(call.args[0]), names)
        return re.compile(words, *(_value(each, names) for each in flags[:1] if isinstance(words, str)))
    except NameError:
        return None


class _WithoutLocals(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        try:
            _value(node.value, self._names)
        except NameError:
            return ast.Constant("x")
        return node


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval"), dict(names))


def _patterns(value: Any, depth: int = 0) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Each that a value has, and how it is used as far as its type tells."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield "finditer", value
    elif isinstance(value, Grammar):
        yield "fullmatch", re.compile(value.pattern, re.ASCII)
    elif depth < _DEEPEST:
        for each in _parts(value):
            yield from _patterns(each, depth + 1)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in _parts(value):
        yield from _strings(each)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, each.name, None) for each in fields(value)]
    return [*value] if isinstance(value, (tuple, list, set, frozenset)) else []


# --- hostile texts

_SOME = "a0 \n\t-.:_/=\"'#(\\,A\x7f\u00e9"
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_MANY = 16  # a repetition that has no more is no danger


def hostile(words: re.Pattern[str]) -> list[tuple[str, str]]:
    """Beginnings, and what is to be repeated behind each."""
    tree = parser.parse(words.pattern, words.flags)
    texts: dict[tuple[str, str], None] = {}
    for before, body in (each for pick in range(3) for each in _repeated(tree, "", pick)):
        for part in dict.fromkeys(_sample(body, pick) for pick in range(4)):
            texts |= dict.fromkeys(
                [(before, part), ("", part), ("", f"{before}{part}"), ("", f"{before}{part}\n")]
            )
            texts |= dict.fromkeys([("", f"{part}\n"), ("", before)])
    if texts:
        texts |= {("", each): None for each in 'a0 \n\t"\\'}
    return [each for each in texts if each[1]]


def _repeated(tree: Any, before: str, pick: int) -> Iterator[tuple[str, Any]]:
    """Each repetition without a small bound, and a text that matches what stands before it."""
    for kind, what in tree:
        if kind in _REPEATS and what[1] > _MANY:
            yield before, what[2]
        for part in _within(kind, what):
            yield from _repeated(part, before, pick)
        before += _sample([(kind, what)], pick)


def _within(kind: Any, what: Any) -> list[Any]:
    if kind is sre.BRANCH:
        return list(what[1])
    if kind in (*_REPEATS, sre.SUBPATTERN):
        return [what[-1]]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [what[1]]
    return [what] if kind is sre.ATOMIC_GROUP else []


def _sample(tree: Any, pick: int) -> str:
    """A text that matches, mostly. pick: which of several choices is taken."""
    text = ""
    for kind, what in tree:
        if kind is sre.LITERAL:
            text += chr(what)
        elif kind is sre.NOT_LITERAL:
            text += _one([(sre.NEGATE, None), (sre.LITERAL, what)], pick)
        elif kind is sre.ANY:
            text += 'a0 "'[pick % 4]
        elif kind is sre.IN:
            text += _one(what, pick)
        elif kind is sre.BRANCH:
            text += _sample(what[1][pick % len(what[1])], pick)
        elif kind in _REPEATS:
            text += _sample(what[2], pick) * max(what[0], min(1, what[1]))
        elif kind is sre.SUBPATTERN or kind is sre.ATOMIC_GROUP:
            text += _sample(_within(kind, what)[0], pick)
    return text


def _one(items: Any, pick: int) -> str:
    """A character of a class."""
    own = [what if kind is sre.LITERAL else what[0] for kind, what in items if kind in (sre.LITERAL, sre.RANGE)]
    fit = [each for each in [*_SOME, *map(chr, own)] if _has(items, each)]
    return fit[pick % len(fit)] if fit else ""


def _has(items: Any, each: str) -> bool:
    held = any(
        what == ord(each)
        if kind is sre.LITERAL
        else what[0] <= ord(each) <= what[1]
        if kind is sre.RANGE
        else kind is sre.CATEGORY and re.match(_CATEGORIES[what], each) is not None
        for kind, what in items
    )
    return held != (items[0][0] is sre.NEGATE)
