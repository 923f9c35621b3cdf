"""The black box of this host, where the setting watch asks for it."""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import files
from sparkrig.operations import watch as operations
from sparkrig.resources.watch import WATCH


@deploy("Watch")
def apply(spark: Spark) -> None:
    """Put unit and program in place and start them; or stop it and take all of it away."""
    settings = spark.settings
    on = settings.watch
    plan = WATCH.changes(spark.subject)
    if on or plan:
        files.place(name="black box", wanted=plan.write, found=spark.found.files, unwanted=plan.remove)
        if settings.watch_metrics:
            operations.exporter(name="Prometheus' node exporter", plan=plan, patience=settings.patience)
        files.reload(name="let systemd run it" if on else "stop it", paths=plan.reload)


alone(__name__, apply)
