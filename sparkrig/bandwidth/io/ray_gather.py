"""The all_gather of a standing Ray cluster, asked for on its head."""

from __future__ import annotations

from pyinfra.api import Host

from sparkrig import programs
from sparkrig.bandwidth.ray_gather import SIZE, Gathered, parse
from sparkrig.cure import on_host
from sparkrig.host.ray import UNIT
from sparkrig.refusal import Refusal
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed

_SECONDS = 420  # of the job, times `patience`


def gathered(at: Host, patience: float) -> Gathered:
    """What the nodes of its cluster gather. Raises Refusal where they do not, Lost."""
    log = on_host(f"sudo journalctl -u {UNIT} -n 50")
    text = f'exec docker exec -i {UNIT} python3 - "$1"'
    try:
        seconds = int(_SECONDS * patience)
        printed = remote.shell(at, text, str(SIZE), seconds=seconds, stdin=programs.file("ray_gather.py"))
    except Failed as error:
        raise Refusal(f"the nodes of Ray gathered nothing on {at.name} ({error})", log) from None
    found = parse(printed)
    if found is None:
        raise Refusal(f"the job on {at.name} printed no figures", log)
    return found
