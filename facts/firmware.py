"""The firmware of a Spark's board and its ConnectX."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.update import firmware


class Firmware(Noun[firmware.Board]):
    """What the board, the kernel and fwupd tell of the firmware, without serial numbers; nothing is fetched."""

    parse = staticmethod(firmware.parse)
    default = firmware.Board
    script = programs.text("facts/firmware.sh")
