"""Kernel, memory, load, temperature, and what waits for the next boot."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import health


class Health(Noun[health.Health]):
    """The condition of a host apart from NIC and GPU."""

    parse = staticmethod(health.parse)
    script = programs.text("facts/health.sh")
