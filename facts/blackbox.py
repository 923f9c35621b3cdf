"""What the black box of a host kept before the last reset."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import blackbox
from sparkrig.watch import blackbox_rows


class Blackbox(Noun[blackbox.BlackBox]):
    """Whether it runs, and the rows before the last end that was not asked for."""

    parse = staticmethod(blackbox_rows.parse)
    default = blackbox.BlackBox
    script = programs.text("facts/blackbox.sh")
