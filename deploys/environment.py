"""What NCCL, vLLM and Ray read on this host, with the GID index of each rail."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import environment
from sparkrig.resources.environment import declared, keeper


@deploy("Environment")
def apply(spark: Spark) -> None:
    """Look up the RoCE v2 index of each declared IPv4, and write what NCCL, vLLM and Ray read."""
    environment.files(
        name="NCCL, vLLM and Ray files",
        found=spark.found.files,
        seen=spark.found.rdma,
        wanted=lambda rdma: declared(spark.subject, rdma),
        without_gid=keeper(spark.cabled, spark.settings.form),
        moving=spark.network_moves,
    )


alone(__name__, apply)
