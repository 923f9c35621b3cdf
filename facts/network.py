"""Links, routes, and everything that defines a netdev."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.network import seen


class Network(Noun[seen.Network]):
    """One look at the kernel, NetworkManager and netplan."""

    parse = staticmethod(seen.parse)
    script = programs.text("facts/network.sh")
    shared = (programs.text("facts/network_manager_wait.sh"),)
