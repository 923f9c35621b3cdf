"""The virtual pair, for rehearsal: sparkrig lab up, then: pyinfra inventories/lab.py deploys/cluster.py

Only what is virtual differs from inventories/pair.py: how to log in, the repository's mirror, and how fast the
link must be.
"""

from pyinfra import config

from lab import NODES as _NODES
from lab import ssh_data as _ssh_data
from lab import toolkit_repo as _toolkit_repo
from sparkrig.inventory import checked as _checked

config.FAIL_PERCENT = 0  # a host that fails stops the pair, not one half of it

_mirror = _toolkit_repo()

sparks = _checked(
    [
        (
            name,
            {
                "pair": "lab",
                "fabric": {
                    "enp1s0f0np0": f"192.168.100.{last}/24",
                    "enP2p1s0f0np0": f"192.168.101.{last}/24",
                },
                "toolkit_url": _mirror["url"],
                "toolkit_key_url": _mirror["key_url"],
                "toolkit_key_fingerprint": _mirror["fingerprint"],
                "bandwidth_floor": 0.01,  # soft-RoCE under emulation: it only must carry data
                "bandwidth_seconds": 2,
                "patience": 4.0,
                **_ssh_data(name),
            },
        )
        for name, last in zip(_NODES, (11, 12), strict=True)
    ],
    __file__,
)
