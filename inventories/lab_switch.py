"""Virtual Sparks on a switch, three of them or as many as the lab has started.

sparkrig lab up --nodes 3 --topology switch, then: pyinfra inventories/lab_switch.py deploys/cluster.py
"""

from lab import switched as _switched
from lab.inventory import host_data as _host_data
from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops the cluster, not one part of it

_switch = {"cluster": "lab", "topology": "switch", "fabric_network": "192.168.100.0/23", "memory_gib": 121.7}

sparks = _checked([(name, {**_switch, **_host_data(name)}) for name in _switched()], __file__)
