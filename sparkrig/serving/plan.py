"""From a model of the catalogue and a host's settings to what serves it: container, unit, and the files of both.

Sources: [@nvidia-playbook, @eugr, @epappas, @capetron] (mounts, limits, both forms of a pair), [@docai-122b]
(caches worth keeping, the memory that is left). start.sh distinguishes Ray from vLLM's own multi-node mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

from sparkrig.cure import local, on_host, quoted, quoted_path, with_setting
from sparkrig.host import images
from sparkrig.host.images import Image
from sparkrig.parsing import hub
from sparkrig.refusal import Refusal
from sparkrig.serving import another, draft, launch_text, layout, parsers, recipe_launch, runtimes, served, sizing
from sparkrig.serving.budget import GIB, MOST_UTILIZATION, Use, budget, fewest_nodes
from sparkrig.serving.flags import Knowledge, Version
from sparkrig.serving.layout import Layout
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.lint.rule import Rule
from sparkrig.serving.model import IMAGE, Checkpoint, Launch, Model, Nodes, Scalar, hindrance
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.runtimes.runtime import Flags, Runtime
from sparkrig.serving.served import Serving
from sparkrig.serving.steps import agreed
from sparkrig.serving.unit_files import docker_words
from sparkrig.serving.wish import Sizing, Wish
from sparkrig.settings import Settings

Find = Callable[[str], Model | None]

# What NVIDIA's playbook takes [@nvidia-playbook]; vLLM's own default of 0.92 is for a GPU with memory of its own.
_SHARE = 0.8
_SPARE_GIB = 5.0  # that stay free on the disk of the weights
# An image of vLLM is about 20 GB, and its layers lie beside it while it is unpacked: our own reckoning.
_IMAGE_GIB = 30.0
_COPIES = 2  # `docker load` unpacks what it was given beside it
NODES: tuple[Nodes, ...] = get_args(Nodes)
_MACHINES = {"aarch64": "arm64", "x86_64": "amd64"}


def wish(find: Find, settings: Settings, sparks: int, recipe: Recipe | None = None) -> Wish:
    """What the settings, or a recipe, ask for. sparks: hosts that can share it. Raises Refusal."""
    if recipe is None and not settings.model:
        none = f"none as {settings.serve_name}" if settings.serve_name else "none"
        raise Refusal(
            f"no model is named, and this host serves {none} yet",
            with_setting("model", "NAME", "; sparkrig models"),
        )
    engine = recipe_launch.engine(recipe) if recipe else runtimes.runtime(settings.serve_engine)
    another.fits(engine, settings)
    if recipe:
        nodes = recipe_launch.sparks(recipe, settings, sparks)
        base: Launch | None = recipe_launch.launched(recipe, nodes, settings)
        model, checkpoint = _of_recipe(find, settings, recipe, base.checkpoint if base else "")
    else:
        model, checkpoint = _known(find, settings.model or "")
        nodes = settings.serve_nodes or _fewest(engine, model, checkpoint, sparks)
        base = model.base(checkpoint, nodes) if engine is runtimes.VLLM else None
    _enough(checkpoint, model, nodes, sparks, settings)
    image = settings.serve_image or _image(engine, model, checkpoint, base, recipe)
    if engine is runtimes.VLLM:
        flags = _flags(model, checkpoint, base, nodes, settings)
        if recipe is None and not {runtimes.VLLM.share, runtimes.VLLM.cache} & flags.keys():
            flags = {**flags, runtimes.VLLM.share: _SHARE}
    else:
        flags = another.flags(engine, settings, nodes, base)
    return Wish(
        model,
        checkpoint,
        nodes,
        flags,
        base.environment if base else {},
        image,
        (*_notes(engine, settings, model, checkpoint, base, flags, recipe),),
        drafts if (drafts := draft.wanted(settings) or draft.of(flags)) != checkpoint.id else "",
        engine.id,
        (settings.serve_gguf or "") if engine.file else "",
        agreed(recipe.source, recipe.steps, settings) if recipe else "",
    )


def _of_recipe(find: Find, settings: Settings, recipe: Recipe, checkpoint: str) -> tuple[Model, Checkpoint]:
    """The model of a recipe; that of the settings where the recipe's command names a file."""
    if recipe_launch.engine(recipe).file:
        return _known(find, settings.model or "")
    found = _known(find, checkpoint)
    if settings.model and (asked := _known(find, settings.model)[1]).id != found[1].id:
        raise Refusal(f"{recipe.source} serves {found[1].id}, and model is {asked.id}", "name one of them alone")
    return found


