"""What is asserted of a host and declared nowhere: its clock is kept, its path MTU, what its own name leads to."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.checks.check import Check, Subject, check
from sparkrig.checks.kind import PREFLIGHT, Kind
from sparkrig.checks.network import cabled
from sparkrig.host.hostname import Hostname
from sparkrig.host.preflight import SKEW_WARN_S
from sparkrig.rdma import environment
from sparkrig.text import listed

KINDS = (
    Kind(
        "time.synchronised",
        "time",
        "NTP keeps the clock, or it is right all the same",
        "no time server is reached, or no service asks one",
        PREFLIGHT,
    ),
)


def checks(subject: Subject, name: Hostname) -> Iterator[Check]:
    yield _synchronised(subject)
    for netdev in cabled(subject.settings, subject.found):
        yield _path_mtu(subject, netdev)
    if subject.settings.pair:
        yield _own_name(subject, name)


def _synchronised(subject: Subject) -> Check:
    """A clock that nobody keeps is no fault as long as it is right: a pair may have no network to ask."""
    found = subject.found.preflight
    id, want = "time.synchronised", f"kept by NTP, or within {SKEW_WARN_S} s of this machine's"
    off = f"{abs(found.skew_s):.0f} s {'ahead' if found.skew_s > 0 else 'behind'}"
    kept = {True: "kept by NTP", False: "not kept by NTP", None: "whether it is kept is not told"}
    holds = bool(found.synchronised) or abs(found.skew_s) <= SKEW_WARN_S
    cure = subject.run("systemctl enable --now systemd-timesyncd")
    return check(id, holds, want, f"{kept[found.synchronised]}, {off}", cure, environment=True)


def _path_mtu(subject: Subject, netdev: str) -> Check:
    device, least = subject.found.rdma.on(netdev), subject.settings.bandwidth_path_mtu
    id, want = f"rdma.{netdev}.path-mtu", f"RDMA messages of {least} bytes and more"
    if device is None or not device.active_mtu:
        why = "no RDMA device" if device is None else "ibv_devinfo tells no active_mtu"
        return Check(id, want, why, "skipped", environment=True)
    mtu = device.active_mtu
    return check(id, mtu >= least, want, f"{device.name} takes {mtu} bytes", subject.apply, environment=True)


def _own_name(subject: Subject, name: Hostname) -> Check:
    """Rank 0 binds what its own name leads to, unless an address is given: container.env gives one."""
    there = listed(map(str, name.addresses)) or "no address"
    file = subject.found.files.get(environment.CONTAINER_ENV)
    given = next(
        (row for row in (file.content if file else "").splitlines() if row.startswith("VLLM_HOST_IP=")), ""
    )
    found = f"{name.name} leads to {there}" + (f", and {given} is given" if given and name.loops else "")
    want = "a name that its peer can reach, or an address that is given instead"
    return check("pair.name", bool(given) or not name.loops, want, found, subject.apply, environment=True)
