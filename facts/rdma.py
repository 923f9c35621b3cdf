"""RDMA devices and their GID tables."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.rdma import RDMA

Rdma = of_resource(RDMA)
