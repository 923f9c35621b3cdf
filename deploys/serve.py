"""A model served on one Spark or a pair: pyinfra inventories/pair.py deploys/serve.py --data model=NAME

Not part of cluster.py, and it takes what that made. `--data recipe=FILE` serves what others wrote down. Without
either it is the model that was served last.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from ipaddress import IPv4Address
from pathlib import Path

from pyinfra import host, logger
from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, look, looked_at, refuse
from sparkrig.files import File, stale
from sparkrig.host import targets, trust
from sparkrig.host.images import Image, one
from sparkrig.io import recipe_file
from sparkrig.io.catalogue_files import catalogue, own
from sparkrig.operations import image, serving, weights
from sparkrig.operations.group import Group, together
from sparkrig.operations.journal import close
from sparkrig.rdma import environment
from sparkrig.refusal import Refusal
from sparkrig.serving import plan, served, unit_files
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.model import Catalogue
from sparkrig.serving.wish import Chosen, Node, Wish
from sparkrig.settings import Settings

_SECONDS = 24 * 3600  # pyinfra's own patience with one operation; each step ends sooner by itself


@cache
def _catalogue() -> Catalogue:
    """With the entries of the project that the inventory on the command line is of."""
    named = next((Path(word) for word in sys.argv[1:] if word.endswith(".py") and Path(word).is_file()), None)
    return catalogue(beside=own(named))


@dataclass(frozen=True)
class Server:
    """What one host has to do with a server."""

    spark: Spark

    @property
    def record(self) -> served.Record | None:
        return served.load(self.spark.found.files.get(served.RECORD))

    @cached_property
    def mine(self) -> Settings:
        return plan.remembered(self.spark.settings, self.record)

    @cached_property
    def wish(self) -> Wish:
        """Raises Refusal."""
        recipe = recipe_file.read(self.mine.recipe) if self.mine.recipe else None
        return plan.wish(_catalogue().find, self.mine, len(self.group), recipe)

    @property
    def group(self) -> tuple[str, ...]:
        """The hosts that could share it, in the inventory's order."""
        return self.spark.fleet.group(self.spark.name)

    @property
    def rank(self) -> int:
        """0 answers; served.ASIDE for one that has no part in it."""
        place = self.group.index(self.spark.name)
        return place if place < self.wish.nodes else served.ASIDE

    @property
    def idle(self) -> bool:
        return self.rank == served.ASIDE

    def files(self, chosen: Chosen) -> list[File]:
        """Every file of this host. Raises Refusal where an address is not known."""
        node = Node(self.rank, self._head, _address(self.spark)) if self.wish.nodes > 1 else Node(self.rank)
        return unit_files.files(self.wish, chosen, node, self.mine, serving.texts())

    @property
    def _head(self) -> IPv4Address:
        """Where the nodes meet. Raises Refusal where that is not known."""
        name = self.group[0]
        settings = self.spark.fleet[name]
        if settings.socket_interface == "fabric" and settings.fabric:
            return next(iter(settings.fabric.values())).ip
        if head := looked_at(name):
            return _address(head)
        kept = self.spark.found.files.get(served.ENVIRONMENT)  # hosts are looked at side by side
        told = re.search(r"^SPARKRIG_HEAD=([0-9.]+)$", kept.content if kept else "", re.MULTILINE)
        if told is None:
            raise Refusal(f"the address of {name} is not known yet", "run without --limit")
        return IPv4Address(told[1])

    def judge(self) -> None:
        """Raise Refusal where this host cannot do its part."""
        wish, found = self.wish, self.spark.found
        if self.idle:
            return
        memory = found.identity.memory_kib / 2**20
        plan.judge(wish, found.serving, found.identity.machine, memory, self.mine, leads=self.rank == 0)
        known = unit_files.chosen(wish, found.serving, self.record)
        if environment.CONTAINER_ENV not in found.files or not found.containers.registered:
            raise Refusal(
                f"{environment.CONTAINER_ENV} or docker's nvidia runtime is missing, which containers need",
                "pyinfra INVENTORY deploys/cluster.py",
            )
        plan.refuse(self.lint(known))
        if known:
            unit_files.form(wish, known, self.mine)

    def lint(self, chosen: Chosen | None) -> list[Finding]:
        """What is held against it, as far as it is known what is in the image; vLLM's own mode is in any."""
        form = unit_files.form(self.wish, chosen, self.mine) if chosen else self.mine.serve_form or "multinode"
        vllm = serving.version_of(chosen) if chosen else None
        return plan.lint_of(self.wish, _catalogue().find, form, vllm, self.spark.found.identity.machine)

    @property
    def has_image(self) -> bool:
        return self.idle or self.image is not None

    @property
    def image(self) -> Image | None:
        head = looked_at(self.group[0])
        theirs = head.found.serving if head else None
        return unit_files.image_of(self.wish, self.spark.found.serving, self.record, theirs)

    @property
    def has_weights(self) -> bool:
        there = self.spark.found.serving.weights.get(self.wish.checkpoint.id)
        return self.idle or (there is not None and there.standing == "whole")

    @property
    def settled(self) -> bool:
        """Whether the server is what it should be, and up."""
        found, standing = self.spark.found.serving, self.spark.found.files
        known = Chosen("") if self.idle else unit_files.chosen(self.wish, found, self.record)
        if known is None:
            return False
        wanted = self.files(known)
        if stale(wanted, standing) or unit_files.surplus(wanted, standing):
            return False
        if self.idle:
            return not found.trial
        if found.trial or found.events or not found.runs or found.image != known.id:
            return False
        return self.rank > 0 or (found.port == "active" and found.health == 200)

    def barred(self) -> list[Refusal]:
        """Why a file of it cannot be put in its place. Raises Refusal where its files are not known."""
        bars = self.spark.found.preflight.barred
        if not bars or self.settled:
            return []
        return targets.refusals(bars, served.PATHS)


