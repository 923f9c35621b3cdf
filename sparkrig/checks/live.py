"""What is asserted of a host and declared nowhere: its clock is kept, its path MTU, what its own name leads to."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.host.own_address import OwnAddress
from sparkrig.network import environment
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.network import cabled
from sparkrig.resources.time import TIME
from sparkrig.text import listed


def checks(subject: Subject, name: OwnAddress) -> Iterator[Check]:
    yield TIME.synchronised(subject)
    for netdev in cabled(subject.settings, subject.found.network):
        yield _path_mtu(subject, netdev)
    if subject.settings.group_name:
        yield _own_name(subject, name)


def _path_mtu(subject: Subject, netdev: str) -> Check:
    device, least = subject.found.rdma.on(netdev), subject.settings.bandwidth_path_mtu
    id, want = f"rdma.{netdev}.path-mtu", f"RDMA messages of {least} bytes and more"
    if device is None or not device.active_mtu:
        why = "no RDMA device" if device is None else "ibv_devinfo tells no active_mtu"
        return Check(id, want, why, "skipped", environment=True)
    mtu = device.active_mtu
    return check(id, mtu >= least, want, f"{device.name} takes {mtu} bytes", subject.apply, environment=True)


def _own_name(subject: Subject, name: OwnAddress) -> Check:
    """Rank 0 binds what its own name leads to, unless an address is given: container.env gives one."""
    there = listed(map(str, name.addresses)) or "no address"
    file = subject.found.files.get(environment.CONTAINER_ENV)
    given = next(
        (row for row in (file.content if file else "").splitlines() if row.startswith("VLLM_HOST_IP=")), ""
    )
    found = f"{name.name} leads to {there}" + (f", and {given} is given" if given and name.loops else "")
    want = "a name that its peer can reach, or an address that is given instead"
    return check("pair.name", bool(given) or not name.loops, want, found, subject.apply, environment=True)
