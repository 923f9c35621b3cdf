"""From a Spark out of the box to a verified node or pair: the table of contents.

pyinfra inventories/pair.py deploys/cluster.py
"""

from __future__ import annotations

from sparkrig.deploys.bandwidth import rails_measured
from sparkrig.deploys.containers import runtime_registered
from sparkrig.deploys.driver import driver_held
from sparkrig.deploys.environment import files_written
from sparkrig.deploys.network import fabric_up
from sparkrig.deploys.rdma import gids_found
from sparkrig.deploys.secrets import secrets_placed
from sparkrig.deploys.spark import Spark, declaration, look, undeclared
from sparkrig.deploys.trust import peer_trusted
from sparkrig.operations.journal import close


def cluster(spark: Spark) -> None:
    """Make a Spark that was looked at, and judged fit for it, what is declared."""
    driver_held(spark=spark)
    fabric_up(spark=spark)
    gids_found(spark=spark)
    runtime_registered(spark=spark)
    files_written(spark=spark)
    secrets_placed(spark=spark)
    peer_trusted(spark=spark)
    rails_measured(spark=spark)
    close(
        name="close the run",
        declaration=lambda: declaration(spark),
        unkept=lambda: spark.unkept or undeclared(spark),
    )


# pyinfra executes this file without a name of its own; drift imports it
if __name__ == "builtins" and (spark := look()):  # identity and every other refusal come before the first change
    cluster(spark)
