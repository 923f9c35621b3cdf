"""Driver and kernel: hold the installed set, pin later branches away, and prove it by simulation."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import driver as operations
from sparkrig.operations import files
from sparkrig.resources.driver import DRIVER


@deploy("Driver")
def apply(spark: Spark) -> None:
    """Keep driver and kernel where they are, until a person decides otherwise."""
    branch = DRIVER.branch(spark.subject)
    pins = DRIVER.changes(spark.subject)
    files.place(name="pin later branches away", wanted=pins.wanted, found=spark.found.files)
    operations.hold(name=f"hold the installed {branch} set", found=spark.found.driver, branch=branch)
    operations.prove(
        name="prove it by a simulated upgrade",
        found=spark.found.driver,
        branch=branch,
        changed=DRIVER.moves(spark.subject),
    )


alone(__name__, apply)
