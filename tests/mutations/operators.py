"""Every mutant of a module: one edit of its text, made where parso says that a thing of that kind stands.

mutmut 3 does not fit: every module that it mutates imports mutmut (mutmut/mutation/trampoline_templates.py), and
what runs on hosts as a program of its own (templates/guard.py, sparkrig/network/gid.py) has the standard library
alone. cosmic-ray knows no calls, returns or comprehensions, of which our modules are made.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import parso

Position = tuple[tuple[int, int], tuple[int, int]]

# One other operator is enough where any of them is found by the same test; of a comparison, those that move its
# limit and those that turn it over.
_SWAPPED = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "|": "&", "&": "|", "^": "&"}
_BINARY = ("arith_expr", "term", "power", "expr", "xor_expr", "and_expr")
_COMPARED = {
    "==": ("!=", "<=", ">="),
    "!=": ("==", "<", ">"),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "is": ("is not",),
    "is not": ("is",),
}
_KEYWORDS = {
    **{"True": "False", "False": "True", "and": "or", "or": "and"},
    **{"break": "continue", "continue": "break"},
}
# By kind of node, which of its parts is turned over, or gives way to what.
_NEGATED = {"if_stmt": 1, "while_stmt": 1, "assert_stmt": 1, "test": 2}  # a test: this if it is so else that
_REPLACED = {
    "not_test": (0, ""),
    "for_stmt": (3, "[]"),
    "return_stmt": (1, "None"),
    "comp_if": (1, "True"),
    "except_clause": (1, "()"),
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    line: where it is, from 1; at: the function or class around it, with those around that one, "" outside of any;
    text: the whole mutated module; old, new: the lines that changed, as they were and as
    they are, without indentation.
    """

    file: str
    line: int
    at: str
    text: str
    old: str
    new: str


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of a module, by line; two of one text count once. Annotations that nothing reads are left."""
    unread, at = _annotations(source), _definitions(source)
    lines = source.splitlines(keepends=True)
    found: dict[str, Mutant] = {}
    for node in _nodes(parso.parse(source)):  # type: ignore[no-untyped-call]
        for part, new in _edits(node):
            if any(begin <= part.start_pos < end for begin, end in unread):
                continue
            text = _edited(lines, part, new)
            line = part.start_pos[0]
            found.setdefault(text, Mutant(file, line, at(line), text, *_changed(source, text)))
    return sorted(found.values(), key=lambda mutant: (mutant.line, mutant.new))


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


def _edits(node: Any) -> Iterator[tuple[Any, str]]:
    """What can be broken in a node itself: the part that goes, and what stands in its place."""
    match node.type:
        case "operator" if node.parent.type in _BINARY and node.value in _SWAPPED:
            yield node, _SWAPPED[node.value]
        case "comparison":
            yield from _comparisons(node.children)
        case "keyword" if node.value in _KEYWORDS:
            yield node, _KEYWORDS[node.value]
        case "number":
            yield from ((node, str(ast.literal_eval(node.value) + offset)) for offset in (1, -1))
        case "decorator":
            yield node, ""
        case "simple_stmt" if _acts(node.children[0]):
            yield node.children[0], "pass"
        case "return_stmt" if _code(node.children[1]) == "None":
            return
        case kind if kind in _NEGATED:
            part = node.children[_NEGATED[kind]]
            yield part, f"not {_code(part)}"
        case kind if kind in _REPLACED:
            place, new = _REPLACED[kind]
            yield node.children[place], new


def _comparisons(children: list[Any]) -> Iterator[tuple[Any, str]]:
    for sign, right in zip(children[1::2], children[2::2], strict=True):
        written = _code(sign)
        if (_code(right) == "None") <= written.startswith("is"):
            yield from ((sign, other) for other in _COMPARED.get(written, ()))


def _acts(statement: Any) -> bool:
    """Whether a statement is a call, a yield, a raise or an augmented assignment."""
    if statement.type in ("raise_stmt", "yield_expr"):
        return True
    if statement.type == "expr_stmt":
        return len(statement.children) == 3 and _code(statement.children[1]) not in ("=", ":")
    return statement.type in ("atom_expr", "power") and statement.get_last_leaf().value == ")"


def _code(node: Any) -> str:
    return str(node.get_code(include_prefix=False)).strip()


def _edited(lines: list[str], part: Any, new: str) -> str:
    (first, begin), (last, end) = part.start_pos, part.end_pos
    before, after = lines[first - 1][:begin], lines[last - 1][end:] if last <= len(lines) else ""
    return "".join([*lines[: first - 1], before, new, after, *lines[last:]])


def _annotations(source: str) -> list[Position]:
    """Where annotations stand, lines from 1 and columns from 0; none where they are evaluated."""
    tree = ast.parse(source)
    if not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        return []
    nodes = list(ast.walk(tree))
    found = [node.annotation for node in nodes if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation]
    found += [node.returns for node in nodes if isinstance(node, ast.FunctionDef) and node.returns]
    lines = source.splitlines()

    def at(line: int, octets: int) -> tuple[int, int]:
        return line, len(lines[line - 1].encode()[:octets].decode())

    return [
        (at(node.lineno, node.col_offset), at(node.end_lineno or 0, node.end_col_offset or 0)) for node in found
    ]


def _definitions(source: str) -> Callable[[int], str]:
    """The function that names what stands around a line."""
    spans: list[tuple[int, int, str]] = []

    def look(node: ast.AST, path: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inside = path
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inside = (*path, child.name)
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                spans.append((first, child.end_lineno or first, ".".join(inside)))
            look(child, inside)

    look(ast.parse(source), ())
    # the innermost is the one that begins last
    return lambda line: max((span for span in spans if span[0] <= line <= span[1]), default=(0, 0, ""))[2]


def _changed(source: str, text: str) -> tuple[str, str]:
    rows = list(difflib.unified_diff(source.splitlines(), text.splitlines(), n=0, lineterm=""))[3:]
    old, new = ("\n".join(row[1:].strip() for row in rows if row.startswith(sign)) for sign in "-+")
    return old, new
