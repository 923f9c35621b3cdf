"""Driver and kernel: the branch that is installed, its hold, the pins, and what apt would do."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.checks.check import Check, Subject, check, there
from sparkrig.checks.environment import file
from sparkrig.host import driver
from sparkrig.text import listed


def checks(subject: Subject) -> Iterator[Check]:
    packages, branch = subject.found.packages, subject.settings.driver_branch
    version, cure = driver.branch_version(packages, branch), subject.install(f"nvidia-driver-{branch}-open")
    yield there("driver.version", f"driver {branch}", version, cure, alike=True)
    later = driver.later_driver(packages)
    yield Check(
        "driver.branch",
        f"nothing later than {branch}",
        listed(later) or "nothing later",
        "extra" if later else "ok",
        driver.way_back(packages, branch) if later else "",
    )
    hold, unheld = driver.hold_set(packages, branch), driver.unheld(packages, branch)
    found = f"{listed(unheld)} not held" if unheld else f"{len(hold)} packages held"
    yield check("driver.hold", not unheld, f"{len(hold)} packages held", found, subject.apply)
    yield file("driver.pin", driver.pin_file(), subject)
    yield file("driver.unattended-upgrades", driver.blacklist_file(), subject)
    yield _upgrade(subject)


def _upgrade(subject: Subject) -> Check:
    packages, branch = subject.found.packages, subject.settings.driver_branch
    id, want = "driver.upgrade", "an upgrade leaves driver and kernel alone"
    if packages.upgrade is None:
        return Check(id, want, packages.trouble, "unknown", subject.run("apt-get update"), environment=True)
    moved = driver.touched(packages, branch)
    return check(id, not moved, want, "; ".join(moved) or "it does", subject.apply, environment=True)
