"""`sparkrig onboard`: the Sparks of the inventory that a new one may be joined to, and what joins it to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from sparkrig.onboarding.io import draft as drafts
from sparkrig.onboarding.io.draft import Book
from sparkrig.onboarding.io.newcomer import Asked, Entrance
from sparkrig.refusal import Refusal
from sparkrig.terminal import terminal

if TYPE_CHECKING:
    from sparkrig.fabric.cabling import Cable
    from sparkrig.fabric.neighbours import Neighbours
    from sparkrig.fleet import Fleet
    from sparkrig.onboarding.joining import Newcomer
    from sparkrig.onboarding.proposal import Move, Proposal
    from sparkrig.onboarding.wishes import Form
    from sparkrig.resources.state import State
    from sparkrig.ssh.remote import Failed, Lost

_MAY_BE = ", which may be its peer,"


@dataclass(frozen=True)
class Meeting:
    """A new Spark and those of the inventory.

    group: the hosts that it joins; form: by what; heard: by whom each was reached below IP, empty where that was
    not asked.
    """

    mine: Newcomer
    book: Book
    group: tuple[str, ...] = ()
    form: Form | None = None
    heard: Mapping[str, Neighbours] = field(default_factory=dict)

    def proposal(self, login: Mapping[str, Any]) -> Proposal:
        """What is proposed. login: how the Spark is reached. Raises Refusal."""
        from sparkrig.onboarding import proposal

        return proposal.propose(self.mine, self.group, self.form, login, self._shared() if self.group else {})

    def _shared(self) -> dict[str, Any]:
        """What the inventory has for each host of the group and not for any host: it is one thing for all."""
        from sparkrig import clusters

        lead, usual = self.book.data[self.group[0]], self.book.defaults
        found = {key: lead[key] for key in clusters.SHARED if key in lead and lead[key] != usual.get(key)}
        return {key: value for key, value in found.items() if key not in ("topology", "fabric_network")}

    def obstacles(self, after: Fleet) -> list[Refusal]:
        """What of the cabling no deploy can mend, as the hosts were heard. after: the fleet as it would be."""
        from sparkrig.fabric import topology
        from sparkrig.fabric.survey import Survey

        if self.form in (None, "cable") or not self.heard:
            return []
        names = after.group(self.mine.name)
        states = {**self.mine.others, self.mine.name: self.mine.seen}
        found = {name: states[name] for name in names}
        heard = {name: each for name, each in self.heard.items() if name in names}
        return topology.faults(Survey(after, names, found, heard).topology)

    def moves(self, after: Fleet) -> list[Move]:
        """The addresses of a cluster that it joins, before and after."""
        from sparkrig.onboarding import proposal

        if self.form in (None, "cable"):
            return []
        return proposal.moves(self.book.fleet, after, after.group(self.mine.name))


def meet(known: str | None, seen: State, book: Book, entrance: Entrance, asked: Asked) -> Meeting:
    """Look at the Sparks of the inventory that it may be joined to, and at what joins them.

    known: its name, where it is in the inventory. Raises Refusal, and Lost where a host that matters is not read.
    """
    from sparkrig.onboarding import wishes
    from sparkrig.onboarding.joining import Newcomer

    fleet = book.fleet
    newcomer = Newcomer(wishes.called(seen, fleet, asked.wishes, known), seen, fleet, asked.wishes)
    if known and fleet.peers(known):
        role = ", one of its cluster," if fleet.many(known) else _MAY_BE
        peers = drafts.looked_at(fleet.peers(known), book, f"Looking at {book.file.name}", role)
        return Meeting(replace(newcomer, others=peers), book)
    if asked.wishes.solo:
        return Meeting(newcomer, book)
    others, unread = _others(newcomer, book)
    newcomer = replace(newcomer, others=others)
    heard = _heard(newcomer, book, entrance) if _unclear(newcomer) else {}
    newcomer = replace(newcomer, cables=_cables(newcomer, heard))
    group = newcomer.group()
    form = newcomer.form(group) if group else None
    _judge_unread(newcomer, unread, () if form == "cable" else group)
    if group and not form:
        form = _asked(newcomer.question(group), asked)
    return Meeting(newcomer, book, group, form, heard)


def _others(mine: Newcomer, book: Book) -> tuple[dict[str, State], dict[str, Failed | Lost]]:
    """Sparks that it may be joined to; and of pairs and clusters those that cannot be read. Raises Lost."""
    from sparkrig.onboarding import joining

    fleet = book.fleet
    lonely = [each for each in fleet if fleet[each].group_name is None and each != mine.name]
    grouped = [each for each in fleet if fleet[each].group_name] if mine.cages else []
    wanted = list(joining.named(fleet, mine.wishes)) or [*lonely, *grouped]
    if not wanted:
        return {}, {}
    answers = drafts.asked_of(wanted, book, f"Looking at {book.file.name}")
    unread = {host: each for host, each in answers.items() if isinstance(each, Exception)}
    if lost := {host: each for host, each in unread.items() if host in lonely}:
        raise drafts.unread_hosts(lost, _MAY_BE)
    return {host: state for host, state in answers.items() if not isinstance(state, Exception)}, unread


def _judge_unread(mine: Newcomer, unread: Mapping[str, Failed | Lost], cluster: Sequence[str]) -> None:
    """Raise Lost where a host that cannot be read is of what it joins, or may be what its cable leads to."""
    if lost := {host: each for host, each in unread.items() if host in cluster}:
        raise drafts.unread_hosts(lost, f", one of those that {mine.name} joins,")
    if unread and not cluster and mine.cages and not mine.reach():
        raise drafts.unread_hosts(unread, ", to which its cable may lead (--solo leaves it on its own),")


def _unclear(newcomer: Newcomer) -> bool:
    """Whether a carrier leaves open which cages are joined: the hosts are then asked whom they hear."""
    from sparkrig.onboarding import joining

    lit = sum(len(joining.cages(state.network)) for state in newcomer.others.values())
    grouped = any(newcomer.fleet[host].group_name for host in newcomer.others)
    return bool(grouped and lit) or lit * len(newcomer.cages) > 1


def _heard(mine: Newcomer, book: Book, entrance: Entrance) -> dict[str, Neighbours]:
    """Whom each hears below IP, all at the same time."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from gevent import spawn

    from sparkrig.fabric.io import survey
    from sparkrig.onboarding import joining
    from sparkrig.terminal import progress

    lit = [host for host, each in mine.others.items() if joining.cages(each.network)]
    if not lit or not mine.cages:
        return {}
    patience, fan = max(book.fleet[host].patience for host in lit), len(lit)
    with (
        session.connected({host: book.data[host] for host in lit}) as hosts,
        progress.hosts([mine.name, *lit], "Seeing what joins them") as told,
    ):
        for host in (mine.name, *lit):
            told(host, "listening")
        listening = spawn(_heard_by, entrance, patience, fan)
        heard = survey.hear(hosts, patience, fan)
        own = listening.get()
        for host in (mine.name, *lit):
            told.done(host)
    return {mine.name: own, **heard}


def _heard_by(entrance: Entrance, patience: float, fan: int) -> Neighbours:
    """Whom the new Spark hears."""
    from sparkrig.fabric import neighbours
    from sparkrig.fabric.io import survey
    from sparkrig.facts.neighbours import Neighbours as Asked
    from sparkrig.ssh.remote import Failed, Lost

    try:
        return entrance.door.read(Asked(), patience, fan, seconds=int(survey.LOOK_S * patience))
    except (Failed, Lost) as error:  # what joins them is asked then
        return neighbours.Neighbours(trouble=str(error))


def _cables(newcomer: Newcomer, heard: Mapping[str, Neighbours]) -> tuple[Cable, ...]:
    from sparkrig.fabric.survey import Survey

    found = {newcomer.name: newcomer.seen, **newcomer.others}
    return Survey(newcomer.fleet, tuple(found), found, heard).cables if heard else ()


def _asked(question: str, asked: Asked) -> Form:
    """What joins them, by the one who knows. Raises Refusal where there is none to ask."""
    if asked.yes or asked.as_json:
        raise Refusal(question, "--topology ring or --topology switch")
    answer: Form = terminal.prompt(f"\n{question}. Which", type=click.Choice(["ring", "switch"]))
    return answer
