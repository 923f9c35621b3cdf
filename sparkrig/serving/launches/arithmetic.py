"""`$(( ... ))`, `[ ... ]` and `[[ ... ]]` of a shell, where all that stands in them is known."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

_LONGEST = 200  # characters: Python parses these without end of its stack
_LARGEST = 2**63  # as bash has it
_SIGNS: Mapping[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}


def number(text: str, values: Mapping[str, object]) -> int | None:
    """The value of an expression, None where a name in it is not known or it is more than whole numbers."""
    if len(text) > _LONGEST or "**" in text or "//" in text:
        return None
    python = text.strip().replace("&&", " and ").replace("||", " or ")
    try:
        return _value(ast.parse(python, mode="eval").body, values)
    except (SyntaxError, ValueError, ArithmeticError, MemoryError, RecursionError):
        return None


def _value(node: ast.AST, values: Mapping[str, object]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _bounded(node.value)
    if isinstance(node, ast.Name):
        return _bounded(int(str(values.get(node.id))))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values)
    if isinstance(node, ast.BoolOp):
        found = [_value(each, values) for each in node.values]
        return int(all(found) if isinstance(node.op, ast.And) else any(found))
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return _bounded(_SIGNS[type(node.op)](_value(node.left, values), _value(node.right, values)))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SIGNS:
        sides = _value(node.left, values), _value(node.comparators[0], values)
        return int(_SIGNS[type(node.ops[0])](*sides))
    raise ValueError("not of whole numbers alone")


def _bounded(found: int) -> int:
    if not -_LARGEST <= found < _LARGEST:
        raise ValueError("beyond 64 bits")
    return found


def holds(words: Sequence[str], unset: Callable[[str], bool]) -> bool | None:
    """Whether a test holds, None where that is not known. unset: whether nothing ever gave a variable a value."""
    if len(words) > _LONGEST:
        return None
    for joiner, whole in (("||", any), ("&&", all)):
        if joiner in words:
            place = words.index(joiner)
            found = [holds(words[:place], unset), holds(words[place + 1 :], unset)]
            decisive = joiner == "||"
            return decisive if decisive in found else None if None in found else whole(map(bool, found))
    if words[:1] == ["!"]:
        found_one = holds(words[1:], unset)
        return None if found_one is None else not found_one
    return _one(words, unset)


def _one(words: Sequence[str], unset: Callable[[str], bool]) -> bool | None:
    if len(words) == 2 and words[0] in ("-z", "-n"):
        if words[0] == "-z" and unset(words[1]):
            return True
        return None if "$" in words[1] else (words[1] == "") is (words[0] == "-z")
    if any("$" in each for each in words):
        return None
    if len(words) == 1:
        return words[0] != ""
    if len(words) != 3:
        return None
    left, sign, right = words
    if sign in ("=", "==", "!=") and len(left) + len(right) <= _LONGEST:
        return fnmatchcase(left, right) is (sign != "!=")
    if sign in _COMPARED and all(re.fullmatch(r"-?\d{1,18}", each) for each in (left, right)):
        return _COMPARED[sign](int(left), int(right))
    return None
