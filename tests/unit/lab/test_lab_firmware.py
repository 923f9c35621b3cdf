"""The stand-in of fwupdmgr and dmidecode: recorded boards, and what is staged and counts from the next boot on."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.guest.build import catalogue
from lab.image import GUEST
from sparkrig.host import recipe_files, releases
from sparkrig.update import firmware
from sparkrig.update.firmware import Part
from tests.unit.updates import RECORDED, archived

VENDOR = "NVIDIA DGX Spark Founders Edition"
EC = "3d13c989-e6a8-4ead-95ee-921f09868f65"


@dataclass(frozen=True)
class Board:
    """A guest's programs on files of the test."""

    folder: Path

    def run(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs one of them by its name."""
        return subprocess.run(
            [sys.executable, str(self.folder / name), *words], capture_output=True, text=True, check=False
        )

    def boot(self) -> None:
        """A reboot: nothing stays but the files."""
        (self.folder / "boot_id").write_text((self.folder / "boot_id").read_text() + "x")

    def parts(self) -> dict[str, Part]:
        """The product's judgement against the release of July."""
        table = self.run("dmidecode", "-t", "45").stdout
        rows = [
            re.sub(r"^Firmware Component Name:", "part", row).replace("Firmware Version:", "version")
            for row in map(str.strip, table.splitlines())
            if row.startswith(("Firmware Component Name:", "Firmware Version:"))
        ]
        devices = base64.b64encode(self.run("fwupdmgr", "get-devices", "--json").stdout.encode()).decode()
        found = firmware.parse([*rows, "fwupdmgr", f"fwupd {devices}"])
        return {part.which: part for part in firmware.judge(found, july(), VENDOR)}


def july() -> releases.Recipe:
    """The release of July, as a guest knows it."""
    recipe = catalogue.recipe(catalogue.RELEASES[0], "6.12.117+deb13-amd64")
    return recipe_files.parse(["folder", archived({"a.json": json.dumps(recipe).encode()})]).recipes[0]


@pytest.fixture
def board(tmp_path: Path) -> Board:
    program = (GUEST / "root/usr/lib/sparkrig-lab/firmware").read_text()
    for path, name in (("/var/lib/sparkrig-lab", "state"), ("/proc/sys/kernel/random", ".")):
        program = program.replace(path, str(tmp_path / name))
    (tmp_path / "firmware").write_text(program)
    (tmp_path / "boot_id").write_text("x")
    for name in ("fwupdmgr", "dmidecode"):
        (tmp_path / name).symlink_to("firmware")
    return Board(tmp_path)


def states(board: Board) -> list[str]:
    parts = board.parts()
    return [parts[which].state for which in ("SoC", "EC", "USB-PD")]


def test_a_guest_has_the_firmware_of_july_and_fwupd_offers_the_usb_pd_for_ever(board: Board) -> None:
    """As NVIDIA's own Spark."""
    assert states(board) == ["as-released", "as-released", "already-on"]
    assert board.run("fwupdmgr", "update", EC, "-y", "--no-reboot-check").returncode == 2


def test_what_is_staged_counts_from_the_next_boot_on_and_lasts(board: Board) -> None:
    assert board.run("firmware", "older").returncode == 0
    assert states(board) == ["offered", "offered", "already-on"]
    assert board.run("fwupdmgr", "update", EC, "-y", "--no-reboot-check").returncode == 0
    assert states(board)[1] == "pending"
    board.boot()
    assert states(board) == ["offered", "as-released", "already-on"]
    board.boot()
    assert states(board) == ["offered", "as-released", "already-on"]
    assert "Update State: Success" in board.run("fwupdmgr", "get-results", EC).stdout


def test_a_capsule_that_fails_leaves_the_version_and_says_so(board: Board) -> None:
    board.run("firmware", "failing")
    board.run("fwupdmgr", "update", EC)
    board.boot()
    assert states(board)[1] == "failed"
    said = board.run("fwupdmgr", "get-results", EC).stdout
    assert "Update State: Failed" in said
    assert "failed to run update on reboot: expected 0x03000508 and got 0x03000302" in said


def test_its_devices_are_a_part_of_the_recorded_ones(board: Board) -> None:
    """Each field has the name and, but for the ways of its releases, the value that the recording has."""
    recorded = {
        one["DeviceId"]: one for one in json.loads((RECORDED / "sparketa-fwupd.json").read_text())["Devices"]
    }
    ours: list[dict[str, Any]] = json.loads(board.run("fwupdmgr", "get-devices", "--json").stdout)["Devices"]
    for one in ours:
        there = recorded[one["DeviceId"]]
        assert {key: one[key] for key in one if key not in ("Flags", "Releases")}.items() <= there.items()
        assert {*one["Flags"]} <= {*there["Flags"]}
        shown = [(release["Version"], release["AppstreamId"]) for release in there["Releases"]]
        assert [row for row in one["Releases"] if (row["Version"], row["AppstreamId"]) not in shown] == []


def test_what_the_stand_ins_do_not_know_they_refuse(board: Board) -> None:
    assert board.run("dmidecode").returncode == 2
    assert board.run("fwupdmgr", "downgrade").returncode == 1
    assert board.run("fwupdmgr", "update", "unknown").returncode == 3
    assert board.run("firmware", "newest").returncode == 2
