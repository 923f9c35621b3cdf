"""Containers: the toolkit where it is absent, and docker's nvidia runtime."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import containers


@deploy("Containers")
def apply(spark: Spark) -> None:
    """Give docker the nvidia runtime; running containers are never stopped without leave."""
    found, settings = spark.found.containers, spark.settings
    containers.toolkit(name="nvidia-container-toolkit", found=found, settings=settings)
    containers.runtime(name="docker's nvidia runtime", found=found, restart_docker=settings.restart_docker)


alone(__name__, apply)
