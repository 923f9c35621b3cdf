"""A model served on one Spark or several: pyinfra inventories/pair.py deploys/serve.py --data model=NAME

Not part of cluster.py, and it takes what that made. `--data recipe=FILE` serves what others wrote down. Without
either it is the model that was served last.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from ipaddress import IPv4Address
from pathlib import Path

from pyinfra import host, inventory, logger
from pyinfra.api import deploy

from sparkrig.clusters import serving_order
from sparkrig.deploys.spark import Spark, look, looked_at, refuse
from sparkrig.files import File, Found, stale
from sparkrig.host import targets
from sparkrig.host.images import Image, one
from sparkrig.io import lint_rules, recipe_file, vllm_flags
from sparkrig.io.catalogue_files import catalogue, own
from sparkrig.operations import image, serving, weights
from sparkrig.operations.group import Group, together
from sparkrig.operations.journal import close
from sparkrig.rdma import environment
from sparkrig.refusal import Refusal
from sparkrig.resources import trust
from sparkrig.serving import listen, neighbours, plan, served, service_settings, sizing, unit_files
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.model import Catalogue
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.served import Service
from sparkrig.serving.sizing import Room
from sparkrig.serving.wish import Chosen, Node, Sizing, Wish
from sparkrig.settings import Settings
from sparkrig.text import bare_name, listed

_SECONDS = 24 * 3600  # pyinfra's own patience with one operation; each step ends sooner by itself


@cache
def _own() -> Path | None:
    """The folder models/ of the project that the inventory on the command line is of."""
    named = next((Path(word) for word in sys.argv[1:] if word.endswith(".py") and Path(word).is_file()), None)
    return own(named)


@cache
def _catalogue() -> Catalogue:
    return catalogue(beside=_own())


@cache
def _recipe(named: str | None) -> Recipe | None:
    """Raises Refusal."""
    return recipe_file.read(named) if named else None


@dataclass(frozen=True)
class Server:
    """What one host has to do with a server."""

    spark: Spark
    name: str = ""

    @property
    def service(self) -> Service:
        return Service(self.name)

    @property
    def record(self) -> served.Record | None:
        return served.load(self.spark.found.files.get(self.service.record))

    @property
    def others(self) -> dict[str, served.Record]:
        """What was deployed last of the other services of this host."""
        records = served.records(self.spark.found.files, self.spark.found.serving)
        return {name: record for name, record in records.items() if name != self.name}

    @cached_property
    def found(self) -> served.Serving:
        """What the look saw, for this service."""
        return self.spark.found.serving.of(self.service)

    @cached_property
    def mine(self) -> Settings:
        """Raises Refusal."""
        typed = inventory.get_override_data()
        given = service_settings.of(self.spark.settings, self.name, self.record, typed)
        return plan.of_engine(plan.remembered(given, self.record), _recipe(given.recipe))

    @property
    def goes(self) -> bool:
        """Whether it is to be none any more."""
        return self.mine.model == service_settings.NONE

    @property
    def gone(self) -> bool:
        """Whether nothing of it is there."""
        stands = set(self.service.paths) & self.spark.found.files.keys()
        return not stands and not self.found.active and not self.found.trial

    @cached_property
    def wish(self) -> Wish:
        """Raises Refusal."""
        return plan.wish(_catalogue().find, self.mine, len(self.group), _recipe(self.mine.recipe))

    @property
    def group(self) -> tuple[str, ...]:
        """The hosts that could share it: those of serve_on first, then the others in the inventory's order."""
        return serving_order(self.spark.fleet.group(self.spark.name), self.mine.serve_on)

    @property
    def rank(self) -> int:
        """0 answers; served.ASIDE for one that has no part in it."""
        place = self.group.index(self.spark.name)
        return place if place < self.wish.nodes else served.ASIDE

    @property
    def idle(self) -> bool:
        return self.rank == served.ASIDE

    @cached_property
    def sizing(self) -> Sizing:
        """What it takes of the memory: as it was decided for this wish, or as this host's memory has room for it.

        Raises Refusal with the figures, also where what was decided would not start any more.
        """
        unit = _text(self.spark.found.files.get(self.service.of(served.SERVICE)))
        records, memory_gib = served.records(self.spark.found.files, self.found), self.mine.memory_gib
        others = sizing.beside(self.found, records, self.service, memory_gib)
        room = sizing.room(
            self.found,
            unit,
            memory_gib,
            draft=self.wish.draft,
            others=others,
            record=self.record,
            gguf=self.wish.gguf,
        )
        kept = unit_files.decided(self.wish, self.record)
        if kept is None:
            return self._sized(room)
        if not self.found.image:  # no container runs: systemd may be about to try again
            sizing.passes(kept, room)
        return kept

    def _sized(self, room: Room) -> Sizing:
        try:
            return plan.size(self.wish, self.mine, room)
        except Refusal as refusal:
            many = self.spark.fleet.many(self.spark.name)
            if better := plan.larger(self.wish, many, room.total):
                raise Refusal(refusal.what, better) from None
            raise

    def files(self, chosen: Chosen) -> list[File]:
        """Every file of this host. Raises Refusal where an address is not known."""
        node = Node(self.rank, management=self._management)
        if self.wish.nodes > 1:
            node = replace(node, head=self._head, address=_address(self.spark))
        return unit_files.files(self.wish, chosen, node, self.mine, serving.texts(self.service))

    @property
    def _management(self) -> IPv4Address | None:
        network = self.spark.found.network
        addresses = [address.ip for link in network.links.values() for address in link.addresses]
        return listen.management(self.record, addresses, network.management[1].ip if network.management else None)

    @property
    def warnings(self) -> list[str]:
        """What a person should know of who reaches the server from now on; of the host that answers."""
        return [*listen.warnings(self.mine, self.record, listen.sockets(self.mine, self._management))]

    @property
    def parts(self) -> str:
        """Which hosts of a cluster serve, and which are left free."""
        names = [*map(bare_name, self.group)]
        busy, free = names[: self.wish.nodes], names[self.wish.nodes :]
        verb = f"serve it, and {busy[0]} answers" if len(busy) > 1 else "serves it"
        rest = f"; {listed(free)} {'is' if len(free) == 1 else 'are'} left free" if free else ""
        return f"{listed(busy)} {verb}{rest}"

    @property
    def _head(self) -> IPv4Address:
        """Where the nodes meet. Raises Refusal where that is not known."""
        name = self.group[0]
        settings = self.spark.fleet[name]
        if settings.socket_interface == "fabric" and settings.form != "ring" and settings.fabric:
            return next(iter(settings.fabric.values())).ip
        if head := looked_at(name):
            return _address(head)
        kept = self.spark.found.files.get(self.service.of(served.ENVIRONMENT))  # hosts are looked at side by side
        told = re.search(r"^SPARKRIG_HEAD=([0-9.]+)$", kept.content if kept else "", re.MULTILINE)
        if told is None:
            raise Refusal(f"the address of {name} is not known yet", "run without --limit")
        return IPv4Address(told[1])

    def judge(self) -> None:
        """Raise Refusal where this host cannot do its part."""
        if self.goes:
            return
        wish, found, others = self.wish, self.spark.found, self.others
        if self.idle:
            return
        machine, leads = found.identity.machine, self.rank == 0
        neighbours.judge(self.found, self.mine, others, leads=leads)
        plan.judge(wish, self.found, machine, self.mine, leads=leads)
        if self.rank == 0:
            listen.sockets(self.mine, self._management)
        known = unit_files.chosen(wish, self.found, self.record)
        lacks = wish.nodes > 1 and environment.CONTAINER_ENV not in found.files
        if lacks or not found.containers.registered:
            raise Refusal(
                f"{environment.CONTAINER_ENV if lacks else 'the nvidia runtime of docker'} is missing, which the "
                f"container needs",
                "pyinfra INVENTORY deploys/cluster.py",
            )
        plan.refuse(self.lint(known))
        form = unit_files.form(wish, known, self.mine) if known else self.mine.serve_form
        if self.rank == 0 and form and wish.nodes > 1:
            neighbours.meets(form, others)
            plan.meets(form, self.found, self.record)

    def lint(self, chosen: Chosen | None) -> list[Finding]:
        """What is held against it, as far as it is known what is in the image; vLLM's own mode is in any.

        Raises Refusal where the memory has no room for it.
        """
        wish = self.wish.sized((chosen and chosen.sizing) or self.sizing)
        form = unit_files.form(self.wish, chosen, self.mine) if chosen else self.mine.serve_form or "multinode"
        vllm = serving.version_of(chosen) if chosen else None
        machine = self.spark.found.identity.machine
        rules, tables = lint_rules.rules(_own()), vllm_flags.knowledge(_own())
        return plan.lint_of(wish, _catalogue().find, form, vllm, machine, rules, tables)

    @property
    def has_image(self) -> bool:
        return self.idle or self.image is not None

    @property
    def image(self) -> Image | None:
        head = looked_at(self.group[0])
        theirs = head.found.serving if head else None
        return unit_files.image_of(self.wish, self.found, self.record, theirs)

    @property
    def has_weights(self) -> bool:
        there = self.spark.found.serving.weights
        if self.wish.gguf:  # which `judge` refuses where it is not there
            return True
        return self.idle or all(id in there and there[id].standing == "whole" for id in self.wish.ids)

    @property
    def settled(self) -> bool:
        """Whether the server is what it should be, and up."""
        found, standing = self.found, self.spark.found.files
        known = Chosen("") if self.idle else unit_files.chosen(self.wish, found, self.record)
        if known is None or (known.sizing is None and not self.idle):
            return False
        wanted = self.files(known)
        if stale(wanted, standing) or unit_files.surplus(wanted, standing, self.service):
            return False
        if self.idle:
            return not found.trial
        if found.trial or found.events or not found.runs or found.image != known.id:
            return False
        return self.rank > 0 or (found.port == "active" and found.health == 200)

    def barred(self) -> list[Refusal]:
        """Why a file of it cannot be put in its place. Raises Refusal where its files are not known."""
        bars = self.spark.found.preflight.barred
        if not bars or (self.gone if self.goes else self.settled):
            return []
        return targets.refusals(bars, self.service.paths)


