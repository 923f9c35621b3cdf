"""How a run logs in: what inventory data may set, and what to do about a host key that does not fit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Literal

from sparkrig import shapes
from sparkrig.cure import THIS_MACHINE, local, look_at, quoted
from sparkrig.refusal import Refusal
from sparkrig.settings import Settings, SettingsError
from sparkrig.text import nearest

STRICT = "ssh_strict_host_key_checking"
# the key of the data of a host that is the machine which runs sparkrig; its value is the user there
HERE = "_here"
# the key of the data of a host that no inventory names, and of what its sudo is answered with, as a SecretStr
UNLISTED, SUDO = "_unlisted", "_sudo_answer"
# why a process cannot set up the machine that it runs on
IN_CONTAINER = Refusal(
    "this is a container, whose files and services are not those of the Spark",
    local("sparkrig docs from-a-spark", ", and install it on the Spark itself"),
)
UNDER_SUDO = Refusal(
    "this runs under sudo, so that root would count as the user of the Spark",
    "the same without sudo, which sparkrig uses by itself",
)

# pyinfra's keys that hold a password; it prints the first with --debug (seen with pyinfra 3.10.0), and a
# value in an inventory file lands in git
_PASSWORDS = ("ssh_password", "ssh_key_password", "_sudo_password", "_su_password")
_HIDDEN = ("password", "passphrase")  # the same, on the way past pyinfra to paramiko
_UNREAD = re.compile(
    r"[a-z_]+: (?:could not be read|cannot be understood) \("
)  # of sparkrig.facts.noun and sparkrig.facts.bundle
_COMPARE = (
    "; answer yes only where the SHA256 is the one that the Spark prints, in a session that you trust already or "
    "on its own screen, for: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"
)


# the login settings of pyinfra 3.10 (connectors/ssh.py, ConnectorData); it names no host where one is wrong
_SETTINGS: dict[str, type] = {
    "ssh_hostname": str,
    "ssh_port": int,
    "ssh_user": str,
    "ssh_password": str,
    "ssh_key": str,
    "ssh_key_password": str,
    "ssh_allow_agent": bool,
    "ssh_look_for_keys": bool,
    "ssh_forward_agent": bool,
    "ssh_config_file": str,
    "ssh_known_hosts_file": str,
    STRICT: str,
    "ssh_paramiko_connect_kwargs": dict,
    "ssh_connect_retries": int,
    "ssh_connect_retry_min_delay": float,
    "ssh_connect_retry_max_delay": float,
    "ssh_file_transfer_protocol": str,
}
NAMES = frozenset(_SETTINGS)
_KINDS = {str: "a text", int: "a whole number", bool: "True or False", dict: "a dict", float: "a number"}

_NO_KEY = "the host has no public key of this machine"
_OFF = "the host is off, or in another network"

# words of a connection that came to nothing -> the command to try here, what follows it, what breaks it as a rule
_HINDRANCES = {
    "Authentication error": ("ssh-copy-id {login}", "", _NO_KEY),
    "No authentication methods available": (
        "ssh-copy-id {login}",
        "; where this machine has no key of its own yet, before that: ssh-keygen -t ed25519",
        _NO_KEY,
    ),
    "No such private key file": (
        "ls -l ~/.ssh",
        ", and name the key in the inventory as ssh_key",
        "the key that the inventory names is not on this machine",
    ),
    "Could not resolve": (
        "sparkrig onboard",
        ", which searches this network for it, or ask your router; then {place}",
        "this machine cannot look the name up: another network, a VPN, or no mDNS for names in .local",
    ),
    "Connection refused": (
        "ssh {login} true",
        ", once it has started; where that is refused, too, on its console: sudo systemctl enable --now ssh",
        "the host is on, and nothing answers ssh at that port",
    ),
    "No route to host": ("ping -c 3 {address}", "; is it on, and in this network?", _OFF),
    "Network is unreachable": ("ping -c 3 {address}", "; is this machine in its network?", _OFF),
    "timed out": ("ping -c 3 {address}", "; is it on?", _OFF),
    "Its host key is not known": ("", "", "this machine has never logged in there"),
    "Its host key is not the one": ("", "", "the host was installed anew, or another machine has its address"),
}


def judge(data: Mapping[str, Mapping[str, Any]], fleet: Mapping[str, Settings] | None = None) -> None:
    """Refuse inventory data (by host) that is no login, takes a host key unseen, or holds a password.

    fleet: the settings of these hosts, with the addresses that are taken from a network; None where no fabric is
    declared. Raises SettingsError with one sentence, which never holds the password.
    """
    places: dict[tuple[object, ...], str] = {}
    here = [name for name, own in data.items() if own.get(HERE)]
    if len(here) > 1:
        raise SettingsError(
            f"{here[0]} and {here[1]} are both {shapes.HERE}..., which is the machine that runs sparkrig; "
            "one host is expected to be"
        )
    for name, own in data.items():
        if name not in here and not over_ssh(name, own):
            continue
        _judge_settings(name, own)
        if name in here:
            _judge_passwords(name, own)
            continue
        if fleet:
            _judge_address(name, own, fleet[name])
        place = (address(name, own), own.get("ssh_port") or 22, own.get("ssh_config_file"))
        if (other := places.setdefault(place, name)) != name:
            raise SettingsError(
                f"{other} and {name} are both reached at {place[0]} port {place[1]}; "
                "each is expected to have an address of its own"
            )
        if own.get(STRICT) != "yes":
            told = repr(own[STRICT]) if STRICT in own else "not set, and pyinfra then takes any new key unseen"
            raise SettingsError(
                f'{name}: {STRICT} is {told}; "yes" is expected, so that only a key that was compared is taken'
            )
        _judge_passwords(name, own)


def named(name: str, user: str) -> tuple[str, dict[str, Any]]:
    """What a host is called that an inventory names, and what its name says of it besides.

    user: whom commands of this machine run as. Raises SettingsError for this machine without a name.
    """
    if name.startswith(shapes.HERE) or name == shapes.HERE.rstrip("/"):
        if not (bare := name[len(shapes.HERE) :]):
            raise SettingsError(
                f'the inventory names "{name}"; "{shapes.HERE}NAME" is expected, such as "{shapes.HERE}spark-a"'
            )
        return bare, {HERE: user}
    return name, {}


def connector_name(name: str, data: Mapping[str, Any]) -> str:
    """What pyinfra is to call a host, so that it takes the right connector to it."""
    return f"{shapes.HERE}{name}" if data.get(HERE) else name


def over_ssh(name: str, data: Mapping[str, Any]) -> bool:
    """Whether a host is reached over ssh."""
    return not data.get(HERE) and (not name.startswith("@") or name.startswith("@ssh/"))


def _judge_passwords(name: str, own: Mapping[str, Any]) -> None:
    nested = own.get("ssh_paramiko_connect_kwargs") or {}
    held = [key for key in _PASSWORDS if own.get(key)] + [key for key in _HIDDEN if nested.get(key)]
    if held:
        raise SettingsError(f"{name}: {held[0]} is a password in inventory data; {_without(held[0], name, own)}")


def _judge_settings(name: str, own: Mapping[str, Any]) -> None:
    if isinstance(where := own.get("ssh_hostname"), str) and "@" in where:
        raise SettingsError(
            f"{name}: ssh_hostname {where} has a user in it; the name or address alone is expected, and ssh_user "
            f"= {where.partition('@')[0]!r} beside it"
        )
    for key, value in own.items():
        if not key.startswith("ssh_") or key == STRICT:
            continue
        if key not in _SETTINGS:
            near = nearest(key, _SETTINGS)
            hint = f"; did you mean {near}?" if near else ""
            raise SettingsError(f"{name}: there is no login setting {key}{hint}")
        kind = _SETTINGS[key]
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise SettingsError(f"{name}: {key} is expected to be {_KINDS[kind]}")


def _judge_address(name: str, own: Mapping[str, Any], mine: Settings) -> None:
    """The fabric is what a deploy sets up, so that it is no way in."""
    addresses = [str(each.ip) for each in mine.fabric.values()]
    if own.get("ssh_hostname") in addresses and not mine.allow_management_interface:
        raise SettingsError(
            f"{name}: ssh_hostname {own['ssh_hostname']} is its fabric address; "
            "that of its RJ45 network is expected"
        )


def unknown_key(name: str, data: Mapping[str, Any]) -> str:
    """What to do where a host's key was never seen here; data: the host's inventory data."""
    refusal = _unknown(name, data)
    return f"{refusal.what}. Try: {refusal.cure}"


def changed_key(name: str, data: Mapping[str, Any]) -> str:
    """What to do where a host shows another key than the one that is known; data: the host's inventory data."""
    refusal = _changed(name, data)
    return f"{refusal.what}. Try: {refusal.cure}"


