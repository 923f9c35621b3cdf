"""Why an update would not reach a release: by what the repositories have, what apt does, and what GRUB boots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sparkrig.host import driver, upgrade
from sparkrig.host.driver import Packages
from sparkrig.host.grub import Boot
from sparkrig.host.releases import Recipe
from sparkrig.refusal import Refusal
from sparkrig.update import repositories, update, update_limits
from sparkrig.update.branch import Way
from tests.plan import recordings

LATER = Recipe("OTA2610", "October 2026", "2026-10-15", "6.17.0-1032-nvidia", "580.178.04")
DRIVER, KERNEL = "nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04"
OFFERED = [f"version {DRIVER} 580.178.04-0ubuntu0.24.04.1", f"version {KERNEL} 6.17.0-1032.32"]
BEYOND = [f"version {DRIVER} 580.999.01-0ubuntu0.24.04.1", f"version {KERNEL} 6.17.0-1099.99"]


def packages(unit: str) -> Packages:
    rows = [f"dpkg install installed {name} {version}" for name, version in recordings.packages(unit).items()]
    return driver.parse([*rows, "simulated 0"])


def why(known: Sequence[str], forecast: Sequence[str] = (), found: Packages | None = None) -> list[Refusal]:
    found = found or packages("sparky")
    has = repositories.parse(["now 1795600000", *known])
    made = update.draft(found, has, upgrade.parse([*forecast, "simulated 0"]), Way(580, 580))
    return update_limits.out_of_reach(made, found, has, LATER, 580)


@pytest.mark.parametrize(
    ("known", "forecast", "reason", "cure"),
    [
        (
            [],
            [],
            "which no repository of this Spark offers",
            "sudo apt-get update; NVIDIA's own sources come with",
        ),
        (BEYOND, [], "which no repository of this Spark offers any more", "--to candidate"),
        ([*OFFERED, *BEYOND], [], "and apt does not take it", f"apt-cache policy {KERNEL}"),
        (OFFERED, [f"kept {DRIVER} {KERNEL}"], f"and apt keeps back {KERNEL} and {DRIVER}", "apt-cache policy"),
        (
            [*OFFERED, "held libvulkan1", f"held {DRIVER}"],
            [f"kept {DRIVER} {KERNEL} libvulkan1"],
            f"and apt keeps back {KERNEL} and {DRIVER}",
            "sudo apt-mark unhold libvulkan1, which no deploy holds",
        ),
    ],
)
def test_the_reason_is_looked_up(known: list[str], forecast: list[str], reason: str, cure: str) -> None:
    made = why(known, forecast)
    assert all(each.what.startswith("OTA2610 (October 2026) has ") for each in made)
    assert {each.what.partition(", ")[2] for each in made} == {reason}
    assert any(cure in each.cure for each in made), [each.cure for each in made]
    assert "driver 580.178.04" in str(made) and "kernel 6.17.0-1032-nvidia" in str(made)


def test_a_kernel_that_is_there_and_that_grub_does_not_boot_is_no_matter_of_repositories() -> None:
    found = replace(packages("sparky"), grub=Boot("6.17.0-1029-nvidia", "", "named"))
    kernel = "Inst linux-image-6.17.0-1032-nvidia (6.17.0-1032.32 x [arm64])"
    [drives, menu] = why([], [kernel], found)
    assert "has driver 580.178.04, which" in drives.what
    assert menu.what.endswith("kernel 6.17.0-1032-nvidia, and what GRUB boots stays kernel 6.17.0-1029-nvidia")
    assert "GRUB_DEFAULT" in menu.cure
    there = ["kernel 6.17.0-1029-nvidia initrd module", "kernel 6.17.0-1032-nvidia initrd module"]
    assert why(there, [], found)[1].what == menu.what


def test_a_kernel_that_was_built_here_counts_by_its_numbers() -> None:
    for own, short in (("6.18.1", False), ("6.16.9", True)):
        found = replace(packages("sparky"), grub=Boot(own))
        assert any("has kernel" in each.what or "and kernel" in each.what for each in why([], [], found)) is short


def test_a_release_that_is_reached_has_no_reason() -> None:
    rows = [
        "Inst linux-image-6.17.0-1032-nvidia (6.17.0-1032.32 x [arm64])",
        "Inst nvidia-driver-580-open [580.173.02-0ubuntu0.24.04.1] (580.178.04-0ubuntu0.24.04.1 x [arm64])",
        "Inst libnvidia-compute-580 [580.173.02-0ubuntu0.24.04.1] (580.178.04-0ubuntu0.24.04.1 x [arm64])",
    ]
    assert why([], rows) == []
