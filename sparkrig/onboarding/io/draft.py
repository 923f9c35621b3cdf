"""What `sparkrig onboard` knows and proposes before its one question.

The inventory as it is and as it would be, the hosts, and what would be done to them; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cure import deploy, quoted_path, verb
from sparkrig.drift.plan import Planned
from sparkrig.onboarding.io.newcomer import Asked, Entrance
from sparkrig.refusal import Refusal
from sparkrig.terminal import project
from sparkrig.text import listed

if TYPE_CHECKING:
    from sparkrig.fleet import Fleet
    from sparkrig.onboarding.io.first_login import Door, Target
    from sparkrig.onboarding.plan import Plan
    from sparkrig.onboarding.proposal import Move, Proposal
    from sparkrig.resources.state import State
    from sparkrig.ssh.remote import Failed, Lost

Plans = Callable[["Mapping[str, Mapping[str, Any]]", "Fleet", "Mapping[str, State]"], dict[str, Planned]]
Read = Callable[..., "tuple[Fleet, Mapping[str, Mapping[str, Any]]]"]
_LOOK_S = 90  # times `patience`; apt's simulation is the longest of it


@dataclass(frozen=True)
class Book:
    """An inventory file: its text, its checked settings, and the data of its hosts, by name.

    defaults: the data of its groups for any host; planned: what a deploy would do to hosts that were looked at.
    """

    file: Path
    text: str
    fleet: Fleet
    data: Mapping[str, Mapping[str, Any]]
    defaults: Mapping[str, Any]
    planned: Plans

    def with_text(self, text: str, **overrides: Any) -> Book:
        """The same with another text, which is not written yet. Exit code 1 where it cannot stand."""
        from sparkrig import inventory, settings

        try:
            fleet, data = inventory.fleet_of(text, self.file, **overrides)
        except settings.SettingsError as error:
            raise click.ClickException(f"what would be written cannot stand: {error}") from None
        return replace(self, text=text, fleet=fleet, data=data)


_PROJECT = "sparkrig init sparks && cd sparks, and the same there"


def book(asked: Asked, read: Read, planned: Plans) -> Book:
    """The inventory that was asked for. read: one that is there; planned: as of Book. Raises Refusal."""
    from sparkrig import inventory, inventory_file, settings
    from sparkrig.fleet import Fleet
    from sparkrig.terminal import atomic_write

    file = asked.file
    try:
        defaults = inventory.defaults(file)
    except settings.SettingsError as error:
        raise click.ClickException(str(error)) from None
    if not defaults.get("_sudo"):
        if not file.parent.is_dir():  # a first look by address needs no project, this does
            raise Refusal(f"{file.parent} is no folder, and an inventory lies in that of a project", _PROJECT)
        ours = quoted_path(project.root() / "inventories/group_data")
        raise Refusal(
            f"{file.parent}/group_data/all.py does not set _sudo, without which nothing is applied",
            f"cp -r {ours} {quoted_path(file.parent)}/, or another --inventory",
        )
    if not file.exists():
        return Book(file, inventory_file.new(file), Fleet({}), {}, defaults, planned)
    fleet, data = read(file, **asked.overrides)
    return Book(file, atomic_write.read(file), fleet, data, defaults, planned)


def target(typed: str, book: Book) -> tuple[str | None, Target, dict[str, Target]]:
    """The name of a Spark that is in the inventory; how it is reached; and how the others there are."""
    from sparkrig import login
    from sparkrig.onboarding import address
    from sparkrig.onboarding.io import first_login

    wanted, name, at = address.parse(typed), None, None
    if book.data.get(wanted.host, {}).get(login.HERE):
        raise Refusal(
            f"{wanted.host} is the machine that sparkrig runs on, and stands in the inventory already",
            deploy(),
        )
    there = reached(book)
    for host, other in there.items():
        asked = replace(wanted, host=other.typed) if wanted.host == host else wanted
        here = first_login.target(asked, book.data[host])
        if (here.host, here.port) == (other.host, other.port):
            name, at = host, here
    others = {host: other for host, other in there.items() if host != name}
    return name, at or first_login.target(wanted, book.defaults), others


def reached(book: Book) -> dict[str, Target]:
    """How each Spark of the inventory is reached that is reached over ssh."""
    from sparkrig import login
    from sparkrig.onboarding import address
    from sparkrig.onboarding.io import first_login

    return {
        host: first_login.target(address.Address(login.address(host, own)), own)
        for host, own in book.data.items()
        if login.over_ssh(host, own)
    }


@dataclass(frozen=True)
class Draft:
    """All that is known and proposed before the question.

    found: the Spark and the others of its pair or cluster; others: all of the inventory that were looked at;
    moves: the addresses of a cluster that it joins, before and after; servers: what it is to serve once it is
    deployed, in words, and what deploys/serve.py is given for each.
    """

    book: Book
    made: Proposal
    after: Book
    found: Mapping[str, State]
    plans: Sequence[Plan]
    here: Sequence[str]
    others: Mapping[str, State] = field(default_factory=dict)
    moves: Sequence[Move] = ()
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def seen(self) -> State:
        return self.found[self.made.name]

    @property
    def refused(self) -> bool:
        return any(plan.refusals for plan in self.plans)

    @property
    def due(self) -> bool:
        return bool(self.here) or any(self.plans)


def draft(
    at: Target,
    name: str | None,
    book: Book,
    entrance: Entrance,
    asked: Asked,
    peers: Mapping[str, State] | None = None,
) -> Draft:
    """peers: the others of its pair or cluster, where it takes a place in it; they were looked at before."""
    from sparkrig.onboarding import proposal
    from sparkrig.onboarding.io import meeting

    login: dict[str, Any] = {"ssh_hostname": at.typed}
    login |= {} if at.tells_port else {"ssh_port": at.port}
    login |= {} if at.tells_user else {"ssh_user": at.user}
    login |= {"ssh_key": _below_home(entrance.own.file)} if entrance.own and entrance.own.told else {}
    if name and peers is not None:
        others: Mapping[str, State] = peers
        met = None
        seen = _look(entrance.door, book, name)
        if at.typed == reached(book)[name].typed:
            del login["ssh_hostname"]
        made = proposal.replaced(name, login, seen, book.fleet, asked.wishes)
    else:
        seen = _look(entrance.door, book, asked.label(at, name))
        met = meeting.meet(name, seen, book, entrance, asked)
        others = met.mine.others
        made = met.proposal(login)
    after = book.with_text(made.written(book.text), **asked.overrides) if made.edits else book
    found = {made.name: seen} | {other: others[other] for other in made.others}
    due = plans(after, found, made.name, at, entrance)
    if met and made.edits:
        due = [replace(due[0], refusals=(*due[0].refusals, *met.obstacles(after.fleet))), *due[1:]]
    moves = met.moves(after.fleet) if met else []
    return Draft(book, made, after, found, due, _here(book, made, after, entrance), others, moves)


def _below_home(file: Path) -> str:
    """A path that means the same to others who share the inventory."""
    return f"~/{file.relative_to(Path.home())}" if file.is_relative_to(Path.home()) else str(file)


def _look(entered: Door, book: Book, label: str) -> State:
    from sparkrig.facts.newcomer import Newcomer
    from sparkrig.terminal import progress

    seconds = int(_LOOK_S * float(book.defaults.get("patience", 1)))
    with progress.hosts([label], "Looking at the new Spark") as told:
        told(label, "reading")
        seen = entered.read(Newcomer(), seconds=seconds)
        told.done(label)
    return seen


def looked_at(hosts: Sequence[str], book: Book, title: str, role: str = "") -> dict[str, State]:
    """Hosts of an inventory, each as it is now. Raises Lost, with their role, where some cannot be read."""
    answers = asked_of(hosts, book, title)
    found = {host: answer for host, answer in answers.items() if not isinstance(answer, Exception)}
    if unread := {host: answer for host, answer in answers.items() if isinstance(answer, Exception)}:
        raise unread_hosts(unread, role)
    return found


def unread_hosts(unread: Mapping[str, Exception], role: str) -> Lost:
    """That hosts cannot be read, and which role they have."""
    from sparkrig.ssh.remote import Lost

    said = "; ".join(f"{host}{role} cannot be read: {answer}" for host, answer in unread.items())
    return Lost(said, verb("doctor", "access"))  # of those, not of the new one


def asked_of(hosts: Sequence[str], book: Book, title: str) -> dict[str, State | Failed | Lost]:
    """Hosts of an inventory, each as it is now, or why it cannot be read."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.facts.newcomer import Newcomer
    from sparkrig.ssh import remote

    return session.asked(
        {host: book.data[host] for host in hosts},
        title,
        lambda host: remote.read(
            host,
            Newcomer(),
            seconds=int(_LOOK_S * book.fleet[host.name].patience),
        ),
    )


