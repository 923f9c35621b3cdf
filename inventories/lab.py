"""The virtual pair: sparkrig lab up, then: pyinfra inventories/lab.py deploys/cluster.py"""

from lab import NODES as _NODES
from lab import ssh_data as _ssh_data
from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops the pair, not one half of it


def _spark(name: str, last: int) -> tuple[str, dict[str, object]]:
    fabric = {"enp1s0f0np0": f"192.168.100.{last}/24", "enP2p1s0f0np0": f"192.168.101.{last}/24"}
    return name, {"pair": "lab", "fabric": fabric, **_ssh_data(name)}


virtual = _checked([_spark(_NODES[0], 11), _spark(_NODES[1], 12)], __file__, group="virtual")
