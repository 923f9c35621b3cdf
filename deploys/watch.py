"""The black box of this host, where the setting watch asks for it."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.host import watch
from sparkrig.operations import files


@deploy("Watch")
def apply(spark: Spark) -> None:
    """Put unit and program in place and start them; or stop it and take all of it away."""
    on = spark.settings.watch
    plan = watch.plan(spark.found.files, on=on, guard=spark.settings.watch_guard)
    if on or plan:
        files.place(name="black box", wanted=plan.write, found=spark.found.files, unwanted=plan.remove)
        files.reload(name="let systemd run it" if on else "stop it", paths=[watch.UNIT_FILE] if plan else [])


alone(__name__, apply)
