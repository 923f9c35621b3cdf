"""What of a recipe is served here: one launch with its image and environment, and nothing that strangers run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from sparkrig.cure import with_setting
from sparkrig.parsing import hub, safe_yaml
from sparkrig.redaction.forms import shows_a_secret
from sparkrig.refusal import Refusal
from sparkrig.serving import arguments, draft, engines, launch, launch_text, layout, recipe, runtimes
from sparkrig.serving.arguments import Value
from sparkrig.serving.launch import Unreadable
from sparkrig.serving.launches import documents
from sparkrig.serving.model import Launch, Nodes, Scalar
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.runtimes.runtime import Runtime
from sparkrig.settings import Settings

CHARS = 262_144  # of a file; the largest that is published has 0.03 MB
_MOST = 8  # Sparks of one cluster
_PAIR = 2
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MEND = "take it out of a copy of the recipe, if the image does without"
_OURS = ("VLLM_HOST_IP",)  # which start.sh sets on each node
_LOCAL_IMAGES: Mapping[str, Any] = safe_yaml.load(
    (Path(__file__).parents[1] / "models" / "vllm" / "local_images.yaml").read_text(encoding="utf-8"),
    safe_yaml.FAST,
)
# how a model is spread besides tensor and pipeline parallelism, which alone this deploy sets up between Sparks
_SPREAD = ("data-parallel-size", "prefill-context-parallel-size")
# variables whose value a shell or an interpreter runs by itself, with no consent by serve_mods: bash(1), dash(1),
# perlrun(1), ruby(1), https://nodejs.org/api/cli.html, https://docs.python.org/3/library/webbrowser.html
_RUN = frozenset(
    ("BASH_ENV", "ENV", "PS4", "PROMPT_COMMAND", "PERL5OPT", "PERL5DB", "RUBYOPT", "NODE_OPTIONS", "BROWSER")
)
_NODES: tuple[Nodes, ...] = get_args(Nodes)


def read(text: str, variant: str = "") -> Recipe:
    """The recipe in a file, if it can be served here. variant: of vllm-project's format. Raises Refusal."""
    try:
        if len(text) > CHARS:
            raise Unreadable(f"the recipe has {len(text):,} characters, at most {CHARS:,} expected")
        document: Any = next(iter(documents.load(text)), {})
        if not recipe.is_one(document):
            raise Unreadable("the file is no recipe: a command, or a model with variants, is expected")
        found = recipe.of(document, variant)
        served, called = runtimes.RUNTIMES.get(found.engine), engines.name(found.engine)
        more = launch_text.others(found.command(), served.id) if served else []
    except Unreadable as error:
        raise Refusal(
            str(error),
            "sparkrig docs serving#recipes, for the forms that are taken; any other launch: sparkrig lint FILE",
        ) from None
    if served is None:
        raise Refusal(f"{found.source} is for {called}, which deploys/serve.py does not start", "another recipe")
    if served is not runtimes.VLLM and not document.get("command"):
        raise Refusal(f"{found.source} is for {called}, and has no command of its own", "another recipe")
    if found.steps and engine(found).file:
        raise Refusal(f"{found.source} runs more in its container, and an image of {called} has no Python", _MEND)
    if more:
        raise Refusal(
            f"{found.source} starts more than {called} ({', '.join(more[:3])}), which is not run here", _MEND
        )
    return found


def engine(found: Recipe) -> Runtime:
    """What serves it; `read` refused what is not served here."""
    return runtimes.RUNTIMES[found.engine]


def sparks(found: Recipe, mine: Settings, there: int) -> Nodes:
    """How many Sparks share it. there: hosts that could. Raises Refusal."""
    wanted, most = mine.serve_nodes or max(found.fewest, _wanted(found, there)), min(_MOST, max(there, _PAIR))
    nodes = next((each for each in _NODES if each == wanted), None)
    if nodes is None or wanted > most or (found.most and wanted > found.most):
        fitting = f"{found.fewest} to {found.most}" if found.most else f"{wanted}"
        raise Refusal(
            f"{found.source} is for {fitting} Sparks, and this deploy would serve it with {min(wanted, most)}",
            with_setting("serve_nodes", most, " or fewer"),
        )
    return nodes


def _wanted(found: Recipe, there: int) -> int:
    """As many as share it; one where the host is on its own, as the launchers of such recipes do."""
    wanted = found.sparks or _written(found)
    return min(wanted, there) if wanted <= _PAIR else wanted


def _written(found: Recipe) -> int:
    """For how many its command is written out; one where it does not tell, or cannot be read."""
    try:
        (one,) = launch_text.of_recipe(found, found.command())
    except ValueError:
        return 1
    return (one.whole_number(layout.TENSOR, 1) or 1) * (one.whole_number(layout.STAGES, 1) or 1)


