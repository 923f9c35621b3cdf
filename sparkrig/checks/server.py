"""What one host has to do with a server: its part in it, its files, and why it cannot do it. Pure.

It stands above `sparkrig.serving`, whose plan it asks, since it judges by the whole look at a host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Address, IPv4Interface
from typing import TYPE_CHECKING, Protocol

from sparkrig.checks import standing
from sparkrig.clusters import serving_order
from sparkrig.files import File, Found, stale
from sparkrig.fleet import Fleet
from sparkrig.host import targets
from sparkrig.host.images import Image, one
from sparkrig.network import environment
from sparkrig.refusal import Refusal
from sparkrig.resources.ray import leads
from sparkrig.serving import last_deploy, listen, neighbours, plan, served, service_settings, sizing, unit_files
from sparkrig.serving.flags import Knowledge, version
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.lint.rule import Rule
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.served import Service
from sparkrig.serving.sizing import Room
from sparkrig.serving.wish import Chosen, Node, Sizing, Wish
from sparkrig.settings import Settings
from sparkrig.text import bare_name, listed

if TYPE_CHECKING:
    from sparkrig.resources.state import State


class Host(Protocol):
    """A host of a run, as sparkrig.deploys.spark.Spark. cabled: the fabric netdevs that can be used now."""

    @property
    def name(self) -> str: ...
    @property
    def fleet(self) -> Fleet: ...
    @property
    def found(self) -> State: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def cabled(self) -> Mapping[str, IPv4Interface]: ...
    def as_seen(self, found: State) -> Host: ...


@dataclass(frozen=True)
class Sources:
    """What is asked for beside a host, each once it is needed.

    find: a model in the catalogue; recipe: of a setting, None for none; rules, tables: of lint, as the project has
    them; host: another one of the run, None until it was looked at; typed: settings that were given to this run
    alone. Each raises Refusal.
    """

    find: plan.Find
    recipe: Callable[[str | None], Recipe | None]
    rules: Callable[[], Sequence[Rule]]
    tables: Callable[[], Knowledge]
    host: Callable[[str], Host | None]
    typed: Callable[[], Collection[str]]


@dataclass(frozen=True)
class Server:
    """What one host has to do with a server. name: of the service, empty for the one without."""

    host: Host
    sources: Sources
    name: str = ""

    @property
    def service(self) -> Service:
        return Service(self.name)

    @property
    def record(self) -> last_deploy.Record | None:
        return last_deploy.load(self.host.found.files.get(self.service.record))

    @property
    def others(self) -> dict[str, last_deploy.Record]:
        """What was deployed last of the other services of this host."""
        records = last_deploy.records(self.host.found.files, self.host.found.serving)
        return {name: record for name, record in records.items() if name != self.name}

    @cached_property
    def found(self) -> served.Serving:
        """What the look saw, for this service."""
        return self.host.found.serving.of(self.service)

    @cached_property
    def mine(self) -> Settings:
        """Raises Refusal."""
        given = service_settings.of(self.host.settings, self.name, self.record, self.sources.typed())
        remembered = service_settings.remembered(given, self.record)
        return service_settings.of_engine(remembered, self.sources.recipe(given.recipe))

    @property
    def goes(self) -> bool:
        """Whether it is to be none any more."""
        return self.mine.model == service_settings.NONE

    @property
    def gone(self) -> bool:
        """Whether nothing of it is there."""
        stands = set(self.service.paths) & self.host.found.files.keys()
        return not stands and not self.found.active and not self.found.trial

    @cached_property
    def wish(self) -> Wish:
        """Raises Refusal."""
        recipe = self.sources.recipe(self.mine.recipe)
        return plan.wish(self.sources.find, self.mine, len(self.group), recipe)

    @property
    def group(self) -> tuple[str, ...]:
        """The hosts that could share it: those of serve_on first, then the others in the inventory's order."""
        return serving_order(self.host.fleet.group(self.host.name), self.mine.serve_on)

    @property
    def has_unit(self) -> bool:
        """Whether its host runs a unit of it. Raises Refusal."""
        return self.rank == 0 or not (self.idle or self.standing)

    @property
    def rank(self) -> int:
        """0 answers; served.ASIDE for one that has no part in it."""
        place = self.group.index(self.host.name)
        return place if place < self.wish.nodes else served.ASIDE

    @property
    def idle(self) -> bool:
        return self.rank == served.ASIDE

    @cached_property
    def sizing(self) -> Sizing:
        """What it takes of the memory: as it was decided for this wish, or as this host's memory has room for it.

        Raises Refusal with the figures, also where what was decided would not start any more.
        """
        room, kept = self.room(), unit_files.decided(self.wish, self.record)
        if kept is None:
            return self._sized(room)
        if not self.found.image and self.has_unit:  # no container runs: systemd may be about to try again
            sizing.passes(kept, room)
        return kept

    @property
    def anew(self) -> str:
        """What it takes of this host's memory, in words; empty where that was decided by an earlier deploy.

        Raises Refusal where the memory has no room for it.
        """
        return (
            "" if unit_files.decided(self.wish, self.record) else f"it gets {self.sizing}, by this host's memory"
        )

    def room(self, where: str = "this host") -> Room:
        """The memory of the host beside its other servers. where: of which host, in words."""
        memory_gib = self.mine.memory_gib
        return sizing.room(
            self.found,
            memory_gib,
            where,
            self.wish.draft,
            sizing.beside(self.found, self.others, memory_gib),
            self.record,
            self.wish.gguf,
        )

    def _sized(self, room: Room) -> Sizing:
        try:
            return plan.size(self.wish, self.mine, room)
        except Refusal as refusal:
            many = self.host.fleet.many(self.host.name)
            if better := plan.larger(self.wish, many, room.total):
                raise Refusal(refusal.what, better) from None
            raise

    def files(self, chosen: Chosen) -> list[File]:
        """Every file of this host. Raises Refusal where an address is not known."""
        node = Node(self.rank, management=self._management, standing=self.standing)
        if self.standing:
            node = replace(node, head=self._meets(self._ray), address=self._meets(self.host.name))
        elif self.wish.nodes > 1:
            node = replace(node, head=self._meets(self.group[0]), address=_address(self.host))
        return unit_files.files(self.wish, chosen, node, self.mine)

    @property
    def _management(self) -> IPv4Address | None:
        network = self.host.found.network
        addresses = [address.ip for link in network.links.values() for address in link.addresses]
        return listen.management(self.record, addresses, network.management[1].ip if network.management else None)

    def at(self) -> tuple[str, ...]:
        """ADDRESS:PORT of each place where it answers. Raises Refusal."""
        return listen.sockets(self.mine, self._management)

    @property
    def parts(self) -> str:
        """Which hosts of a cluster serve, and which are left free."""
        names = [*map(bare_name, self.group)]
        busy, free = names[: self.wish.nodes], names[self.wish.nodes :]
        verb = f"serve it, and {busy[0]} answers" if len(busy) > 1 else "serves it"
        rest = f"; {listed(free)} {'is' if len(free) == 1 else 'are'} left free" if free else ""
        return f"{listed(busy)} {verb}{rest}"

    @property
    def standing(self) -> bool:
        """Whether it is one on the standing Ray cluster. Raises Refusal."""
        return standing.is_meant(self.wish, self.mine, len(self.group))

    def form(self, chosen: Chosen | None) -> str:
        """How its nodes are one server; empty where an image that is not known decides. Raises Refusal."""
        if self.standing:
            return served.STANDING
        return unit_files.form(self.wish, chosen, self.mine) if chosen else self.mine.serve_form or ""

    @property
    def _ray(self) -> str:
        """The host that leads the standing cluster. Raises Refusal."""
        return leads(self.host.fleet, self.host.name)

    def _meets(self, name: str) -> IPv4Address:
        """Where a host meets the others. Raises Refusal where that is not known."""
        if meeting := self.host.fleet[name].meeting:
            return meeting
        if head := self.sources.host(name):
            return _address(head)
        kept = self.host.found.files.get(self.service.of(served.ENVIRONMENT))  # hosts are looked at side by side
        told = re.search(r"^SPARKRIG_HEAD=([0-9.]+)$", kept.content if kept else "", re.MULTILINE)
        if told is None:
            raise Refusal(f"the address of {name} is not known yet", "run without --limit")
        return IPv4Address(told[1])

    def judge(self) -> None:
        """Raise Refusal where this host cannot do its part."""
        if self.goes:
            return
        wish, found, others = self.wish, self.host.found, self.others
        if self.idle:
            return
        machine, leads = found.identity.machine, self.rank == 0
        neighbours.judge(self.found, self.mine, others, leads=leads)
        plan.judge(wish, self.found, machine, self.mine, leads=leads)
        if self.rank == 0:
            self.at()
        known = unit_files.chosen(wish, self.found, self.record)
        lacks = wish.nodes > 1 and environment.CONTAINER_ENV not in found.files
        if lacks or not found.containers.registered:
            raise Refusal(
                f"{environment.CONTAINER_ENV if lacks else 'the nvidia runtime of docker'} is missing, which the "
                f"container needs",
                "pyinfra INVENTORY deploys/cluster.py",
            )
        plan.refuse(self.lint(known and replace(known, sizing=self.sizing)))
        form = self.form(known)
        if self.rank == 0 and form and wish.nodes > 1:
            self.meets(form)
        if self.standing:
            standing.judge(wish, self.image, self.mine, self.host.found)

    def meets(self, form: str) -> None:
        """Raise Refusal where the nodes cannot meet at the port of that form on this host, which leads."""
        taken = self.host.settings.ray_image is not None
        neighbours.meets(form, self.found, self.record, self.others, standing=taken)

    def lint(self, chosen: Chosen | None) -> list[Finding]:
        """What is held against it, as far as it is known what is in the image; vLLM's own mode is in any.

        Raises Refusal where the memory has no room for it.
        """
        wish = self.wish.sized((chosen and chosen.sizing) or self.sizing)
        form = self.form(chosen) or "multinode"
        vllm = version(chosen.vllm) if chosen and chosen.vllm else None
        machine, asked = self.host.found.identity.machine, self.sources
        return plan.lint_of(wish, asked.find, form, vllm, machine, asked.rules(), asked.tables())

    @property
    def has_image(self) -> bool:
        return self.idle or self.image is not None

    @property
    def image(self) -> Image | None:
        head = self.sources.host(self.group[0])
        theirs = head.found.serving if head else None
        return unit_files.image_of(self.wish, self.found, self.record, theirs)

    @property
    def has_weights(self) -> bool:
        there = self.host.found.serving.weights
        if self.wish.gguf:  # which `judge` refuses where it is not there
            return True
        return self.idle or all(id in there and there[id].standing == "whole" for id in self.wish.ids)

    @property
    def settled(self) -> bool:
        """Whether the server is what it should be, and up."""
        found = self.found
        known = Chosen("") if self.idle else unit_files.chosen(self.wish, found, self.record)
        if known is None or (known.sizing is None and not self.idle):
            return False
        if self.stale(self.files(known)):
            return False
        if self.idle or not self.has_unit:
            return not found.trial
        if found.trial or found.events or not found.runs or found.image != known.id:
            return False
        return self.rank > 0 or (found.port == "active" and found.health == 200)

    def stale(self, wanted: Sequence[File]) -> bool:
        """Whether a file of it is not as wanted, or stands there and is none of those."""
        standing = self.host.found.files
        return bool(stale(wanted, standing) or unit_files.surplus(wanted, standing, self.service))

    def goes_on(self, wanted: Sequence[File]) -> bool:
        """Whether what runs may go on under these files."""
        return unit_files.goes_on(wanted, self.host.found.files, self.service)

    def now(self, serving: served.Serving, files: Mapping[str, Found]) -> Server:
        """The same by a newer look at the host."""
        return replace(self, host=self.host.as_seen(replace(self.host.found, serving=serving, files=files)))

    def barred(self) -> list[Refusal]:
        """Why a file of it cannot be put in its place. Raises Refusal where its files are not known."""
        bars = self.host.found.preflight.barred
        if not bars or (self.gone if self.goes else self.settled):
            return []
        return targets.refusals(bars, self.service.paths)

    def refusals(self) -> list[Refusal]:
        """Why this host could not do its part."""
        try:
            self.judge()
            return self.barred()
        except Refusal as refusal:
            return [refusal]

    def told(self) -> Iterator[str]:
        """What a person should know before it is so; of the host that answers. Raises Refusal."""
        if self.standing:
            yield standing.NOTE
        yield from plan.told(self.wish, self.lint(None))
        yield from listen.warnings(self.mine, self.record, self.at())

    @property
    def members(self) -> list[Server]:
        """This server on each host of its group, once that was looked at."""
        hosts = filter(None, map(self.sources.host, self.group))
        return [Server(host, self.sources, self.name) for host in hosts]

    @property
    def busy(self) -> list[Server]:
        """The same of the hosts that have a part in it."""
        return [member for member in self.members if not member.idle]

    # --- what has to be the same on all that have a part, as far as they have it

    @property
    def one_image(self) -> bool:
        return one(member.image for member in self.busy if member.image)

    @property
    def one_revision(self) -> bool:
        """Of each checkpoint."""
        there = [member.found.weights for member in self.busy]
        return all(served.one_revision(each[id] for each in there if id in each) for id in self.wish.ids)

    @property
    def alike(self) -> bool:
        """Image, memory and context, and the token of Ray where the server's form makes one."""
        sizings = {member.record.sizing for member in self.busy if member.record}
        return self.one_image and len(sizings) < 2 and self._one_token

    @property
    def _one_token(self) -> bool:
        how = self.record.form if self.record else ""
        needed = served.makes_token(how, self.mine.secrets)
        return not needed or served.one_token(member.found for member in self.busy)


def _address(host: Host) -> IPv4Address:
    """Where the control sockets live: the network that container.env names. Raises Refusal."""
    settings, state = host.settings, host.found
    return environment.node(
        host.cabled,
        state.rdma,
        state.network.management,
        socket_interface=settings.socket_interface,
        form=settings.form,
    ).address
