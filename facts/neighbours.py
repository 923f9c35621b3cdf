"""Who answers at the other end of each fabric netdev, below IP."""

from sparkrig import programs
from sparkrig.fabric import neighbours
from sparkrig.facts.noun import PREAMBLE, Noun

_SPARE_S = 10  # for python to start, on a host that is busy
_LISTEN_S = 1.0  # and on, until each netdev with a carrier has heard enough: hosts start within a second or so
_LONGEST_S = 4.0  # where a netdev with a carrier has heard too little until then


class Neighbours(Noun[neighbours.Neighbours]):
    """Sends and listens for some seconds, on all hosts of a run at once; needs root.

    The program comes on standard input and writes no file. It ends by itself, and `timeout` sees to it.
    """

    parse = staticmethod(neighbours.parse)
    script = programs.text("facts/neighbours.sh")

    def command(self, patience: float = 1, fan: int = 1) -> str:
        """What is sent.

        + patience: factor on how long a host waits for another that began later
        + fan: how many hosts a netdev may reach (Fleet.fan)
        """
        longest = _LONGEST_S * patience
        script = self.script.replace("@PROGRAM@\n", programs.file("probe_neighbours.py"))
        return f"{PREAMBLE}\nset -- {longest + _SPARE_S:g} {_LISTEN_S:g} {longest:g} {fan}\n{script}"