def _text(file: Found | None) -> str:
    return file.content if file else ""


def _address(spark: Spark) -> IPv4Address:
    """Where the control sockets live: the network that container.env names. Raises Refusal."""
    mine, found = spark.settings, spark.found
    return environment.node(
        spark.cabled,
        found.rdma,
        found.network.management,
        socket_interface=mine.socket_interface,
        form=mine.form,
    ).address


def _members(server: Server) -> list[Server]:
    """The hosts that have a part, once they were looked at."""
    return [Server(each, server.name) for each in map(looked_at, server.group) if each]


def _busy(server: Server) -> list[served.Serving]:
    return [each.found for each in _members(server) if not each.idle]


def _one_image(server: Server) -> bool:
    """Whether the hosts that run the model have one and the same image, as far as they have it."""
    return one(each.image for each in _members(server) if each.image and not each.idle)


def _one_revision(server: Server) -> bool:
    """Whether they have one and the same revision of the checkpoint, as far as they have it."""
    busy = _busy(server)
    return all(
        served.one_revision(each.weights[id] for each in busy if id in each.weights) for id in server.wish.ids
    )


def _one_sizing(server: Server) -> bool:
    """Whether the same memory and context were decided for all of them."""
    records = [each.record for each in _members(server) if not each.idle]
    return len({each.sizing for each in records if each}) < 2


