"""Three virtual Sparks in a ring.

sparkrig lab up --nodes 3 --topology ring, then: pyinfra inventories/lab_ring.py deploys/cluster.py
"""

from lab import CABLED as _CABLED
from lab.inventory import host_data as _host_data
from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops all of them


def _spark(name: str, place: int) -> tuple[str, dict[str, object]]:
    """Two subnets for each cable: that from its p0 to the next one's p1, and that which ends in its own p1."""
    ours, theirs, last = 100 + 2 * place, 100 + 2 * ((place + 2) % 3), 11 + place
    fabric = {
        "enp1s0f0np0": f"192.168.{ours}.{last}/24",
        "enP2p1s0f0np0": f"192.168.{ours + 1}.{last}/24",
        "enp1s0f1np1": f"192.168.{theirs}.{last}/24",
        "enP2p1s0f1np1": f"192.168.{theirs + 1}.{last}/24",
    }
    return name, {"fabric": fabric, "memory_gib": 121.7, **_host_data(name)}


sparks = _checked([_spark(name, place) for place, name in enumerate(_CABLED[:3])], __file__)
