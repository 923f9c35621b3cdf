"""The ssh user of each half of a pair logs in to the other over the fabric, where node_ssh is set."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.host import trust
from sparkrig.operations import trust as operations


@deploy("Trust")
def apply(spark: Spark) -> None:
    """Make a key on each host, exchange the public halves, and log in once as a proof; or take all of it back."""
    found, files = spark.found.trust, spark.found.files
    if spark.settings.node_ssh:
        operations.key(name="a key pair of this host's own", found=found)
        operations.peer(name="this host and its peer", found=found, files=files, ask=lambda: _peer(spark))
        operations.prove(
            name="log in to the peer",
            found=found,
            due=lambda: not all(map(_settled, spark.group)),
            name_of_peer=trust.plain(spark.peers[0]),
            patience=spark.settings.patience,
        )
    elif trust.left(found, files):
        operations.forget(name="no login from the peer", found=found)


def _settled(half: Spark) -> bool:
    return trust.settled(half.found.trust, half.found.files, _peer(half))


def _peer(spark: Spark) -> trust.Peer | None:
    """The other half as this run's first look saw it."""
    _, *others = spark.group
    if not others:
        return None
    other = others[0]
    return trust.Peer(other.name, [rail.far.address.ip for rail in spark.rails], other.found.trust)


alone(__name__, apply)
