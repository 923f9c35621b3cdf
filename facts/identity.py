"""Who a host is."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.identity import IDENTITY

Identity = of_resource(IDENTITY)
