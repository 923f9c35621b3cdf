"""What NCCL, vLLM and Ray read on this host, with the GID index of each rail."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import environment


@deploy("Environment")
def apply(spark: Spark) -> None:
    """Look up the RoCE v2 index of each declared IPv4, and write what NCCL, vLLM and Ray read."""
    mine = spark.settings
    environment.files(
        name="NCCL, vLLM and Ray files",
        found=spark.found.files,
        seen=spark.found.rdma,
        rails=spark.cabled,
        management=spark.found.network.management,
        socket_interface=mine.socket_interface,
        form=mine.form,
        merge_nics=mine.merge_nics,
        extra=mine.environment,
        nccl=mine.nccl_conf,
        moving=spark.network_moves,
    )


alone(__name__, apply)
