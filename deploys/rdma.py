"""The RoCE v2 index of each rail: looked up on the device, never a constant."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import rdma


@deploy("RDMA")
def apply(spark: Spark) -> None:
    """Stop the run where a rail has no RoCE v2 GID; a Spark without a cable has no rail."""
    rdma.discover(
        name="GID index of each rail",
        seen=spark.found.rdma,
        rails=spark.cabled,
        moving=spark.network_moves,
    )


alone(__name__, apply)