def _unknown(name: str, data: Mapping[str, Any]) -> Refusal:
    cure = local(_ask(name, data), _COMPARE)
    return Refusal("Its host key is not known here, and is not taken unseen", cure)


def _changed(name: str, data: Mapping[str, Any]) -> Refusal:
    file = data.get("ssh_known_hosts_file")
    forget = ["ssh-keygen", *(("-f", str(file)) if file else ()), "-R", _entry(name, data)]
    return Refusal(
        "Its host key is not the one that is known here; a factory re-install makes a new one, and without one "
        "another machine may be answering",
        local(f"{shlex.join(forget)}; {_ask(name, data)}", _COMPARE),
    )


def explained(name: str, data: Mapping[str, Any], said: str) -> str | None:
    """The sentence for an error of pyinfra or OpenSSH about a host key, or None for another error."""
    if "HOST IDENTIFICATION HAS CHANGED" in said or "SSH host key error" in said:
        return changed_key(name, data)
    if "found in known_hosts" in said or "host key is known for" in said:
        return unknown_key(name, data)
    return None


def hindrance(name: str, data: Mapping[str, Any], why: str) -> tuple[Literal["ssh", "sudo", "look"], Refusal]:
    """What kept a host from being read: the login, sudo, or the look itself; and what to do about it.

    why: the sentence that sparkrig.ssh.session, or sparkrig.ssh.remote, has for it.
    """
    if why == unknown_key(name, data):
        return "ssh", _unknown(name, data)
    if why == changed_key(name, data):
        return "ssh", _changed(name, data)
    if _UNREAD.match(why):  # it may have a host's text in it, whatever words that has
        return "look", _look_again(name, why)
    if unfit := next((refusal for refusal in (IN_CONTAINER, UNDER_SUDO) if why == str(refusal)), None):
        return "ssh", unfit
    if "sudo" in why:
        return "sudo", Refusal(why, _sudoers(data))
    if data.get(HERE):  # there is no way to it that could be in the way
        return "look", _look_again(name, why)
    if told := next((cure for words, cure in _HINDRANCES.items() if words in why), None):
        into = "write its IP address as ssh_hostname into the inventory"
        into = "type its IP address in the place of its name" if data.get(UNLISTED) else into
        place = {"login": typed(name, data), "address": quoted(address(name, data)), "place": into}
        return "ssh", Refusal(why, local(*(part.format(**place) for part in told[:2])))
    if "Could not connect" in why or "ssh" in why.lower():
        return "ssh", Refusal(why, local(f"ssh {typed(name, data)} true"))
    return "look", _look_again(name, why)


