"""`sparkrig onboard --replace`: a Spark of the inventory that was exchanged, or whose system was installed anew.

It keeps its place: its name, its pair or cluster, its addresses. What this machine knew of the one before goes
once the plan is agreed to, and not earlier, so that what is refused or declined leaves all of it as it was. What
its peers knew goes with the deploy, which exchanges the keys of all of them whenever they differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sparkrig.checks import clones
from sparkrig.cure import quoted, quoted_path, verb
from sparkrig.drift.plan import Step
from sparkrig.files import DECLARED
from sparkrig.onboarding.io import draft as drafts
from sparkrig.onboarding.io import kept_files, newcomer
from sparkrig.onboarding.io.draft import Book, Draft
from sparkrig.onboarding.io.newcomer import Asked
from sparkrig.onboarding.kept import Kept, Served
from sparkrig.refusal import Refusal
from sparkrig.serving import last_deploy
from sparkrig.serving.service_settings import NONE
from sparkrig.terminal import terminal
from sparkrig.text import listed, nearest, some

if TYPE_CHECKING:
    from sparkrig.onboarding.hostkey import HostKey
    from sparkrig.onboarding.io.first_login import Target
    from sparkrig.onboarding.report import Accepted, Replaced
    from sparkrig.resources.state import State

_NAMED = 6  # checks


@dataclass(frozen=True)
class Place:
    """A place in the inventory that a Spark takes.

    name: in the inventory; at: how the Spark is reached; before: how the inventory reaches that name; others: how
    it reaches all others; known: the host keys that known_hosts has for `at`; former: those that it has for
    `before`, where that is another address; was: what is kept of the one before, if anything; peers: the others of
    its pair or cluster, as they were seen.
    """

    name: str
    at: Target
    before: Target
    others: Mapping[str, Target]
    known: tuple[HostKey, ...]
    former: tuple[HostKey, ...] = ()
    was: Kept | None = None
    peers: Mapping[str, State] = field(default_factory=dict)

    @property
    def moved(self) -> bool:
        """Whether it is reached elsewhere than the one before."""
        return self.at.entry != self.before.entry

    def stale(self, key: HostKey) -> list[HostKey]:
        """What known_hosts has of the one before. key: that of the one which takes its place."""
        return [each for each in dict.fromkeys((*self.known, *self.former)) if each != key]

    def settled(self, key: HostKey) -> bool:
        """Whether known_hosts has nothing but that key."""
        return key in self.known and not self.stale(key)

    @property
    def elsewhere(self) -> str:
        """The command for this place, with another address."""
        return f"sparkrig onboard USER@ADDRESS --replace {quoted(self.name)}"


def place(typed: str | None, book: Book, name: str) -> Place:
    """The place of that name. typed: the address, None for the one of the inventory. Raises Refusal."""
    from sparkrig.onboarding import address
    from sparkrig.onboarding.io import first_login

    there = drafts.reached(book)
    if name not in book.data:
        raise Refusal(
            f"there is no {name} in {book.file}, whose place could be taken",
            _instead(name, book) or "sparkrig onboard USER@ADDRESS, which adds a new Spark",
        )
    if name not in there:
        raise Refusal(f"{name} is not reached over ssh", "sparkrig docs onboarding, by hand")
    before = there.pop(name)
    wanted = address.parse(typed or before.typed)
    if wanted.host == name:
        wanted = replace(wanted, host=before.typed)
    at = first_login.target(wanted, book.data[name])
    for other, target in there.items():
        if (at.host, at.port) == (target.host, target.port) or wanted.host == other:
            raise Refusal(
                f"{wanted.host} is the address of {other}, and not of {name}",
                f"sparkrig onboard --replace {quoted(other)}, if that is the one",
            )
    former = first_login.known(before) if at.entry != before.entry else ()
    was = kept_files.read(book.file, name)
    return Place(name, at, before, there, tuple(first_login.known(at)), tuple(former), was)


def _instead(name: str, book: Book) -> str:
    """The name that was meant; empty where the inventory has none."""
    near = nearest(name, book.data, 0)
    return f"sparkrig onboard --replace {quoted(near)}" if near else ""


# --- before anything is written


def host_key(place: Place, book: Book, asked: Asked) -> tuple[HostKey, Place]:
    """The host key that is known, or that is compared now; and the place, with its peers looked at.

    Nothing is written yet. Raises Refusal, and Lost where the Spark does not answer; exit code 3 where a peer does
    not.
    """
    from sparkrig.onboarding.io import first_login

    at = place.at
    shown = first_login.scan(at, [key.kind for key in place.known])
    newcomer.as_given(at, shown, asked)
    if shown not in place.known and (other := newcomer.shown_by(shown, place.others)):
        raise _another(place, other)
    if shown in place.former:
        raise _not_replaced(place, asked)
    _must_be_gone(place)
    place = replace(place, peers=_peers(place.name, book))
    for peer, seen in place.peers.items():
        if shown.public in seen.trust.host_keys:  # known_hosts may have another one of its keys
            raise _another(place, peer)
    if shown not in place.known:
        newcomer.compare(at, shown, asked, place.known)
    return shown, place


def _another(place: Place, other: str) -> Refusal:
    return Refusal(
        f"{place.at.entry} shows the host key of {other}, which is in the inventory under that name, and is not "
        f"taken for {place.name}",
        place.elsewhere,
    )


def _must_be_gone(place: Place) -> None:
    """Raise Refusal where the one before still answers at its own address, with its own host key."""
    from sparkrig.onboarding.io import first_login
    from sparkrig.ssh.remote import Lost

    if not place.former:
        return
    try:
        shown = first_login.scan(place.before, [key.kind for key in place.former])
    except Lost:
        return
    if shown in place.former:
        raise Refusal(
            f"{place.name} still answers at {place.before.entry} with the host key that is known: it was not "
            "replaced",
            f"sparkrig onboard {quoted(place.at.typed)}, which adds the other one under a name of its own",
        )


def _peers(name: str, book: Book) -> dict[str, State]:
    """The others of its pair or cluster. Exit code 3 where one cannot be read: it keeps keys of the one before."""
    from sparkrig.ssh.remote import Lost

    peers = book.fleet.peers(name)
    if not peers:
        return {}
    try:
        role = ", one of its cluster," if len(peers) > 1 else ", the other host of its pair,"
        return drafts.looked_at(peers, book, f"Looking at {listed(peers)}", role)
    except Lost as error:
        terminal.echo(f"Error: {error}. Nothing was changed. Try: {verb('doctor', 'access')}", err=True)
        raise SystemExit(3) from None


def judge(place: Place, key: HostKey, draft: Draft, asked: Asked) -> Draft:
    """The same with all that is to be done for its place.

    Raises Refusal where the Spark is the one that was there before, or one of the inventory's others. One that was
    broken off in the middle of this is known by its key, and has no whole deploy behind it yet, or does not serve.
    """
    seen = draft.seen
    for peer, other in place.peers.items():
        if clones.are_one(seen, other) or set(seen.trust.host_keys) & set(other.trust.host_keys):
            raise _another(place, peer)
    servers = _unserved(place, draft)
    if key in place.known and deployed(seen) and not servers:
        raise _not_replaced(place, asked)
    steps = tuple(Step(f"Serve: {what}") for what in servers)
    plans = [
        replace(plan, steps=(*plan.steps, *steps)) if plan.host == place.name and not plan.refusals else plan
        for plan in draft.plans
    ]
    here = [*_here(place, key, draft), *draft.here]
    return replace(draft, here=here, plans=plans, servers=servers)


def _unserved(place: Place, draft: Draft) -> dict[str, dict[str, Any]]:
    """What the one before served, or is declared, and is not served: in words, and what serves it.

    Raises Refusal where what is kept fits the inventory no more.
    """
    mine, seen = draft.after.fleet[place.name], draft.seen
    there = last_deploy.records(seen.files, seen.serving)
    servers = [each for each in place.was.servers if each.service not in there] if place.was else []
    declared = "" if mine.model == NONE else mine.model or mine.recipe
    if declared and mine.serve_name not in {*there, *(each.service for each in servers)}:
        servers.append(Served(mine.serve_name, declared))
    try:
        return {str(each): each.data(mine) for each in servers}
    except ValueError as error:
        file = kept_files.path(draft.book.file, place.name)
        raise Refusal(
            f"{file}: a server cannot be served again: {error}",
            f"mv {quoted_path(file)} {quoted_path(file)}.aside, and the same again, which serves nothing",
        ) from None


def _not_replaced(place: Place, asked: Asked) -> Refusal:
    address = f'say in the inventory: "ssh_hostname": "{place.at.typed}"'
    return Refusal(
        f"{place.name} answers at {place.at.entry} with the host key that is known: nothing was replaced",
        address if place.moved else f"{plainly(place, asked)}, which does what is missing",
    )


def plainly(place: Place, asked: Asked) -> str:
    """The command that goes on with a Spark that has taken its place."""
    return f"sparkrig onboard {quoted(place.name)} --inventory {quoted_path(asked.file)}"


def deployed(seen: State) -> bool:
    """Whether a whole deploy was carried out on a host, and has ended."""
    return DECLARED in seen.files and not seen.preflight.open_run


# --- what this machine keeps


def _here(place: Place, key: HostKey, draft: Draft) -> list[str]:
    """What is written on this machine for it, besides what every onboarding writes."""
    said = []
    if not place.settled(key):
        how = ", in the place of the old one" if place.stale(key) else ""
        said.append(f"the host key of {place.at.entry}{how}: {place.at.known_hosts}")
    if not deployed(draft.seen) and _reported(draft.book, place.name):
        said.append(f"the last drift report: {place.name} begins anew")
    return said


def begin(place: Place, key: HostKey, draft: Draft) -> None:
    """Let this machine forget the one before. Raises Refusal where known_hosts cannot be written."""
    from sparkrig.drift.io import drift_files
    from sparkrig.ssh import session

    if not place.settled(key):
        newcomer.know(place.at, key, place.before)
        session.read_known_hosts_again()  # its peers were looked at before
    if not deployed(draft.seen):
        try:
            drift_files.forget(draft.book.file, place.name)
        except Refusal as refusal:  # it only shows what is new
            _warn(refusal)


def _reported(book: Book, name: str) -> bool:
    from sparkrig.drift.io import drift_files

    try:
        report = drift_files.kept(book.file)
    except Refusal:  # `begin` warns of it
        return False
    return report is not None and report.host(name) is not None


def _warn(refusal: Refusal) -> None:
    terminal.echo(f"Warning: {refusal.what}. Try: {refusal.cure}", err=True)


# --- what is left to say


def said(place: Place, draft: Draft) -> Iterator[str]:
    """What stays of the one before, and what is otherwise; a line each."""
    from sparkrig.bandwidth.io import history_file
    from sparkrig.drift.io import drift_files

    file, pair = draft.after.file, draft.after.fleet[place.name].group_name
    yield from _moved(place, draft)
    if pair and history_file.path(pair).exists():
        yield f"The bandwidth history of {pair} stays, to compare with: sparkrig bandwidth {quoted_path(file)}"
    for each in accepted(place.name, draft):
        yield (
            f"{each.id} is still accepted on {place.name} until {each.until}, by {drift_files.accepted_file(file)}"
        )


def _moved(place: Place, draft: Draft) -> Iterator[str]:
    """What is otherwise than the one before had it; nothing where that is not known."""
    was, now = place.was, kept_files.read(draft.after.file, place.name)
    if was is None or now is None:
        return
    if differ := now.moved(was):
        yield f"{place.name} differs from the one before: {differ}. Compare: {verb('update', '--check')}"
    if ids := now.differs(was):
        yield f"Declared otherwise than the one before was: {some(ids, _NAMED)}"


def accepted(name: str, draft: Draft) -> list[Accepted]:
    """What is accepted for that host by name. The file is the user's own, and stays as it is."""
    from datetime import date

    from sparkrig.drift.io import drift_files
    from sparkrig.onboarding.report import Accepted

    try:
        found = drift_files.accepted(draft.after.file)
    except Refusal as refusal:
        _warn(refusal)
        return []
    return [
        Accepted(each.id, str(each.until)) for each in found if each.host == name and each.until >= date.today()
    ]


def document(place: Place, key: HostKey, draft: Draft) -> Replaced:
    """The same for programs."""
    from sparkrig.onboarding.report import Replaced

    was = place.was.facts if place.was else None
    return Replaced(place.stale(key), accepted(place.name, draft), was, [*draft.servers])
