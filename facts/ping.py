"""Whether frames cross each rail."""

from __future__ import annotations

import shlex

from sparkrig import programs
from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.network import ping
from sparkrig.network.ping import Target


class Pings(Noun[dict[str, tuple[ping.Ping, ...]]]):
    """Pings that must not be cut, all targets at once; needs root, for it binds them to a netdev."""

    parse = staticmethod(ping.parse)
    default = dict
    script = programs.text("facts/ping.sh")

    def command(self, *targets: Target) -> str:
        """+ targets: what is pinged"""
        words = [str(ping.COUNT), str(ping.REPLY_S)]
        words += [word for target in targets for word in (target.netdev, str(target.address), str(target.size))]
        return f"{PREAMBLE}\nset -- {shlex.join(words)}\n{self.script}"
