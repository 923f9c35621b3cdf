"""A virtual Spark on its own, without a cable: sparkrig lab up --solo, then
pyinfra inventories/lab_solo.py deploys/cluster.py
"""

from lab import SOLO as _SOLO
from lab import ssh_data as _ssh_data
from sparkrig.inventory import checked as _checked

virtual = _checked([(_SOLO, _ssh_data(_SOLO))], __file__, group="virtual")
