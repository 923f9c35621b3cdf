"""A standing Ray cluster of the hosts of a group, where the setting ray_image names its image.

By itself: pyinfra inventories/sparks.py deploys/ray.py
"""

from __future__ import annotations

import time

import gevent
from pyinfra import inventory, state
from pyinfra.api import deploy

from sparkrig.deploys import secrets
from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import ray as operations
from sparkrig.operations.subject import subject
from sparkrig.resources import ray
from sparkrig.resources.check import Subject
from sparkrig.resources.ray import RAY

_LOOK_S = 60


@deploy("Ray")
def apply(spark: Spark) -> None:
    """Start the node of this host, or take it away; the head waits for all others."""
    mine = spark.settings
    if mine.form == "ring" or mine.socket_interface == "management":
        _all_looked_at(spark)
    changes = RAY.changes(_subject(spark))
    if not changes and not changes.wanted:
        return
    operations.node(
        name="node" if changes.wanted else "no node",
        changes=changes,
        subject=lambda: _subject(spark),
        patience=mine.patience,
    )
    if changes.wanted and ray.head(spark.subject) == spark.name:
        found, many = RAY.seen(spark.subject), len(spark.fleet.group(spark.name))
        operations.joined(
            name="all nodes join",
            due=bool(changes) or len(found.alive) < many,
            nodes=many,
            seconds=mine.ray_wait * mine.patience,
        )


def _subject(spark: Spark) -> Subject:
    """The host with those of its peers that were looked at."""
    return subject(spark.name, spark.fleet, {each.name: each.found for each in spark.group})


def _all_looked_at(spark: Spark) -> None:
    """Wait until its peers were looked at, side by side with it: the address of the head is in that look."""
    end = time.monotonic() + _LOOK_S * spark.settings.patience
    peers = [inventory.get_host(name) for name in spark.peers]
    while len(spark.group) <= len(peers) and time.monotonic() < end and state.active_hosts.issuperset(peers):
        gevent.sleep(0.1)


def _with_token(spark: Spark) -> None:
    """A node reads its token when it starts, so that comes first."""
    secrets.apply(spark=spark)
    apply(spark=spark)


alone(__name__, _with_token, network=False)
