"""What preceded a reset, as one HTML page that needs nothing else: no network, no script, no font."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from sparkrig.host.blackbox import GIB, BlackBox, Process, Reset, Step
from sparkrig.render import blackbox, plot
from sparkrig.render.plot import NARROW, WIDE
from sparkrig.render.templates import template

_LINES = 12  # of the kernel's log; each once


@dataclass(frozen=True)
class Page:
    """One host.

    wide, narrow: the plots, for a page of that width; top: the processes with the most memory at the end; lines:
    the last of the kernel's log that were kept.
    """

    name: str
    reset: Reset
    wide: Markup
    narrow: Markup
    top: tuple[Process, ...]
    lines: tuple[str, ...]


def html(found: Mapping[str, BlackBox], seconds: float, when: str) -> str:
    """The page of all hosts. seconds: how much of the time before each reset is drawn; when: now, in words."""
    pages = [
        _page(number, name, each.reset, seconds) for number, (name, each) in enumerate(found.items()) if each.reset
    ]
    quiet = {
        name: blackbox.NO_RESET if each.runs else blackbox.NO_BOX for name, each in found.items() if not each.reset
    }
    return template("blackbox.html.j2", sentence=_sentence).render(pages=pages, quiet=quiet, when=when, gib=GIB)


def _page(number: int, name: str, reset: Reset, seconds: float) -> Page:
    steps = blackbox.last(reset, seconds)
    wide, narrow = (
        # an SVG of ours, whose maker has escaped what others wrote
        Markup(plot.steps(blackbox.times(reset, steps), panels(steps), width=width, prefix=f"box{number}{index}"))  # noqa: S704
        for index, width in enumerate((WIDE, NARROW))
    )
    logged = [line for step in reset.boot for each in step.log.values() for line in each.first]
    return Page(name, reset, wide, narrow, reset.steps[-1].top, tuple(dict.fromkeys(logged))[-_LINES:])


def _sentence(text: str) -> str:
    """With a capital in front, and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def panels(steps: list[Step]) -> list[tuple[str, list[float | None]]]:
    """The title and the values of each figure."""
    return [(f"{each.title}, {each.unit}", list(each.values)) for each in blackbox.figures(steps)]
