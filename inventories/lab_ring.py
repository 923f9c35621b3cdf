"""Three virtual Sparks in a ring.

sparkrig lab up --nodes 3 --topology ring, then: pyinfra inventories/lab_ring.py deploys/cluster.py
"""

from lab import CABLED as _CABLED
from lab.inventory import host_data as _host_data
from sparkrig.inventory import checked as _checked
from sparkrig.inventory import stop_together as _stop_together

_stop_together()  # a host that fails stops the cluster, not one part of it

_ring = {"cluster": "lab", "topology": "ring", "fabric_network": "192.168.96.0/21", "memory_gib": 121.7}

sparks = _checked([(name, {**_ring, **_host_data(name)}) for name in _CABLED[:3]], __file__)