def _address(spark: Spark) -> IPv4Address:
    """Where the control sockets live: the network that container.env names. Raises Refusal."""
    mine, found = spark.settings, spark.found
    return environment.node(
        spark.cabled, found.rdma, found.network.management, socket_interface=mine.socket_interface
    ).address


def _halves(server: Server) -> list[Server]:
    """The hosts that have a part, once they were looked at."""
    return [Server(each) for each in map(looked_at, server.group) if each]


def _busy(server: Server) -> list[served.Serving]:
    return [each.spark.found.serving for each in _halves(server) if not each.idle]


def _one_image(server: Server) -> bool:
    """Whether the hosts that run the model have one and the same image, as far as they have it."""
    return one(each.image for each in _halves(server) if each.image and not each.idle)


def _one_revision(server: Server) -> bool:
    """Whether they have one and the same revision of the checkpoint, as far as they have it."""
    id = server.wish.checkpoint.id
    return served.one_revision(each.weights[id] for each in _busy(server) if id in each.weights)


def _one_token(server: Server) -> bool:
    """Whether they have one and the same token of Ray, where the server's form makes one."""
    how = server.record.form if server.record else ""
    return not served.makes_token(how, server.mine.secrets) or served.one_token(_busy(server))


@deploy("Serve")
def model_served(spark: Spark) -> None:
    """Image, weights and server, on every host that has a part."""
    server = Server(spark)
    wish, halves = server.wish, partial(_halves, server)
    step = partial(together, leader=server.group[0], group=lambda: _group(halves(), wish), _timeout=_SECONDS)
    step(
        name="image",
        due=lambda: not (all(each.has_image for each in halves()) and _one_image(server)),
        act=image.image,
        settled=f"{wish.image} is there",
    )
    step(
        name="weights",
        due=lambda: not (all(each.has_weights for each in halves()) and _one_revision(server)),
        act=weights.weights,
        settled=f"{wish.checkpoint.id} is there",
    )
    step(
        name="server",
        due=lambda: not (all(each.settled for each in halves()) and _one_image(server) and _one_token(server)),
        act=serving.server,
        settled=f"{wish.model.name} answers on port {server.mine.serve_port}",
    )


def _group(halves: list[Server], wish: Wish) -> Group:
    servers: Mapping[str, Server] = {each.spark.name: each for each in halves}
    head = halves[0]

    def errors(chosen: Chosen) -> None:
        plan.refuse(head.lint(chosen))

    return Group(
        names=tuple(name for name, each in servers.items() if not each.idle),
        idle=tuple(name for name, each in servers.items() if each.idle),
        settings={name: each.mine for name, each in servers.items()},
        users={name: each.spark.found.trust.user for name, each in servers.items() if _trusted(each.spark)},
        wish=wish,
        wanted=lambda name, chosen: servers[name].files(chosen),
        errors=errors,
    )


def _trusted(spark: Spark) -> bool:
    """Whether its ssh user may log in to the other half."""
    return spark.settings.node_ssh and trust.settled(spark.found.trust, spark.found.files, None)


def refusals(spark: Spark) -> list[Refusal]:
    """Why this host could not serve what is asked for."""
    server = Server(spark)
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
        server = Server(spark)
        if server.rank == 0:
            for line in plan.told(server.wish, server.lint(None)):
                host.log_styled(line, fg="yellow", log_func=logger.warning)
        model_served(spark=spark)
        close(name="close the run", unkept=lambda: spark.unkept)
