"""vLLM's image with kernels for SM121: pyinfra inventories/pair.py deploys/image.py

It is built on the first host of a pair, and deploys/serve.py copies it to the other. What is known
for and against it: docs/serving.md.
"""

from __future__ import annotations

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark, alone
from sparkrig.operations import build as operations


@deploy("Image")
def kernels_injected(spark: Spark) -> None:
    """Build it where it is not there yet, and look into it."""
    if spark.fleet.leads(spark.name):
        operations.injected(name="kernels for SM121", found=spark.found.serving, settings=spark.settings)


alone(__name__, kernels_injected, images=True)
