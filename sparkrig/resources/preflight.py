"""Whether the host is fit to be changed: room, mounts, dpkg, NVIDIA's upgrade, clock, a shutdown to come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkrig.host import armed, preflight
from sparkrig.host.first_upgrade import FirstUpgrade
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, refused
from sparkrig.resources.kind import PREFLIGHT, Kind
from sparkrig.resources.resource import Resource
from sparkrig.text import listed


class HostPreflight(Resource[preflight.Preflight]):
    """Whether the host is fit to be changed: room, mounts, dpkg, NVIDIA's upgrade, clock, a shutdown to come."""

    name = "preflight"
    kinds = (
        Kind(
            "host.clock",
            "time",
            "the clock is this machine's, give or take five minutes",
            "nothing keeps the clock since it was set by hand, or since a long time without power",
            PREFLIGHT,
        ),
        Kind(
            "host.dpkg",
            "packages and driver",
            "dpkg has finished what it began",
            "an installation was killed, or the power went in the middle of it",
            PREFLIGHT,
        ),
        Kind(
            "host.first-upgrade",
            "packages and driver",
            "NVIDIA's own upgrade at the first start is done, or there is none",
            "the Spark was just unpacked, or the update that brought the unit came after its last start",
            "docs/onboarding.md#nvidias-first-boot-upgrade",
        ),
        Kind(
            "host.journal",
            "health",
            "the journal of the runs on this host is kept",
            "/var/lib/sparkrig/runs was removed, or comes from a backup without it",
            "docs/safety.md#the-journal",
        ),
        Kind(
            "host.mounts",
            "health",
            "the file systems can be written",
            "a file system with errors is mounted read-only",
            PREFLIGHT,
        ),
        Kind(
            "host.rollback",
            "network",
            "no network change waits to be confirmed",
            "a run that changed the network was killed, or is at work",
            PREFLIGHT,
        ),
        Kind(
            "host.room",
            "health",
            "the disk has room for a run",
            "models, images or logs fill it",
            PREFLIGHT,
        ),
        Kind(
            "host.shutdown",
            "health",
            "no shutdown is about to come",
            "a user or an update scheduled one",
            PREFLIGHT,
        ),
        Kind(
            "host.update",
            "packages and driver",
            "no update of driver, system or firmware is open",
            "`sparkrig update` broke off, or is at work",
            "docs/updating.md",
        ),
    )

    def checks(self, subject: Subject) -> Iterator[Check]:
        found = subject.found.preflight
        installs = subject.found.containers.toolkit is None
        yield _one("host.mounts", "writable", listed(found.room_mb), preflight.mounts(found))
        room = ", ".join(f"{path} {free} MB" for path, free in found.room_mb.items())
        yield _one("host.room", "room for a run", room, preflight.room(found, installs=installs))
        yield _one("host.dpkg", "nothing unfinished", "nothing unfinished", preflight.dpkg(found))
        yield _first_upgrade(found.upgrade)
        skew = f"{abs(found.skew_s):.0f} s {'ahead' if found.skew_s > 0 else 'behind'}"
        yield _one(
            "host.clock", "this machine's time", skew, preflight.clock(found, subject.found.time.synchronised)
        )
        to_come = preflight.to_come(found.shutdown) if found.shutdown else "no shutdown to come"
        yield _one("host.shutdown", "no shutdown to come", to_come, preflight.shutdown(found))
        yield _one("host.journal", "kept", "kept", preflight.journal_lost(found))
        yield _one("host.rollback", "none armed", "none armed", armed.refusals(found.armed))
        yield _one("host.update", "none open", "none open", preflight.open_update(found))


HOST_PREFLIGHT = HostPreflight()


def _first_upgrade(first_upgrade: FirstUpgrade) -> Check:
    """One that has yet to run is worth knowing, too: a next boot ends in another one."""
    id, want = "host.first-upgrade", "done, or none"
    if said := first_upgrade.doing or first_upgrade.later:
        return refused(id, want, Refusal(said, first_upgrade.cure), environment=True)
    return Check(id, want, {"off": "disabled"}.get(first_upgrade.stage, first_upgrade.stage), environment=True)


def _one(id: str, want: str, found: str, refusals: Sequence[Refusal]) -> Check:
    if refusals:
        return refused(id, want, refusals[0], environment=True)
    return Check(id, want, found, environment=True)
