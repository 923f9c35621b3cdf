"""All patterns of the product, found by its code, each in the ways that it is used."""

from __future__ import annotations

import ast
import importlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sparkrig.parsing.grammar import Grammar

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("sparkrig", "facts", "operations", "deploys", "templates")
_PATCHED = (
    "deploys.served",
    "sparkrig.operations.update_run",
    "sparkrig.operations.updating",
    "sparkrig.ssh.session",
    "sparkrig.terminal.frame",
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

    @property
    def run(self) -> Callable[[str], object]:
        if self.how in ("match", "search", "fullmatch"):
            one: Callable[[str], object] = getattr(self.words, self.how)
            return one
        return lambda text: deque(self.words.finditer(text), maxlen=0)


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
