"""Onboarding: what is changed on a new Spark before pyinfra can log in to it, the inventory, and the deploy.

Whatever is written, but the host key of a new Spark that was compared, is written after the one question; so a
run that is broken off is finished by the same command, which reads from the host, the inventory and known_hosts
how far it got.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import quoted, quoted_path
from sparkrig.onboarding import plan
from sparkrig.onboarding.io import draft as drafts
from sparkrig.onboarding.io import first_upgrade, newcomer, replacing
from sparkrig.onboarding.io.draft import Book, Draft, Plans, Read
from sparkrig.onboarding.io.newcomer import Asked, Entrance, Password
from sparkrig.onboarding.io.replacing import Place
from sparkrig.operations import applying
from sparkrig.refusal import Refusal
from sparkrig.render.progress import spent
from sparkrig.terminal import project, terminal
from sparkrig.text import listed

if TYPE_CHECKING:
    from rich.console import Console

    from sparkrig.onboarding.hostkey import HostKey
    from sparkrig.onboarding.io.first_login import Door, Target
    from sparkrig.onboarding.operator import PublicKey
    from sparkrig.onboarding.plan import Plan
    from sparkrig.onboarding.report import Report

AUTHORIZE = programs.text("operations/onboard_authorize.sh")
ALLOW = programs.text("operations/onboard_allow.sh")


def authorize(at: Door, key: PublicKey) -> None:
    """Let our key in, once. Raises Failed or Lost."""
    at.shell(AUTHORIZE, key.bare, key.line)


def allow_sudo(at: Door) -> None:
    """Let the user of a login become root without a password. Raises Refusal, or Lost."""
    from sparkrig.ssh.remote import Failed

    line = f"{at.at.user} ALL=(ALL:ALL) NOPASSWD: ALL"
    try:
        at.root(ALLOW, plan.SUDOERS, line)
    except Failed as error:
        raise Refusal(
            f"{plan.SUDOERS} was not written: {error}", f"sudo visudo -f {plan.SUDOERS}, with the line {line}"
        ) from None


def _show(console: Console, at: Target, draft: Draft) -> None:
    from sparkrig.onboarding import card
    from sparkrig.onboarding.render import card as picture

    made, settings = draft.made, draft.after.fleet[draft.made.name]
    title = made.name if made.name == at.typed else f"{made.name}  {at.user}@{at.typed}"
    console.print()
    console.print(
        picture.Card(title, card.heading(draft.seen), card.rows(draft.seen, settings, made, draft.others))
    )
    if made.edits:
        before = draft.book.text if draft.book.file.exists() else ""
        console.print(f"\nInventory {draft.book.file}", style="bold", soft_wrap=True)
        console.print(picture.difference(before, draft.after.text))
    if draft.moves:
        console.print("\nFabric", style="bold")
        console.print(picture.moved(draft.moves))
    if draft.due:
        console.print("\nPlan", style="bold")
        console.print(picture.planned(draft.here, draft.plans))
        console.print(f"\n{plan.total(draft.plans, draft.here)}.")


# --- doing it


def _let_in(at: Target, key: HostKey, entrance: Entrance) -> None:
    """Let our key in, make sudo ask for nothing, and prove both by a new connection. Raises Refusal."""
    from sparkrig.onboarding.io import first_login, ssh_keys

    if entrance.own:
        public = entrance.own.public or ssh_keys.make(entrance.own)
        at = replace(at, keys=(str(entrance.own.file), *at.keys))
        authorize(entrance.door, public)
    if entrance.sudo_asks:
        allow_sudo(entrance.door)
    with first_login.door(at, key) as again:
        if again is None:
            raise Refusal(
                f"{at.typed} has your key in authorized_keys, and does not let it in",
                "on the Spark: sudo journalctl -u ssh -n 20; ls -ld ~ ~/.ssh ~/.ssh/authorized_keys",
            )
        if not again.is_root():
            raise Refusal(
                f"sudo on {at.typed} still asks {at.user} for a password; a later rule is stronger",
                f"on the Spark: sudo -l -U {quoted(at.user)}",
            )


def _unchanged(book: Book) -> None:
    """Raise Refusal where the inventory changed since it was read."""
    from sparkrig.terminal import atomic_write

    if book.file.exists() and atomic_write.read(book.file) != book.text:
        raise Refusal(f"{book.file} was changed meanwhile, and is left as it is", "the same again")


def _write(draft: Draft) -> None:
    """Put the inventory in its place, unless it changed meanwhile. Raises Refusal."""
    from sparkrig.terminal import atomic_write

    _unchanged(draft.book)
    atomic_write.write(draft.book.file, draft.after.text)


def _apply(draft: Draft, asked: Asked, deploy: Path, given: Mapping[str, Any]) -> int:
    """The exit code of pyinfra, which shows itself; plain pyinfra is all that applying needs."""
    words = ["-y"]
    if set(draft.after.fleet) != set(draft.found):
        words += [word for host in draft.found for word in ("--limit", host)]
    words += applying.data(given)
    words += [str(draft.after.file), _as_typed(project.root(draft.after.file) / deploy)]
    terminal.echo(f"\n$ pyinfra {shlex.join(words)}", err=asked.as_json)
    with applying.interruptible():
        return subprocess.run(
            [applying.program(), *words],
            env=applying.environment(),
            stdout=sys.stderr if asked.as_json else None,
            check=False,
        ).returncode


def _as_typed(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _verified(draft: Draft, at: Target) -> list[Plan]:
    """What would still be done, by a second look. Raises Lost where a host cannot be read."""
    found = drafts.looked_at([*draft.found], draft.after, "Looking again")
    return drafts.plans(draft.after, found, draft.made.name, at)


# --- all of it


class _Watch:
    """How long each part took; parts: seconds by its name."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._last = monotonic()

    def lap(self, part: str = "") -> None:
        """What went by since the last lap was for that part; for none, where it is empty."""
        before, self._last = self._last, monotonic()
        if part:
            self.parts[part] = self.parts.get(part, 0) + self._last - before

    @property
    def said(self) -> str:
        parts = ", ".join(f"{part} {spent(seconds)}" for part, seconds in self.parts.items())
        return f"Took {spent(sum(self.parts.values()))}: {parts}."


