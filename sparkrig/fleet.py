"""Every host of an inventory with its checked settings: pairs, and the rails between their halves."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

from pydantic import (
    ValidationError,
)

from sparkrig.parsing import bounds, expected
from sparkrig.settings import Settings, SettingsError
from sparkrig.shapes import SHAPES

# Keys that belong to pyinfra (its connectors and its global arguments) or to the user's own deploys.
_FOREIGN_PREFIXES = ("_", "ssh_", "fake_", "x_")

# A host's name in the inventory that can stand in ssh_config; pyinfra lets it begin with a connector.
_SSH_NAME = r"(@[a-z]+/)?[A-Za-z0-9][A-Za-z0-9._-]*"

# What is one thing on both halves of a pair, since they share one server.
_SHARED = (
    "mtu",
    "node_ssh",
    "model",
    "serve_image",
    "serve_revision",
    "serve_nodes",
    "serve_form",
    "serve_flags",
    "serve_name",
    "serve_port",
    "serve_trial_port",
    "weights",
    "memory_gib",
)


@dataclass(frozen=True)
class End:
    """One end of a rail: a fabric netdev of a host, with its address."""

    host: str
    netdev: str
    address: IPv4Interface


@dataclass(frozen=True)
class Rail:
    """An edge of the fabric, from one host to another. number: of the netdev at its near end, from 0."""

    number: int
    near: End
    far: End

    @property
    def netdev(self) -> str:
        return self.near.netdev

    @property
    def address(self) -> IPv4Interface:
        return self.near.address


class Fleet(Mapping[str, Settings]):
    """The settings of every host of an inventory, by name, in the inventory's order."""

    def __init__(self, hosts: Mapping[str, Settings]) -> None:
        self._hosts = dict(hosts)
        _check_addresses(self._hosts)
        _check_pairs(self._hosts)
        self._groups = _grouped(self._hosts)

    @classmethod
    def parse(cls, data: Mapping[str, Mapping[str, Any]]) -> Fleet:
        """The fleet of the merged pyinfra data of each host, by name.

        Raises SettingsError with one sentence that names the host, the field and what was expected.
        """
        if not data:
            raise SettingsError("the inventory names no host; at least one is expected")
        for name in data:
            _check_name(name)
        return cls({name: _parse_host(name, values) for name, values in data.items()})

    def __getitem__(self, name: str) -> Settings:
        return self._hosts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    def group(self, name: str) -> tuple[str, ...]:
        """The hosts that are set up as one with `name`, itself among them; the first in the inventory leads."""
        return self._groups[name]

    def groups(self) -> list[tuple[str, ...]]:
        """Every group once, in the inventory's order."""
        return list(dict.fromkeys(self._groups.values()))

    def peers(self, name: str) -> tuple[str, ...]:
        """The others of its group; none for a Spark on its own."""
        return tuple(each for each in self.group(name) if each != name)

    def leads(self, name: str) -> bool:
        """Whether `name` is the first host of its group."""
        return self.group(name)[0] == name

    def rails(self, name: str) -> list[Rail]:
        """The rails that begin at a host, in its inventory's order; none for a Spark on its own."""
        there = {peer: _networks(self[peer]) for peer in self.peers(name)}
        return [
            Rail(number, End(name, netdev, address), End(peer, far, self[peer].fabric[far]))
            for number, (netdev, address) in enumerate(self[name].fabric.items())
            for peer, networks in there.items()
            if (far := networks.get(address.network))
        ]


def _grouped(hosts: Mapping[str, Settings]) -> dict[str, tuple[str, ...]]:
    """The group of each host, by its name. Looked for once: each of a thousand is asked for its group 45 times."""
    pairs: dict[str, list[str]] = {}
    for name, settings in hosts.items():
        pairs.setdefault(settings.pair or "", []).append(name)
    return {name: tuple(pairs[mine.pair]) if mine.pair else (name,) for name, mine in hosts.items()}


def _check_name(name: str) -> None:
    try:
        bounds.judge_text(name)
    except ValueError as error:
        raise SettingsError(f"the host {name!a}: a name of plain characters is expected; {error}") from None


def _parse_host(name: str, values: Mapping[str, Any]) -> Settings:
    ours = {key: value for key, value in values.items() if not key.startswith(_FOREIGN_PREFIXES)}
    try:
        return Settings(**ours)
    except ValidationError as error:
        raise SettingsError(_sentence(name, error)) from None


