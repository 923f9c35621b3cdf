"""Defaults for every host of every inventory in this folder.

Each setting, its default and its meaning: docs/settings.md. Override one below, for one group in a file
named after it (group_data/pair.py), or for one host in the inventory.
"""

from sparkrig.settings import DEFAULTS as _DEFAULTS
from sparkrig.ssh import transport as _transport

globals().update(_DEFAULTS)

# How to log in. Every command needs root.
_sudo = True
_timeout = 1500  # seconds after which a step counts as unknown; every command on a host ends sooner by itself
# pyinfra's own default takes any new key unseen, and so does not read ssh_config's word on it.
ssh_strict_host_key_checking = "yes"
ssh_paramiko_connect_kwargs = {"transport_factory": _transport}  # quick, and notices a lost link within 40 s
# A host whose sshd has just been restarted is tried again; one that is silent costs some 40 s in all.
ssh_connect_retries = 2
ssh_connect_retry_min_delay = 4  # seconds
ssh_connect_retry_max_delay = 6
