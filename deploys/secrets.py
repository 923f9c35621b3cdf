"""Variables that only root may read, where the setting secrets names any."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import secrets


@deploy("Secrets")
def apply(spark: Spark) -> None:
    """Write /etc/sparkrig/secrets.env from where each secret is found on this machine, and from nothing else."""
    if spark.secrets or spark.found.secrets.mode:
        secrets.place(name="variables for root alone", found=spark.found.secrets, wanted=spark.secrets)


alone(__name__, apply, network=False)
