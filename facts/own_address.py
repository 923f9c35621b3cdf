"""What a host's own name leads to."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import own_address


class OwnAddress(Noun[own_address.OwnAddress]):
    """The host's name, and the IPv4 addresses that the host itself finds for it."""

    parse = staticmethod(own_address.parse)
    script = programs.text("facts/own_address.sh")
