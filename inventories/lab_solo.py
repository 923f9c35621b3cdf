"""A virtual Spark on its own, without a cable.

sparkrig lab up --solo, then pyinfra inventories/lab_solo.py deploys/cluster.py
"""

from lab import SOLO as _SOLO
from lab.inventory import host_data as _host_data
from sparkrig.inventory import checked as _checked

sparks = _checked([(_SOLO, _host_data(_SOLO))], __file__)
