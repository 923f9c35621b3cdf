"""Getting to know a new Spark: who is there, its host key compared, a password asked for once, the way to root."""

from __future__ import annotations

import shlex
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cure import quoted, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import terminal
from sparkrig.text import reason

if TYPE_CHECKING:
    from pydantic import SecretStr

    from sparkrig.onboarding.candidates import Candidate
    from sparkrig.onboarding.hostkey import HostKey
    from sparkrig.onboarding.io.first_login import Door, Target
    from sparkrig.onboarding.io.ssh_keys import OwnKey
    from sparkrig.onboarding.wishes import Wishes

_TRIES = 3  # of a password that is typed, as ssh has it


@dataclass(frozen=True)
class Asked:
    """The options."""

    file: Path
    fingerprint: str | None
    key: str | None
    password_file: str | None
    restart_docker: bool
    yes: bool
    as_json: bool
    wishes: Wishes
    replaces: str | None = None  # the Spark of the inventory whose place it takes
    again: str = "sparkrig onboard"  # what was typed, up to the address

    def judge(self) -> None:
        """Raise Refusal for what cannot be, before the network is asked anything."""
        from sparkrig.onboarding import hostkey

        self.wishes.judge(self.replaces)
        if self.fingerprint:
            hostkey.given(self.fingerprint)
        if self.password_file not in (None, "", "-"):
            _must_be_private(Path(str(self.password_file)))

    def label(self, at: Target, known: str | None) -> str:
        """What a Spark is called while it is worked on. known: its name in the inventory, None of a new one."""
        return known or self.wishes.name or at.typed

    @property
    def writes(self) -> bool:
        """Whether anything is to be written at all."""
        return self.yes or not self.as_json

    @property
    def overrides(self) -> dict[str, Any]:
        """Settings for this run alone."""
        return {"restart_docker": True} if self.restart_docker else {}


# --- finding it


def found(asked: Asked) -> str:
    """The address of a Spark that announces itself: the one there is, or the one that is chosen."""
    from sparkrig.onboarding import candidates
    from sparkrig.onboarding.io import discovery

    terminal.echo("Asking the network who offers ssh (mDNS, 4 s) ...", err=True)
    try:
        found = candidates.ordered(discovery.look())
    except OSError as error:
        raise Refusal(f"this network cannot be asked ({error})", "sparkrig onboard USER@ADDRESS") from None
    if not found or asked.yes or asked.as_json:
        return _address(candidates.only(found))
    for number, each in enumerate(found, 1):
        mark = "" if each.likely else "  (its name is none that Sparks come with)"
        terminal.echo(f"{number:3}  {each.name}  {', '.join(each.addresses)}{mark}", err=True)
    chosen = terminal.prompt(f"Which one, 1 to {len(found)}", type=click.IntRange(1, len(found)))
    return _address(found[chosen - 1])


def _address(found: Candidate) -> str:
    from sparkrig.onboarding.io import discovery

    host = discovery.reachable(found)
    return host if found.port == 22 else f"{host}:{found.port}"


def named(at: Target, asked: Asked) -> Target:
    """The same with the user that is typed; without a terminal it stays this machine's own user."""
    if not at.guessed or asked.yes or asked.as_json:
        return at
    user = terminal.prompt(f"Your user on {at.typed}, made at its first start", default=at.user)
    return replace(at, user=user, guessed=False)


# --- its host key


def host_key(at: Target, others: Mapping[str, Target], asked: Asked, name: str | None = None) -> HostKey:
    """The host key that is known, or that is compared now, and then known.

    others: the rest of the inventory; name: in the inventory, None of one that is not in it.
    """
    from sparkrig.checks import clones
    from sparkrig.onboarding.io import first_login as door

    known = door.known(at)
    shown = door.scan(at, [key.kind for key in known])
    as_given(at, shown, asked)
    if shown in known:
        return shown
    if known:
        raise Refusal(
            f"the host key of {at.entry} is not the one that is known here ({shown.fingerprint} is shown). A "
            "factory re-install makes a new one; without one, another machine may be answering",
            f"after a re-install: {_of_a_new_key(at, asked, name)}",
        )
    if other := shown_by(shown, others):
        there = others[other].typed
        raise Refusal(
            f"{at.entry} shows the host key of {other}, which the inventory reaches as {there}",
            f"sparkrig onboard {quoted(there)}; a second Spark with that key needs one of its own, and "
            f"there: {clones.NEW_HOST_KEYS}",
        )
    compare(at, shown, asked)
    if asked.writes:
        know(at, shown)
    return shown


