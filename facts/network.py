"""Links, routes, and everything that defines a netdev."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.network import NETWORK

Network = of_resource(NETWORK)
