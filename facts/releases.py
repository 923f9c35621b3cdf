"""NVIDIA's releases of DGX OS, as a Spark knows of them."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import releases


class Releases(Noun[releases.Releases]):
    """NVIDIA's recipes on the host, and the installed packages of those that they name."""

    parse = staticmethod(releases.parse)
    script = programs.text("facts/releases.sh")

    @staticmethod
    def default() -> releases.Releases:
        return releases.Releases()
