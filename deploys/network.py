"""3. The fabric: a NetworkManager profile and a live link of the right MTU for each cabled netdev."""

from __future__ import annotations

from pyinfra.api import deploy

from deploys.spark import Spark, alone
from operations import network


@deploy("Network")
def fabric_up(spark: Spark) -> None:
    """Set up the fabric netdevs; the management network is never touched."""
    mine = spark.settings
    network.fabric(
        name="profiles and live links",
        found=spark.found.network,
        addresses=mine.fabric,
        mtu=mine.mtu,
        paired=spark.peer is not None,
        patience=mine.patience,
    )


alone(__name__, fabric_up)