def _of_a_new_key(at: Target, asked: Asked, name: str | None) -> str:
    """What a person does about the new key of a Spark that was installed anew."""
    if name:
        return f"sparkrig onboard --replace {quoted(name)} --inventory {quoted_path(asked.file)}"
    forget = quoted("ssh-keygen", "-f", str(at.known_hosts), "-R", at.entry)
    return f"{forget}, then the same again, to compare the new one"


def shown_by(key: HostKey, others: Mapping[str, Target]) -> str | None:
    """Which of the others is known by this host key; None where none is."""
    from sparkrig.onboarding.io import first_login as door

    return next((name for name, there in others.items() if key in door.known(there)), None)


def as_given(at: Target, shown: HostKey, asked: Asked) -> None:
    """Raises Refusal where another fingerprint was given."""
    from sparkrig.onboarding import hostkey

    if asked.fingerprint and shown.fingerprint != hostkey.given(asked.fingerprint):
        raise Refusal(
            f"{at.entry} shows the {shown.short} host key {shown.fingerprint}, and not the one that was given; "
            "another machine may be answering",
            f"on the Spark's own screen: {shown.console}",
        )


def compare(at: Target, shown: HostKey, asked: Asked, known: Sequence[HostKey] = ()) -> None:
    """Raises Refusal unless the fingerprint was given, or is confirmed at the terminal.

    known: the keys by which the one was known whose place it takes.
    """
    if asked.fingerprint:
        return
    if asked.yes or asked.as_json:
        how = "is not the one that is known here" if known else "is not known here"
        raise Refusal(
            f"the host key of {at.entry} {how}, and is not taken unseen",
            f"--fingerprint with what the Spark's own screen prints: {shown.console}",
        )
    what = "is known here by another key" if known else "is not known here yet"
    terminal.echo(f"{at.entry} {what}. It shows this {shown.short} host key:\n", err=True)
    terminal.echo(f"    {shown.fingerprint}\n", err=True)
    terminal.echo("On the Spark's own screen, or from a machine that logged in there before, type:\n", err=True)
    terminal.echo(f"    {shown.console}\n", err=True)
    if not terminal.confirm("Is it the same there?"):
        compare_there = (
            f"on the Spark's own screen, or from a machine that logged in there before: {shown.console}"
        )
        raise Refusal("the host key was not confirmed, and nothing was written", compare_there)


def know(at: Target, key: HostKey, before: Target | None = None) -> None:
    """Write the key of a host into known_hosts, in the place of each other one that it is known by.

    before: where the one was reached whose place it takes; that goes with it.
    """
    from sparkrig.onboarding import hostkey
    from sparkrig.terminal import atomic_write

    atomic_write.folder(at.known_hosts)
    text = atomic_write.read(at.known_hosts, "surrogateescape") if at.known_hosts.exists() else ""
    for entry in {at.entry, *([before.entry] if before else [])}:
        text = hostkey.forgotten(text, entry)
    atomic_write.write(at.known_hosts, hostkey.added(text, key.line(at.entry)), 0o600)
    terminal.echo(f"{at.entry} is known from now on: {at.known_hosts}", err=True)


# --- logging in