def run(
    typed: str | None, asked: Asked, console: Console, read: Read, planned: Plans
) -> tuple[int, Report | None]:
    """Onboard one Spark: the exit code, and with --json what came of it. Raises Refusal.

    typed: its address, None where it is searched for; read, planned: as of `drafts.book`.
    """
    typed = typed or (None if asked.replaces else newcomer.found(asked))
    book = drafts.book(asked, read, planned)
    from sparkrig.ssh import session  # noqa: F401 # isort: skip - it patches the standard library before paramiko is loaded
    from sparkrig.ssh.remote import Failed, Lost

    place = replacing.place(typed, book, asked.replaces) if asked.replaces else None
    name, at, others = (place.name, place.at, place.others) if place else drafts.target(str(typed), book)
    try:
        if place:
            key, place = replacing.host_key(place, book, asked)
        else:
            key = newcomer.host_key(at, others, asked, name)
        at = newcomer.named(at, asked)
        return _through(name, at, key, book, asked, console, place)
    except (Failed, Lost) as error:
        terminal.echo(
            f"Error: {error}. Try: {error.cure or at.ssh}, and then the same again, which goes on", err=True
        )
        return 3, None


def _through(
    name: str | None, at: Target, key: HostKey, book: Book, asked: Asked, console: Console, place: Place | None
) -> tuple[int, Report | None]:
    password, watch = Password(at, asked), _Watch()
    with ExitStack() as stack:
        entrance = newcomer.enter(stack, at, key, asked, password)
        patience = float(book.defaults.get("patience", 1))
        entrance = first_upgrade.past_first_upgrade(
            stack, at, key, entrance, password, patience, asked.label(at, name)
        )
        draft = drafts.draft(at, name, book, entrance, asked, place.peers if place else None)
        if place:
            draft = replacing.judge(place, key, draft, asked)
        watch.lap("look")
        _show(console, at, draft)
        code, outcome = _judged(draft, asked)
        if outcome is None:
            _unchanged(draft.book)
            if place:
                replacing.begin(place, key, draft)
            watch.lap()  # whoever answers may take his time
            _let_in(at, key, entrance)
        password.drop()
    applied = outcome is None
    if outcome is None:
        code, outcome = _carried_out(draft, at, asked, console, watch)
    console.print(f"\n{outcome}", soft_wrap=True)
    if applied:
        console.print(watch.said, soft_wrap=True)
    if place and applied and code in (0, 2):
        for line in replacing.said(place, draft):
            console.print(line, soft_wrap=True)
    if code in (1, 2, 4) and draft.due:
        again = replacing.plainly(place, asked) if place and code == 2 else _again()
        console.print(f"The same again goes on from there: {again}", soft_wrap=True)
    return code, _document(at, key, draft, outcome, code, place, watch) if asked.as_json else None


