"""`sparkrig onboard`: the Sparks of the inventory that a new one may be joined to, and what joins it to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import draft as drafts
from sparkrig.cli.draft import Book
from sparkrig.cli.newcomer import Asked, Entrance
from sparkrig.io import terminal
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from sparkrig.fabric.cabling import Cable
    from sparkrig.fabric.neighbours import Neighbours
    from sparkrig.fleet import Fleet
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.look.state import State
    from sparkrig.onboarding.joining import Move
    from sparkrig.onboarding.proposal import Form, Proposal, Wishes

_MAY_BE = ", which may be its peer,"


@dataclass(frozen=True)
class Meeting:
    """A new Spark and those of the inventory.

    others: as they were seen; heard: by whom each was reached below IP, empty where that was not asked; cables:
    what was seen between them; group: the hosts that it joins as one of more than two, or on a switch; form: by
    what.
    """

    name: str
    new: bool
    seen: State
    book: Book
    wishes: Wishes
    others: Mapping[str, State] = field(default_factory=dict)
    heard: Mapping[str, Neighbours] = field(default_factory=dict)
    cables: Sequence[Cable] = ()
    group: tuple[str, ...] = ()
    form: Form | None = None

    @property
    def lonely(self) -> dict[str, State]:
        """Those that have no peer yet."""
        fleet = self.book.fleet
        return {name: each for name, each in self.others.items() if fleet[name].group_name is None}

    def joined(self, login: Mapping[str, Any]) -> Proposal | None:
        """What is proposed where it joins others as one of more than two, or on a switch. Raises Refusal."""
        from sparkrig.onboarding import joining

        if self.form is None:
            return None
        mine = joining.Newcomer(self.name, self.seen, {**(login if self.new else {}), **self._shared()}, self.new)
        return joining.propose(mine, self.group, self.form, self.book.fleet, self.others, self.wishes, self.cables)

    def _shared(self) -> dict[str, Any]:
        """What the inventory has for each host of the group and not for any host: it is one thing for all."""
        from sparkrig import clusters

        lead, usual = self.book.data[self.group[0]], self.book.defaults
        found = {key: lead[key] for key in clusters.SHARED if key in lead and lead[key] != usual.get(key)}
        return {key: value for key, value in found.items() if key not in ("topology", "fabric_network")}

    def obstacles(self, after: Fleet, made: Proposal) -> list[Refusal]:
        """What of the cabling no deploy can mend, as the hosts were heard. after: the fleet as it would be."""
        from sparkrig.fabric import topology
        from sparkrig.fabric.survey import Survey

        if self.form is None:
            return []
        names = after.group(made.name)
        found = {name: self.seen if name == made.name else self.others[name] for name in names}
        heard = {name: each for name, each in self.heard.items() if name in names}
        return topology.faults(Survey(after, names, found, heard).topology) if heard else []

    def moves(self, after: Fleet, made: Proposal) -> list[Move]:
        """The addresses of what it joins, before and after."""
        from sparkrig.onboarding import joining

        return joining.moves(self.book.fleet, after, after.group(made.name)) if self.form else []


def meet(known: str | None, seen: State, book: Book, entrance: Entrance, asked: Asked) -> Meeting:
    """Look at the Sparks of the inventory that it may be joined to, and at what joins them.

    known: its name, where it is in the inventory. Raises Refusal, and Lost where a host that matters is not read.
    """
    from sparkrig.onboarding import joining, proposal

    fleet, wishes = book.fleet, asked.wishes
    name = proposal.called(seen, fleet, wishes, known)
    alone = Meeting(name, known is None, seen, book, wishes)
    if known and fleet.peers(known):
        role = ", one of its cluster," if fleet.many(known) else _MAY_BE
        peers = drafts.looked_at(fleet.peers(known), book, f"Looking at {book.file.name}", role)
        return Meeting(name, False, seen, book, wishes, peers)
    if wishes.solo:
        return alone
    others, unread = _others(name, seen, book, wishes)
    heard = _heard(name, seen, others, book, entrance) if _unclear(seen, others, fleet) else {}
    cables = _cables({name: seen, **others}, heard, fleet)
    group = joining.members(name, seen, fleet, others, wishes, cables)
    _judge_unread(name, seen, unread, group, cables)
    form = None
    if group:
        form = joining.form(group, name, fleet, wishes, cables) or _asked(group, name, cables, asked)
    return Meeting(name, known is None, seen, book, wishes, others, heard, cables, group, form)


def _others(
    name: str, seen: State, book: Book, wishes: Wishes
) -> tuple[dict[str, State], dict[str, Failed | Lost]]:
    """Sparks that it may be joined to; and of pairs and clusters those that cannot be read. Raises Lost."""
    from sparkrig.onboarding import joining, proposal

    fleet = book.fleet
    named = joining.named(fleet, wishes)
    lonely = [each for each in fleet if fleet[each].group_name is None and each != name]
    grouped = [each for each in fleet if fleet[each].group_name] if proposal.cages(seen.network) else []
    wanted = list(named) or [*lonely, *grouped]
    if not wanted:
        return {}, {}
    answers = drafts.asked_of(wanted, book, f"Looking at {book.file.name}")
    unread = {host: each for host, each in answers.items() if isinstance(each, Exception)}
    if lost := {host: each for host, each in unread.items() if host in lonely}:
        raise drafts.unread_hosts(lost, _MAY_BE)
    return {host: each for host, each in answers.items() if not isinstance(each, Exception)}, unread


def _judge_unread(
    name: str, seen: State, unread: Mapping[str, Failed | Lost], group: Sequence[str], cables: Sequence[Cable]
) -> None:
    """Raise Lost where a host that cannot be read is of what it joins, or may be what its cable leads to."""
    from sparkrig.onboarding import proposal

    if lost := {host: each for host, each in unread.items() if host in group}:
        raise drafts.unread_hosts(lost, f", one of those that {name} joins,")
    if unread and not group and not proposal.reach(name, cables) and proposal.cages(seen.network):
        raise drafts.unread_hosts(unread, ", to which its cable may lead (--solo leaves it on its own),")


def _unclear(seen: State, others: Mapping[str, State], fleet: Fleet) -> bool:
    """Whether a carrier leaves open which cages are joined: the hosts are then asked whom they hear."""
    from sparkrig.onboarding import proposal

    lit = [len(proposal.cages(each.network)) for each in others.values()]
    grouped = any(fleet[host].group_name for host in others)
    return bool(grouped and sum(lit)) or sum(lit) * len(proposal.cages(seen.network)) > 1


def _heard(
    name: str, seen: State, others: Mapping[str, State], book: Book, entrance: Entrance
) -> dict[str, Neighbours]:
    """Whom each hears below IP, all at the same time."""
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from gevent import spawn

    from sparkrig.io import progress, survey
    from sparkrig.onboarding import proposal

    lit = [host for host, each in others.items() if proposal.cages(each.network)]
    if not lit or not proposal.cages(seen.network):
        return {}
    patience, fan = max(book.fleet[host].patience for host in lit), len(lit)
    with (
        session.connected({host: book.data[host] for host in lit}) as hosts,
        progress.hosts([name, *lit], "Seeing what joins them") as told,
    ):
        for host in (name, *lit):
            told(host, "listening")
        mine = spawn(_heard_by, entrance, patience, fan)
        heard = survey.hear(hosts, patience, fan)
        own = mine.get()
        for host in (name, *lit):
            told.done(host)
    return {name: own, **heard}


def _heard_by(entrance: Entrance, patience: float, fan: int) -> Neighbours:
    """Whom the new Spark hears."""
    from sparkrig.fabric import neighbours
    from sparkrig.facts.neighbours import Neighbours as Asked
    from sparkrig.io import survey
    from sparkrig.io.remote import Failed, Lost

    try:
        return entrance.door.read(Asked(), patience, fan, seconds=int(survey.LOOK_S * patience))
    except (Failed, Lost) as error:  # what joins them is asked then
        return neighbours.Neighbours(trouble=str(error))


def _cables(found: Mapping[str, State], heard: Mapping[str, Neighbours], fleet: Fleet) -> tuple[Cable, ...]:
    from sparkrig.fabric.survey import Survey

    return Survey(fleet, tuple(found), found, heard).cables if heard else ()


def _asked(group: Sequence[str], name: str, cables: Sequence[Cable], asked: Asked) -> Form:
    """What joins them, by the one who knows. Raises Refusal where there is none to ask."""
    from sparkrig.onboarding import joining

    question = joining.question(group, name, cables)
    if asked.yes or asked.as_json:
        raise Refusal(question, "--topology ring or --topology switch")
    answer: Form = terminal.prompt(f"\n{question}. Which", type=click.Choice(["ring", "switch"]))
    return answer
