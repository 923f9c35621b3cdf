"""Four Sparks on a switch, by one port each. Edit it, then: pyinfra inventories/switch.py deploys/cluster.py

Two to eight take part. The cable sits in cage 0 (next to the RJ45) of each; fabric_cage names the other one. All
ports of the switch are in one bridge, at 200 Gb/s, with an L2 MTU of 9216 (docs/clusters.md).
"""

from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops the cluster, not one part of it


def _spark(name: str) -> tuple[str, dict[str, object]]:
    return name, {
        "cluster": "sparks",
        "topology": "switch",
        "fabric_network": "192.168.100.0/23",  # 192.168.100.0/24 for rail 0, 192.168.101.0/24 for rail 1
        "ssh_hostname": f"{name}.local",  # its name or address alone; never a fabric address
        "ssh_user": "nvidia",
        "watch": True,  # a black box keeps the minutes before a hang
        "watch_guard": True,  # and stops the model before the memory ends
        # "node_ssh": True,  # the first copies image and weights of a model on several to the others
    }


sparks = _checked([_spark("spark-a"), _spark("spark-b"), _spark("spark-c"), _spark("spark-d")], __file__)
