"""Who answers at the other end of each fabric netdev, below IP."""

from sparkrig import programs
from sparkrig.fabric import neighbours
from sparkrig.facts.noun import PREAMBLE, Noun

_SPARE_S = 10  # for python to start, on a host that is busy


class Neighbours(Noun[neighbours.Neighbours]):
    """Sends and listens for some seconds, on all hosts of a run at once; needs root.

    The program comes on standard input and writes no file. It ends by itself, and `timeout` sees to it.
    """

    parse = staticmethod(neighbours.parse)
    script = programs.text("facts/neighbours.sh")

    def command(self, seconds: float = 4) -> str:
        """+ seconds: how long; hosts start within a second of one another"""
        script = self.script.replace("@PROGRAM@\n", programs.file("probe_neighbours.py"))
        return f"{PREAMBLE}\nset -- {seconds + _SPARE_S:g} {seconds:g}\n{script}"
