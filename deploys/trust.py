"""8. The ssh user of each half of a pair logs in to the other over the fabric, where node_ssh says so."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone, looked_at
from sparkrig.host import trust
from sparkrig.operations import trust as operations


@deploy("Trust")
def peer_trusted(spark: Spark) -> None:
    """Make a key on each host, exchange the public halves, and log in once as a proof; or take all of it back."""
    found, files = spark.found.trust, spark.found.files
    if spark.settings.node_ssh:
        operations.key(name="a key pair of this host's own", found=found)
        operations.peer(name="this host and its peer", found=found, files=files, ask=lambda: _peer(spark))
        operations.prove(
            name="log in to the peer",
            found=found,
            due=lambda: not all(map(_settled, filter(None, (spark, looked_at(spark.peer))))),
            name_of_peer=trust.plain(spark.peer or ""),
            patience=spark.settings.patience,
        )
    elif trust.left(found, files):
        operations.forget(name="no login from the peer", found=found)


def _settled(half: Spark) -> bool:
    return trust.settled(half.found.trust, half.found.files, _peer(half))


def _peer(spark: Spark) -> trust.Peer | None:
    """The other half as this run's first look saw it."""
    other = looked_at(spark.peer)
    if other is None:
        return None
    return trust.Peer(other.name, [rail.peer_address.ip for rail in spark.rails], other.found.trust)


alone(__name__, peer_trusted)
