"""The flags of `vllm serve`, by following what its parser's set-up does: vllm/entrypoints/cli/serve.py and on.

The set-up is plain Python that fills dictionaries and hands them to `add_argument`; the few kinds of statements
that it has are carried out here. What is not understood leaves a flag without choices or default, never with a
wrong name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scripts.vllm_flags.annotations import argument, hints
from scripts.vllm_flags.source import Field, Module, Place, Source, Unknown
from sparkrig.serving.flags import Flag, Takes

_SERVE = "vllm.entrypoints.cli.serve"
_TYPES: Mapping[str, Takes] = {"int": "whole number", "float": "number", "str": "text"}
_ACTIONS: Mapping[str, Takes] = {"BooleanOptionalAction": "switch", "store_true": "switch on", "append": "text"}
# What no annotation has, in some versions at least. Plugins may register more, so other words are taken, too
_REGISTRIES = {
    "tool-call-parser": ("vllm.tool_parsers", "_TOOL_PARSERS_TO_REGISTER"),
    "reasoning-parser": ("vllm.reasoning", "_REASONING_PARSERS_TO_REGISTER"),
    "load-format": ("vllm.model_executor.model_loader", "LoadFormats"),
}
# one flag of each part of the set-up: without it that part was not followed
_SURE = ("port", "chat-template", "headless", "gpu-memory-utilization", "enable-log-requests", "disable-log-stats")
_QUANTIZATION = "vllm.model_executor.layers.quantization"
# Of the flag itself, not of one of its values or of another flag
_CALLED = re.compile(r"(?i)^\W*deprecated\b|^(?:this \w+|[\w-]+(?: \(\S+\))?) (?:is|has been) (?:now )?deprecated")
_LONGEST = 160  # of a note: what is longer explains more than the deprecation


def flags(source: Source) -> dict[str, Flag]:
    """All flags of `vllm serve` by their names without dashes; a field of a JSON object is `NAME.field`."""
    module = source.needed(_SERVE)
    set_up = next(
        (each for each in _functions(module) if each.name == "subparser_init"),
        None,
    )
    if set_up is None:
        raise ValueError(f"{module.path}: no subparser_init, which adds the flags of `vllm serve`")
    run = _Run(source)
    run.body(module, set_up.body, {})
    if absent := [name for name in _SURE if name not in run.found]:
        raise ValueError(f"{module.path}: no --{absent[0]}, expected in every vLLM: the set-up is another one now")
    made = {name: _flag(name, found) for name, found in run.found.items()}
    for name, found in [*run.found.items()]:
        made |= _fields(name, found)
    for name, registry in _REGISTRIES.items():
        if name in made:
            made[name] = replace(made[name], values=_words(source, *registry), open=True)
    if "quantization" in made:
        refused = _words(source, _QUANTIZATION, "DEPRECATED_QUANTIZATION_METHODS")
        made["quantization"] = replace(made["quantization"], deprecated_values=refused)
    return dict(sorted(made.items()))


def opposites(source: Source) -> bool:
    """Whether a switch `--enable-X` has `--disable-X` as its opposite, and the other way round."""
    return "class EnableDisableAction" in source.files.get("vllm/utils/argparse_utils.py", "")


def _functions(module: Module) -> Iterator[ast.FunctionDef]:
    tree = ast.parse(module.source.files[module.path])
    return (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))


def _words(source: Source, module: str, name: str) -> tuple[str, ...]:
    """The keys of a dictionary of a module, or the words of a list or Literal; none where it is not there."""
    found = source.module(module)
    place = found.find(name) if found else None
    match place.value if place else None:
        case ast.Dict(keys=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return tuple(sorted(str(each.value) for each in parts if isinstance(each, ast.Constant)))
        case ast.Subscript() as literal if place:
            return tuple(sorted(map(str, hints(place.module, literal).values)))
    return ()


@dataclass
class _Run:
    """The set-up of a parser as it is carried out. found: the arguments that it added, by their names."""

    source: Source
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    owner: Place | None = None

    def body(self, module: Module, body: list[ast.stmt], names: dict[str, Any]) -> None:
        """Carry out statements. names: the local variables so far."""
        for node in body:
            self._statement(module, node, names)

    def _statement(self, module: Module, node: ast.stmt, names: dict[str, Any]) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names[name] = self._value(module, value, names)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self._set(module, target, self._value(module, value, names, key=_key(target)), names)
            case ast.AugAssign(target=ast.Subscript() as target):
                self._set(module, target, None, names)
            case ast.Delete(targets=[ast.Subscript() as target]):
                self._set(module, target, None, names)
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                self._value(module, value, names)
            case ast.If(body=body, orelse=orelse):
                self.body(module, [*body, *orelse], names)
            case ast.For():
                self._for(module, node, names)

    def _for(self, module: Module, node: ast.For, names: dict[str, Any]) -> None:
        """`for key, value in DICTIONARY.items()`, as all fields of a config class are added."""
        match node.target, node.iter:
            case ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]), ast.Call(
                func=ast.Attribute(value=items, attr="items")
            ):
                found = self._value(module, items, names)
                for each in [*found] if isinstance(found, dict) else []:
                    self.body(module, node.body, {**names, key: each, value: found[each]})

    def _set(self, module: Module, target: ast.Subscript, value: Any, names: dict[str, Any]) -> None:
        """Change what is handed to argparse: `kwargs[FIELD][KEY] = value`, or without it."""
        found, key = self._value(module, target.value, names), _key(target)
        if not isinstance(found, dict):
            return
        if key == "choices" and value is None:
            found["open"] = True  # more of them are added
        elif key == "nargs" and value is None:
            found["takes"] = "text" if found["takes"] == "texts" else found["takes"]
        elif value is not None:
            found |= _given({key: value})

    def _value(self, module: Module, node: ast.expr, names: dict[str, Any], key: str = "") -> Any:
        match node:
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Subscript(value=outer) if isinstance(found := self._value(module, outer, names), dict):
                return found.get(_key(node), Unknown(ast.unparse(node)))
            case ast.Call():
                return self._call(module, node, names)
            case ast.Dict():
                return self._merged(module, node, names)
            case ast.BinOp(left=ast.List() as left, op=ast.Add()) if key == "choices":
                return [*module.constant(left), ...]
            case ast.JoinedStr():
                return self._name(node, names)
        return module.constant(node)

    def _merged(self, module: Module, node: ast.Dict, names: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            found = self._value(module, value, names)
            if key is None:
                made |= found if isinstance(found, dict) else {}
            elif isinstance(key, ast.Constant):
                made |= _given({str(key.value): found})
        return made

    def _name(self, node: ast.JoinedStr, names: dict[str, Any]) -> Any:
        """`f"--{key.replace('_', '-')}"`, the name of a flag for that of a field."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(names.get(part.id), str):
                return "--" + names[part.id].replace("_", "-")
        return Unknown(ast.unparse(node))

    def _call(self, module: Module, node: ast.Call, names: dict[str, Any]) -> Any:
        called = ast.unparse(node.func).rpartition(".")[2]
        if called == "add_argument":
            return self._add(module, node, names)
        if called == "get_kwargs":
            return self._kwargs(module, node.args[0])
        if called == "get_args":
            return hints(module, node.args[0]).values or Unknown(ast.unparse(node))
        if called == "remove" and isinstance(node.func, ast.Attribute):
            found, gone = self._value(module, node.func.value, names), module.constant(node.args[0])
            if isinstance(found, list) and gone in found:
                found.remove(gone)
            return None
        return self._function(module, node, names, called)

    def _function(self, module: Module, node: ast.Call, names: dict[str, Any], called: str) -> Any:
        """A call of vLLM's own function or method; what it is given as its last argument is what it returns."""
        given = [self._value(module, each, names) for each in node.args if not isinstance(each, ast.Starred)]
        if called == "_customize_cli_kwargs" and self.owner:
            bases = self._bases(self.owner) if _of(node) == "cls" else []  # else super(), which came before
            for place in reversed(bases):
                self._enter(place, _method(place, called), given)
        elif called == "add_cli_args" and isinstance(node.func, ast.Attribute):
            self._add_cli_args(module, node.func.value, given)
        elif called == "make_arg_parser":
            made = module.lookup(node.func)
            if made and isinstance(made.node, ast.FunctionDef):
                self._enter(made, made.node, given)
        else:
            return Unknown(ast.unparse(node))
        return given[-1] if given else None

    def _add_cli_args(self, module: Module, of: ast.expr, given: list[Any]) -> None:
        owner = module.lookup(of)
        if owner is None:
            raise ValueError(f"{module.path}: {ast.unparse(of)} is not found, which adds flags")
        for place in self._bases(owner):
            if method := _method(place, "add_cli_args"):
                before, self.owner = self.owner, owner
                self._enter(place, method, given)
                self.owner = before
                return

    def _bases(self, place: Place) -> list[Place]:
        return place.module.bases(place.node) if isinstance(place.node, ast.ClassDef) else []

    def _enter(self, place: Place, function: ast.FunctionDef | None, given: list[Any]) -> None:
        if function is None:
            return
        names = [each.arg for each in function.args.args if each.arg not in ("self", "cls")]
        self.body(place.module, function.body, dict(zip(names, given, strict=False)))

    def _kwargs(self, module: Module, of: ast.expr) -> dict[str, Any]:
        """`get_kwargs(CLASS)`: what argparse is given for each field."""
        is_own = isinstance(of, ast.Name) and of.id == "cls"
        place = self.owner if is_own else module.lookup(of)
        if place is None or not isinstance(place.node, ast.ClassDef):
            raise ValueError(f"{module.path}: {ast.unparse(of)} is no class of vLLM, and flags are made of it")
        return {name: argument(each) for name, each in place.module.fields(place.node).items()}

    def _add(self, module: Module, node: ast.Call, names: dict[str, Any]) -> None:
        words = [self._value(module, each, names) for each in node.args if not isinstance(each, ast.Starred)]
        written = [each for each in words if isinstance(each, str) and each.startswith("-")]
        if not written:
            return
        made: dict[str, Any] = {}
        for each in node.keywords:
            value = self._value(module, each.value, names, key=each.arg or "")
            made |= value if each.arg is None and isinstance(value, dict) else _given({each.arg: value})
        first = next((each for each in written if each.startswith("--")), written[0])
        also = [each.removeprefix("--") for each in written if each != first]
        self.found[first.removeprefix("--")] = {**made, "also": also}


