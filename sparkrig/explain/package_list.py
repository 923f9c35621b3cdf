"""A Spark's package list as dpkg, dpkg-query and apt print it, and what it shows of driver and next boot.

Sources: dpkg-query(1) for the marks of `dpkg -l`; dpkg's source [@dpkg-list]: `dpkg -l` cuts no row,
not in a narrow terminal either, and `dpkg-query -W` lists removed packages while their configuration is left;
apt's source and translations [@apt-marks]; package lists of three Sparks in daily use [@spark-fleet-updates].
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.host import driver
from sparkrig.host.branches import BRANCH
from sparkrig.host.driver import NextBoot, Package, Packages
from sparkrig.host.preflight import UNFINISHED
from sparkrig.parsing import grammar
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

MARKED = "dpkg -l | sparkrig explain"
WHOLE = f"{MARKED}, without grep"

_NAME = rf"(?P<name>{grammar.PACKAGE.pattern})(?::[a-z0-9]+)?"
_VERSION = rf"(?P<version>(?=[0-9]){grammar.VERSION.pattern})"  # a word behind a name is none
_DPKG = re.compile(
    rf"\s*(?P<want>[uihrp])(?P<status>[ncHUFWti])R?\s+{_NAME}\s+(?:{_VERSION}|<none>)(?:\s.*)?", re.ASCII
)
_APT = re.compile(rf"\s*{_NAME}/(?P<archives>\S+)\s+{_VERSION}\s+\S+(?:\s+\[(?P<marks>.*)\])?\s*", re.ASCII)
_QUERY = re.compile(rf"\s*{_NAME}(?:\s+|,\s*){_VERSION}\s*(?:[\s,](?P<rest>.*))?", re.ASCII)
_WANT = {"u": "unknown", "i": "install", "h": "hold", "r": "deinstall", "p": "purge"}
_STATUS = {
    **{"n": "not-installed", "c": "config-files", "H": "half-installed", "U": "unpacked"},
    **{"F": "half-configured", "W": "triggers-awaited", "t": "triggers-pending", "i": "installed"},
}
# Of a row that does not show whether it is installed or removed, and of one that shows only what it would replace.
# Both count as installed.
_LISTED, _BEHIND = "listed", "upgradable"

# apt's marks of an installed and of a removed package, in the languages of recorded lists; its other marks have a
# comma or a version, and one in another language leaves a doubt.
_STATE = {
    **{"installed": "installed", "residual-config": "config-files"},
    **{"已安装": "installed", "配置文件残留": "config-files"},
}
_COMMA = re.compile("[,、，]")  # noqa: RUF001 - of English, Japanese, Chinese
_WITHIN = re.compile(r"(?<![A-Za-z0-9.+~-])\d[A-Za-z0-9.+:~-]*")  # a version among words of any language


def parse(lines: Iterable[str]) -> Packages:
    """Read `dpkg -l`, `dpkg-query -W`, `apt list` or `NAME,VERSION` lines; other lines are passed over.

    What a list does not show has the usual value: a row without marks is installed, and the wanted state is empty.
    """
    rows: dict[str, Package] = {}
    for row in filter(None, map(_row, lines)):
        if row.name not in rows or _weight(row) >= _weight(rows[row.name]):
            rows[row.name] = row
    return Packages(tuple(rows.values()), None, "a list tells nothing of an upgrade")


def _weight(row: Package) -> tuple[bool, bool, bool]:
    """Which row of a package counts: above all one that shows whether it is installed."""
    return row.status != _LISTED, row.installed, bool(row.want)


def _row(line: str) -> Package | None:
    if found := _DPKG.fullmatch(line):
        return Package(found["name"], _WANT[found["want"]], _STATUS[found["status"]], found["version"] or "")
    if found := _APT.fullmatch(line):
        here = "now" in found["archives"].split(",")
        status, version = _of_apt(here, found["marks"] or "")
        return Package(found["name"], "", status, version or found["version"])
    if found := _QUERY.fullmatch(line):
        marks = re.search(r"\b(\w+) ok ([\w-]+)", found["rest"] or "")
        want, status = marks.groups() if marks else ("", _LISTED)
        return Package(found["name"], want, status, found["version"])
    return None


def _of_apt(here: bool, marks: str) -> tuple[str, str]:
    """The state of a row of apt, whose marks are in the host's language, and the version that it would replace.

    here: whether the archive is `now`, which has what dpkg knows; only what is installed has a comma in its marks.
    """
    other = _WITHIN.search(marks)
    if not here:
        return (_BEHIND, other[0]) if other else ("not-installed", "")
    if other or _COMMA.search(marks):
        return "installed", ""
    return _STATE.get(marks.strip().casefold(), _LISTED), ""


def judge(packages: Packages) -> list[Finding]:
    """Which driver is installed and whether the next boot has its module; what is not listed is unknown."""
    carried = _driver(packages)
    verdicts = [("driver", carried)]
    if carried.cause != "no-driver-listed":
        verdicts.append(("the next boot", _next_boot(packages)))
    findings = [Finding(about, _doubted(one) if _unmarked(packages) else one) for about, one in verdicts]
    if unfinished := [row.name for row in packages.rows if row.status in UNFINISHED]:
        why = f"dpkg was interrupted ({listed(unfinished)} unfinished)"
        findings.append(Finding("dpkg", Verdict("degraded", "dpkg-interrupted", why, "sudo dpkg --configure -a")))
    return findings


def _unmarked(packages: Packages) -> bool:
    return any(row.status == _LISTED for row in packages.rows)


def _doubted(verdict: Verdict) -> Verdict:
    """The verdict on a list without marks: a removed package may be the reason, so its cure changes nothing."""
    if verdict.level not in ("degraded", "fault"):
        return verdict
    why = f"{verdict.evidence}; this list does not mark removed packages, and dpkg -l decides"
    return replace(verdict, evidence=why, cure=MARKED)


def _behind(packages: Packages) -> bool:
    """Whether the list is one of `apt list --upgradable`, which leaves out all that is up to date."""
    return all(row.status == _BEHIND for row in packages.installed)


def _driver(packages: Packages) -> Verdict:
    if later := driver.later_driver(packages, BRANCH):
        why = f"a driver later than {BRANCH} is installed ({', '.join(later)})"
        return Verdict("degraded", "driver-later", why, driver.way_back(packages, BRANCH))
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
    if _behind(packages):
        why = "only what can be upgraded is in this list, so it does not tell which kernel boots next"
        return Verdict("unknown", "not-listed", why, WHOLE)
    if boot.modules:
        return Verdict("healthy", evidence=f"kernel {boot.kernel} with the nvidia.ko of {boot.modules}")
    if boot.dkms:
        why = (
            f"{boot.dkms} builds the nvidia.ko of kernel {boot.kernel} on the Spark, and no list tells the result"
        )
        return Verdict("unknown", "dkms", why, "dkms status")
    if not _complete(packages, boot, branch or BRANCH):
        why = f"no package with the nvidia.ko of kernel {boot.kernel} is in this list, which may be cut"
        return Verdict("unknown", "not-listed", why, WHOLE)
    others = f"; {listed(boot.others)} {'fits' if len(boot.others) == 1 else 'fit'} others" if boot.others else ""
    why = f"kernel {boot.kernel} has no nvidia.ko{others}: the Spark would come up without its GPU"
    return Verdict("fault", "next-kernel", why, driver.modules_cure(boot.kernel, branch or BRANCH))


def _complete(packages: Packages, boot: NextBoot, branch: int) -> bool:
    """Whether the list would show the missing modules: it has them, has others, or is whole and goes on behind."""
    names, missing = [row.name for row in packages.rows], driver.modules_package(boot.kernel, branch)
    if missing in names:
        return True
    return max(names) > missing if "dpkg" in names else bool(boot.others)


def read(packages: Packages) -> str:
    """What the list holds, in one line."""
    count = len(packages.installed)
    kernels = driver.kernels(packages)
    shown = f", kernel{'' if len(kernels) == 1 else 's'} {listed(kernels)}" if kernels else ""
    return f"{count} installed package{'' if count == 1 else 's'}{shown}"


def notes(packages: Packages) -> Iterable[str]:
    """What is worth knowing beside the verdicts."""
    if len(kernels := driver.kernels(packages)) > 1:
        yield f"{kernels[-1]} is taken to boot next; a list does not tell whether GRUB's menu has a pin"
    if tools := driver.tools_ahead(packages, BRANCH):
        yield f"{listed(tools)} have versions of their own, and are no sign of another driver"
    if packages.installed and not any(row.want for row in packages.rows):
        removed = " or what was removed" if _unmarked(packages) else ""
        yield f"this list does not mark what is on hold{removed}; {MARKED} tells"


def explained(piece: Piece, _: Around) -> Explained:
    packages = parse(piece.lines)
    return Explained(piece.tool, read(packages), tuple(judge(packages)), tuple(notes(packages)))
