"""A short measurement of the rails that were not measured as they are now: pyinfra INVENTORY deploys/probe.py

The bandwidth step of the cluster deploy by itself, as after a reboot; a cluster that was measured since is
left alone. deploys/bandwidth.py measures whatever is on record, and more of it.
"""

from __future__ import annotations

from sparkrig.deploys.bandwidth import apply
from sparkrig.deploys.spark import alone

alone(__name__, apply)