def _one_token(server: Server) -> bool:
    """Whether they have one and the same token of Ray, where the server's form makes one."""
    how = server.record.form if server.record else ""
    return not served.makes_token(how, server.mine.secrets) or served.one_token(_busy(server))


def _alike(server: Server) -> bool:
    return _one_image(server) and _one_token(server) and _one_sizing(server)


@deploy("Serve")
def model_served(spark: Spark, service: str | None = None) -> None:
    """Image, weights and server, on every host that has a part. service: its name; None for the declared one."""
    server = Server(spark, spark.settings.serve_name if service is None else service)
    if server.goes:
        _removed(server)
        return
    wish, members = server.wish, partial(_members, server)
    step = partial(together, leader=server.group[0], group=lambda: _group(members(), wish), _timeout=_SECONDS)
    of = f" of {server.name}" if server.name else ""
    step(
        name=f"image{of}",
        due=lambda: not (all(each.has_image for each in members()) and _one_image(server)),
        act=image.image,
        settled=f"{wish.image} is there",
    )
    step(
        name=f"weights{of}",
        due=lambda: not (all(each.has_weights for each in members()) and _one_revision(server)),
        act=weights.weights,
        settled=f"{wish.gguf or wish.checkpoint.id} is there",
    )
    step(
        name=f"server{of}",
        due=lambda: not (all(each.settled for each in members()) and _alike(server)),
        act=serving.server,
        settled=f"{wish.model.name} answers on port {server.mine.serve_port}",
    )


