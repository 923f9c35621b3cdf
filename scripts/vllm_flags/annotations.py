"""What an annotation of vLLM lets a flag take."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from scripts.vllm_flags.source import Field, Module, Place, Unknown, default, is_enum, member, members

_NAMED = ("bool", "int", "float", "str", "list", "tuple", "set", "dict")
_OUTER = ("Optional", "Union", "Annotated", "SkipValidation", "Final")


@dataclass
class Hints:
    """The kinds that an annotation names, its literal values, and whether other words may be taken, too.

    made: the config class whose fields a JSON object has.
    """

    kinds: set[str] = field(default_factory=set)
    values: list[Any] = field(default_factory=list)
    open: bool = False
    made: Place | None = None


def hints(module: Module, node: ast.expr, found: Hints | None = None) -> Hints:
    """What an annotation means; names are looked up in the module that has it."""
    found = found or Hints()
    match node:
        case ast.Constant(value=str(text)):
            hints(module, ast.parse(text, mode="eval").body, found)
        case ast.BinOp(left=left, right=right):
            hints(module, left, found)
            hints(module, right, found)
        case ast.Subscript(value=outer, slice=inner):
            _subscript(module, ast.unparse(outer).rpartition(".")[2], inner, found)
        case ast.Name() | ast.Attribute():
            _name(module, node, found)
    return found


def _subscript(module: Module, outer: str, inner: ast.expr, found: Hints) -> None:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if outer == "Literal":
        for part in parts:
            value = module.constant(part)
            if isinstance(value, Unknown):
                hints(module, part, found)  # a Literal in a Literal
            elif value is not None:
                found.values.append(value)
        return
    kind = {"Sequence": "list", "Mapping": "dict", "Iterable": "list"}.get(outer, outer.lower())
    if outer in _OUTER:
        for part in parts[: 1 if outer == "Annotated" else None]:
            hints(module, part, found)
    elif kind in _NAMED:
        found.kinds.add(kind)
        if kind != "dict":
            found.values += hints(module, parts[0]).values


def _name(module: Module, node: ast.Name | ast.Attribute, found: Hints) -> None:
    name = ast.unparse(node)
    place = module.lookup(node)
    if name.lower() in _NAMED and place is None:
        found.kinds.add(name.lower())
    elif place and place.value:
        found.open |= place.typing  # Python itself sees no choices there
        hints(place.module, place.value, found)
    elif place and is_enum(place):
        known = dict(members(place))
        found.values += [member(each, known) for each in known]
        found.open |= any(isinstance(each, int) for each in found.values)  # most take their names, too
    elif place and _config(place):
        found.made = place
    elif place and "dict" in _bases(place):
        found.kinds.add("dict")


def _bases(place: Place) -> list[str]:
    found = place.node.bases if isinstance(place.node, ast.ClassDef) else []
    return [ast.unparse(each).partition("[")[0] for each in found]


def _config(place: Place) -> bool:
    """Whether a class is a dataclass, whose fields a JSON object has."""
    decorators = place.node.decorator_list if isinstance(place.node, ast.ClassDef) else []
    return any(ast.unparse(each).partition("(")[0] in ("config", "dataclass") for each in decorators)


def argument(made: Field) -> dict[str, Any]:
    """What vLLM hands to argparse for a field of a config class (`get_kwargs` of vllm/engine/arg_utils.py)."""
    found = hints(made.place.module, made.node.annotation)
    return {
        "takes": _takes(found),
        "choices": [str(each) for each in found.values],
        "open": bool(found.values) and (found.open or "str" in found.kinds),
        "default": default(made),
        "help": made.doc,
        "made": None if "dict" in found.kinds else found.made,
    }


def _takes(found: Hints) -> str:
    kinds = found.kinds
    if found.made:
        return "json"
    if "bool" in kinds:
        return "switch or text" if "str" in kinds else "switch"
    if kinds & {"list", "tuple", "set"}:
        return "texts"
    if found.values:
        return "whole number" if all(isinstance(each, int) for each in found.values) else "text"
    if "dict" in kinds and "str" not in kinds:
        return "json"
    return "whole number" if "int" in kinds else "number" if "float" in kinds else "text"