def _image(
    engine: Runtime, model: Model, checkpoint: Checkpoint, base: Launch | None, recipe: Recipe | None
) -> str:
    """The image, where the settings name none. Raises Refusal."""
    if engine is not runtimes.VLLM and not (base and base.image):
        raise Refusal(
            f"{engine.name} is to serve {checkpoint.id}, and no image is named: the catalogue's are of vLLM",
            with_setting("serve_image", "IMAGE"),
        )
    if recipe is None and (why := hindrance(model, checkpoint, base)):
        raise Refusal(why, with_setting("serve_image", "IMAGE"))
    return (base.pulled if base else "") or IMAGE


def _notes(
    engine: Runtime,
    settings: Settings,
    model: Model,
    checkpoint: Checkpoint,
    base: Launch | None,
    flags: Flags,
    recipe: Recipe | None,
) -> Iterator[str]:
    """What a person should know before it is served, in sentences."""
    if recipe:
        yield from recipe_launch.notes(recipe, settings)
    if model.assumed:
        yield (
            f"{checkpoint.id} is not verified by anyone: its entry is computed from its own files; whether "
            f"{engine.name} serves it on a Spark is what the trial shows"
        )
    drafts = base and draft.SPECULATION in base.flags and settings.serve_draft is None
    if drafts and layout.STAGES in flags and draft.SPECULATION not in flags:
        yield (
            f"the draft of the launch is left out: vLLM does not start it with --{layout.STAGES} "
            "(sparkrig docs serving)"
        )
    if engine is not runtimes.VLLM:
        yield from another.notes(engine)


def _fewest(engine: Runtime, model: Model, checkpoint: Checkpoint, sparks: int) -> Nodes:
    """Sparks that a model takes: what its sources say, in a cluster of more than two as many as its memory needs.

    Those that share each layer come first: a pipeline computes one stage after another.
    """
    least: Nodes = max(model.nodes, checkpoint.nodes)
    if sparks < 3 or engine is not runtimes.VLLM:
        return min(engine.most_nodes, least)
    sizes = [node for node in NODES if least <= node <= sparks]
    sizes.sort(key=lambda each: (layout.usual(each).stages, each))
    return fewest_nodes(model, checkpoint, Use(), sizes) or least


def _known(find: Find, wanted: str) -> tuple[Model, Checkpoint]:
    """The model and checkpoint of that name. Raises Refusal."""
    model = find(wanted)
    is_id = hub.ID.fullmatch(wanted) is not None
    if model is None:
        cure = f"sparkrig models show {quoted(wanted)} --save" if is_id else "sparkrig models"
        raise Refusal(f"the catalogue has no model {wanted}", local(cure))
    checkpoint = model.checkpoint(wanted)
    if is_id and wanted.lower() != checkpoint.id.lower():
        raise Refusal(
            f"the catalogue has no checkpoint {wanted}, and {checkpoint.id} is another one",
            local(f"sparkrig models show {quoted(wanted)} --save"),
        )
    if checkpoint.bad:
        raise Refusal(
            f"{checkpoint.id} is not to be used: {checkpoint.bad}",
            local(f"sparkrig models show {quoted(model.name)}"),
        )
    return model, checkpoint


def _enough(checkpoint: Checkpoint, model: Model, nodes: Nodes, sparks: int, settings: Settings) -> None:
    if nodes > sparks:
        there = "this one is on its own" if sparks == 1 else f"{sparks} are set up together here"
        if settings.serve_nodes:
            raise Refusal(
                f"serve_nodes is {nodes}, and {there}",
                with_setting("serve_nodes", sparks, "; or leave it out"),
            )
        raise Refusal(
            f"{checkpoint.id} is for {nodes} Sparks, and {there}",
            local(f"sparkrig models show {quoted(model.name)}"),
        )


