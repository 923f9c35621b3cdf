"""Two Sparks joined by one QSFP cable. Edit it, then: pyinfra inventories/pair.py deploys/cluster.py

The cable sits in cage 0 (next to the RJ45) of both here; cage 1 is enp1s0f1np1 and enP2p1s0f1np1. To serve one
model on both, "node_ssh": True beside each host's login lets the first copy image and weights to the second
(docs/serving-several.md); solo.py shows what else a host can have.
"""

from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops the pair

sparks = _checked(
    [
        (
            "spark-a",
            {
                "pair": "sparks",
                "ssh_hostname": "spark-a.local",  # its name or address alone; never a fabric address
                "ssh_user": "nvidia",
                "watch": True,  # a black box keeps the minutes before a hang
                "watch_guard": True,  # and stops the model before the memory ends
                "fabric": {
                    "enp1s0f0np0": "192.168.100.11/24",  # rail 0
                    "enP2p1s0f0np0": "192.168.101.11/24",  # rail 1, in a subnet of its own
                },
            },
        ),
        (
            "spark-b",
            {
                "pair": "sparks",
                "ssh_hostname": "spark-b.local",
                "ssh_user": "nvidia",
                "watch": True,
                "watch_guard": True,
                "fabric": {
                    "enp1s0f0np0": "192.168.100.12/24",
                    "enP2p1s0f0np0": "192.168.101.12/24",
                },
            },
        ),
    ],
    __file__,
)
