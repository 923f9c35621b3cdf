"""Who a host is."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import identity


class Identity(Noun[identity.Identity]):
    """The host's identity, without its serial number; of its machine-id, which is a secret of it, a digest."""

    parse = staticmethod(identity.parse)
    script = programs.text("facts/identity.sh")