def _sentence(name: str, error: ValidationError) -> str:
    first, *others = error.errors(include_url=False)
    setting, *inside = map(str, first["loc"] or [""])
    field = ".".join(
        [setting, *map(expected.short, inside[:1])]
    )  # what follows are pydantic's names for what it tried
    text = f"setting {field}: " if field else ""
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(field, list(Settings.model_fields), n=1)
        hint = (
            f"; did you mean {near[0]}?"
            if near
            else "; sparkrig docs settings lists them all (your own keys start with x_)"
        )
        text = f"there is no setting {field}{hint}"
    elif first["type"] == "value_error":
        text += first["msg"].removeprefix("Value error, ")
    else:
        text += f"{_expected(setting, inside)} is expected (found {expected.shown(first['input'])})"
    more = f" (and {_mistakes(error) - 1} more)" if others and _mistakes(error) > 1 else ""
    return f"{name}: {text}{more}"


def _expected(setting: str, inside: Sequence[str]) -> str:
    """What a setting takes, or where something inside of it is wrong, what that is to be."""
    schema = _schema()[setting]
    words = expected.name if "[key]" in inside else expected.member if inside else expected.value
    return words(schema, {kind.__metadata__[0].pattern: said for kind, said in SHAPES.items()})


@cache
def _schema() -> dict[str, expected.Schema]:
    return dict(Settings.model_json_schema()["properties"])


def _mistakes(error: ValidationError) -> int:
    """How many values are wrong: one that fits none of several types is one."""
    return len({tuple(each["loc"][:2]) for each in error.errors(include_url=False)})


def _check_addresses(hosts: Mapping[str, Settings]) -> None:
    seen: dict[Any, str] = {}
    for name, settings in hosts.items():
        for netdev, address in settings.fabric.items():
            here = f"{name} {netdev}"
            if address.ip in seen:
                raise SettingsError(
                    f"{here}: {address.ip} is given to {seen[address.ip]} too; an address may stand once"
                )
            seen[address.ip] = here


def _check_pairs(hosts: Mapping[str, Settings]) -> None:
    pairs: dict[str, list[str]] = {}
    for name, settings in hosts.items():
        if settings.pair:
            pairs.setdefault(settings.pair, []).append(name)
        elif settings.node_ssh:
            raise SettingsError(
                f"{name}: setting node_ssh needs a peer to log in to; set pair too, or leave it out"
            )
    for pair, names in pairs.items():
        if len(names) != 2:
            raise SettingsError(
                f"pair {pair}: exactly two hosts are expected under this name, "
                f"found {len(names)} ({', '.join(names)})"
            )
        _check_rails(pair, names[0], names[1], hosts)


def _check_rails(pair: str, one: str, two: str, hosts: Mapping[str, Settings]) -> None:
    here, there = _networks(hosts[one]), _networks(hosts[two])
    if not here and not there:
        raise SettingsError(
            f"pair {pair}: {one} and {two} declare no fabric; an address for each cabled netdev is expected"
        )
    for field in _SHARED:
        mine, other = getattr(hosts[one], field), getattr(hosts[two], field)
        if mine != other:
            raise SettingsError(
                f"pair {pair}: setting {field} is {mine} on {one} and {other} on {two}; one value is expected"
            )
    for name in (one, two):
        if hosts[name].node_ssh and not re.fullmatch(_SSH_NAME, name):
            raise SettingsError(
                f"{name}: with node_ssh its name stands in ssh_config; letters, digits, dots, dashes are expected"
            )
    for owner, other, mine, theirs in ((one, two, here, there), (two, one, there, here)):
        if not theirs:
            raise SettingsError(
                f"{other}: setting fabric is empty, and its peer {owner} declares one; "
                f"an address in each of {', '.join(map(str, mine))} is expected"
            )
        for network, netdev in mine.items():
            if network not in theirs:
                expected = ", ".join(map(str, theirs))
                raise SettingsError(
                    f"{owner}: {hosts[owner].fabric[netdev]} on {netdev} lies outside every subnet of its peer "
                    f"{other}; expected one in {expected}"
                )


def _networks(settings: Settings) -> dict[IPv4Network, str]:
    return {address.network: netdev for netdev, address in settings.fabric.items()}
