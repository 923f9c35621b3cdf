"""`sparkrig onboard`: a new Spark, from out of the box to in the inventory and as declared.

Whatever is written, but the host key that was compared, is written after the one question; so a run that is broken
off is finished by the same command, which reads from the host, the inventory and known_hosts how far it got.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.command import files, newcomer
from sparkrig.command.newcomer import Asked, Entrance, Password
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from rich.console import Console

    from operations.door import Door, Target
    from sparkrig import schema
    from sparkrig.onboarding.hostkey import HostKey
    from sparkrig.onboarding.plan import Plan
    from sparkrig.onboarding.proposal import Proposal, Seen, Wishes
    from sparkrig.settings import Fleet

_LOOK_S = 90  # times `patience`; apt's simulation is the longest of it
_ROOT = Path(__file__).resolve().parents[2]


@click.command()
@click.argument("address", required=False)
@click.option(
    "--inventory",
    "inventory_file",
    type=click.Path(path_type=Path),
    default=Path("inventories/sparks.py"),
    show_default=True,
    help="Where it is written; made where there is none.",
)
@click.option("--fingerprint", metavar="SHA256:...", help="Of its host key, as its own screen prints it.")
@click.option("--key", metavar="FILE", help="Your key, where it is not ~/.ssh/id_ed25519 or the agent's.")
@click.option(
    "--password-file", metavar="FILE", help="Its password, for scripts; - for standard input. Never kept."
)
@click.option("--name", help="Its name in the inventory, where not its own.")
@click.option("--pair", help="Name of the pair that it makes with the Spark at the other end of its cable.")
@click.option("--peer", metavar="HOST", help="Which of the inventory is at that end, where that is not clear.")
@click.option("--solo", is_flag=True, help="Leave it on its own, whatever it is joined to.")
@click.option("--fabric", multiple=True, metavar="NETDEV=ADDRESS/PREFIX", help="Instead of what is proposed.")
@click.option(
    "--adopt",
    type=click.Choice(["adopt", "set-aside", "leave"]),
    help="What becomes of other people's definitions of its fabric (docs/adopting.md).",
)
@click.option("--restart-docker", is_flag=True, help="Although containers run, where docker must restart.")
@click.option("--yes", is_flag=True, help="Do not ask. A new host key then needs --fingerprint.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="For programs (docs/schema/onboard.json); writes nothing without --yes.",
)
def onboard(
    address: str | None,
    inventory_file: Path,
    fingerprint: str | None,
    key: str | None,
    password_file: str | None,
    restart_docker: bool,
    yes: bool,
    as_json: bool,
    **wishes: Any,
) -> None:
    """Take a new Spark from out of the box into an inventory, and make it what is declared.

    ADDRESS is as you would type it after ssh; without one, the network is asked who is there. It shows the host
    key to compare, asks for the password once, looks without writing, proposes name, peer and addresses, shows
    what would change, asks once, and applies it with pyinfra. The second Spark makes a pair. Broken off, the same
    command goes on. Exit code 1: refused or declined; 2: something is left to do; 3: a host could not be reached;
    4: the network was rolled back.
    """
    from rich.console import Console

    if not as_json:
        files.must_answer(yes)
    console = Console(stderr=as_json, highlight=False)
    try:
        asked = Asked(
            inventory_file, fingerprint, key, password_file, restart_docker, yes, as_json, _wishes(**wishes)
        )
        code = _onboard(address or newcomer.found(asked), asked, console)
    except Refusal as refusal:
        raise click.ClickException(f"{refusal.what}. Try: {refusal.cure}") from None
    raise SystemExit(code)


def _wishes(fabric: Sequence[str], **others: Any) -> Wishes:
    from sparkrig.onboarding.proposal import Wishes

    pairs = [each.partition("=") for each in fabric]
    if odd := [name for name, separator, address in pairs if not (name and separator and address)]:
        raise Refusal(
            f"--fabric {odd[0]}: NETDEV=ADDRESS/PREFIX is expected", "--fabric enp1s0f0np0=192.168.100.11/24"
        )
    return Wishes(fabric={name: address for name, _, address in pairs}, **others)


# --- the inventory


@dataclass(frozen=True)
class _Book:
    """An inventory file: its text, its checked settings, and the data of its hosts, by name.

    defaults: what its groups say of any host.
    """

    file: Path
    text: str
    fleet: Fleet
    data: Mapping[str, Mapping[str, Any]]
    defaults: Mapping[str, Any]

    def with_text(self, text: str, **overrides: Any) -> _Book:
        """The same with another text, which is not written yet. Exit code 1 where it cannot stand."""
        from sparkrig import inventory, settings

        try:
            fleet, data = inventory.fleet_of(text, self.file, **overrides)
        except settings.SettingsError as error:
            raise click.ClickException(f"what would be written cannot stand: {error}") from None
        return replace(self, text=text, fleet=fleet, data=data)


def _book(asked: Asked) -> _Book:
    from sparkrig import inventory, inventory_file, settings

    file = asked.file
    try:
        defaults = inventory.defaults(file)
    except settings.SettingsError as error:
        raise click.ClickException(str(error)) from None
    if not defaults.get("_sudo"):
        raise Refusal(
            f"{file.parent}/group_data/all.py does not set _sudo, without which nothing is applied",
            f"cp -r {_ROOT}/inventories/group_data {file.parent}/, or another --inventory",
        )
    if not file.exists():
        return _Book(file, inventory_file.new(file), settings.Fleet({}), {}, defaults)
    fleet, data = files.inventory(file, **asked.overrides)
    return _Book(file, file.read_text(encoding="utf-8"), fleet, data, defaults)


def _target(typed: str, book: _Book) -> tuple[str | None, Target, dict[str, Target]]:
    """The name of a Spark that is in the inventory; how it is reached; and how the others there are."""
    from operations import door
    from sparkrig.onboarding import address

    wanted, name, at = address.parse(typed), None, None
    there = {
        host: door.target(address.Address(str(own.get("ssh_hostname") or host.removeprefix("@ssh/"))), own)
        for host, own in book.data.items()
        if not host.startswith("@") or host.startswith("@ssh/")
    }
    for host, other in there.items():
        asked = replace(wanted, host=other.typed) if wanted.host == host else wanted
        here = door.target(asked, book.data[host])
        if (here.host, here.port) == (other.host, other.port):
            name, at = host, here
    others = {host: other for host, other in there.items() if host != name}
    return name, at or door.target(wanted, book.defaults), others


# --- looking, and what comes of it


@dataclass(frozen=True)
class _Draft:
    """All that is known and proposed before the question. found: the Spark and the other half of its pair."""

    book: _Book
    made: Proposal
    after: _Book
    found: Mapping[str, Seen]
    plans: Sequence[Plan]
    here: Sequence[str]

    @property
    def seen(self) -> Seen:
        return self.found[self.made.name]

    @property
    def refused(self) -> bool:
        return any(plan.refusals for plan in self.plans)

    @property
    def due(self) -> bool:
        return bool(self.here) or any(self.plans)


def _draft(at: Target, name: str | None, book: _Book, entrance: Entrance, asked: Asked) -> _Draft:
    from sparkrig.onboarding.proposal import propose

    seen = _look(entrance.door, book)
    others = _others(name, book, asked)
    login: dict[str, Any] = {"ssh_hostname": at.typed}
    login |= {} if at.tells_port else {"ssh_port": at.port}
    login |= {} if at.tells_user else {"ssh_user": at.user}
    login |= {"ssh_key": _below_home(entrance.own.file)} if entrance.own and entrance.own.told else {}
    lonely = {other: each for other, each in others.items() if book.fleet[other].pair is None}
    made = propose(login, seen, book.fleet, lonely, asked.wishes, name)
    after = book.with_text(made.written(book.text), **asked.overrides) if made.edits else book
    found = {made.name: seen} | ({made.peer: others[made.peer]} if made.peer else {})
    here = _here(book, made, entrance)
    return _Draft(book, made, after, found, _plans(after, found, made.name, at, entrance), here)


def _below_home(file: Path) -> str:
    """A path that means the same to others who share the inventory."""
    return f"~/{file.relative_to(Path.home())}" if file.is_relative_to(Path.home()) else str(file)


def _look(entered: Door, book: _Book) -> Seen:
    from facts.newcomer import Newcomer
    from sparkrig import progress

    seconds = int(_LOOK_S * float(book.defaults.get("patience", 1)))
    with progress.hosts([entered.at.typed], "Looking at the new Spark") as told:
        told(entered.at.typed, "reading")
        seen = entered.read(Newcomer(), seconds=seconds)
        told.done(entered.at.typed)
    return seen


def _others(name: str | None, book: _Book, asked: Asked) -> dict[str, Seen]:
    """The Sparks of the inventory that are, or may become, its peer. Raises Lost where one cannot be read."""
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from facts.newcomer import Newcomer
    from operations import remote
    from operations.remote import Lost

    fleet = book.fleet
    if name and fleet[name].pair:
        wanted = [peer] if (peer := fleet.peer(name)) else []
    elif asked.wishes.solo:
        wanted = []
    else:
        wanted = [other for other in fleet if fleet[other].pair is None and other != name]
    if not wanted:
        return {}
    answers = session.asked(
        {other: book.data[other] for other in wanted},
        f"Looking at {book.file.name}",
        lambda host: remote.read(host, Newcomer(), seconds=int(_LOOK_S * fleet[host.name].patience)),
    )
    for other, answer in answers.items():
        if isinstance(answer, Exception):
            raise Lost(f"{other}, which may be its peer, cannot be read: {answer}")
    return {other: answer for other, answer in answers.items() if not isinstance(answer, Exception)}


def _here(book: _Book, made: Proposal, entrance: Entrance) -> list[str]:
    """What is written on this machine."""
    said = []
    if entrance.own and entrance.own.public is None:
        said.append(f"a key pair of yours, without a passphrase: {entrance.own.file}")
    if made.edits:
        what = f"{made.name} is added" if made.new else f"the data of {made.name}"
        said.append(f"{book.file}: {what}" + (f", as a pair with {made.peer}" if made.peer else ""))
    return said


def _plans(
    after: _Book, found: Mapping[str, Seen], name: str, at: Target, entrance: Entrance | None = None
) -> list[Plan]:
    """What would be done to each host; entrance: what the Spark of that name still lacks, if anything."""
    from deploys import dry
    from operations.onboard import SUDOERS
    from sparkrig.onboarding import plan

    data = {host: after.data[host] for host in found}
    steps = dry.plan(data, after.fleet, {host: each.state for host, each in found.items()})
    login = []
    if entrance and entrance.own:
        login.append(f"Login: your public key, in ~/.ssh/authorized_keys of {at.user}")
    if entrance and entrance.sudo_asks:
        login.append(f"Login: sudo without a password for {at.user}, in {SUDOERS}")
    return [
        plan.of(host, each, after.fleet, steps[host], login if host == name else ())
        for host, each in found.items()
    ]


def _show(console: Console, at: Target, draft: _Draft) -> None:
    from sparkrig.onboarding import card, plan
    from sparkrig.picture import card as picture

    made, mine = draft.made, draft.after.fleet[draft.made.name]
    title = made.name if made.name == at.typed else f"{made.name}  {at.user}@{at.typed}"
    console.print()
    console.print(picture.Card(title, card.heading(draft.seen), card.rows(draft.seen, mine, made)))
    if made.edits:
        before = draft.book.text if draft.book.file.exists() else ""
        console.print(f"\nInventory {draft.book.file}", style="bold")
        console.print(picture.difference(before, draft.after.text))
    if draft.due:
        console.print("\nPlan", style="bold")
        console.print(picture.planned(draft.here, draft.plans))
        console.print(f"\n{plan.total(draft.plans, draft.here)}.")


# --- doing it


def _let_in(at: Target, key: HostKey, entrance: Entrance) -> None:
    """Let our key in, make sudo ask for nothing, and prove both by a new connection. Raises Refusal."""
    from operations import door, onboard
    from sparkrig import own_key

    if entrance.own:
        public = entrance.own.public or own_key.make(entrance.own)
        at = replace(at, keys=(str(entrance.own.file), *at.keys))
        onboard.authorize(entrance.door, public)
    if entrance.sudo_asks:
        onboard.allow_sudo(entrance.door)
    with door.door(at, key) as again:
        if again is None:
            raise Refusal(
                f"{at.typed} has your key in authorized_keys, and does not let it in",
                "on the Spark: sudo journalctl -u ssh -n 20; ls -ld ~ ~/.ssh ~/.ssh/authorized_keys",
            )
        if not again.is_root():
            raise Refusal(
                f"sudo on {at.typed} still asks {at.user} for a password; a later rule is stronger",
                f"on the Spark: sudo -l -U {at.user}",
            )


def _unchanged(book: _Book) -> None:
    """Raise Refusal where somebody changed the inventory since it was read."""
    if book.file.exists() and book.file.read_text(encoding="utf-8") != book.text:
        raise Refusal(f"{book.file} was changed meanwhile, and is left as it is", "the same again")


def _write(draft: _Draft) -> None:
    """Put the inventory in its place, where nobody changed it meanwhile. Raises Refusal."""
    from sparkrig import whole_file

    _unchanged(draft.book)
    whole_file.write(draft.book.file, draft.after.text)


def _apply(draft: _Draft, asked: Asked) -> int:
    """The exit code of pyinfra, which shows itself; plain pyinfra is all that applying needs."""
    words = ["-y"]
    if set(draft.after.fleet) != set(draft.found):
        words += [word for host in draft.found for word in ("--limit", host)]
    words += [word for key, value in asked.overrides.items() for word in ("--data", f"{key}={value}")]
    words += [str(draft.after.file), _as_typed(_ROOT / "deploys" / "cluster.py")]
    click.echo(f"\n$ pyinfra {shlex.join(words)}", err=asked.as_json)
    program = str(Path(sys.executable).with_name("pyinfra"))
    # Ctrl-C reaches pyinfra too, which ends its step; a signal that is caught here is not ignored there
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(
            [program, *words],
            env={**os.environ, "PYINFRA_PROGRESS": "off"},  # its spinner can deadlock (pyinfra's issue 1526)
            stdout=sys.stderr if asked.as_json else None,
            check=False,
        ).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _as_typed(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _verified(draft: _Draft, at: Target) -> list[Plan]:
    """What would still be done, by a second look. Raises Lost where a host cannot be read."""
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from facts.newcomer import Newcomer
    from operations import remote
    from operations.remote import Lost

    fleet = draft.after.fleet
    answers = session.asked(
        {host: draft.after.data[host] for host in draft.found},
        "Looking again",
        lambda host: remote.read(host, Newcomer(), seconds=int(_LOOK_S * fleet[host.name].patience)),
    )
    unread = [
        f"{host} cannot be read: {answer}" for host, answer in answers.items() if isinstance(answer, Exception)
    ]
    if unread:
        raise Lost("; ".join(unread))
    found = {host: answer for host, answer in answers.items() if not isinstance(answer, Exception)}
    return _plans(draft.after, found, draft.made.name, at)


def _rolled_back(draft: _Draft, began: str) -> bool:
    """Whether the run that began then took its own network change back."""
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from operations import journal
    from sparkrig.journal import outcome

    data = {host: draft.after.data[host] for host in draft.found}
    answers = session.asked(data, "Reading the journals", journal.look)
    return any(
        outcome(run, told) == "rolled back"
        for told in answers.values()
        if not isinstance(told, Exception)
        for run in told.runs
        if run.id >= began  # the id begins with this machine's time
    )


# --- all of it


def _onboard(typed: str, asked: Asked, console: Console) -> int:
    book = _book(asked)
    from sparkrig import session  # noqa: F401 # isort: skip - it patches the standard library before paramiko is loaded
    from operations.remote import Failed, Lost

    name, at, others = _target(typed, book)
    try:
        key = newcomer.host_key(at, others, asked)
        at = newcomer.named(at, asked)
        return _through(name, at, key, book, asked, console)
    except (Failed, Lost) as error:
        click.echo(f"Error: {error}. Try: {at.ssh}, and then the same again, which goes on", err=True)
        return 3


def _through(name: str | None, at: Target, key: HostKey, book: _Book, asked: Asked, console: Console) -> int:
    password = Password(at, asked)
    with ExitStack() as stack:
        entrance = newcomer.enter(stack, at, key, asked, password)
        draft = _draft(at, name, book, entrance, asked)
        _show(console, at, draft)
        code, outcome = _judged(draft, asked)
        if outcome is None:
            _unchanged(draft.book)
            _let_in(at, key, entrance)
        password.drop()
    if outcome is None:
        code, outcome = _carried_out(draft, at, asked, console)
    console.print(f"\n{outcome}")
    if code in (1, 2, 4) and draft.due:
        console.print(f"The same again goes on from there: {_again()}", soft_wrap=True)
    if asked.as_json:
        click.echo(json.dumps(_document(at, key, draft, outcome, code), indent=2))
    return code


def _again() -> str:
    """What was typed; no password is ever part of it."""
    return shlex.join(["sparkrig", *sys.argv[1:]])


def _judged(draft: _Draft, asked: Asked) -> tuple[int, str | None]:
    """The exit code and a sentence where nothing is to be done, or may be; None where it is."""
    if draft.refused:
        return 1, "Refused; nothing was changed. What stands behind `try:` is the way on."
    if not draft.due:
        return 0, f"Nothing is to be done: {_next(draft)}"
    if not asked.writes:
        return 0, "Nothing was written; --yes applies it."
    if not asked.yes and not files.agreed("Apply?"):
        return 1, "Declined; nothing was changed."
    return 0, None


def _carried_out(draft: _Draft, at: Target, asked: Asked, console: Console) -> tuple[int, str]:
    """The inventory written, applied, and verified: the exit code, and what came of it."""
    from sparkrig.picture import card as picture

    if draft.made.edits:
        _write(draft)
        console.print(f"\n{draft.after.file} is written.", soft_wrap=True)
    began = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    if failed := _apply(draft, asked):
        if _rolled_back(draft, began):
            return 4, "The network was put back to what it was; the lines above say why."
        return 1, f"The deploy did not get to its end: pyinfra ended with {failed}."
    left = _verified(draft, at)
    if any(left):
        console.print(picture.planned([], left))
        return 2, "Something is still to be done."
    return 0, f"Done: {_next(draft)}"


def _next(draft: _Draft) -> str:
    """The verdict, and the command that comes next."""
    file, made = draft.after.file, draft.made
    if made.peer:
        return f"{made.peer} and {made.name} are a pair, and as declared. Next: sparkrig doctor {file}"
    second = ". With a second Spark: seat the QSFP cable, then: sparkrig onboard" if not draft.seen.cages() else ""
    return f"{made.name} is on its own, and as declared. Next: sparkrig doctor {file}{second}"


def _document(at: Target, key: HostKey, draft: _Draft, outcome: str, code: int) -> schema.Onboard:
    from sparkrig.onboarding import card, plan

    made = draft.made
    return {
        "schema": "sparkrig.onboard/1",
        "address": at.typed,
        "user": at.user,
        "host_key": {"kind": key.kind, "fingerprint": key.fingerprint},
        "name": made.name,
        "peer": made.peer,
        "inventory": str(draft.after.file),
        "data": dict(made.data),
        "peer_data": dict(made.peer_data),
        "identity": card.document(draft.seen),
        "here": list(draft.here),
        "hosts": plan.document(draft.plans),
        "outcome": outcome,
        "exit_code": code,
    }