def _again() -> str:
    """What was typed; no password is ever part of it."""
    return shlex.join(["sparkrig", *sys.argv[1:]])


def _judged(draft: Draft, asked: Asked) -> tuple[int, str | None]:
    """The exit code and a sentence where nothing is to be done, or may be; None where it is."""
    if draft.refused:
        return 1, "Refused; nothing was changed. What stands behind `try:` is the way on."
    if not draft.due:
        return 0, f"Nothing is to be done: {_next(draft)}"
    if not asked.writes:
        return 0, "Nothing was written; --yes applies it."
    if not asked.yes and not terminal.confirm("Apply?"):
        return 1, f"Declined; nothing was changed on {listed(draft.found)}."
    return 0, None


def _carried_out(draft: Draft, at: Target, asked: Asked, console: Console, watch: _Watch) -> tuple[int, str]:
    """The inventory written, applied, served, and verified: the exit code, and what came of it."""
    from sparkrig.onboarding.render import card as picture

    if draft.made.edits:
        _write(draft)
        console.print(f"\n{draft.after.file} is written.", soft_wrap=True)
    began = applying.now()
    failed = _apply(draft, asked, project.DEPLOY, asked.overrides)
    watch.lap("deploy")
    if failed:
        if applying.rolled_back({host: draft.after.data[host] for host in draft.found}, began):
            return 4, "The network was put back to what it was; the lines above say why."
        return 1, f"The deploy did not get to its end: pyinfra ended with {failed}."
    for what, given in draft.servers.items():
        failed = _apply(draft, asked, project.SERVE, given)
        watch.lap("serve")
        if failed:
            return 1, f"{draft.made.name} is deployed, and does not serve {what}: pyinfra ended with {failed}."
    left = _verified(draft, at)
    watch.lap("verify")
    if any(left):
        console.print(picture.planned([], left))
        return 2, "Something is still to be done."
    return 0, f"Done: {_next(draft)}"


def _next(draft: Draft) -> str:
    """The verdict, and the command that comes next."""
    from sparkrig.onboarding.joining import cages

    file, made = draft.after.file, draft.made
    if made.others:
        what = "a pair" if made.peer else "a cluster"
        names = listed([*made.others, made.name])
        return f"{names} are {what}, and as declared. Next: sparkrig doctor {quoted_path(file)}"
    lit = cages(draft.seen.network)
    second = "" if lit else ". With a second Spark: seat the QSFP cable, then: sparkrig onboard"
    return f"{made.name} is on its own, and as declared. Next: sparkrig doctor {quoted_path(file)}{second}"


def _document(
    at: Target, key: HostKey, draft: Draft, outcome: str, code: int, place: Place | None, watch: _Watch
) -> Report:
    from sparkrig.onboarding import card
    from sparkrig.onboarding.report import Report, moved

    made = draft.made
    return Report(
        address=at.typed,
        user=at.user,
        host_key=key,
        name=made.name,
        peer=made.peer,
        inventory=str(draft.after.file),
        data=made.data,
        peer_data=made.others[made.peer] if made.peer else {},
        topology=draft.after.fleet[made.name].form if made.others else None,
        others=made.others,
        moves=moved(draft.moves),
        identity=card.document(draft.seen),
        here=draft.here,
        hosts={each.host: plan.document(each) for each in draft.plans},
        outcome=outcome,
        exit_code=code,
        replaced=replacing.document(place, key, draft) if place else None,
        seconds={part: round(each) for part, each in watch.parts.items()},
    )
