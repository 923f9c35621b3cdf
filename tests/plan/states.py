"""Fake hosts as a deploy finds them: fresh, settled, with netdevs that changed places; and what a run applied."""

from __future__ import annotations

import base64
from collections.abc import Callable

from tests.plan.conftest import Host, converged, pair, recorded, sections
from tests.plan.guarded import GUARDED

PERFTEST = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      40005            0.00               {gbps} 		   0.013335"""


def fresh() -> list[Host]:
    return pair(recorded("fresh-a"), recorded("fresh-b"))


def settled() -> list[Host]:
    return pair(converged("a"), converged("b"))


def perftest(gbps: float = 111.86, mtu: int = 4096) -> str:
    return f" Mtu             : {mtu}[B]\n{PERFTEST.format(gbps=gbps)}"


def applied(client: str | None = None) -> list[Host]:
    """A fresh pair that answers as it does once its fabric stands."""
    hosts = fresh()
    for host, letter in zip(hosts, "ab", strict=True):
        host.later = {noun: sections(recorded(f"converged-{letter}"))[noun] for noun in ("rdma", "driver")}
    table = [f"table {line}" for line in (perftest() if client is None else client).splitlines()]
    rails = [[f"rail {rail}", "flaps 0", *table, "table exit 0", "flaps 0"] for rail in (0, 1)]
    hosts[0].responses = {**GUARDED, "ping=$1 limit=$2": rails[0] + rails[1]}
    hosts[1].responses = {
        **GUARDED,
        "life=$1 wait=$2": ["flaps 0 0", "server 0 18515", "flaps 1 0", "server 1 18516"],
        "run=$1 why=$2": ["flaps 0 0", "flaps 1 0"],
    }
    return hosts


Edit = Callable[[str], str]


def swap(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert old in text, f"{old!r} is not in the recorded output"
        return text.replace(old, new)

    return edit


def netplan(name: str, body: str) -> Edit:
    return swap("nm running\n", f"nm running\nnetplan {name} {base64.b64encode(body.encode()).decode()}\n")
