"""Which service keeps the clock, and the time servers that it asks."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.time import TIME

Time = of_resource(TIME)
