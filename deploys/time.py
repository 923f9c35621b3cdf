"""The time servers that this host's own service asks, where the setting ntp names any."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.host import time
from sparkrig.operations import files


@deploy("Time")
def apply(spark: Spark) -> None:
    """Name the servers in a file of the service that is there, and have it read that file."""
    plan = time.plan(spark.found.time, spark.found.files, spark.settings.ntp)
    if spark.settings.ntp or plan:
        files.place(name="time servers", wanted=plan.write, found=spark.found.files, unwanted=plan.remove)
        files.reload(name="let the service read them", paths=plan.reload)


alone(__name__, apply)
