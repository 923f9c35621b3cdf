"""How far a host's part of a served model is on its way up."""

import shlex

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.serving import served, startup

_WORDS = shlex.join((served.UNIT, served.WATCH_UNIT, *startup.WANTED))


class Startup(Noun[startup.Seen]):
    """The unit, the container's image, memory, and the log of the startup and of an hour before it.

    Of the server without a name, and of each named service.
    """

    parse = staticmethod(startup.parse)
    script = f"set -- {_WORDS}\n{programs.text('facts/startup.sh')}"
