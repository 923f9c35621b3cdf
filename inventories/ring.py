"""Three Sparks in a ring: a cable between each two. Edit it, then: pyinfra inventories/ring.py deploys/cluster.py

Cage 0 (next to the RJ45) of each leads to cage 1 of the next one: spark-a to spark-b, spark-b to spark-c, spark-c
to spark-a. Each netdev of both cages gets an address of fabric_network (docs/clusters.md). All three need a
management network in common.
"""

from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops the cluster, not one part of it


def _spark(name: str) -> tuple[str, dict[str, object]]:
    return name, {
        "cluster": "sparks",
        "topology": "ring",
        "fabric_network": "192.168.96.0/21",  # six subnets of /24, from 192.168.96.0 on
        "ssh_hostname": f"{name}.local",  # its name or address alone; never a fabric address
        "ssh_user": "nvidia",
        "watch": True,  # a black box keeps the minutes before a hang
        "watch_guard": True,  # and stops the model before the memory ends
        # "node_ssh": True,  # the first copies image and weights of a model on several to the others
    }


sparks = _checked([_spark("spark-a"), _spark("spark-b"), _spark("spark-c")], __file__)
