"""What a drawing of the cabling shows of cages, netdevs and cables, in a terminal and as SVG."""

from __future__ import annotations

from sparkrig.fabric.cabling import Cable, Cage, End, Host, State, Topology, Twin
from sparkrig.fabric.cabling_judge import judge
from sparkrig.fabric.switch_judge import wanted
from sparkrig.render.findings import Shade
from sparkrig.verdict import worst

_UNTOLD: dict[State, str] = {"missing": "no netdev", "unread": "not read", "link": "link"}


def single(shown: Topology) -> list[Cable]:
    """The cables that are drawn one by one: what is only wanted first, and not where both plugs are in use.

    On a declared switch none is: each port leads to it.
    """
    if shown.form == "switch":
        return []
    drawn = [
        cable
        for cable in shown.cables
        if not shown.switched(cable) and (cable.real or not all(shown.taken(end) for end in cable.ends))
    ]
    return sorted(drawn, key=lambda each: each.real)


def loose_end(shown: Topology, end: End) -> tuple[Shade, str] | None:
    """A lit end that leads to no host of the drawing: how serious that is, and a short name for what it hears.

    None for any other end; the name is empty where the drawing already shows where the end should lead.
    """
    cage = shown.at(end)
    if cage.state != "link" or shown.taken(end) or (shown.form == "switch" and cage.rails):
        return None
    if cage.stranger:
        name = "unknown machine" if "(" in cage.stranger else cage.stranger
        return ("fault" if cage.rails else "degraded"), name
    return ("unknown", "") if cage.rails else ("quiet", "?")


def label(shown: Topology, cable: Cable) -> tuple[Shade, str]:
    """The label of a cable; empty for a missing cable whose ends have another cable or hear a stranger."""
    judged = judge(shown, cable)
    word = "" if shown.explained(cable) else judged.cause or judged.evidence
    return ("quiet" if cable.real and not cable.wanted and judged.healthy else judged.level), word


def port(shown: Topology, end: End) -> tuple[Shade, str]:
    """How a port of a declared switch does, and its label: the worst that is said of the cage in it."""
    verdicts = [finding.verdict for finding in shown.findings if finding.subject == f"{end.host} {end.cage}"]
    if verdicts:
        verdict = worst(verdicts)
        return verdict.level, verdict.cause
    if not shown.read(end):
        return "unknown", "unread"
    return ("healthy", "reached") if shown.reached(end) else ("unknown", "no answer")


def ports(shown: Topology) -> list[End]:
    """The cages that the inventory wants on a switch; none where it wants no switch."""
    return wanted(shown) if shown.form == "switch" else []


def shade(twin: Twin) -> Shade:
    """The state of a netdev; quiet where no rail needs it."""
    if twin.state == "link":
        return "healthy"
    if twin.rail is None:
        return "quiet"
    return "unknown" if twin.state == "unread" else "fault"


def state(host: Host, cage: Cage) -> str:
    """What a cage is like, in a word or two."""
    if not host.read:
        return "not read"
    if cage.state == "link" and cage.speed_mbps:
        return f"{cage.speed_mbps / 1000:g} Gb/s"
    return _UNTOLD.get(cage.state, cage.state)