def _given(words: Mapping[str | None, Any]) -> dict[str, Any]:
    """What a keyword of `add_argument` means for a flag."""
    ((key, value),) = words.items()
    text = str(value).strip("<>")
    match key:
        case "default" | "help" | "deprecated":
            return {key: value}
        case "choices" if isinstance(value, list):
            known = [str(each) for each in value if each is not ... and each is not None]
            return {"choices": known, "open": ... in value}
        case "action":
            taken = _ACTIONS.get(text.rpartition(".")[2])
            return {"takes": taken} if taken else {}
        case "type":
            word = next((kind for name, kind in _TYPES.items() if text == name), None)
            return {"takes": "json"} if "json.loads" in text else {"takes": word} if word else {}
        case "nargs":
            return {"takes": {"+": "texts", "*": "texts", "?": "switch or text"}.get(text, "text")}
    return {}


def _flag(name: str, found: Mapping[str, Any]) -> Flag:
    takes = found.get("takes", "text")
    return Flag(
        name=name,
        takes=takes,
        also=tuple(sorted(found.get("also", ()))),
        default=_default(found.get("default"), takes),
        values=tuple(sorted({*found.get("choices", ())})),
        open=bool(found.get("open")),
        deprecated=_deprecated(found),
    )


def _fields(name: str, found: Mapping[str, Any]) -> dict[str, Flag]:
    """The fields of the JSON object that a flag takes; vLLM refuses any other."""
    place = found.get("made")
    if place is None:
        return {}
    fields = [each for each in place.module.fields(place.node).values() if _given_by_user(each)]
    return {f"{name}.{each.name}": _flag(f"{name}.{each.name}", argument(each)) for each in fields}


