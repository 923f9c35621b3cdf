"""What of one Spark fails apart from GPU and fabric."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import board


class Board(Noun[board.Board]):
    """RJ45, Wi-Fi, NVMe, the kernel's warnings and crash records, swap, units, and modules."""

    parse = staticmethod(board.parse)
    script = programs.text("facts/board.sh")
