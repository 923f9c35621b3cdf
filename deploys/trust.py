"""The ssh user of each host of a cluster logs in to the others over the fabric, where node_ssh is set."""

from __future__ import annotations

from dataclasses import replace

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import trust as operations
from sparkrig.resources import trust
from sparkrig.text import bare_name


@deploy("Trust")
def apply(spark: Spark) -> None:
    """Make a key on each host, exchange the public keys, and log in once as a proof; or take all of it back."""
    found, files = spark.found.trust, spark.found.files
    if spark.settings.node_ssh:
        peers = "peer" if len(spark.peers) == 1 else "peers"
        operations.key(name="a key pair of this host's own", found=found)
        operations.peers(
            name=f"this host and its {peers}",
            found=found,
            files=files,
            names=spark.peers,
            ask=lambda: _peers(spark),
        )
        operations.prove(
            name=f"log in to the {peers}",
            found=found,
            due=lambda: not all(map(_settled, spark.group)),
            names=[*map(bare_name, spark.peers)],
            patience=spark.settings.patience,
        )
    elif trust.left(found, files):
        operations.forget(name="no login from the peer", found=found)


def _settled(spark: Spark) -> bool:
    return trust.settled(spark.found.trust, spark.found.files, _peers(spark))


def _peers(spark: Spark) -> list[trust.Peer] | None:
    """The others of its cluster as this run's first look saw them, once all of them were looked at."""
    _, *others = spark.group
    return trust.peers(replace(spark.subject, peers={other.name: other.found for other in others}))


alone(__name__, apply)
