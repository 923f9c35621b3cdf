"""What a host's own name leads to."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import hostname


class Hostname(Noun[hostname.Hostname]):
    """The host's name, and the IPv4 addresses that the host itself finds for it."""

    parse = staticmethod(hostname.parse)
    script = programs.text("facts/hostname.sh")
