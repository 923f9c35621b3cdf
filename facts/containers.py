"""Docker and the NVIDIA container toolkit."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import containers


class Containers(Noun[containers.Containers]):
    """The engine, its runtimes and running containers, its configuration, and the toolkit."""

    parse = staticmethod(containers.parse)
    script = programs.text("facts/containers.sh")
    shared = (programs.text("facts/packages.sh"), programs.text("facts/units.sh"))
