"""A Spark's package list as dpkg, dpkg-query and apt print it, and what it tells of driver and next boot.

Sources: dpkg-query(1) for the marks of `dpkg -l`; apt's source, apt-private/private-output.cc; package lists of
three Sparks in daily use [@spark-fleet-updates].
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig import driver
from sparkrig.driver import NextBoot, Package, Packages
from sparkrig.measurement import Finding
from sparkrig.preflight import UNFINISHED
from sparkrig.verdict import Verdict
from sparkrig.words import listed

WHOLE = "dpkg-query -W | sparkrig explain, without grep"

_NAME = r"(?P<name>[a-z0-9][a-z0-9+.-]+)(?::[a-z0-9]+)?"
_VERSION = r"(?P<version>\d[\w.+:~-]*)"
_DPKG = re.compile(rf"\s*(?P<want>[uihrp])(?P<status>[ncHUFWti])R?\s+{_NAME}\s+{_VERSION}(?:\s.*)?")
_APT = re.compile(rf"\s*{_NAME}/(?P<archives>\S+)\s+{_VERSION}\s+\S+(?:\s+\[(?P<marks>.*)\])?\s*")
_QUERY = re.compile(rf"\s*{_NAME}(?:\s+|,\s*){_VERSION}\s*(?:[\s,](?P<rest>.*))?")
_WANT = {"u": "unknown", "i": "install", "h": "hold", "r": "deinstall", "p": "purge"}
_STATUS = {
    **{"n": "not-installed", "c": "config-files", "H": "half-installed", "U": "unpacked"},
    **{"F": "half-configured", "W": "triggers-awaited", "t": "triggers-pending", "i": "installed"},
}


def parse(lines: Iterable[str]) -> Packages:
    """Read `dpkg -l`, `dpkg-query -W`, `apt list` or `NAME,VERSION` lines; other lines are passed over.

    What a list does not tell is taken as usual: a row without marks is installed, and what is wanted is empty.
    """
    rows: dict[str, Package] = {}
    for row in filter(None, map(_row, lines)):
        if row.name not in rows or row.installed:
            rows[row.name] = row
    return Packages(tuple(rows.values()), None, "a list tells nothing of an upgrade")


def _row(line: str) -> Package | None:
    if found := _DPKG.fullmatch(line):
        return Package(found["name"], _WANT[found["want"]], _STATUS[found["status"]], found["version"])
    if found := _APT.fullmatch(line):
        return _of_apt(found["name"], found["version"], found["archives"], found["marks"] or "")
    if found := _QUERY.fullmatch(line):
        marks = re.search(r"\b(\w+) ok ([\w-]+)", found["rest"] or "")
        want, status = marks.groups() if marks else ("", "installed")
        return Package(found["name"], want, status, found["version"])
    return None


def _of_apt(name: str, version: str, archives: str, marks: str) -> Package:
    """A row of apt, whose marks are in the language of the host: `now` is the version that is here."""
    if "now" in archives.split(","):
        return Package(name, "", "config-files" if "residual-config" in marks else "installed", version)
    replaced = re.search(r": ?(\d\S*)$", marks)  # upgradable from: VERSION
    return Package(name, "", "installed" if replaced else "not-installed", replaced[1] if replaced else version)


def judge(packages: Packages) -> list[Finding]:
    """Which driver is installed and whether the next boot has its module; what is not listed is unknown."""
    carried = _driver(packages)
    if carried.cause == "no-driver-listed":
        return [Finding("driver", carried)]
    found = [Finding("driver", carried), Finding("the next boot", _next_boot(packages))]
    unfinished = [row.name for row in packages.rows if row.status in UNFINISHED]
    if unfinished:
        why = f"dpkg was interrupted ({listed(unfinished)} unfinished)"
        found.append(Finding("dpkg", Verdict("degraded", "dpkg-interrupted", why, "sudo dpkg --configure -a")))
    return found


def _driver(packages: Packages) -> Verdict:
    if later := driver.later_driver(packages):
        why = f"a driver later than {driver.BRANCH} is installed ({', '.join(later)})"
        return Verdict("degraded", "driver-later", why, driver.way_back(packages, driver.BRANCH))
    if versions := driver.versions(packages):
        return Verdict("healthy", evidence=f"{listed(versions)}, of branch {driver.branch(packages)}")
    if branch := driver.branch(packages):
        return Verdict("healthy", evidence=f"branch {branch} by its modules; the version is not in this list")
    return Verdict("unknown", "no-driver-listed", "no package of a driver is in this list", WHOLE)


def _next_boot(packages: Packages) -> Verdict:
    branch = driver.branch(packages)
    boot = driver.next_boot(packages, branch)
    if not boot.kernel:
        why = "no kernel is in this list, so it does not tell which one boots next"
        return Verdict("unknown", "not-listed", why, WHOLE)
    if boot.modules:
        return Verdict("healthy", evidence=f"kernel {boot.kernel} with the nvidia.ko of {boot.modules}")
    if boot.dkms:
        why = (
            f"{boot.dkms} builds the nvidia.ko of kernel {boot.kernel} on the Spark, and no list tells the result"
        )
        return Verdict("unknown", "dkms", why, "dkms status")
    if not _complete(packages, boot, branch or driver.BRANCH):
        why = f"no package with the nvidia.ko of kernel {boot.kernel} is in this list, which may be cut"
        return Verdict("unknown", "not-listed", why, WHOLE)
    others = f"; {listed(boot.others)} {'fits' if len(boot.others) == 1 else 'fit'} others" if boot.others else ""
    why = f"kernel {boot.kernel} has no nvidia.ko{others}: the Spark would come up without its GPU"
    return Verdict("fault", "next-kernel", why, driver.modules_cure(boot.kernel, branch or driver.BRANCH))


def _complete(packages: Packages, boot: NextBoot, branch: int) -> bool:
    """Whether the list would show the missing modules: it has others, or is whole and goes on behind them."""
    names = [row.name for row in packages.rows]
    if "dpkg" in names:
        return max(names) > driver.modules_package(boot.kernel, branch)
    return bool(boot.others)


def read(packages: Packages) -> str:
    """What the list holds, in one line."""
    count = len(packages.installed)
    kernels = driver.kernels(packages)
    shown = f", kernel{'' if len(kernels) == 1 else 's'} {listed(kernels)}" if kernels else ""
    return f"{count} installed package{'' if count == 1 else 's'}{shown}"


def notes(packages: Packages, *, sound: bool) -> Iterable[str]:
    """What is worth knowing beside the verdicts. sound: none of them is degraded or a fault, so a deploy holds."""
    installed = packages.installed
    if tools := driver.tools_ahead(packages):
        yield f"{listed(tools)} have versions of their own, and are no sign of another driver"
    if installed and all("nvidia" in row.name for row in installed):
        yield "every row has nvidia in its name, so that a kernel of another flavour would not show"
    marked = any(row.want for row in packages.rows)
    if installed and not marked:
        yield "this list does not mark what is on hold, nor always what was removed; dpkg -l does"
    if driver.branch(packages) is None:
        return
    yield _hold(packages, marked=marked) if sound else "a deploy would hold nothing before that is mended"


def _hold(packages: Packages, *, marked: bool) -> str:
    names, late = driver.hold_set(packages, driver.BRANCH), driver.unheld(packages, driver.BRANCH)
    held = (
        f", {len(names) - len(late) or 'none'} of which {'is' if len(names) - len(late) < 2 else 'are'} held now"
    )
    return f"a deploy would hold {len(names)} packages{held if marked else ''}: {', '.join(names)}"
