"""Fake hosts of a ring and of a switch that are to serve, or do: what a cluster prints, with a server in it."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from sparkrig.clusters import serving_order
from sparkrig.files import File, Found
from sparkrig.resources import trust
from sparkrig.resources.trust import TRUST
from sparkrig.serving import last_deploy, plan, served, unit_files
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.sizing import Room
from sparkrig.serving.wish import Chosen, Node
from tests.plan.clustered import Cluster
from tests.plan.conftest import Host, joined, sections
from tests.plan.serving import DATA, IMAGE, Spark, ready, running

CATALOGUE = catalogue()
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDHqPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1{}"


@dataclass(frozen=True)
class Serving:
    """A cluster that serves one model. settings: of all hosts, beside those of every test."""

    count: int
    topology: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        data = {"node_ssh": True, **DATA, "model": self.model, **self.settings}
        return Cluster(self.count, self.topology, settings=tuple(data.items()))

    @property
    def names(self) -> list[str]:
        return self.cluster.names

    def ready(self, **changes: Any) -> list[Spark]:
        """Hosts that have image and weights, and serve nothing."""
        return [ready(self.model, **changes) for _ in self.names]

    def up(self) -> list[Spark]:
        """Hosts that serve it as this very code wants them."""
        return [self._up(place) for place in range(self.count)]

    def hosts(self, *sparks: Spark, **responses: Any) -> list[Host]:
        """responses: of all of them, by a piece of each script."""
        places = enumerate(zip(self.names, sparks, strict=True))
        return [
            Host(f"@fake/{name}", self._printed(place, spark), data=self.cluster.data, responses=responses)
            for place, (name, spark) in places
        ]

    def _up(self, place: int) -> Spark:
        files = self.files(place)
        (kept,) = [file.content for file in files if file.path == served.RECORD]
        record = last_deploy.load(Found(kept, "0644", "root:root"))
        assert record is not None
        if record.rank == served.ASIDE:
            return ready(self.model, files=files)
        return ready(self.model, **running(record.rank == 0), files=files)

    def files(self, place: int) -> list[File]:
        fleet = self.cluster.fleet
        name = self.names[place]
        mine, order = fleet[name], serving_order(tuple(self.names), fleet[name].serve_on)
        asked = plan.wish(CATALOGUE.find, mine, self.count)
        rank = order.index(name) if order.index(name) < asked.nodes else served.ASIDE
        node = Node(rank)
        if asked.nodes > 1 and rank != served.ASIDE:
            node = Node(rank, self.address(order[0]), self.address(name))
        chosen = Chosen(IMAGE, False, "0.19.0", sizing=plan.size(asked, mine, Room(121.7, 116.7)))
        return unit_files.files(asked, chosen, node, mine)

    def address(self, name: str) -> IPv4Address:
        """Where its control sockets live: the management network in a ring, else its first rail."""
        place = self.names.index(name)
        if self.topology == "ring":
            return IPv4Address(f"10.0.2.{11 + place}")
        return next(iter(self.cluster.fabric(place).values())).ip

    def _printed(self, place: int, spark: Spark) -> str:
        """The whole look of a host that the others may log in to."""
        parts = sections(self.cluster.converged(place))
        peers = [self._peer(place, far) for far in range(self.count) if far != place]
        files = [*trust.files("nvidia", peers), *spark.files]
        rows = [
            f"{file.path} {file.mode} root:root {base64.b64encode(file.content.encode()).decode()}"
            for file in files
        ]
        parts["files"] = "\n".join([parts["files"].strip(), *rows])
        lines = "".join(f"authorized {trust.line(peer)}\n" for peer in peers)
        key = KEY.format("mnopqrst"[place])
        parts["trust"] = f"{parts['trust'].strip()}\nprivate 600 nvidia\npublic {key} {trust.MARK}\n{lines}"
        parts["serving"] = spark.rows()
        return joined(parts)

    def _peer(self, place: int, far: int) -> trust.Peer:
        fleet, own = self.cluster.fleet, sections(self.cluster.converged(far))["trust"]
        seen = TRUST.parse([*own.splitlines(), "private 600 nvidia", f"public {KEY.format('mnopqrst'[far])}"])
        name = self.names[far]
        return trust.Peer(name, fleet.addresses(self.names[place], name), seen)
