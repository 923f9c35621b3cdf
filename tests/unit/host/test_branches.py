"""Another branch than 580: what is later than it, what belongs to it, and that pin and hold say the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sparkrig.host import branches, driver, releases
from sparkrig.host.driver import Package, Packages
from sparkrig.host.releases import Recipe, Releases
from sparkrig.refusal import Refusal
from sparkrig.resources import driver as hold
from tests.tables import each_row

# branch, name, version, whether it is later
ROWS = [
    (590, "nvidia-driver-open", "590.48.01-0ubuntu0.24.04.1", False),
    (590, "nvidia-driver-580-open", "590.48.01-0ubuntu0.24.04.1", False),  # the old name, which is empty
    (590, "linux-modules-nvidia-open-7.0.0-1019-nvidia", "7.0.0-1019.19", False),
    (590, "nvidia-driver-open", "595.58.03-1", True),  # a hold by name does not stop it
    (590, "nvidia-driver-595-open", "595.58.03-1", True),
    (590, "nvidia-firmware-610-610.57.04", "610.57.04-1", True),
    (590, "linux-modules-nvidia-595-open-7.0.0-1019-nvidia", "7.0.0-1019.19", True),
    (590, "nvidia-settings", "610.57.04-1ubuntu1", False),  # a tool at 610 is no driver 610
    (590, "nvidia-modprobe", "610.57.04-1ubuntu1", False),
    (595, "nvidia-driver-open", "600.1-1", True),
    (595, "libnvidia-compute-590", "590.48.01-1", False),
    (599, "nvidia-driver-open", "600.1-1", True),
    (610, "cuda-drivers", "4:615.1-1", True),
    (610, "cuda-drivers", "4:610.57-1", False),
    (990, "nvidia-open", "995.1-1", True),
]


def installed(*rows: tuple[str, str]) -> Packages:
    return Packages(tuple(Package(name, "install", "installed", version) for name, version in rows), {})


def test_what_is_later_than_a_branch_is_pinned_away_and_nothing_else() -> None:
    def holds(branch: int, name: str, version: str, later: bool) -> None:
        assert branches.is_later(name, version, branch) is later
        pinned = False
        for stanza in branches.pin_file(branch).content.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in stanza.splitlines() if line[0] != "#")
            named = any(re.search(word.strip("/"), name) for word in fields["Package"].split(" "))
            wanted = fields["Pin"].removeprefix("version ").strip("/")
            pinned = pinned or (named and (wanted == "*" or re.search(wanted, version) is not None))
        assert pinned is later

    each_row(ROWS, holds)


MOVED = (
    ("nvidia-driver-open", "590.48.01-1"),
    ("libnvidia-compute", "590.48.01-1"),
    ("nvidia-utils-580", "590.48.01-1"),
    ("nvidia-firmware-580-580.173.02", "580.173.02-1"),
    ("linux-modules-nvidia-open-7.0.0-1019-nvidia", "7.0.0-1019.19"),
    ("linux-image-7.0.0-1019-nvidia", "7.0.0-1019.19"),
    ("nvidia-settings", "610.57-1"),
)


def test_a_moved_branch_is_held_and_proven_as_580_is() -> None:
    """The whole set by what its versions say; what stayed of 580 alone is no part of it."""
    found = installed(*MOVED)
    hold.judge(found, 590)
    assert driver.hold_set(found, 590) == sorted(
        name for name, _ in MOVED if name != "nvidia-firmware-580-580.173.02"
    )
    assert driver.branch_version(found, 590) == "590.48.01-1"
    assert driver.tools_ahead(found, 590) == ["nvidia-settings 610.57-1"]
    moved = Packages(
        found.rows, {"nvidia-driver-open": "install 595.58.03-1", "nvidia-settings": "install 615.1-1"}
    )
    assert hold.touched(moved, 590) == [
        "nvidia-driver-open: install 595.58.03-1",
        "nvidia-settings: install 615.1-1",
    ]
    with pytest.raises(Refusal, match=r"a driver later than 590 is installed \(nvidia-driver-open 595"):
        hold.judge(installed(("nvidia-driver-open", "595.58.03-1")), 590)


def test_a_spark_is_held_on_its_own_branch_where_a_release_has_it() -> None:
    old = installed(("nvidia-driver-580-open", "580.173.02-1"), ("nvidia-settings", "610.57-1"))
    made = Releases((Recipe("OTA2701", "", "2027-01-15", "7.0.0-1019-nvidia", "590.48.01"),))
    rows = [
        (installed(*MOVED), made, 590, 590),
        (installed(*MOVED), made, 580, 590),  # until an update moves it back
        (installed(*MOVED), Releases(), 580, 580),  # brought by hand: a deploy refuses it
        (installed(*MOVED), Releases((replace(made.recipes[0], driver="580.173.02"),)), 580, 580),
        (installed(*MOVED), made, 610, 590),
        (old, made, 590, 580),
        (old, Releases(), 580, 580),
        (installed(), made, 590, 590),  # the declared one is awaited
        (installed(("nvidia-driver-570", "570.1-1")), made, 590, 580),
    ]

    def holds(found: Packages, known: Releases, declared: int, kept: int) -> None:
        assert releases.kept(found, known, declared) == kept

    each_row(rows, holds)
