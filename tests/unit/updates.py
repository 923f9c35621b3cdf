"""Three recorded Sparks before an update, and the releases that they know of (tests/fixtures/updates)."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sparkrig.host import recipe_files
from sparkrig.host.driver import Packages
from sparkrig.host.releases import Installed, Releases
from sparkrig.host.upgrade import Upgrade
from sparkrig.update import update, update_judge
from sparkrig.update.branch import Way
from sparkrig.update.repositories import Repositories
from sparkrig.update.update import Plan

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
RECORDED = FIXTURES / "updates"
UNITS = {
    "sparketa": "NVIDIA DGX Spark Founders Edition",
    "sparkjr": "ASUS Ascent GX10",
    "sparky": "ASUS Ascent GX10",
}
KERNEL, DRIVER = "6.17.0-1029-nvidia", "580.173.02"  # on all three
WHOLE = ("spark-ota-2604.json", "spark-ota-2607.json")  # the others are made of the table


def recipes() -> dict[str, str]:
    """The text of each recipe by the name of its file; those that were not copied have what the table has."""
    made = {name: (RECORDED / name).read_text() for name in WHOLE}
    with (RECORDED / "releases.tsv").open() as table:
        for row in csv.DictReader(table, delimiter="\t"):
            made.setdefault(f"spark-ota-{row['recipe'].removeprefix('OTA')}.json", json.dumps(_recipe(row)))
    return made


def _recipe(row: Mapping[str, str]) -> dict[str, Any]:
    driver, _, of_packages = row["driver"].partition(" (packages ")
    installs = f"{of_packages.rstrip(')') or driver}-{row['driver_pkg_revision'] or '0ubuntu0.24.04.1'}"
    packages = {
        "nvidia-driver-580-open": installs,
        f"nvidia-firmware-580-{installs.partition('-')[0]}": installs,
        "dgx-release": row["dgx-release"],
        "dgx-spark-ota-update-meta": row["dgx-spark-ota-update-meta"],
        "dgx-dashboard": row["dgx-dashboard"] or "",
    }
    return {
        "metadata": {
            "name": row["recipe"],
            "external_name": row["external_name"],
            "releaseDate": f"{row['releaseDate'][:10]}T00:00:00.000Z",
        },
        "package": listed({name: version for name, version in packages.items() if version}),
        "firmware": listed({name: row[name] for name in ("SOCFW", "EC", "USBPD")}),
        "connectx": listed({"CX7": "28.45.4028"}),
        "software": listed({"kernel": row["kernel"], "driver": driver}),
    }


def listed(versions: Mapping[str, str]) -> list[dict[str, str]]:
    """As a recipe has them."""
    return [{"name": name, "version": version} for name, version in versions.items()]


def archived(files: Mapping[str, bytes]) -> str:
    """The row of the fact for these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.uname, member.gname = len(content), 0o644, "root", "root"
            tar.addfile(member, io.BytesIO(content))
    return f"recipes {base64.b64encode(gzip.compress(made.getvalue())).decode()}"


def rows(unit: str) -> list[str]:
    """What the releases fact prints on one of the Sparks."""
    files = {name: text.encode() for name, text in recipes().items()}
    packages = [f"dpkg install installed {name} {version}" for name, version in sorted(_packages(unit).items())]
    return [archived(files), *packages]


def _packages(unit: str) -> dict[str, str]:
    """The recorded packages; where none was recorded, those of a release that NVIDIA's checker passed."""
    newest = json.loads((RECORDED / "spark-ota-2607.json").read_text())
    scores = json.loads((RECORDED / f"{unit}-summary.json").read_text())["scores"]
    failed = next(each["failed"] for each in scores if each["ota"] == "OTA2607")
    found = {each["name"]: each["version"] for each in newest["package"] if each["name"] not in failed}
    for path in (RECORDED / f"{unit}-packages.csv", FIXTURES / "sparks" / f"{unit}-packages.csv"):
        if path.exists():
            found |= dict(line.split(",") for line in path.read_text().splitlines())
    return found


def known(unit: str) -> Releases:
    return recipe_files.parse(rows(unit))


def has(unit: str) -> Installed:
    spark = known(unit)
    return Installed(KERNEL, DRIVER, spark.packages, spark.removed)


def table(unit: str) -> list[str]:
    """What the firmware fact prints of the board's own table."""
    lines = [line.strip() for line in (RECORDED / f"{unit}-dmidecode.txt").read_text().splitlines()]
    begins = {"Firmware Component Name: ": "part ", "Firmware Version: ": "version "}
    return [
        word + line.removeprefix(begin)
        for line in lines
        for begin, word in begins.items()
        if line.startswith(begin)
    ]


def fwupd(unit: str) -> dict[str, Any]:
    """The list of devices."""
    found: dict[str, Any] = json.loads((RECORDED / f"{unit}-fwupd.json").read_text())
    return found


def board(unit: str, devices: Any = None) -> list[str]:
    """What the firmware fact prints on one of the Sparks; sparky's ConnectX was off, as it had no cable."""
    connectx = [] if unit == "sparky" else ["connectx 28.45.4028"]
    return [*table(unit), *connectx, listing(fwupd(unit) if devices is None else devices)]


def listing(devices: Any) -> str:
    """The row of the firmware fact with fwupd's list of devices."""
    return f"fwupd {base64.b64encode(json.dumps(devices).encode()).decode()}"


def judged(packages: Packages, known: Repositories, upgrade: Upgrade, branch: int = 580) -> Plan:
    """What a forecast comes to. Raises the most severe Refusal where it must not be carried out."""
    found = update.draft(packages, known, upgrade, Way(branch, branch))
    for refusal in update_judge.refusals(found, known, branch):
        raise refusal
    return found
