"""The fabric's NetworkManager profiles and live links."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Interface, IPv6Address

from pyinfra import host, state
from pyinfra.api import QuoteString, StringCommand, operation

from facts.network import Network
from operations.refusal import Commands, refusing
from operations.shell import limited, script
from sparkrig import network, records


@operation()
@refusing
def fabric(
    found: network.Network, addresses: Mapping[str, IPv4Interface], mtu: int, paired: bool, patience: float
) -> Commands:
    """Give each cabled fabric netdev its profile, and its live link the profile's address and MTU.

    + found: the network as the facts of this run saw it; looked at again before anything is changed
    + addresses: address by netdev, rail 0 first
    + mtu: in bytes
    + paired: whether a netdev without a cable is an error
    + patience: factor on every deadline
    """
    plan = network.plan(found, addresses, mtu, paired=paired)
    if plan and state.is_executing:
        plan = network.plan(host.get_fact(Network), addresses, mtu, paired=paired)
    if not plan:
        idle = f"; uncabled: {', '.join(plan.uncabled)}" if plan.uncabled else ""
        host.noop(f"{len(addresses) - len(plan.uncabled)} fabric netdevs are as they should be{idle}")
        return
    # What was measured on another link proves nothing about this one.
    yield limited(20, "rm", "-f", records.PATH)
    for uuid, _name in plan.remove:
        yield limited(60, "nmcli", "connection", "delete", QuoteString(uuid))
    for change in plan.changes:
        yield from _apply(change, patience)


def _apply(change: network.Change, patience: float) -> Commands:
    uuid = network.uuid(change.netdev)
    properties = [QuoteString(word) for pair in change.properties.items() for word in pair]
    if change.verb == "add":
        # its autoconnect may start an activation; the one below is waited for
        head = ("nmcli", "connection", "add", "type", "ethernet", "connection.uuid", uuid)
        yield limited(60, *head, *properties)
    elif change.verb == "modify":
        yield limited(60, "nmcli", "connection", "modify", uuid, *properties)
    wait = int(30 * patience)
    yield limited(wait + 10, "nmcli", "--wait", str(wait), "connection", "up", uuid)
    yield _verify(change, int(20 * patience))


# $1 netdev, $2 MTU, $3 address/prefix, $4 its GID, $5 seconds
VERIFY = r"""
ready() {
  [ "$(cat "/sys/class/net/$1/mtu")" = "$2" ] && ip -4 -o addr show dev "$1" | grep -qwF "$3" || return 1
  for ndev in $(grep -lxF "$1" /sys/class/infiniband/*/ports/*/gid_attrs/ndevs/0 2>/dev/null); do
    grep -qxF "$4" "${ndev%/gid_attrs/ndevs/0}"/gids/* || return 1
  done
}
end=$(($(date +%s) + $5))
until ready "$@"; do
  if [ "$(date +%s)" -ge "$end" ]; then echo "$1 did not reach MTU $2 and $3 with its GID in $5 s" >&2; exit 1; fi
  sleep 0.2
done
sync -f /etc # a power cut right after would leave NetworkManager's new file empty
"""


def _verify(change: network.Change, seconds: int) -> StringCommand:
    """Wait for what counts: the live link's MTU and address, and the GID of every RDMA device on it."""
    address = change.address
    mapped = IPv6Address(f"::ffff:{address.ip}").exploded
    return script(VERIFY, change.netdev, str(change.mtu), str(address), mapped, str(seconds), seconds=seconds + 30)
