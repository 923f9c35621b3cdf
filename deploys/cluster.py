"""From a Spark out of the box to a verified node or pair: the table of contents.

pyinfra inventories/pair.py deploys/cluster.py
"""

from deploys.bandwidth import rails_measured
from deploys.containers import runtime_registered
from deploys.driver import driver_held
from deploys.environment import files_written
from deploys.network import fabric_up
from deploys.spark import look

spark = look()  # identity and every other refusal come before the first change
if spark:
    driver_held(spark=spark)
    fabric_up(spark=spark)
    runtime_registered(spark=spark)
    files_written(spark=spark)  # with the GID of each rail, looked up on the device
    rails_measured(spark=spark)
