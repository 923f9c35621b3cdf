"""Every mutant of a module: a choice of cosmic-ray's operators, and four of our own.

cosmic-ray changes operators, conditions, numbers, loops and decorators. Our modules are made of calls, returns and
comprehensions as well, so those are taken away here. mutmut 3 does not fit: every module that it mutates
imports mutmut (mutmut/mutation/trampoline_templates.py), and what runs on hosts as a program of its own
(templates/guard.py, sparkrig/rdma/gid.py) has the standard library alone.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator

Position = tuple[tuple[int, int], tuple[int, int]]

# One other operator is enough where any of them is found by the same test; of a comparison, those that move its
# limit and those that turn it over.
SWAPPED = "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul BitOr_BitAnd BitAnd_BitOr BitXor_BitAnd"
COMPARED = (
    "Eq_NotEq Eq_LtE Eq_GtE NotEq_Eq NotEq_Lt NotEq_Gt Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt "
    "Is_IsNot IsNot_Is"
)
PLAIN = (
    "AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd NumberReplacer "
    "ReplaceUnaryOperator_Delete_Not ReplaceBreakWithContinue ReplaceContinueWithBreak RemoveDecorator "
    "ZeroIterationForLoop"
)


class DropStatement(Operator):  # type: ignore[misc]
    """Takes a call, a yield, a raise or an augmented assignment away."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "simple_stmt" and self._acts(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    @staticmethod
    def _acts(statement: Any) -> bool:
        if statement.type in ("raise_stmt", "yield_expr"):
            return True
        if statement.type == "expr_stmt":
            return len(statement.children) == 3 and str(statement.children[1].get_code()).strip() not in ("=", ":")
        return statement.type in ("atom_expr", "power") and statement.get_last_leaf().value == ")"

    def mutate(self, node: Any, index: int) -> Any:
        node.children[0] = get_ast(f"{node.children[0].get_first_leaf().prefix}pass")
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return (
            Example("f(1)\n", "pass\n"),
            Example("if x:\n    raise E(1)\n", "if x:\n    pass\n"),
            Example("x += 1\n", "pass\n"),
            Example("yield x\n", "pass\n"),
        )


class ReturnNone(Operator):  # type: ignore[misc]
    """Gives None back in place of a value."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "return_stmt" and node.children[1].get_code().strip() != "None":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = get_ast(" None")
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return (Example("def f():\n    return 1\n", "def f():\n    return None\n"),)


class TakeAll(Operator):  # type: ignore[misc]
    """Lets a comprehension take what its condition leaves out."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "comp_if":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = get_ast(" True")
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return (Example("[x for x in y if x > 1]\n", "[x for x in y if True]\n"),)


class CatchNothing(Operator):  # type: ignore[misc]
    """Lets an exception through. cosmic-ray's own fails on a name with a dot, as subprocess.TimeoutExpired."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "except_clause":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = get_ast(" ()")
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return (
            Example("try: f()\nexcept a.E: pass\n", "try: f()\nexcept (): pass\n"),
            Example("try: f()\nexcept (A, B) as e: pass\n", "try: f()\nexcept () as e: pass\n"),
        )


OWN = (DropStatement, ReturnNone, TakeAll, CatchNothing)


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    line: where it is, from 1; at: the function or class around it, with those around that one, "" outside of any;
    operator: what made it; text: the whole mutated module; old, new: the lines that changed, as they were and as
    they are, without indentation.
    """

    file: str
    line: int
    at: str
    operator: str
    text: str
    old: str
    new: str


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of a module, by line; two of one text count once. Annotations that nothing reads are left."""
    unread, at = _annotations(source), _definitions(source)
    found: dict[str, Mutant] = {}
    nodes = list(ast_nodes(get_ast(source)))
    for name, operator in _operators():
        positions = [each for node in nodes for each in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(positions):
            if any(begin <= start < end for begin, end in unread):
                continue
            text = mutate_code(source, operator, occurrence)
            if text is None or text == source:
                raise ValueError(f"{name} changes nothing at {file}:{start[0]}")
            found.setdefault(text, Mutant(file, start[0], at(start[0]), name, text, *_changed(source, text)))
    return sorted(found.values(), key=lambda mutant: (mutant.line, mutant.operator, mutant.new))


def _operators() -> Iterator[tuple[str, Operator]]:
    names = [f"ReplaceBinaryOperator_{pair}" for pair in SWAPPED.split()]
    names += [f"ReplaceComparisonOperator_{pair}" for pair in COMPARED.split()]
    for name in [*names, *PLAIN.split()]:
        yield name, get_operator(f"core/{name}")()
    for own in OWN:
        yield own.__name__, own()


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