def _removed(server: Server) -> None:
    """The service goes from every host that has a part."""
    members = partial(_members, server)
    together(
        name=f"remove {server.service}",
        leader=server.group[0],
        group=lambda: serving.Removal(
            tuple(each.spark.name for each in members()),
            server.service,
            max(each.mine.patience for each in members()),
        ),
        due=lambda: not all(each.gone for each in members()),
        act=serving.removed,
        settled=f"{server.service} is not there",
        _timeout=_SECONDS,
    )


def _group(members: list[Server], wish: Wish) -> Group:
    servers: Mapping[str, Server] = {each.spark.name: each for each in members}
    head = members[0]

    def errors(chosen: Chosen) -> None:
        plan.refuse(head.lint(chosen))

    return Group(
        names=tuple(name for name, each in servers.items() if not each.idle),
        idle=tuple(name for name, each in servers.items() if each.idle),
        settings={name: each.mine for name, each in servers.items()},
        users={name: each.spark.found.trust.user for name, each in servers.items() if _trusted(each.spark)},
        wish=wish,
        wanted=lambda name, chosen: servers[name].files(chosen),
        size=lambda rooms: plan.size(wish, head.mine, min(rooms, key=lambda room: room.most)),
        errors=errors,
        service=head.service,
    )


def _trusted(spark: Spark) -> bool:
    """Whether its ssh user may log in to the other host."""
    return spark.settings.node_ssh and trust.settled(spark.found.trust, spark.found.files, None)


def refusals(spark: Spark, service: str | None = None) -> list[Refusal]:
    """Why this host could not serve what is asked for. service: as `model_served` has it."""
    server = Server(spark, spark.settings.serve_name if service is None else service)
    try:
        server.judge()
        return server.barred()
    except Refusal as refusal:
        return [refusal]


# pyinfra executes this file without a name of its own; drift imports it
if __name__ == "builtins" and (spark := look()):
    if found := refusals(spark):
        refuse(found, spark.fleet)
    else:
        server = Server(spark, spark.settings.serve_name)
        if not server.goes and server.rank == 0:
            if len(server.group) > 2:
                host.log(server.parts)
            for line in (*plan.told(server.wish, server.lint(None)), *server.warnings):
                host.log_styled(line, fg="yellow", log_func=logger.warning)
        model_served(spark=spark)
        close(name="close the run", unkept=lambda: spark.unkept)
