"""From a Spark out of the box to a verified node or pair: each of sparkrig.resources.state.RESOURCES in turn.

pyinfra inventories/sparks.py deploys/cluster.py
"""

from __future__ import annotations

from pathlib import Path

from sparkrig.checks import last_declaration
from sparkrig.deploys import kept, own
from sparkrig.deploys.spark import Spark, declaration, look
from sparkrig.deploys.step import steps
from sparkrig.files import DECLARED
from sparkrig.operations.journal import close


def cluster(spark: Spark, mine: Path | None = None) -> None:
    """Make a Spark that was looked at, and judged fit for it, what is declared. mine: the owner's own steps."""
    for apply in steps().values():
        apply(spark=spark)
    if mine:
        own.apply(steps=mine)

    def unkept() -> str:
        kept = {each.name: each.found.files.get(DECLARED) for each in spark.group}
        return spark.unkept or last_declaration.unkept(kept, spark.name)

    close(
        name="close the run",
        declaration=lambda: declaration(spark),
        unkept=unkept,
        simulated=lambda: spark.found.driver.kept,
        kept=lambda declared: kept.deployed(spark, declared),
    )


# pyinfra executes this file without a name of its own; drift imports it
if __name__ == "builtins" and (spark := look()):  # identity and every other refusal come before the first change
    cluster(spark, own.file(kept.inventory_file()))
