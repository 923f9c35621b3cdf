"""The fabric: a NetworkManager profile and a live link of the right MTU for each cabled netdev."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone, looked_at
from sparkrig.operations import network


@deploy("Network")
def apply(spark: Spark) -> None:
    """Set up the fabric netdevs of a Spark, or of all hosts of a cluster, under guard."""
    group = list(spark.fleet.group(spark.name))

    def moves() -> bool:
        return any(member.network_moves for member in map(looked_at, group) if member)

    network.fabric(
        name="profiles and live links",
        plan=spark.network_plan,
        moves=moves,
        leader=group[0],
        group=group,
        fleet=spark.fleet,
    )


alone(__name__, apply)
