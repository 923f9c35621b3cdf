"""The virtual pair: sparkrig lab up, then: pyinfra inventories/lab.py deploys/cluster.py"""

from lab import NODES as _NODES
from lab.inventory import host_data as _host_data
from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops the pair


def _spark(name: str, last: int) -> tuple[str, dict[str, object]]:
    fabric = {"enp1s0f0np0": f"192.168.100.{last}/24", "enP2p1s0f0np0": f"192.168.101.{last}/24"}
    # what is served is planned as for a Spark, which has that much
    return name, {"pair": "lab", "fabric": fabric, "memory_gib": 121.7, **_host_data(name)}


sparks = _checked([_spark(_NODES[0], 11), _spark(_NODES[1], 12)], __file__)
