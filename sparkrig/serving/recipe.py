"""A recipe that others published, as plain data: nothing of it is run, and no variable from here gets into it.

Three formats, read 2026-11-29 from their own documentation and code: eugr/spark-vllm-docker (recipe_version "1":
run-recipe.py, build-and-copy.sh), sparkrun of spark-arena (recipe_version "2", and the "3" and "4" of recipes that
it takes, too: RECIPES.md), and vllm-project/recipes (CLAUDE.md, src/lib/command-synthesis.js).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkrig.serving import engines
from sparkrig.serving.launch import Unreadable
from sparkrig.serving.steps import Step

SPARK = "dgx_spark_gb10"  # vllm-project's name for it (taxonomy.yaml)
_GENERATION = ("blackwell", "nvidia", "default")  # of which the first holds, as its builder has it
_CUDA = ("cu130", "cu129")  # of a table of images, the first as its builder takes it
# what they run once the server answers, in its container or on the machine that they are typed on
_AFTER = ("post_exec", "post_commands")
# options of build-and-copy.sh with which it takes the image that its makers built, instead of building one
_PULLED = frozenset({"--tf5", "--pre-tf", "--pre-transformers", "--exp-b12x", "--experimental-b12x"})
# the names that sparkrun's defaults have for flags of another name; `-` for `_` makes all others
_NAMES = {
    "tensor_parallel": "tensor-parallel-size",
    "pipeline_parallel": "pipeline-parallel-size",
    "data_parallel": "data-parallel-size",
}
# by a name of defaults, of which some have dashes
_HOLES = re.compile(r"\{\{|\}\}|\{([\w-]+)\}")
_NAMED = re.compile(r"\{([\w-]+)\}")
_FOLDER = re.compile(r"[A-Za-z0-9_][\w.-]*(?:/[A-Za-z0-9_][\w.-]*)*")  # of a mod, so neither hidden nor `..`
_SPARK_GB = 128
_ROUNDS = 4  # a value may name another one
_LONG = 10_000  # characters of one value
COMMAND_CHARS = 65_536  # of a command with its values


@dataclass(frozen=True)
class Recipe:
    """One recipe.

    source: in words; engine: its id; model: as it is named, empty where the command alone has it; image:
    empty where none is named; template: the command with `{name}` for values; values: by those names; environment:
    of the container; fewest, most: Sparks, None for any number; steps: what its authors run in the container
    before the server, a mod without its files; built: whether its image is built with options of its own;
    draft: the model that drafts for it, as a field names it; revision: of the model, empty for any; told: what
    else a person should know, in sentences.
    """

    source: str
    engine: str
    model: str
    image: str
    template: str
    values: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    fewest: int = 1
    most: int | None = None
    steps: tuple[Step, ...] = ()
    built: bool = False
    draft: str = ""
    revision: str = ""
    told: tuple[str, ...] = ()

    def command(self, **other: str) -> str:
        """The command with its values, or others; `${name}` for what has none."""
        values = {**self.values, **other}
        doubled = "{{" in self.template  # as str.format wants a brace that is none of its own

        def value(found: re.Match[str]) -> str:
            if found[1]:
                return _value(found[1], values)
            return found[0][0] if doubled else found[0]

        made, begin, length = [], 0, 0
        for hole in _HOLES.finditer(self.template):
            made += [self.template[begin : hole.start()], value(hole)]
            begin, length = hole.end(), length + len(made[-2]) + len(made[-1])
            if length > COMMAND_CHARS:
                raise Unreadable(f"its command has more than {COMMAND_CHARS:,} characters")
        return "".join([*made, self.template[begin:]])

    @property
    def sparks(self) -> int | None:
        """How many it is written for: one a rank of each stage. None where it does not tell."""
        tensor = _size(self.values.get("tensor_parallel", ""))
        return tensor * self.stages if tensor else None

    @property
    def stages(self) -> int:
        """Stages of a pipeline that it is written for."""
        return _size(self.values.get("pipeline_parallel", "")) or 1


def _size(told: str) -> int | None:
    return int(told) if told.isdecimal() and len(told) < 4 else None


def is_one(document: Any) -> bool:
    """Whether data of a YAML file is a recipe, and no file for `vllm serve --config`."""
    if not isinstance(document, dict):
        return False
    marks = {"recipe_version", "sparkrun_version", "runtime", "container"} & {*document}
    return isinstance(document.get("command"), str) or bool(marks) or _is_project_s(document)


def of(document: Mapping[str, Any], variant: str = "") -> Recipe:
    """The recipe in the data of a YAML file. Raises Unreadable.

    variant: of vllm-project's; empty for the one that is made for a Spark, else the default one.
    """
    if _is_project_s(document):
        return _project_s(document, variant)
    if variant:
        raise Unreadable(f"the recipe has no variants, and {variant} is asked for")
    return _sparkrun_s(document)


def _value(name: str, values: Mapping[str, str]) -> str:
    text = values.get(name)
    for _ in range(_ROUNDS):
        if text is None:
            break
        text = _NAMED.sub(lambda found: values.get(found[1], found[0]), text)
        if len(text) > _LONG:
            raise Unreadable(f"{name} of the recipe is longer than {_LONG:,} characters")
    return f"${{{name}}}" if text is None else text


# --- eugr's and sparkrun's


def _sparkrun_s(document: Mapping[str, Any]) -> Recipe:
    defaults, variables = (document.get(name) or {} for name in ("defaults", "env"))
    if not isinstance(defaults, dict) or not isinstance(variables, dict):
        raise Unreadable("defaults and env of the recipe are no names with values")
    model = _text(document, "model")
    if not {"command", "defaults", "recipe_version", "container"} & {*document}:
        raise Unreadable("the recipe has neither command nor defaults, so that another tool makes its launch")
    command = _text(document, "command") or _built(model, defaults)
    values = {str(name): _plain(each) for name, each in defaults.items()}
    fewest, most = _sparks(document)
    return Recipe(
        source=f"recipe {_text(document, 'name')}".rstrip(),
        engine=_engine(document, command),
        model=model,
        image=_text(document, "container"),
        template=command,
        values={"model": model, **values} if model else values,
        environment={str(name): _plain(each) for name, each in variables.items()},
        fewest=fewest,
        most=most,
        steps=tuple(_steps(document, {"model": model, **values})),
        built=not {*map(_plain, _list(document.get("build_args")))} <= _PULLED,
        draft=_text(document, "draft_model"),
        revision=_text(document, "model_revision"),
        told=tuple(_told(document)),
    )


def _engine(document: Mapping[str, Any], command: str) -> str:
    runtime = _text(document, "runtime")
    typed = engines.served(command.split())
    found = engines.of_runtime(runtime) or (typed.engine if typed else "")
    if runtime and not found and "vllm" not in runtime.lower() and not document.get("command"):
        raise Unreadable(f"the recipe is for {runtime}, which is no engine that is known, and has no command")
    return found or engines.VLLM


def _built(model: str, defaults: Mapping[str, Any]) -> str:
    """The command of a recipe that has none: sparkrun makes it out of its defaults."""
    if not model:
        raise Unreadable("the recipe has neither a command nor a model")
    words = ["vllm", "serve", model]
    for name, value in defaults.items():
        flag = f"--{_NAMES.get(str(name), str(name).replace('_', '-'))}"
        if value is not False and value is not None:
            words += [flag] if value is True else [flag, _plain(value)]
    return shlex.join(words)


def _sparks(document: Mapping[str, Any]) -> tuple[int, int | None]:
    """The fewest and the most that it runs on."""
    if document.get("solo_only") is True or document.get("mode") == "solo":
        return 1, 1
    fewest, most = _whole(document.get("min_nodes")), _whole(document.get("max_nodes"))
    alone = 2 if document.get("cluster_only") is True or document.get("mode") == "cluster" else 1
    return max(alone, fewest or 1), most


def _steps(document: Mapping[str, Any], values: Mapping[str, str]) -> Iterator[Step]:
    """In the order in which its launchers run them: sparkrun puts the mods behind the commands."""
    for number, each in enumerate(_list(document.get("pre_exec")), 1):
        if not isinstance(each, str):
            raise Unreadable("its pre_exec copies files of its author's machine, which are not here")
        # a brace of a shell is none of its own
        command = _NAMED.sub(lambda found: _value(found[1], values) if found[1] in values else found[0], each)
        if not command.strip() or "\0" in command:
            raise Unreadable("a command of its pre_exec is empty, or has a character that ends it for a shell")
        if len(command) > COMMAND_CHARS:
            raise Unreadable(f"a command of its pre_exec has more than {COMMAND_CHARS:,} characters")
        yield Step(f"pre_exec {number}", command)
    for each in _list(document.get("mods")):
        if not isinstance(each, str) or not _FOLDER.fullmatch(each):
            raise Unreadable("one of its mods is no path of a folder")
        yield Step(each)


def _told(document: Mapping[str, Any]) -> Iterator[str]:
    built = [each for each in map(_plain, _list(document.get("build_args"))) if each not in _PULLED]
    if built:
        yield f"its image is built with {' '.join(built)}, which is not done here"
    elif document.get("builder") and "/" in _text(document, "container"):
        yield f"its builder {_plain(document['builder'])} is not run: the image is pulled"
    for name in (each for each in _AFTER if document.get(each)):
        yield f"its {name}, which is run once the server answers, is left out: the trial asks the server"
    if document.get("executor_config"):
        yield "its executor_config, options of docker, is left out"


# --- vllm-project's


def _is_project_s(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("model"), dict) and isinstance(document.get("variants"), dict)


def _project_s(document: Mapping[str, Any], variant: str) -> Recipe:
    """Parts that its builder joins: the model, a variant, what holds for a Spark, and what is on by default."""
    model, variants = document["model"], document["variants"]
    name = variant or _chosen(variants)
    taken = variants.get(name)
    if not isinstance(taken, dict):
        raise Unreadable(f"the recipe has no variant {name}: {', '.join(map(str, variants))}")
    own = _keyed(taken.get("hardware_overrides"), SPARK)
    generation = [_keyed(each.get("hardware_overrides"), *_GENERATION) for each in (document, taken)]
    parts = [_part(model, "base_args", "base_env"), *(_part(each) for each in (taken, *generation, own))]
    words = [word for args, _ in parts for word in args] + [*_features(document, name, taken)]
    id = _text(taken, "model_id") or _text(model, "model_id")
    image = next(filter(None, (_image(each.get("docker_image")) for each in (own, taken, model))), "")
    if not id:
        raise Unreadable("the recipe has no model_id")
    return Recipe(
        source=f"recipe {id}, variant {name}",
        engine=engines.VLLM,
        model=id,
        image=image,
        template=shlex.join(["vllm", "serve", id, *words]).replace("{", "{{").replace("}", "}}"),
        environment={key: value for _, env in parts for key, value in env.items()},
        fewest=_needs(taken),
        told=tuple(_project_told(document, name)),
    )


def _chosen(variants: Mapping[str, Any]) -> str:
    """The variant that has something of its own for a Spark, else one that fits: on one, or else on two.

    The default one is tried first.
    """
    given = {str(name): each for name, each in variants.items() if isinstance(each, dict)}
    for name, each in given.items():
        overrides = each.get("hardware_overrides")
        if isinstance(overrides, dict) and SPARK in overrides:
            return name
    ordered = sorted(given, key=lambda name: name != "default")
    return next((name for sparks in (1, 2) for name in ordered if _needs(given[name]) <= sparks), "default")


def _needs(variant: Mapping[str, Any]) -> int:
    """How many Sparks hold a variant, by the least memory that it states; one where it states none."""
    gb = _whole(variant.get("vram_minimum_gb")) or 1
    return -(-gb // _SPARK_GB)


def _project_told(document: Mapping[str, Any], name: str) -> Iterator[str]:
    others = [str(each) for each in document["variants"] if each != name]
    if others:
        yield f"the variant is {name}; there are also {', '.join(others)} (recipe=FILE#VARIANT)"
    meta = document.get("meta")
    hardware = meta.get("hardware") if isinstance(meta, dict) else None
    if not isinstance(hardware, dict) or hardware.get(SPARK) != "verified":
        yield "its authors did not verify it on a Spark"
    needed = [
        each for each in _list(document.get("dependencies")) if isinstance(each, dict) and not each.get("optional")
    ]
    if needed:
        yield "it wants more installed in the image, which is not done here: " + "; ".join(
            _text(each, "note") or _text(each, "command") for each in needed
        )


def _features(document: Mapping[str, Any], name: str, variant: Mapping[str, Any]) -> Iterator[str]:
    """The flags of what is on by default, or by the variant of that name."""
    features, left_out = document.get("features"), _list(document.get("opt_in_features"))
    chosen = variant.get("default_modes")
    modes = chosen if isinstance(chosen, dict) else {}
    for key, each in features.items() if isinstance(features, dict) else ():
        if isinstance(each, dict) and (key not in left_out or key in modes):
            given = each.get("modes")
            part = (
                _mode(given, name, modes.get(key), each.get("default_mode")) if isinstance(given, dict) else each
            )
            by = _keyed(part.get("hardware_overrides"), SPARK, *_GENERATION)
            yield from map(_plain, _list(by.get("args", part.get("args"))))


def _mode(modes: Mapping[str, Any], variant: str, *wanted: Any) -> Mapping[str, Any]:
    """The one of several ways to have a feature that a variant can have. wanted: which, the first before all."""
    able = {
        key: each
        for key, each in modes.items()
        if isinstance(each, dict) and variant in (_list(each.get("variants")) or [variant])
    }
    key = next((key for key in (*wanted, *able) if isinstance(key, str) and key in able), "")
    return able.get(key, {})


def _part(
    given: Mapping[str, Any], args: str = "extra_args", env: str = "extra_env"
) -> tuple[list[str], dict[str, str]]:
    variables = given.get(env)
    pairs = variables.items() if isinstance(variables, dict) else ()
    return [*map(_plain, _list(given.get(args)))], {str(name): _plain(value) for name, value in pairs}


def _keyed(given: Any, *keys: str) -> Mapping[str, Any]:
    """What the first of these keys has in a table by hardware."""
    tables = (given.get(key) for key in keys) if isinstance(given, dict) else iter(())
    return next((table for table in tables if isinstance(table, dict)), {})


def _image(given: Any) -> str:
    found = given.get("nvidia", given) if isinstance(given, dict) else given
    if isinstance(found, dict):
        found = next((found[each] for each in _CUDA if each in found), None)
    return found if isinstance(found, str) else ""


# --- data


def _text(document: Mapping[str, Any], name: str) -> str:
    found = document.get(name)
    return found.strip() if isinstance(found, str) else ""


def _plain(value: Any) -> str:
    """A value as a command has it; Python itself refuses to write a number of more than 4300 digits."""
    try:
        made = json.dumps(value, separators=(",", ":"), default=str)
        return made if isinstance(value, dict | list) else str(value)
    except ValueError:
        raise Unreadable("a number of the recipe has more digits than a number has") from None


def _list(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list) else []


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6 else None