def cause(why: str) -> str:
    """What breaks a login as a rule, by the sentence that says how it failed; empty where that is not known."""
    return next((cause for words, (_, _, cause) in _HINDRANCES.items() if words in why), "")


def _look_again(name: str, why: str) -> Refusal:
    return Refusal(why, look_at(name))


def typed(name: str, data: Mapping[str, Any]) -> str:
    """How a person would name a host after ssh."""
    user, port = data.get("ssh_user"), int(data.get("ssh_port") or 22)
    where = f"{user}@{address(name, data)}" if user else address(name, data)
    end = ["--"] if where.startswith("-") else []
    return quoted(*([] if port == 22 else ["-p", str(port)]), *end, where)


def logins(data: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """How a person gets to each host, as cure.LOGINS has it."""
    ways = {name: typed(name, own) for name, own in data.items() if over_ssh(name, own)}
    return ways | {name: THIS_MACHINE for name, own in data.items() if own.get(HERE)}


def address(name: str, data: Mapping[str, Any]) -> str:
    """Where a host is reached: its ssh_hostname, or its name."""
    return str(data.get("ssh_hostname") or name.removeprefix("@ssh/"))


def _entry(name: str, data: Mapping[str, Any]) -> str:
    """How known_hosts calls a host."""
    where, port = address(name, data), int(data.get("ssh_port") or 22)
    return where if port == 22 else f"[{where}]:{port}"


def _ask(name: str, data: Mapping[str, Any]) -> str:
    """The ssh command that shows a key's fingerprint and asks, whatever the user's own configuration is."""
    user, port, file = (data.get(key) for key in ("ssh_user", "ssh_port", "ssh_known_hosts_file"))
    words = ["ssh", "-o", "StrictHostKeyChecking=ask"]
    words += ["-o", f'UserKnownHostsFile="{file}"'] if file else []  # ssh splits at blanks once more
    words += ["-p", str(port)] if port else []
    return shlex.join([*words, f"{user}@{address(name, data)}" if user else address(name, data), "true"])


def user_of(data: Mapping[str, Any]) -> str:
    """Whom a run logs in as, as a sentence has it."""
    return str(data.get(HERE) or data.get("ssh_user") or "the ssh user")


def _sudoers(data: Mapping[str, Any]) -> str:
    if data.get(UNLISTED):
        return "the same at a terminal, which asks for sudo's password once"
    user = user_of(data)
    return f"on the host, sudo visudo -f /etc/sudoers.d/sparkrig with the line {user} ALL=(ALL) NOPASSWD: ALL"


def _without(key: str, name: str, data: Mapping[str, Any]) -> str:
    user = user_of(data)
    if key in ("_sudo_password", "_su_password"):
        return f"sudo without one is expected: {_sudoers(data)}"
    if key in ("ssh_key_password", "passphrase"):
        return "leave it to the ssh agent: ssh-add"
    return f"log in with a key instead: ssh-copy-id {quoted(f'{user}@{address(name, data)}')}"
