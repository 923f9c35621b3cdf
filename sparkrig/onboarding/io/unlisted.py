"""Hosts that no inventory names: how each is reached that was typed, let in as `onboard` lets in, to look at it.

Nothing is written on a host, and on this machine nothing but a host key that was compared. Without a terminal
nothing is asked: what is not known, or not let in, is then told as of a host of an inventory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import Any

from pydantic import SecretStr

from sparkrig import login
from sparkrig.cure import quoted
from sparkrig.onboarding import address
from sparkrig.onboarding.io import first_login, newcomer
from sparkrig.onboarding.io.first_login import Target
from sparkrig.onboarding.io.newcomer import Asked, Password
from sparkrig.onboarding.wishes import Wishes
from sparkrig.programs import TEMPLATES
from sparkrig.refusal import Refusal
from sparkrig.settings import SettingsError
from sparkrig.ssh import controller, remote, transport
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.terminal import terminal

_ANSWERED = ("-k", "-S", "-p", "", "--", "true")
_SUDO_S = 60  # pam_faillock and the like delay the answer to a wrong password
_LOOK_S = 60  # a healthy host answers within two
_OURS = Path("~/.ssh/known_hosts")

Data = dict[str, dict[str, Any]]


def hosts(words: Sequence[str], again: str) -> Data:
    """The data of each host by name, as an inventory would have it. again: the verb, as it is typed.

    Raises Refusal.
    """
    asked = Asked(Path(), None, None, None, False, False, False, Wishes(), again=again)
    found: Data = {}
    targets: dict[str, Target] = {}
    for word in words:
        name, own, at = _here() if word == address.HERE else _over_ssh(word, asked)
        if name in found:
            raise Refusal(f"{word} is given twice", "each host once")
        found[name] = {login.UNLISTED: True, **own}
        targets |= {name: at} if at else {}
    try:
        login.judge(found)
    except SettingsError as error:
        raise Refusal(str(error), "each host once") from None
    if sys.stdin.isatty():
        for name, at in targets.items():
            found[name] |= _let_in(at, asked)
    return {name: own | (_root_here(own) if own.get(login.HERE) else {}) for name, own in found.items()}


def _over_ssh(word: str, asked: Asked) -> tuple[str, dict[str, Any], Target]:
    at = first_login.target(address.parse(word), {})
    if sys.stdin.isatty() and at.guessed:
        at = newcomer.named(at, asked)
    own: dict[str, Any] = {"ssh_hostname": at.typed, "ssh_user": at.user, login.STRICT: "yes"}
    own["ssh_paramiko_connect_kwargs"] = {"transport_factory": transport}  # as group_data/all.py has it
    own |= {"ssh_port": at.port} if at.port != 22 else {}
    own |= {"ssh_known_hosts_file": str(at.known_hosts)} if at.known_hosts != _OURS.expanduser() else {}
    own |= {"_sudo": True} if at.user != "root" else {}
    return at.typed if at.port == 22 else f"{at.typed}:{at.port}", own, at


def _let_in(at: Target, asked: Asked) -> dict[str, Any]:
    """What of a login is asked at the terminal: the host key, a password; nothing of a host that is not there.

    A password goes to ssh's own question, or to sudo's on standard input, and is kept in this process alone.
    """
    password = Password(at, asked)
    try:
        key = newcomer.host_key(at, {}, asked)
        with ExitStack() as stack:
            entrance = newcomer.enter(stack, at, key, asked, password)
    except (Failed, Lost):
        return {}  # the verb meets the same, and says so as it does of every host
    found: dict[str, Any] = {}
    if entrance.secret:
        found["ssh_password"] = entrance.secret.get_secret_value()
    if entrance.sudo_asks:
        found[login.SUDO] = password.kept
    return found


def declared(words: Sequence[str], again: str, file: PurePath) -> str:
    """The text of an inventory that declares hosts as they are found. Raises Refusal, as where one is not read."""
    from sparkrig import inventory
    from sparkrig.facts.spark import Spark
    from sparkrig.host.identity import is_spark
    from sparkrig.onboarding import declaring
    from sparkrig.ssh import session

    data = hosts(words, again)
    answers = session.asked(
        data,
        "Looking at what is to be declared",
        lambda at: remote.read(at, Spark(), seconds=_LOOK_S),
        wait_s=0,
        limits_s=dict.fromkeys(data, float(_LOOK_S)),
    )
    seen = {name: answer for name, answer in answers.items() if not isinstance(answer, Exception)}
    for name in answers.keys() - seen.keys():
        raise Refusal(f"{name} could not be read: {answers[name]}", f"sparkrig doctor {quoted(*words)} access")
    for name, state in seen.items():
        spark, evidence = is_spark(state.identity)
        if not spark:
            terminal.echo(f"Warning: {name} is no DGX Spark: {evidence}. Try: check the address", err=True)
    text, place = declaring.inventory(file, data, seen), TEMPLATES / "project" / file
    try:
        inventory.fleet_of(text, place)
    except SettingsError as error:
        why = str(error).partition(f". Edit {place}")[0]  # there is no such file to edit
        raise Refusal(f"what was found cannot be declared: {why}", f"sparkrig doctor {quoted(*words)}") from None
    return text


# --- the machine itself


def _here() -> tuple[str, dict[str, Any], None]:
    if not controller.is_linux():
        raise Refusal(
            "`here` is the machine that sparkrig runs on, which is no Spark, for it does not run Linux",
            f"an address in its place: {address.EXAMPLE}",
        )
    return controller.name(), {login.HERE: controller.user()}, None


def _root_here(own: dict[str, Any]) -> dict[str, Any]:
    """How its commands become root: they need not, sudo asks nothing, or it is asked for the password once.

    Where there is none of these, what root alone can read is left out, and the report says so.
    """
    if os.geteuid() == 0:
        return {}
    if not _sudo("-n", "true"):
        return {"_sudo": True}
    why = f"sudo does not make {own[login.HERE]} root without a password"
    if sys.stdin.isatty():
        terminal.echo(f"{why}. It is used now, and kept nowhere; without one root's part is left out.", err=True)
        said = terminal.prompt("Password", hide_input=True, default="", show_default=False)
        if said and not (refused := _sudo(*_ANSWERED, said=f"{said}\n")):
            return {"_sudo": True, login.SUDO: SecretStr(said)}
        why = f"sudo refused: {refused}" if said else "no password was given"
    cure = f"sudo -v, and then the same again as {quoted(own[login.HERE])}"
    terminal.echo(f"Warning: {why}, so that what root alone can read is left out. Try: {cure}", err=True)
    return {}


def _sudo(*words: str, said: str = "") -> str:
    """Why sudo does not do that, in its last words; empty where it does."""
    try:
        done = subprocess.run(
            ["sudo", *words], input=said, capture_output=True, text=True, timeout=_SUDO_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it cannot be asked ({type(error).__name__})"
    return " ".join(done.stderr.splitlines()[-1:]) or "it ended without a word" if done.returncode else ""
