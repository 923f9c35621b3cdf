"""Whether and how a recipe of others would start on one Spark and on several, and all that it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sparkrig.cure import with_setting
from sparkrig.refusal import Refusal
from sparkrig.serving import engines, plan, service_settings, steps
from sparkrig.serving.budget import MEMORY_GIB, budget
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.sizing import Room
from sparkrig.serving.wish import Sizing, Wish
from sparkrig.settings import Settings
from sparkrig.text import listed, plain

Lint = Callable[[Wish], Sequence[Finding]]
"""What lint finds in the command of a wish, as a deploy asks it before it changes anything."""

_IDLE = Room(MEMORY_GIB, MEMORY_GIB, "an idle Spark")


@dataclass(frozen=True)
class Start:
    """What would be served, and what it takes of the memory, as a deploy decides it."""

    wish: Wish
    sizing: Sizing
    found: Sequence[Finding]


def starting(recipe: Recipe, find: plan.Find, mine: Settings, sparks: int, lint: Lint) -> Start:
    """On idle Sparks, so many of which can share it, once its programs are agreed to. Raises Refusal."""
    consent = {"serve_mods": steps.digest(recipe.steps)} if recipe.steps else {}
    settings = service_settings.of_engine(mine.model_copy(update=consent), recipe)
    wish = plan.wish(find, settings, sparks, recipe)
    sizing = plan.size(wish, settings, _IDLE)
    found = lint(wish.sized(sizing))
    plan.refuse(found)
    return Start(wish, sizing, found)


def page(
    recipe: Recipe, find: plan.Find, mine: Settings, sizes: Sequence[int], lint: Lint
) -> tuple[Sequence[tuple[str, str]], Sequence[str], bool]:
    """The lines for a person, each with what to try; those of its programs; whether it would start anywhere."""
    found: dict[int, Start | Refusal] = {}
    for sparks in sizes:
        try:
            found[sparks] = starting(recipe, find, mine, sparks, lint)
        except Refusal as refusal:
            found[sparks] = refusal
    wishes = [each.wish for each in found.values() if isinstance(each, Start)]
    told = [*((line, "") for line in _head(recipe, wishes)), *(_line(*each) for each in found.items())]
    return [(plain(line), cure) for line, cure in told], [*_programs(recipe)], bool(wishes)


def _head(recipe: Recipe, wishes: Sequence[Wish]) -> Iterator[str]:
    yield recipe.source
    yield f"engine  {engines.name(recipe.engine)}"
    if not wishes:
        yield f"model   {recipe.model or 'of its command'}"
        yield f"image   {recipe.image or 'none named'}"
        return
    yield f"model   {wishes[0].checkpoint.id}"
    yield f"image   {wishes[0].image}"
    if wishes[0].draft:
        yield f"draft   {wishes[0].draft}"
    yield from (f"note    {each}" for each in dict.fromkeys(note for wish in wishes for note in wish.notes))


def _line(sparks: int, found: Start | Refusal) -> tuple[str, str]:
    on = "on one Spark" if sparks == 1 else f"on {sparks} Sparks"
    if isinstance(found, Refusal):
        return f"{on}: refused. {found.what}.", found.cure
    wish = found.wish
    weights = budget(wish.model, wish.checkpoint, wish.use(MEMORY_GIB)).weights
    shared = wish.nodes > 1
    part = f" on {wish.nodes} that share it" if shared else " on one of them" if sparks > 1 else ""
    size = f", weights of {weights:.1f} GiB{' on each' if shared else ''}" if weights is not None else ""
    warned = [each.rule for each in found.found if each.severity == "warning"]
    warnings = f"; sparkrig lint warns of {listed(warned)}" if warned else ""
    return f"{on}: would start{part}{size}, with {found.sizing}{warnings}", ""


def _programs(recipe: Recipe) -> Iterator[str]:
    if not recipe.steps:
        return
    yield ""
    yield "It runs this in its container before the server, as root there, with what the server may read:"
    for step in recipe.steps:
        texts = {step.name: step.command} if step.command else step.files
        for name, text in texts.items():
            yield ""
            yield f"--- {name if step.command else f'{step.name}/{name}'}"
            yield text.rstrip("\n")
    yield ""
    yield f"To have it run: {with_setting('serve_mods', steps.digest(recipe.steps))}"
