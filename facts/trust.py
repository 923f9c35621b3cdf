"""What one host of a pair has to log in to the other."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import trust


class Trust(Noun[trust.Trust]):
    """The ssh user, our key pair's public half, sshd's public keys, and our lines of authorized_keys."""

    parse = staticmethod(trust.parse)
    script = programs.text("facts/trust.sh")