def _flags(model: Model, checkpoint: Checkpoint, base: Launch | None, nodes: Nodes, settings: Settings) -> Flags:
    """Of the user, else of the catalogue's launch, else the parsers of the model's family. Raises Refusal."""
    own = another.own(runtimes.VLLM, settings)
    shared = _shared(base, nodes, own)
    layout.judge(model, shared)
    flags: dict[str, Scalar | dict[str, Scalar]] = {**(base.flags if base else {})}
    for name, value in parsers.defaults(checkpoint.id).items():
        flags.setdefault(name, value)
    for name in (*runtimes.VLLM.ours, runtimes.VLLM.names, layout.STAGES):
        flags.pop(name, None)
    if nodes > 1 or flags.get(layout.TENSOR, 1) != 1:
        flags[layout.TENSOR] = shared.tensor
    if shared.stages > 1:
        flags[layout.STAGES] = shared.stages
        flags.pop(draft.SPECULATION, None)  # of a head of the model's own: vLLM ends at once [@vllm-52069]
    flags |= own
    if flags.get(parsers.TOOLS, False) is False and parsers.AUTO not in settings.serve_flags:
        flags.pop(parsers.AUTO, None)  # vLLM takes no choice of tools without their parser
    if settings.serve_draft == draft.NONE:
        flags.pop(draft.SPECULATION, None)
    elif settings.serve_draft:
        flags[draft.SPECULATION] = draft.speculation(settings, base)
    return flags


def _shared(base: Launch | None, nodes: Nodes, own: Flags) -> Layout:
    """How that many Sparks share the model: as the user says, else as the launch does that is for as many."""
    if nodes == 1:
        return Layout()
    stages = base.flags.get(layout.STAGES) if base and base.nodes == nodes else None
    begun = {} if stages is None or layout.TENSOR in own else {layout.STAGES: stages}
    return layout.of(nodes, {**begun, **own})


# --- before anything is changed


def judge(
    asked: Wish,
    serving: Serving,
    machine: str,
    mine: Settings,
    *,
    leads: bool,
) -> None:
    """Raise Refusal where a host cannot serve that, by what was seen of it; its memory is for `size` to judge.

    machine: as uname calls it; leads: whether it answers the API.
    """
    image = serving.find(asked.image)
    if leads and image is None and not images.is_id(asked.image):
        stores(asked.image, 0, serving)
    _runs_here(asked.image, image, machine)
    if leads and image is None and images.is_id(asked.image):
        raise Refusal(
            f"there is no image {asked.image[:19]}, and no registry can be asked for an ID",
            on_host("docker image ls -a"),
        )
    for id in asked.ids:
        _reachable(serving.weights.get(id, served.Weights("partial", 0)), f"{mine.weights}/{id}")
    if leads:
        draft.judge(serving, mine)
    if asked.gguf:
        another.there(asked, serving, mine)
    else:
        have = serving.weights.get(asked.checkpoint.id, served.Weights("partial", 0))
        _revision(have, f"{mine.weights}/{asked.checkpoint.id}", mine.serve_revision)
        if not have.there:
            _room(asked, have, serving.room, mine)
    if leads:
        _ports(serving, mine)


def _runs_here(name: str, image: Image | None, machine: str) -> None:
    wanted = _MACHINES.get(machine)
    if image and wanted and image.architecture != wanted:
        raise Refusal(
            f"{name} is an image for {image.architecture}, and this host is {wanted}",
            on_host(f"docker pull --platform {quoted(f'linux/{wanted}', name)}"),
        )


def size(asked: Wish, settings: Settings, room: sizing.Room) -> Sizing:
    """What a server takes of the memory, where none was decided for it yet. Raises Refusal with the figures."""
    return sizing.decide(asked, asked.use(room.total), settings.serve_flags, room, named=bool(settings.serve_name))


def larger(asked: Wish, sparks: int, memory_gib: float) -> str:
    """The cure where a model does not fit, and more Sparks of a cluster hold it; empty where they do not."""
    most = asked.use(memory_gib)
    for nodes in (node for node in NODES if asked.nodes < node <= sparks):
        shared = layout.usual(nodes)
        if layout.divides(shared.tensor, asked.model.shape):
            use = replace(most.shared(nodes), utilization=MOST_UTILIZATION, sequences=1)
            if budget(asked.model, asked.checkpoint, use).fit == "fits":
                return with_setting("serve_nodes", nodes, ", on which it fits")
    return ""


def _reachable(have: served.Weights, folder: str) -> None:
    """Docker mounts that folder alone, and the hub's own cache is all links to another."""
    if have.stray:
        linked = f"{folder}.linked"
        raise Refusal(
            f"{folder}/{have.stray} is a link that leads out of its folder, and a container would not find it",
            on_host(f"sudo mv {quoted(folder, linked)}; sudo cp -rL {quoted(linked, folder)}"),
        )