def _given_by_user(made: Field) -> bool:
    """Whether a field of a config class is set from outside."""
    value = ast.unparse(made.node.value) if made.node.value else ""
    return not made.name.startswith("_") and "init=False" not in value


def _default(value: Any, takes: str) -> Any:
    """A default as YAML can hold it: nothing for None, for an empty list and for a switch that is off."""
    if isinstance(value, Unknown):
        return None if value.text.endswith("SUPPRESS") else str(value)
    if isinstance(value, dict) or (isinstance(value, list) and not value):
        return None if not value else f"<{value}>"
    return None if value == "" or (value is False and takes.startswith("switch")) else value


def _deprecated(found: Mapping[str, Any]) -> str:
    """The sentence in which vLLM calls a flag deprecated, empty where it does not."""
    if found.get("deprecated") is True:
        return "deprecated"
    text = str(found.get("help") or "")
    sentences = re.split(r"(?<=[.!])\s+", text)
    for number, sentence in enumerate(sentences):
        if _CALLED.search(sentence):
            more = sentences[number + 1] if number + 1 < len(sentences) else ""
            both = f"{sentence} {more}" if re.search(r"(?i)removed in|use ", more) else sentence
            return both if len(both) <= _LONGEST else sentence
    return ""


def _key(node: ast.Subscript) -> str:
    return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""


def _of(node: ast.Call) -> str:
    return ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""


def _method(place: Place, name: str) -> ast.FunctionDef | None:
    body = place.node.body if isinstance(place.node, ast.ClassDef) else []
    return next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == name), None)
