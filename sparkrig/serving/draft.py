"""The model that drafts for another one, by `serve_draft`: of the hub, or a folder that was put there by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sparkrig.cure import advice, on_host, quoted
from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from sparkrig.serving.arguments import Value
from sparkrig.serving.model import Launch, Scalar
from sparkrig.serving.runtimes.runtime import Flags
from sparkrig.serving.served import Serving, Weights
from sparkrig.serving.wish import MODELS
from sparkrig.settings import Settings
from sparkrig.shapes import PART

NONE = "none"
SPECULATION = "speculative-config"
_OF_SGLANG = ("speculative-draft-model-path",)
_DRAFTED = 3  # tokens a step, as in vLLM's own examples; serve_flags has another number


def by_hand(settings: Settings) -> bool:
    """Whether it is a folder on the disk of the first host, which is never downloaded."""
    return (settings.serve_draft or "").startswith("/")


def wanted(mine: Settings) -> str:
    """OWNER/NAME of the model that drafts, below the folder of the weights; empty for none of its own.

    Raises Refusal for a folder elsewhere: the container sees that of the weights alone.
    """
    told = mine.serve_draft or ""
    if not by_hand(mine):
        return "" if told == NONE else told
    found = re.fullmatch(rf"{re.escape(mine.weights)}/({PART}/{PART})", told)
    if found is None:
        there = f"{mine.weights}/local"
        raise Refusal(
            f"serve_draft is {told}, and a folder OWNER/NAME in {mine.weights} is expected",
            on_host(
                f"sudo mkdir -p {quoted(there)} && sudo mv {quoted(told, f'{there}/draft')}",
                f", and serve_draft={there}/draft",
            ),
        )
    return found[1]


def judge(serving: Serving, mine: Settings) -> None:
    """Raise Refusal where the folder is not on the first host, or does not hold a whole checkpoint."""
    id = wanted(mine)
    have = serving.weights.get(id, Weights("partial", 0))
    if by_hand(mine) and not have.there and have.standing != "linked":
        seen = "holds no whole checkpoint" if id in serving.weights else "is not there"
        raise Refusal(
            f"serve_draft is {mine.serve_draft}, and that folder {seen}: config.json and all safetensors belong "
            "into it",
            on_host(f"ls -l {quoted(f'{mine.weights}/{id}')}"),
        )


def mounted(flags: Mapping[str, Value], name: Callable[[str], str]) -> dict[str, Value]:
    """Flags with the draft model that they name where a container has it. name: OWNER/NAME of a name in them."""
    made = dict(flags)
    told = made.get(SPECULATION)
    drafts = told.get("model") if isinstance(told, Mapping) else None
    if isinstance(told, Mapping) and isinstance(drafts, str) and "/" in drafts:  # else the name of a method
        made[SPECULATION] = {**told, "model": f"{MODELS}/{name(drafts)}"}
    for flag in _OF_SGLANG:
        if isinstance(path := made.get(flag), str):
            made[flag] = f"{MODELS}/{name(path)}"
    return made


def of(flags: Flags) -> str:
    """OWNER/NAME of the draft model that flags name where a container has it; empty for none."""
    try:
        found = bounds.loads(str(flags.get(SPECULATION, "{}")))
    except ValueError:
        found = {}
    told = [found.get("model") if isinstance(found, dict) else None, *(flags.get(flag) for flag in _OF_SGLANG)]
    there = (re.fullmatch(rf"{MODELS}/({PART}/{PART})", each) for each in told if isinstance(each, str))
    return next((each[1] for each in there if each), "")


def speculation(mine: Settings, base: Launch | None) -> dict[str, Scalar]:
    """What vLLM is told of a draft model: where it is, and what else serve_flags has, or a recipe of its own.

    Raises Refusal.
    """
    recipe_s = base is not None and base.source == "recipe" and of(base.flags)
    launched = base.flags[SPECULATION] if base and recipe_s and SPECULATION in base.flags else "{}"
    given = mine.serve_flags.get(SPECULATION, launched)
    try:
        found = bounds.loads(str(given))
        told = {str(name): value for name, value in found.items()}
    except (ValueError, AttributeError):
        raise Refusal(
            f"--{SPECULATION} of serve_flags is no JSON object ({str(given)[:60]})",
            advice("such as '{\"num_speculative_tokens\": 3}'"),
        ) from None
    return {"num_speculative_tokens": _DRAFTED, **told, "model": f"{MODELS}/{wanted(mine)}"}
