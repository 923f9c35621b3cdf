"""Sparks that were made from one image, and share what each should have of its own.

Such units were sold: one machine-id, or one set of ssh host keys, on several. Then one Spark can pose as the
other, and DHCP and journals mix them up. Sources: [@cve-2026-24218, @forum-377208]; machine-id(5); ssh-keygen(1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkrig.cure import on_host
from sparkrig.resources.state import State

NEW_MACHINE_ID = on_host(
    "sudo rm -f /etc/machine-id /var/lib/dbus/machine-id; sudo systemd-machine-id-setup", ", and reboot"
)
# Afterwards each machine that knew the old key forgets it: ssh-keygen -R
NEW_HOST_KEYS = on_host("sudo rm /etc/ssh/ssh_host_*; sudo ssh-keygen -A; sudo systemctl restart ssh")


@dataclass(frozen=True)
class Clones:
    """With which Sparks one shares its machine-id, and with which an ssh host key; by name, in their order."""

    machine_id: tuple[str, ...] = ()
    host_keys: tuple[str, ...] = ()


def clones(name: str, group: Mapping[str, State]) -> Clones:
    """What that Spark shares with the others of its group. What was not read is not shared."""
    mine = group[name]
    others = {other: state for other, state in group.items() if other != name}
    return Clones(
        tuple(other for other, state in others.items() if _one_id(mine, state)),
        tuple(other for other, state in others.items() if set(mine.trust.host_keys) & set(state.trust.host_keys)),
    )


def are_one(here: State, there: State) -> bool:
    """Whether two names lead to one Spark: the kernel gives each boot an id of its own."""
    one, other = here.identity, there.identity
    return bool(one.boot_id) and (one.machine_id, one.boot_id) == (other.machine_id, other.boot_id)


def _one_id(here: State, there: State) -> bool:
    return bool(here.identity.machine_id) and here.identity.machine_id == there.identity.machine_id
