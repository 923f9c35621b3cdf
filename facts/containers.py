"""Docker and the NVIDIA container toolkit."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.containers import CONTAINERS

Containers = of_resource(CONTAINERS)
