"""Links, routes, and everything that defines a netdev."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.network import seen

EACH = programs.text("facts/network_each.sh").removesuffix("\n")


class Network(Noun[seen.Network]):
    """One look at the kernel, NetworkManager and netplan."""

    parse = staticmethod(seen.parse)
    script = programs.text("facts/network.sh")
