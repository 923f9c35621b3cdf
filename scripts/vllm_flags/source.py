"""The Python files of vLLM as parsed text: where a name is defined, and which constant it stands for."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_NO_DEFINITION = (ast.Import, ast.ImportFrom)
_SUMS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Unknown:
    """A value that only a running vLLM knows. text: as its source writes it."""

    text: str

    def __str__(self) -> str:
        return f"<{self.text}>"


@dataclass(frozen=True)
class Place:
    """What a name stands for, and the module that defines it. typing: whether only type checkers see it."""

    module: Module
    node: ast.AST
    typing: bool = False

    @property
    def value(self) -> ast.expr | None:
        return self.node.value if isinstance(self.node, ast.Assign | ast.AnnAssign) else None


@dataclass(frozen=True)
class Field:
    """A field of a config class. place: its annotation and its default; doc: the text below it."""

    name: str
    place: Place
    doc: str = ""

    @property
    def node(self) -> ast.AnnAssign:
        assert isinstance(self.place.node, ast.AnnAssign)
        return self.place.node


class Source:
    """All files of one vLLM, each by its path (`vllm/envs.py`)."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self._modules: dict[str, Module] = {}

    def module(self, name: str) -> Module | None:
        """A module by its dotted name; None where vLLM has none of that name."""
        path = name.replace(".", "/")
        found = next((each for each in (f"{path}.py", f"{path}/__init__.py") if each in self.files), None)
        if found is None:
            return None
        if found not in self._modules:
            self._modules[found] = Module(self, found, ast.parse(self.files[found], found))
        return self._modules[found]

    def needed(self, name: str) -> Module:
        """The same of a module that every vLLM has. Raises ValueError where it is not there."""
        if found := self.module(name):
            return found
        raise ValueError(
            f"there is no module {name}, expected in every vLLM: it has moved, see scripts/vllm_flags"
        )