@dataclass
class Password:
    """The one password: asked for when it is first needed, and dropped after its last use."""

    at: Target
    asked: Asked
    kept: SecretStr | None = None
    said: str = ""

    @property
    def tries(self) -> int:
        return 1 if self.asked.password_file else _TRIES

    def ask(self, why: str) -> SecretStr:
        """It, from the terminal or from the file that was named. Raises Refusal."""
        from pydantic import SecretStr

        whom = f"{self.at.user}@{self.at.typed}"
        if self.asked.password_file:
            self.kept = SecretStr(_first_line(self.asked.password_file))
        elif not sys.stdin.isatty():
            raise Refusal(f"{why}, and there is no terminal to ask at", "--password-file FILE")
        else:
            if self.said != why:
                terminal.echo(f"\n{why}. It is used now, and kept nowhere.", err=True)
            self.said = why
            self.kept = SecretStr(terminal.prompt(f"Password of {whom}", hide_input=True))
        return self.kept

    def drop(self) -> None:
        self.kept = None


def _must_be_private(file: Path) -> None:
    """Raise Refusal for a file that is not there, or that others can read."""
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    if stat.S_ISREG(mode) and mode & 0o077:
        raise Refusal(f"{file} can be read by others, and holds a password", f"chmod 600 {quoted_path(file)}")


def _first_line(name: str) -> str:
    if name == "-":
        return sys.stdin.readline().rstrip("\n")
    file = Path(name)
    _must_be_private(file)
    try:
        with file.open(encoding="utf-8") as lines:
            return lines.readline().rstrip("\n")
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    except UnicodeDecodeError:  # its own text holds the bytes
        raise Refusal(f"{file} is no text in UTF-8", f"ls -l {quoted_path(file)}") from None


@dataclass(frozen=True)
class Entrance:
    """A login that can become root, and what pyinfra still lacks.

    own: the key that is to be let in; secret: the password that let us in, where no key did.
    """

    door: Door
    own: OwnKey | None
    sudo_asks: bool
    secret: SecretStr | None = None


def enter(stack: ExitStack, at: Target, key: HostKey, asked: Asked, password: Password) -> Entrance:
    """Get in by key or by password, and find out how to become root. Raises Refusal."""
    from sparkrig.onboarding.io import first_login as door
    from sparkrig.onboarding.io import ssh_keys

    own = ssh_keys.find(asked.key, at.keys) if asked.key else None
    entered, secret = stack.enter_context(door.door(at, key)), None
    if entered is None:
        own = own or ssh_keys.find(None, at.keys)
        if not door.takes_passwords(at, key):
            raise _keys_only(at, own)
        for left in reversed(range(password.tries)):
            secret = password.ask(f"{at.typed} lets in no key of yours yet, and asks for a password")
            if entered := stack.enter_context(door.door(at, key, secret)):
                break
            if not left:
                raise Refusal(
                    f"{at.typed} does not let {at.user} in with that password",
                    f"{asked.again} USER@{quoted(at.typed)}, with the user that was made at its first start",
                )
            terminal.echo("It was not accepted.", err=True)
    assert entered
    asks = not entered.is_root()
    if asks:
        _become_root(entered, password)
    return Entrance(entered, own, asks, secret)


def _keys_only(at: Target, own: OwnKey) -> Refusal:
    """That a Spark takes no password, and how to put a key there at its own screen."""
    if own.public is None:
        cure = f"ssh-keygen -t ed25519 -f {quoted_path(own.file)}, and the same again"
    else:
        line = shlex.quote(own.public.line)
        cure = f"on the Spark, as {at.user}: mkdir -pm 700 ~/.ssh && echo {line} >>~/.ssh/authorized_keys"
    return Refusal(f"{at.typed} takes keys only, and lets in none of yours", cure)


def _become_root(entered: Door, password: Password) -> None:
    from sparkrig.ssh.remote import Failed

    whom = entered.at.user
    for left in reversed(range(password.tries)):
        secret = password.kept or password.ask(f"sudo asks {whom} for a password there")
        try:
            entered.become_root(secret)
            return
        except Failed as error:
            password.drop()
            if not left or ("try again" not in str(error) and "incorrect" not in str(error)):
                raise Refusal(
                    f"{whom} cannot become root on {entered.at.typed}: {error}",
                    f"on the Spark, as an administrator: sudo usermod -aG sudo {quoted(whom)}",
                ) from None
            terminal.echo("It was not accepted.", err=True)
