"""Whether frames cross each rail."""

from __future__ import annotations

import shlex

from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.network import ping
from sparkrig.network.ping import Target


class Pings(Noun[dict[str, tuple[ping.Ping, ...]]]):
    """Pings that must not be cut, all targets at once; needs root, for it binds them to a netdev."""

    parse = staticmethod(ping.parse)
    script = rf"""
count=$1 wait=$2
shift 2
while [ $# -ge 3 ]; do
  {{
    told=$(timeout -k 2 60 ping -n -q -c "$count" -i 0.2 -W "$wait" -M do -s "$3" -I "$1" "$2" 2>&1) || :
    command -v ping >/dev/null || told='ping: {ping.NOT_INSTALLED}'
    counts=$(printf '%s\n' "$told" | sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/\1 \2/p')
    said=$(printf '%s\n' "$told" | sed -n 's/^.*ping: //p' | head -n 1)
    printf 'ping %s %s %s %s\n' "$1" "$3" "${{counts:-- -}}" "$said"
  }} &
  shift 3
done
wait
"""

    def command(self, *targets: Target) -> str:
        """+ targets: what is pinged"""
        words = [str(ping.COUNT), str(ping.REPLY_S)]
        words += [word for each in targets for word in (each.netdev, str(each.address), str(each.size))]
        return f"{PREAMBLE}\nset -- {shlex.join(words)}\n{self.script}"

    @staticmethod
    def default() -> dict[str, tuple[ping.Ping, ...]]:
        return {}