def launched(found: Recipe, nodes: Nodes, mine: Settings) -> Launch:
    """Its launch in the form of the catalogue's. Raises Refusal."""
    other = {"tensor_parallel": str(max(1, nodes // found.stages))} if "tensor_parallel" in found.values else {}
    try:
        (one,) = launch_text.of_recipe(found, found.command(**other))
    except Unreadable as error:
        raise _unfit(found, str(error)) from None
    except ValueError:
        raise Refusal(f"{found.source} starts more than one server", _MEND) from None
    flags: dict[str, Scalar | dict[str, Scalar]] = dict(_flags(found, one, mine))
    _judge(found, one, flags, nodes)
    try:
        return Launch(
            title=found.source,
            checkpoint=_model(found, one),
            nodes=nodes,
            image=image(found),
            flags=flags,
            environment=_environment(found, one),
            source="recipe",
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _unfit(found, f"{where}: {first['msg']}") from None


def image(found: Recipe) -> str:
    """The image as it is asked for: what a registry has in the place of a name on a host, if anything."""
    row = _LOCAL_IMAGES.get(found.image)
    return row["image"] if row and not found.built else found.image


def notes(found: Recipe, mine: Settings) -> Iterator[str]:
    """What a person should know of it, in sentences. mine: with the image that is asked for, if one is."""
    yield from (f"{found.source}: {each}" for each in found.told)
    if mine.serve_image or not found.image or "/" in found.image:
        return
    if (pulled := image(found)) != found.image:
        yield (
            f"{found.image} of {found.source} is a name on a host, and {pulled} is pulled in its place, as it was "
            f"seen to serve on {_LOCAL_IMAGES[found.image]['day']}; serve_image={found.image} takes the host's own"
        )
    else:
        yield f"{found.image} of {found.source} is in no registry: it has to be on the first host already"


def _unfit(found: Recipe, why: str) -> Refusal:
    """Of what a copy of the recipe may do without."""
    return Refusal(f"{found.source}: {why}", _MEND)


def _model(found: Recipe, one: launch.Launch) -> str:
    if engine(found).file:  # the command names a file, and `model` what it was made of
        return found.model or one.model
    typed = next(iter(one.places), "")  # by its own name, where it is a folder of the hub's cache
    if typed.startswith("/"):  # a folder of its author's host, under which `model` is mounted there
        if hub.CHECKPOINT.fits(found.model):
            return found.model
        raise Refusal(
            f"{found.source} serves the folder {typed}, and names no checkpoint OWNER/NAME for it",
            "name it as model in a copy of the recipe",
        )
    if found.model and typed and found.model.lower() != typed.lower():
        raise Refusal(f"{found.source} names {found.model}, and its command serves {typed}", "mend one of them")
    return typed or found.model


def _flags(found: Recipe, one: launch.Launch, mine: Settings) -> Iterator[tuple[str, Scalar]]:
    """Flags as the catalogue has them; an object of JSON as the text that it is."""
    own = engine(found)
    decided = {own.names, *own.whole(mine.serve_flags)}  # settings have these
    if mine.serve_draft == draft.NONE:
        decided.add(draft.SPECULATION)
    for typed, value in draft.mounted(one.flags, lambda told: _draft(found, mine, told)).items():
        name = own.aliases.get(typed, typed)
        if name in decided:
            continue
        text = _value(value)
        if text is None:
            raise _unfit(found, f"--{name} has several values, which this deploy does not hand on")
        if isinstance(text, str) and (_CONTROL.search(text) or "$" in text):
            raise _unfit(found, f"--{name} has a value that is left open, or is not on one line")
        yield name, text


def _draft(found: Recipe, mine: Settings, told: str) -> str:
    """OWNER/NAME of the model that drafts, as the command has it. Raises Refusal."""
    named = found.draft if told.startswith("/") and found.draft else told
    if mine.serve_draft or hub.CHECKPOINT.fits(named):
        return named
    raise Refusal(
        f"{found.source} drafts with {told}, a folder of its author's host",
        with_setting("serve_draft", "OWNER/NAME", ", or serve_draft=none"),
    )


def _value(value: Value) -> Scalar | None:
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return json.dumps(dict(value), separators=(",", ":"))
    return str(value[0]) if len(value) == 1 else None


def _judge(found: Recipe, one: launch.Launch, flags: Mapping[str, Any], nodes: Nodes) -> None:
    if one.container and one.container.image != found.image:
        raise _unfit(found, "its command starts a container of its own, which is not run here")
    if found.image and not hub.IMAGE.fits(found.image):
        raise _unfit(found, f"{found.image[:60]!r} is no name of an image")
    if one.extra or one.broken:
        raise _unfit(found, f"`{(*one.extra, *one.broken)[0]}` belongs to no flag, or is no JSON")
    for name, value in flags.items():
        if shows_a_secret(name, value):
            raise _unfit(found, f"--{name} would show a secret in the list of processes")
    spreads = _SPREAD if engine(found) is runtimes.VLLM else (layout.STAGES, *_SPREAD)
    spread = next((name for name in spreads if str(flags.get(name, 1)) != "1"), None)
    if spread:
        raise _unfit(found, f"--{spread} is more than 1, and Sparks share a model by tensors here")
    stages = arguments.whole_number(str(flags.get(layout.STAGES, 1)))
    if not stages or stages < 1 or nodes % stages:
        raise Refusal(
            f"{found.source}: --{layout.STAGES} is {flags[layout.STAGES]}, and that does not divide the {nodes} "
            f"Spark{'s' * (nodes > 1)} that would serve it",
            with_setting("serve_nodes", "NUMBER", ", a multiple of it"),
        )
    share = flags.get("gpu-memory-utilization", "0.9")
    if not re.fullmatch(r"0?\.\d+|1(\.0+)?", str(share)):
        raise _unfit(found, f"--gpu-memory-utilization is {share}, a share of the memory expected")


def _environment(found: Recipe, one: launch.Launch) -> dict[str, str]:
    """Of the recipe, and what its command sets for itself, but for what start.sh sets on each node."""
    own = {name: value or "$" for name, value in one.environment.items() if name not in _OURS}
    variables = {**found.environment, **own}
    for name, value in variables.items():
        if name in _RUN:
            raise Refusal(f"{found.source}: {name} has a program of its own run in the container", _MEND)
        if shows_a_secret(name, value):
            raise _unfit(found, f"{name} is a secret; name its source under secrets instead")
        if "$" in value or _CONTROL.search(value):
            raise _unfit(found, f"{name} takes a value of another machine, or is not on one line")
    return variables