class Module:
    """One file."""

    def __init__(self, source: Source, path: str, tree: ast.Module) -> None:
        self.source, self.path, self._tree = source, path, tree

    @cached_property
    def _names(self) -> Mapping[str, tuple[ast.AST, bool]]:
        made: dict[str, tuple[ast.AST, bool]] = {}
        for node, typing in _statements(self._tree.body, typing=False):
            for name in _defined(node):
                # where a type checker sees one thing and Python another (`str`), the former has the choices
                if name not in made or typing >= made[name][1]:
                    made[name] = node, typing
        return made

    @cached_property
    def _stars(self) -> list[Module]:
        """The modules of which it imports every name."""
        nodes = [
            node for node in self._tree.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ]
        return [*filter(None, (self.source.module(self._imported(node)) for node in nodes))]

    def find(self, name: str) -> Place | None:
        """What a name of this module stands for, through imports; None where it comes from outside of vLLM."""
        if name not in self._names:
            return next(filter(None, (each.find(name) for each in self._stars)), None)
        node, typing = self._names[name]
        if not isinstance(node, _NO_DEFINITION):
            return Place(self, node, typing)
        alias = next(each for each in node.names if (each.asname or each.name) == name)
        if isinstance(node, ast.Import):
            return None
        module = self.source.module(self._imported(node))
        found = module.find(alias.name) if module else None
        return Place(found.module, found.node, typing or found.typing) if found else None

    def lookup(self, node: ast.expr) -> Place | None:
        """The same of `NAME` or `MODULE.NAME`."""
        if isinstance(node, ast.Name):
            return self.find(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self._module(node.value.id)
            return module.find(node.attr) if module else None
        return None

    def _module(self, alias: str) -> Module | None:
        node, _ = self._names.get(alias, (None, False))
        if not isinstance(node, ast.Import):
            return None
        name = next(each.name for each in node.names if (each.asname or each.name) == alias)
        return self.source.module(name)

    def _imported(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.path.removesuffix(".py").removesuffix("/__init__").split("/")
        up = node.level - self.path.endswith("/__init__.py")
        return ".".join([*parts[: len(parts) - up], *filter(None, [node.module])])

    def fields(self, made: ast.ClassDef) -> dict[str, Field]:
        """The fields of a class, those of its bases first."""
        found: dict[str, Field] = {}
        for place in reversed(self.bases(made)):
            assert isinstance(place.node, ast.ClassDef)
            body = place.node.body
            for node, after in zip(body, [*body[1:], None], strict=True):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not _of_class(node):
                    name = node.target.id
                    found[name] = Field(name, Place(place.module, node), _text(after))
        return found

    def bases(self, made: ast.ClassDef) -> list[Place]:
        """A class of this module and its bases in vLLM, the class itself first."""
        found = [Place(self, made)]
        for base in made.bases:
            place = self.lookup(base)
            if place and isinstance(place.node, ast.ClassDef):
                found += place.module.bases(place.node)
        return found

    def constant(self, node: ast.expr | None) -> Any:
        """What an expression comes to, or Unknown."""
        try:
            return self._constant(node)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            return Unknown(ast.unparse(node) if node else "")

    def _constant(self, node: ast.expr | None) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._constant(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return _SUMS[type(op)](self._constant(left), self._constant(right))
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return [self._constant(each) for each in parts]
            case ast.Dict(keys=keys, values=values):
                return {self._constant(key): self._constant(each) for key, each in zip(keys, values, strict=True)}
            case ast.Call(func=func):
                return self._made(node, ast.unparse(func).rpartition(".")[2])
            case ast.Lambda(body=body):
                return self._constant(body)
            case ast.Name() | ast.Attribute():
                return self._named(node)
        raise LookupError

    def _named(self, node: ast.Name | ast.Attribute) -> Any:
        place = self.lookup(node)
        if place and place.value:
            return place.module._constant(place.value)
        if isinstance(node, ast.Attribute) and (owner := self.lookup(node.value)):
            if not isinstance(owner.node, ast.ClassDef):
                raise LookupError
            if is_enum(owner):
                return member(node.attr, dict(members(owner)))
            return default(owner.module.fields(owner.node)[node.attr])
        raise LookupError

    def _made(self, call: ast.Call, name: str) -> Any:
        """What `Field(...)`, `field(...)`, `get_field(CLASS, NAME)` or a factory makes."""
        if name == "get_field":
            owner, field = self.lookup(call.args[0]), self._constant(call.args[1])
            if owner is None or not isinstance(owner.node, ast.ClassDef):
                raise LookupError
            return default(owner.module.fields(owner.node)[field])
        if name not in ("Field", "field"):
            raise LookupError
        given = {each.arg: each.value for each in call.keywords}
        if "default_factory" in given:
            factory = given["default_factory"]
            return self._constant(factory) if isinstance(factory, ast.Lambda) else None
        value = given.get("default", call.args[0] if call.args else None)
        return self._constant(value) if value else None


def default(field: Field) -> Any:
    """The default of a field; None where it has none, or an object of a class."""
    value = field.node.value
    if value is None or (isinstance(value, ast.Constant) and value.value is ...):
        return None
    return field.place.module.constant(value)


def is_enum(place: Place) -> bool:
    """Whether a class is an enumeration."""
    bases = place.node.bases if isinstance(place.node, ast.ClassDef) else []
    return any(ast.unparse(base).rpartition(".")[2].endswith(("Enum", "Flag")) for base in bases)


def members(place: Place) -> Iterator[tuple[str, Any]]:
    """Names and values of an enumeration."""
    assert isinstance(place.node, ast.ClassDef)
    for node in place.node.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, place.module.constant(node.value)


def member(name: str, known: Mapping[str, Any]) -> Any:
    """A member of an enumeration as it is typed: its value, or its name where values are no words or are paths."""
    words = all(isinstance(each, str | int) and "." not in str(each) for each in known.values())
    return known[name] if words else name


def _statements(body: list[ast.stmt], *, typing: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """All statements of a module that are not in a function or class, and whether only type checkers see them."""
    for node in body:
        if isinstance(node, ast.If):
            checked = "TYPE_CHECKING" in ast.unparse(node.test)
            yield from _statements(node.body, typing=typing or checked)
            yield from _statements(node.orelse, typing=typing)
        elif isinstance(node, ast.Try):
            yield from _statements([*node.body, *node.orelse], typing=typing)
        else:
            yield node, typing


def _defined(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (each.id for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (each.asname or each.name for each in names)


def _of_class(node: ast.AnnAssign) -> bool:
    """Whether an annotated name of a class is no field."""
    return ast.unparse(node.annotation).startswith(("ClassVar", "InitVar"))


def _text(node: ast.AST | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
    return ""
