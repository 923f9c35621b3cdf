"""From a Spark out of the box to a verified node or pair: each of look.state.RESOURCES in turn.

pyinfra inventories/pair.py deploys/cluster.py
"""

from __future__ import annotations

from sparkrig.deploys.spark import Spark, declaration, look, undeclared
from sparkrig.look.state import parts
from sparkrig.operations.journal import close


def cluster(spark: Spark) -> None:
    """Make a Spark that was looked at, and judged fit for it, what is declared."""
    for resource in parts("sparkrig.deploys").values():
        resource.apply(spark=spark)
    close(
        name="close the run",
        declaration=lambda: declaration(spark),
        unkept=lambda: spark.unkept or undeclared(spark),
        simulated=lambda: spark.found.driver.kept,
    )


# pyinfra executes this file without a name of its own; drift imports it
if __name__ == "builtins" and (spark := look()):  # identity and every other refusal come before the first change
    cluster(spark)
