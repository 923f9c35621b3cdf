"""Measure the rails of a pair again: pyinfra inventories/pair.py deploys/measure.py"""

from deploys.bandwidth import rails_measured
from deploys.spark import look

spark = look()
if spark:
    rails_measured(spark=spark, again=True)
