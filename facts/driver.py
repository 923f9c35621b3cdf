"""Driver and kernel packages."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.driver import DRIVER

Driver = of_resource(DRIVER)
