"""NVIDIA's releases of DGX OS, as a Spark knows of them."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.releases import RELEASES

Releases = of_resource(RELEASES)
