"""Which service keeps the clock, and the time servers that it asks."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import time


class Time(Noun[time.Time]):
    """The service, whether it runs and keeps the clock, and its servers where a file of ours names some."""

    parse = staticmethod(time.parse)
    script = f"set -- {time.TIMESYNCD_PATH} {time.CHRONY_PATH}\n{programs.text('facts/time.sh')}"

    @staticmethod
    def default() -> time.Time:
        return time.Time()
