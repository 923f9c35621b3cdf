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
    """One host whose black box has seen a reset.

    acts: what its guard did, and when, as sentences; drawn: whether one of them is in the plots; wide, narrow: the
    plots, for a page of that width; top: the processes with the most memory at the end; lines: the last of the
    kernel's log that were kept.
    """

    name: str
    reset: Reset
    acts: tuple[str, ...]
    drawn: bool
    wide: Markup
    narrow: Markup
    top: tuple[Process, ...]
    lines: tuple[str, ...]


def html(looked: Mapping[str, BlackBox | Exception], seconds: float, when: str) -> str:
    """The page of all hosts.

    looked: what each host's black box has, or why it was not read; seconds: how much of the time before each reset
    is drawn; when: now, in words.
    """
    found = {name: each for name, each in looked.items() if isinstance(each, BlackBox)}
    unread = {name: str(each) for name, each in looked.items() if isinstance(each, Exception)}
    pages = [
        _page(number, name, each, each.reset, seconds)
        for number, (name, each) in enumerate(found.items())
        if each.reset
    ]
    quiet = {name: (blackbox.none(each), _acts(each)) for name, each in found.items() if not each.reset}
    return template("blackbox.html.j2", sentence=_sentence).render(
        pages=pages, quiet=quiet, unread=unread, when=when, gib=GIB
    )


def _acts(found: BlackBox) -> tuple[str, ...]:
    return tuple(f"its guard {act.sentence(found)}" for act in found.acts)


def _page(number: int, name: str, found: BlackBox, reset: Reset, seconds: float) -> Page:
    steps = reset.last(seconds)
    marks = [act.when(found).replace(tzinfo=None) for act in found.acts if steps[0].at <= act.at <= reset.at]
    times = blackbox.times(reset, steps)
    wide, narrow = (
        # an SVG of ours, whose maker has escaped what others wrote
        Markup(plot.steps(times, panels(steps), marks, width=width, prefix=f"box{number}{index}"))  # noqa: S704
        for index, width in enumerate((WIDE, NARROW))
    )
    logged = [line for step in reset.boot for each in step.log.values() for line in each.first]
    lines = tuple(dict.fromkeys(logged))[-_LINES:]
    return Page(name, reset, _acts(found), bool(marks), wide, narrow, reset.steps[-1].top, lines)


def _sentence(text: str) -> str:
    """With a capital in front, and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def panels(steps: list[Step]) -> list[tuple[str, list[float | None]]]:
    """The title and the values of each figure."""
    return [(f"{each.title}, {each.unit}", list(each.values)) for each in blackbox.figures(steps)]
