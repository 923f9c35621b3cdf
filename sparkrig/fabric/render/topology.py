"""The cabling as a list: the cages of each host with their netdevs, then what joins the cages, and what should.

Every colour has a sign beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sparkrig.fabric.cabling import Cable, Cage, End, Host, State, Topology, Twin
from sparkrig.fabric.cabling_judge import judge
from sparkrig.fabric.switch_judge import wanted
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Findings, Shade
from sparkrig.render.folded import wrapped
from sparkrig.verdict import worst

_TWIN = 6  # where the name of a netdev begins
_STATES: dict[State, str] = {"missing": "no netdev", "unread": "not read"}


class Join(NamedTuple):
    """What a cage leads to, in words. there: False where it is wanted only."""

    shade: Shade
    end: End
    other: str
    word: str
    there: bool = True


class Listing:
    """A topology for rich's console, with its findings under it unless they are shown elsewhere."""

    def __init__(self, shown: Topology, *, findings: bool = True) -> None:
        self.shown = shown
        self.findings = findings

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plain = options.ascii_only or options.legacy_windows
        signs, lines = (ASCII_SIGNS, ("--", "..")) if plain else (SIGNS, ("──", "╌╌"))
        for host in self.shown.hosts:
            yield from _host(host, signs, options.max_width)
        for join in joins(self.shown):
            word = f"  {join.word}" if join.word else ""
            text = f"{signs[join.shade]} {join.end} {lines[not join.there]} {join.other}{word}"
            yield Text("\n".join(wrapped(text, options.max_width, "", "  ")), STYLES[join.shade])
        yield Text()
        if self.findings:
            yield Findings(self.shown.findings)


def joins(shown: Topology) -> Iterator[Join]:
    """Each port of a declared switch, else each cable, there or wanted; and each cage that hears a stranger."""
    if shown.form == "switch":
        yield from (_port(shown, end) for end in wanted(shown))
    else:
        yield from (_cable(shown, cable) for cable in shown.cables)
    for host in shown.hosts:
        for cage in host.cages:
            if cage.stranger:
                yield Join("fault" if cage.rails else "degraded", End(host.name, cage.name), cage.stranger, "")


def _cable(shown: Topology, cable: Cable) -> Join:
    judged = judge(shown, cable)
    shade: Shade = "quiet" if cable.real and not cable.wanted and judged.healthy else judged.level
    word = "wanted, and not there" if shown.explained(cable) else judged.cause or judged.evidence
    return Join(shade, cable.one, str(cable.other), word, cable.real)


def _port(shown: Topology, end: End) -> Join:
    """A port of a declared switch, with the worst that is said of the cage in it."""
    verdicts = [finding.verdict for finding in shown.findings if finding.subject == f"{end.host} {end.cage}"]
    there = shown.at(end).state == "link"
    if verdicts:
        verdict = worst(verdicts)
        return Join(verdict.level, end, "switch", verdict.cause, there)
    if not shown.read(end):
        return Join("unknown", end, "switch", "unread", there)
    reached = bool(shown.reached(end))
    return Join("healthy" if reached else "unknown", end, "switch", "reached" if reached else "no answer", there)


def _host(host: Host, signs: dict[Shade, str], width: int) -> Iterator[Text]:
    yield Text(host.name, "bold cyan")
    for cage in host.cages:
        yield Text.assemble(f"  {cage.name}  ", (_state(host, cage), "" if cage.rails else "dim"))
        for twin in cage.twins:
            shade = _shade(twin)
            said = twin.netdev
            if twin.rail is not None:
                rail = f"rail {twin.rail}  {twin.address}"
                said = f"{said:13}  {rail}"
                if len(said) + _TWIN > width:
                    said = f"{twin.netdev}\n{' ' * _TWIN}{rail}"
            yield Text.assemble("    ", (signs[shade], STYLES[shade]), f" {said}")


def _shade(twin: Twin) -> Shade:
    """The state of a netdev; quiet where no rail needs it."""
    if twin.state == "link":
        return "healthy"
    if twin.rail is None:
        return "quiet"
    return "unknown" if twin.state == "unread" else "fault"


def _state(host: Host, cage: Cage) -> str:
    """What a cage is like, in a word or two."""
    if not host.read:
        return "not read"
    if cage.state == "link" and cage.speed_mbps:
        return f"{cage.speed_mbps / 1000:g} Gb/s"
    return _STATES.get(cage.state, cage.state)
