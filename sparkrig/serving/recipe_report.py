"""Whether and how a recipe of others would start on one Spark and on several, and all that it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sparkrig.refusal import Refusal
from sparkrig.serving import engines, plan, service_settings, steps
from sparkrig.serving.budget import MEMORY_GIB, Budget, budget, where
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.wish import Wish
from sparkrig.settings import Settings
from sparkrig.text import plain


def starting(recipe: Recipe, find: plan.Find, mine: Settings, sparks: int) -> Wish:
    """What would be served where so many Sparks can share it, once its programs are agreed to. Raises Refusal."""
    consent = {"serve_mods": steps.digest(recipe.steps)} if recipe.steps else {}
    wish = plan.wish(find, service_settings.of_engine(mine.model_copy(update=consent), recipe), sparks, recipe)
    made = _budget(wish)
    if made.fit == "no":
        raise Refusal(
            f"{wish.checkpoint.id} takes {made.weights:.1f} GiB of {where(wish.nodes)} for its weights, and "
            f"{made.share:.1f} GiB are for all of it, so that no sequence of {made.use.context:,} tokens has room",
            "a smaller context, --data 'serve_flags={\"max-model-len\": 32768}', or more Sparks",
        )
    return wish


def page(recipe: Recipe, find: plan.Find, mine: Settings, sizes: Sequence[int]) -> tuple[Iterator[str], bool]:
    """The lines for a person, and whether it would start on one of so many Sparks."""
    found: dict[int, Wish | Refusal] = {}
    for sparks in sizes:
        try:
            found[sparks] = starting(recipe, find, mine, sparks)
        except Refusal as refusal:
            found[sparks] = refusal
    wishes = [each for each in found.values() if isinstance(each, Wish)]
    told = [*_head(recipe, wishes), *(_line(sparks, each) for sparks, each in found.items())]
    return iter([*map(plain, told), *_programs(recipe)]), bool(wishes)


def _budget(wish: Wish) -> Budget:
    """What becomes of the memory with the share of it that the recipe has for the server, if it has one."""
    use, share = wish.use(MEMORY_GIB), wish.flags.get("gpu-memory-utilization")
    return budget(wish.model, wish.checkpoint, replace(use, utilization=float(str(share))) if share else use)


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


def _line(sparks: int, found: Wish | Refusal) -> str:
    on = "on one Spark" if sparks == 1 else f"on {sparks} Sparks"
    if isinstance(found, Refusal):
        return f"{on}: refused. {found.what}. Try: {found.cure}"
    made = _budget(found)
    known = made.weights is not None and made.kv is not None
    memory = f"weights {made.weights:.1f} GiB, KV cache {made.kv:.1f} GiB" if known else "memory unknown"
    parts = f"by {found.nodes}" if found.nodes > 1 else "by one"
    return f"{on}: would start, served {parts}; {memory} of {made.share:.1f} GiB each"


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
    yield f"To have it run: --data serve_mods={steps.digest(recipe.steps)}"
