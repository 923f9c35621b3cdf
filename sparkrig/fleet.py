"""Every host of an inventory with its checked settings: clusters, and the rails between their hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from ipaddress import IPv4Address, IPv4Interface
from typing import Any

from pydantic import (
    ValidationError,
)

from sparkrig import clusters
from sparkrig.parsing import bounds, expected
from sparkrig.redaction.forms import shows_a_secret
from sparkrig.settings import Settings, SettingsError
from sparkrig.shapes import SHAPES
from sparkrig.text import nearest

# Keys that belong to pyinfra (its connectors and its global arguments) or to the user's own deploys.
_FOREIGN_PREFIXES = ("_", "ssh_", "fake_", "x_")


@dataclass(frozen=True)
class End:
    """One end of a rail: a fabric netdev of a host, with its address."""

    host: str
    netdev: str
    address: IPv4Interface


@dataclass(frozen=True)
class Rail:
    """An edge of the fabric, from one host to another.

    number: of its subnet among those of the cluster, from 0, in the order in which its hosts name them. On a
    switch all edges of a subnet have one number.
    """

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

    def __init__(self, hosts: Mapping[str, Settings], *, declared: bool = True) -> None:
        """declared: whether an inventory declares them, or what was found stands for it."""
        self.declared = declared
        self._hosts = clusters.addressed(hosts)
        _check_addresses(self._hosts)
        clusters.judge(self._hosts)
        self._groups = _grouped(self._hosts)
        self._numbers = {names: clusters.subnets(names, self._hosts) for names in set(self._groups.values())}

    @classmethod
    def parse(cls, data: Mapping[str, Mapping[str, Any]], *, declared: bool = True) -> Fleet:
        """The fleet of the merged pyinfra data of each host, by name.

        Raises SettingsError with one sentence that names the host, the field and what was expected.
        """
        if not data:
            raise SettingsError("the inventory names no host; at least one is expected")
        for name in data:
            _check_name(name)
        return cls({name: _parse_host(name, values) for name, values in data.items()}, declared=declared)

    def __getitem__(self, name: str) -> Settings:
        return self._hosts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    @cached_property
    def adopt(self) -> dict[str, str]:
        """That setting of all hosts: what is given for a run takes the place of what every host has."""
        return {key: word for settings in self.values() for key, word in settings.adopt.items()}

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

    def addresses(self, name: str, peer: str) -> list[IPv4Address]:
        """Those of a peer that a host reaches over its rails, in rail order."""
        return [rail.far.address.ip for rail in self.rails(name) if rail.far.host == peer]

    def between(self, name: str, peer: str) -> list[Rail]:
        """The rails from a host to a peer, in the order of their PCI domains: that of the first twin first."""
        mine = [rail for rail in self.rails(name) if rail.far.host == peer]
        return sorted(mine, key=lambda rail: clusters.by_domain(rail.netdev))

    def fan(self, name: str) -> int:
        """How many hosts one netdev reaches at most: one over a cable, all others on a switch; at least 1.

        What no inventory declares may be on a switch, until it is seen what joins it.
        """
        counts = Counter(rail.netdev for rail in self.rails(name))
        return max(counts.values(), default=1 if self.declared else max(1, len(self) - 1))

    def label(self, name: str) -> str:
        """What its group is called in a sentence: the pair, or the cluster."""
        return "pair" if len(self.group(name)) == 2 else "cluster"

    def many(self, name: str) -> int:
        """The hosts of its group where they are more than two, else 0."""
        count = len(self.group(name))
        return count if count > 2 else 0

    def rails(self, name: str) -> list[Rail]:
        """The rails that begin at a host, in its inventory's order; none for a Spark on its own."""
        there = {peer: clusters.networks(self[peer]) for peer in self.peers(name)}
        numbers = self._numbers[self.group(name)]
        return [
            Rail(numbers[address.network], End(name, netdev, address), End(peer, far, self[peer].fabric[far]))
            for netdev, address in self[name].fabric.items()
            for peer, networks in there.items()
            if (far := networks.get(address.network))
        ]


def _grouped(hosts: Mapping[str, Settings]) -> dict[str, tuple[str, ...]]:
    """The group of each host, by its name. Looked for once: each of a thousand is asked for its group 45 times."""
    alone = {name: (name,) for name in hosts}
    return alone | {name: names for names in clusters.grouped(hosts).values() for name in names}


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
        near = nearest(field, Settings.model_fields)
        hint = (
            f"; did you mean {near}?"
            if near
            else "; sparkrig docs settings lists them all (your own keys start with x_)"
        )
        text = f"there is no setting {field}{hint}"
    elif first["type"] == "value_error":
        text += first["msg"].removeprefix("Value error, ")
    else:
        secret = shows_a_secret(str((inside or [setting])[0]), first["input"])
        found = "what looks like a secret" if secret else expected.shown(first["input"])
        text += f"{_expected(setting, inside)} is expected (found {found})"
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
