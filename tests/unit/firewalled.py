"""A host with a firewall in network namespaces of its own, and what reaches it with real packets.

Its netdevs are those of a Spark: enP7s7 leads to `lan`, enp1s0f0np0 to `member`, and docker0 to `container`, whose
port 80 is published as 8080 by the rules that docker writes [@ufw-docker].
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sparkrig import programs
from sparkrig.resources.firewall import FIREWALL, RULES, Firewall
from tests.unit.shells import well

# a user namespace, so that root is not needed; all of it goes with the shell
UNSHARED = ("unshare", "--map-root-user", "--net", "--mount", "sh", "-c")
MADE = r"""
set -e
rules=$1 look=$2 python=$3 knocks=$4 cases=$5
mount -t tmpfs tmpfs /run
undoubted='echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad' # addresses of IPv6 count at once
eval "$undoubted"
ip link set lo up
joined() { # a namespace by a netdev of ours and one there; its address, ours and the one of IPv6 without its end
  ip netns add "$1"
  ip netns exec "$1" sh -c "$undoubted"
  ip link add "$2" type veth peer name eth0 netns "$1"
  ip -n "$1" link set lo up
  ip -n "$1" link set eth0 up
  ip link set "$2" up
  ip -n "$1" addr add "$4" dev eth0
  ip -n "$1" addr add "$6:20/64" dev eth0 nodad
  [ "$3" = "$2" ] || { ip link add "$3" type bridge; ip link set "$3" up; ip link set "$2" master "$3"; }
  ip addr add "$5/24" dev "$3"
  ip addr add "$6:10/64" dev "$3" nodad
  ip -n "$1" route add default via "$5"
  ip -n "$1" -6 route add default via "$6:10"
}
joined lan enP7s7 enP7s7 192.168.1.20/24 192.168.1.10 fd01:
ip -n lan addr add 192.168.1.30/24 dev eth0
joined member enp1s0f0np0 enp1s0f0np0 192.168.100.12/24 192.168.100.11 fd02:
joined container veth0 docker0 172.17.0.20/24 172.17.0.10 fd03:
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
nft -f - <<'EOF'
table ip nat {
  chain PREROUTING { type nat hook prerouting priority dstnat; fib daddr type local jump DOCKER; }
  chain DOCKER { iifname "docker0" return; tcp dport { 8000, 8080 } dnat to 172.17.0.20:80; }
}
table ip6 nat {
  chain PREROUTING { type nat hook prerouting priority dstnat; fib daddr type local jump DOCKER; }
  chain DOCKER { iifname "docker0" return; tcp dport { 8000, 8080 } dnat to [fd03::20]:80; }
}
EOF
"$python" "$knocks" "$rules" "$cases"
sh -c "$look" sh "$rules"
"""


@dataclass(frozen=True)
class Knock:
    """A connection that is tried. source: empty for the one that the kernel takes."""

    at: str
    to: str
    port: int
    udp: bool = False
    source: str = ""


def firewalled(folder: Path, rules: str, knocks: dict[str, Knock]) -> tuple[dict[str, bool], Firewall]:
    """Which of these are answered once the rules are loaded, and what the look sees then."""
    cases = json.dumps({name: vars(knock) for name, knock in knocks.items()})
    program = str(Path(__file__).with_name("firewall_knocks.py"))
    first, *rows = _unshared(MADE, folder, rules, sys.executable, program, cases)
    return json.loads(first), FIREWALL.parse(rows)


def looked_at(folder: Path, rules: str, then: str) -> Firewall:
    """What the look sees once the rules are loaded, and a shell text has run besides."""
    return FIREWALL.parse(_unshared('set -e; nft -f "$1"; eval "$3"; sh -c "$2" sh "$1"', folder, rules, then))


def follows(folder: Path, rules: str, then: str) -> bool:
    """Whether the guard of the firewall is content once the rules are loaded, and a shell text has run besides."""
    verify = FIREWALL.guard.verify.replace(RULES, str(folder / "firewall.nft"))
    script = 'set -e; nft -f "$1"; eval "$3"; if sh -c "$4" 2>/dev/null; then echo yes; else echo no; fi'
    return _unshared(script, folder, rules, then, verify) == ["yes"]


def _unshared(script: str, folder: Path, rules: str, *words: str) -> list[str]:
    """What a script prints that is given the file of the rules, the look, and words."""
    file = folder / "firewall.nft"
    file.write_text(rules)
    done = well(
        subprocess.run(
            [*UNSHARED, script, "sh", str(file), programs.text("facts/firewall.sh"), *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    )
    return done.stdout.splitlines()
