"""What one host of a pair has to log in to the other."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.trust import TRUST

Trust = of_resource(TRUST)
