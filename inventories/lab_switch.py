"""Virtual Sparks on a switch, three of them or as many as the lab has started.

sparkrig lab up --nodes 3 --topology switch, then: pyinfra inventories/lab_switch.py deploys/cluster.py
"""

from lab import switched as _switched
from lab.inventory import host_data as _host_data
from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops all of them


def _spark(name: str, last: int) -> tuple[str, dict[str, object]]:
    fabric = {"enp1s0f0np0": f"192.168.100.{last}/24", "enP2p1s0f0np0": f"192.168.101.{last}/24"}
    return name, {"fabric": fabric, "memory_gib": 121.7, **_host_data(name)}


sparks = _checked([_spark(name, last) for last, name in enumerate(_switched(), 11)], __file__)