def _here(book: Book, made: Proposal, after: Book, entrance: Entrance) -> list[str]:
    """What is written on this machine."""
    said = []
    if entrance.own and entrance.own.public is None:
        said.append(f"a key pair of yours, without a passphrase: {entrance.own.file}")
    if made.edits:
        what = f"{made.name} is added" if made.new else f"the data of {made.name}"
        with_whom = f", as a pair with {made.peer}" if made.peer else ""
        if after.fleet.many(made.name) or after.fleet[made.name].form == "switch":
            with_whom = f", as one of {after.fleet[made.name].group_name} with {listed(made.others)}"
        said.append(f"{book.file}: {what}{with_whom}")
    return said


def plans(
    after: Book, found: Mapping[str, State], name: str, at: Target, entrance: Entrance | None = None
) -> list[Plan]:
    """What would be done to each host; entrance: what the Spark of that name still lacks, if anything."""
    from sparkrig.onboarding import plan

    data = {host: after.data[host] for host in found}
    made = after.planned(data, after.fleet, found)
    login = []
    if entrance and entrance.own:
        login.append(f"Login: your public key, in ~/.ssh/authorized_keys of {at.user}")
    if entrance and entrance.sudo_asks:
        login.append(f"Login: sudo without a password for {at.user}, in {plan.SUDOERS}")
    return [
        plan.of(host, each, after.fleet, made[host], login if host == name else ()) for host, each in found.items()
    ]
