"""Two Sparks joined by one QSFP cable. Edit it, then: pyinfra inventories/pair.py deploys/cluster.py

The cable sits in cage 0 (next to the RJ45) of both here; cage 1 is enp1s0f1np1 and enP2p1s0f1np1.
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
                "ssh_hostname": "spark-a.local",  # as you would type it after ssh; never a fabric address
                "ssh_user": "nvidia",
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
                "fabric": {
                    "enp1s0f0np0": "192.168.100.12/24",
                    "enP2p1s0f0np0": "192.168.101.12/24",
                },
            },
        ),
    ],
    __file__,
)
