"""Driver and kernel: the branch that is installed, its hold, the pins, and what apt would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkrig import programs
from sparkrig.files import Managed
from sparkrig.host import driver
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Status, Subject, check, there
from sparkrig.resources.environment import file
from sparkrig.resources.kind import DIFFER, Kind
from sparkrig.resources.resource import Changes, Resource
from sparkrig.text import listed


class DriverHold(Resource[driver.Packages]):
    """Installed packages of driver and kernel, with apt's own forecast of a dist-upgrade and GRUB's next boot."""

    name = "driver"
    # what apt simulated with a file goes with it: it is no part of the journal
    files = (
        Managed(driver.PIN_PATH, reload=f"rm -f {driver.SIMULATION}"),
        Managed(driver.BLACKLIST_PATH, reload=f"rm -f {driver.SIMULATION}"),
    )
    script = programs.text("facts/driver.sh")
    shared = (programs.text("facts/packages.sh"),)
    kinds = (
        Kind(
            "driver.version",
            "packages and driver",
            "the driver is installed, in one version on all hosts",
            "it was purged, or one host was updated and the others were not",
            DIFFER,
        ),
        Kind(
            "driver.branch",
            "packages and driver",
            "no driver of 590 or later is installed",
            "apt was asked for it by name and version, which no pin keeps away",
            "docs/troubleshooting.md#the-gpu-is-gone-after-an-upgrade",
        ),
        Kind(
            "driver.hold",
            "packages and driver",
            "driver and kernel packages are on hold",
            "apt-mark unhold, or an update that released them; or packages that came since the last deploy",
            "docs/troubleshooting.md#the-gpu-is-gone-after-an-upgrade",
        ),
        Kind(
            "driver.pin",
            "packages and driver",
            "apt's pin keeps 590 and later away",
            "the file was edited or removed by hand",
            "docs/safety.md#the-journal",
        ),
        Kind(
            "driver.unattended-upgrades",
            "packages and driver",
            "unattended upgrades leave driver and kernel alone",
            "the file was edited or removed by hand",
            "docs/safety.md#the-journal",
        ),
        Kind(
            "driver.upgrade",
            "packages and driver",
            "apt's own simulation moves neither driver nor kernel",
            "hold or pin do not cover a package, or apt has no package lists",
            "docs/troubleshooting.md#the-gpu-is-gone-after-an-upgrade",
        ),
    )

    def parse(self, lines: Iterable[str]) -> driver.Packages:
        return driver.parse(lines)

    def judge(self, subject: Subject) -> None:
        """Raises Refusal where nothing can be held without harm."""
        driver.judge(subject.found.driver, subject.settings.driver_branch)

    def changes(self, subject: Subject) -> Changes:
        return Changes.of([driver.pin_file(), driver.blacklist_file()], subject.found.files)

    def checks(self, subject: Subject) -> Iterator[Check]:
        packages, branch = subject.found.driver, subject.settings.driver_branch
        version, cure = driver.branch_version(packages, branch), subject.install(f"nvidia-driver-{branch}-open")
        yield there("driver.version", f"driver {branch}", version, cure, alike=True)
        id, want = "driver.branch", f"nothing later than {branch}"
        later = driver.too_late(packages, branch)
        yield Check(id, want, later.what, "extra", later.cure) if later else Check(id, want, "nothing later")
        hold, unheld = driver.hold_set(packages, branch), driver.unheld(packages, branch)
        found = f"{listed(unheld)} not held" if unheld else f"{len(hold)} packages held"
        yield check("driver.hold", not unheld, f"{len(hold)} packages held", found, subject.apply)
        yield file("driver.pin", driver.pin_file(), subject)
        yield file("driver.unattended-upgrades", driver.blacklist_file(), subject)
        yield self._upgrade(subject)

    def moves(self, subject: Subject) -> bool:
        """Whether a deploy pins or holds anything, so that only a look after it proves an upgrade."""
        return bool(self.changes(subject) or driver.unheld(subject.found.driver, subject.settings.driver_branch))

    def _upgrade(self, subject: Subject) -> Check:
        packages, branch = subject.found.driver, subject.settings.driver_branch
        id, want = "driver.upgrade", "an upgrade leaves driver and kernel alone"
        try:
            driver.judge_upgrade(packages, branch)
        except Refusal as refusal:
            status: Status = "unknown" if packages.upgrade is None else "drift"
            cure = subject.apply if self.moves(subject) else refusal.cure
            return Check(id, want, refusal.what, status, cure, environment=True)
        return Check(id, want, "it does", environment=True)


DRIVER = DriverHold()
