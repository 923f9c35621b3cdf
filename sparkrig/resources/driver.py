"""Driver and kernel: the branch that is installed, its hold, the pins, and what apt would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from sparkrig import programs
from sparkrig.cure import on_host, verb
from sparkrig.files import Managed
from sparkrig.host import branches, driver, releases
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Status, Subject, check, refused, there
from sparkrig.resources.environment import file
from sparkrig.resources.kind import DIFFER, Kind
from sparkrig.resources.resource import Changes, Resource
from sparkrig.text import listed

MIXED_DAYS = 7  # that the branches of a cluster may differ: a week of the first one's work; our own reasoning


def touched(packages: driver.Packages, branch: int) -> list[str]:
    """What a dist-upgrade would do to driver or kernel now, as `name: install VERSION`; empty when proven safe."""
    kept = set(driver.hold_set(packages, branch))
    return sorted(
        f"{name}: {action}"
        for name, action in (packages.upgrade or {}).items()
        if name in kept or driver.is_part(driver.Package(name, "", "", action.removeprefix("install ")), branch)
    )


def too_late(packages: driver.Packages, branch: int) -> Refusal | None:
    """Why nothing is held where a later driver is installed."""
    if later := driver.later_driver(packages, branch):
        found = f"a driver later than {branch} is installed ({', '.join(later)})"
        return Refusal(found, driver.way_back(packages, branch))
    return None


def judge(packages: driver.Packages, branch: int) -> None:
    """Raise Refusal where holding would freeze a wrong state."""
    if later := too_late(packages, branch):
        raise later
    boot = driver.next_boot(packages, branch)
    if driver.versions(packages) and boot.torn:
        has = f"; {', '.join(boot.others)} fits others" if boot.others else ""
        raise Refusal(
            f"kernel {boot.kernel} boots next, and no nvidia.ko of driver {branch} fits it{has}",
            driver.modules_cure(boot.kernel, branch),
        )


def judge_upgrade(packages: driver.Packages, branch: int) -> None:
    """Raise Refusal unless apt's own simulation proves that a dist-upgrade leaves driver and kernel alone."""
    if packages.upgrade is None:
        raise Refusal(
            f"apt cannot simulate a dist-upgrade ({packages.trouble}), so the hold is not proven",
            on_host("sudo apt-get update && sudo apt-get -s dist-upgrade"),
        )
    moved = touched(packages, branch)
    if moved:
        raise Refusal(
            f"a dist-upgrade would still touch driver or kernel ({'; '.join(moved)})",
            on_host("sudo apt-get -s dist-upgrade"),
        )


class DriverHold(Resource[driver.Packages]):
    """Installed packages of driver and kernel, with apt's own forecast of a dist-upgrade and GRUB's next boot."""

    name = "driver"
    # what apt simulated with a file goes with it: it is no part of the journal
    files = (
        Managed(branches.PIN_PATH, reload=f"rm -f {driver.SIMULATION}"),
        Managed(branches.BLACKLIST_PATH, reload=f"rm -f {driver.SIMULATION}"),
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
            "the driver is of the declared branch",
            "apt was asked for a later one by name and version, which no pin keeps away; or an update is due",
            "docs/updating.md#when-a-release-brings-another-branch",
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
            "apt's pin keeps later branches away",
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
        if refusal := releases.unpublished(subject.found.releases, subject.settings.driver_branch):
            raise refusal
        judge(subject.found.driver, self.branch(subject))

    def branch(self, subject: Subject) -> int:
        """The branch that the host is held on."""
        return releases.kept(subject.found.driver, subject.found.releases, subject.settings.driver_branch)

    def changes(self, subject: Subject) -> Changes:
        wanted = [branches.pin_file(self.branch(subject)), branches.blacklist_file()]
        return Changes.of(wanted, subject.found.files)

    def checks(self, subject: Subject) -> Iterator[Check]:
        packages, branch = subject.found.driver, self.branch(subject)
        version, cure = driver.branch_version(packages, branch), subject.install(f"nvidia-driver-{branch}-open")
        yield there("driver.version", f"driver {branch}", version, cure, alike=True)
        yield self._branch(subject)
        hold, unheld = driver.hold_set(packages, branch), driver.unheld(packages, branch)
        found = f"{listed(unheld)} not held" if unheld else f"{len(hold)} packages held"
        yield check("driver.hold", not unheld, f"{len(hold)} packages held", found, subject.apply)
        yield file("driver.pin", branches.pin_file(branch), subject)
        yield file("driver.unattended-upgrades", branches.blacklist_file(), subject)
        yield self._upgrade(subject)

    def moves(self, subject: Subject) -> bool:
        """Whether a deploy pins or holds anything, so that only a look after it proves an upgrade."""
        return bool(self.changes(subject) or driver.unheld(subject.found.driver, self.branch(subject)))

    def _branch(self, subject: Subject) -> Check:
        """Whether the host is on the declared branch; one whose peers went there has some days."""
        packages, declared, branch = subject.found.driver, subject.settings.driver_branch, self.branch(subject)
        id, want = "driver.branch", f"nothing later than {declared}"
        if refusal := releases.unpublished(subject.found.releases, declared):
            return refused(id, "a branch that NVIDIA published", refusal)
        if later := too_late(packages, branch):
            return Check(id, want, later.what, "extra", later.cure)
        if branch != declared:
            found = f"{branch}, until an update moves it"
            return Check(id, f"branch {declared}", found, "drift", verb("update"), until=self._until(subject))
        return Check(id, want, "nothing later")

    def _until(self, subject: Subject) -> str:
        """The ISO day up to which a cluster may have two branches: some days from the first host's pin on."""
        declared = subject.settings.driver_branch
        pins = [state.files.get(branches.PIN_PATH) for state in subject.peers.values()]
        moved = [pin.at for pin in pins if pin and pin.matches(branches.pin_file(declared))]
        if not moved:
            return ""
        return (datetime.fromtimestamp(min(moved), UTC) + timedelta(days=MIXED_DAYS)).date().isoformat()

    def _upgrade(self, subject: Subject) -> Check:
        packages, branch = subject.found.driver, self.branch(subject)
        id, want = "driver.upgrade", "an upgrade leaves driver and kernel alone"
        try:
            judge_upgrade(packages, branch)
        except Refusal as refusal:
            status: Status = "unknown" if packages.upgrade is None else "drift"
            cure = subject.apply if self.moves(subject) else refusal.cure
            return Check(id, want, refusal.what, status, cure, environment=True)
        return Check(id, want, "it does", environment=True)


DRIVER = DriverHold()
