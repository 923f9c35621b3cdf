"""Links, routes, and everything that defines a netdev."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.network import seen

EACH = programs.text("facts/network_each.sh").removesuffix("\n")

_HUSHED = r"(password|psk|private|shared|secret|pin|key)[0-9]*[\x22\x27]?:[ \t]*"
# Wi-Fi, 802.1X and WireGuard secrets stand in the same files (netplan(5)): those values stay on the host. At the
# start of a line one goes on to its end, within braces to the next comma or brace.
WITHOUT_SECRETS = (
    r"s/^([ \t-]*[A-Za-z0-9_.\x22\x27-]*" + _HUSHED + r")[^ \t].*/\1x/; "
    r"s/([{,][ \t]*[A-Za-z0-9_.\x22\x27-]*" + _HUSHED + r")(\x22[^\x22]*\x22|\x27[^\x27]*\x27|[^,}]*)/\1x/g"
)
NETPLAN = programs.text("facts/network_netplan.sh").removesuffix("\n")


class Network(Noun[seen.Network]):
    """One look at the kernel, NetworkManager and netplan."""

    parse = staticmethod(seen.parse)
    script = programs.text("facts/network.sh")