def _revision(have: served.Weights, folder: str, wanted: str | None) -> None:
    if wanted and have.there and have.revision != wanted:
        raise Refusal(
            f"{folder} is of commit {have.revision or 'unknown'} of the hub, and serve_revision is {wanted}",
            on_host(f"sudo mv {quoted(folder, f'{folder}.other')}", ", then the same again downloads it"),
        )


def _room(asked: Wish, there: served.Weights, room: int | None, mine: Settings) -> None:
    if asked.gib is None or room is None:
        return
    have, free = there.size / GIB, room / GIB
    needed = asked.gib - have + _SPARE_GIB
    if needed > free:
        raise Refusal(
            f"the weights of {asked.checkpoint.id} take {asked.gib:.1f} GiB, {have:.1f} GiB of them are there, "
            f"and {free:.1f} GiB are free for {mine.weights} ({_SPARE_GIB:g} GiB are to stay free)",
            on_host(
                f"df -h {quoted_path(mine.weights)}",
                "; then make room, or set weights to a folder on another disk",
            ),
        )


def stores(name: str, size: int, found: Serving) -> None:
    """Raise Refusal where docker has no room for an image that is absent. size: bytes, 0 where it is unknown."""
    needed = _COPIES * size / GIB if size else _IMAGE_GIB
    if found.store and needed > found.store_room / GIB:
        raise Refusal(
            f"the image {name} takes about {needed:.1f} GiB while it is unpacked, and "
            f"{found.store_room / GIB:.1f} GiB are free for {found.store}",
            on_host("docker system df", "; then docker image prune, or make room on that disk"),
        )


def _ports(serving: Serving, settings: Settings) -> None:
    """Refuse a port on which another program listens; it is ours where our own units run."""
    for name, port, ours in (
        ("serve_port", settings.serve_port, serving.port == "active"),
        (
            "serve_trial_port",
            settings.serve_trial_port,
            serving.unit.get("ActiveState") in ("active", "activating"),
        ),
    ):
        if port in serving.listening and not ours:
            raise Refusal(
                f"another program listens on port {port}",
                on_host(f"sudo ss -ltnp sport = :{port:d}", f"; or set {name}"),
            )


def lint_of(
    asked: Wish,
    find: Find,
    form: str,
    vllm: Version | None,
    machine: str,
    rules: Iterable[Rule],
    tables: Knowledge | None = None,
) -> list[Finding]:
    """What `sparkrig lint` finds in the very command that is to run. tables: the flags of each version."""
    given = ["--platform", f"linux/{_MACHINES[machine]}"] if machine == "aarch64" else []
    given += [word for name, value in asked.environment.items() for word in ("-e", f"{name}={value}")]
    meeting = ["--nnodes", str(asked.nodes), "--node-rank", "0", "--master-addr", "$SPARKRIG_HEAD"]
    more = {  # as start.sh does
        "ray": ["--distributed-executor-backend", "ray"],
        served.STANDING: ["--distributed-executor-backend", "ray"],
        "multinode": ["--distributed-executor-backend", "mp", *meeting],
    }
    words = ["docker", *docker_words(asked, "/srv/models", [])]
    words = [*words[:2], *given, *words[2:], asked.image, *asked.words, *(more[form] if asked.nodes > 1 else [])]
    (launch,) = (replace(each, mods=bool(asked.steps)) for each in launch_text.typed(words))
    return judgement.judge(Case(launch, find, asked.nodes, vllm, tables), rules)


def refuse(findings: Sequence[Finding]) -> None:
    """Raise Refusal for the first hard fact among them."""
    for finding in findings:
        if finding.severity == "error":
            raise Refusal(f"{finding.rule}: {finding.found}", finding.better)


# --- one sentence each


def told(asked: Wish, found: Sequence[Finding]) -> Iterator[str]:
    """What a person should know before it is served."""
    yield from asked.notes
    warnings = [each.rule for each in found if each.severity == "warning"]
    if warnings:
        yield (
            f"sparkrig lint warns of {', '.join(warnings)}; what is said for and against each: "
            f"sparkrig lint -v --catalogue {quoted(asked.model.name)}"
        )
