"""From a Spark out of the box to a verified node or pair: the table of contents.

pyinfra inventories/pair.py deploys/cluster.py
"""

from deploys.bandwidth import rails_measured
from deploys.containers import runtime_registered
from deploys.driver import driver_held
from deploys.environment import files_written
from deploys.network import fabric_up
from deploys.rdma import gids_found
from deploys.secrets import secrets_placed
from deploys.spark import look
from deploys.trust import peer_trusted
from operations.journal import close

spark = look()  # identity and every other refusal come before the first change
if spark:
    driver_held(spark=spark)
    fabric_up(spark=spark)
    gids_found(spark=spark)
    runtime_registered(spark=spark)
    files_written(spark=spark)
    secrets_placed(spark=spark)
    peer_trusted(spark=spark)
    rails_measured(spark=spark)
    close(name="close the run")
