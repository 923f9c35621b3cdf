"""What pyinfra reads before an inventory: how a run ends, also where the inventory itself cannot be read."""

from sparkrig.terminal.frame import install as _install

_install()
