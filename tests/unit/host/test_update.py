"""What an update would do to driver and kernel: apt's forecast, judged for Sparks whose packages are recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from sparkrig.host import driver, repositories, update, upgrade
from sparkrig.host.driver import Packages
from sparkrig.host.grub import Boot, Way
from sparkrig.host.releases import Recipe
from sparkrig.host.repositories import Repositories
from sparkrig.host.update import Plan
from sparkrig.refusal import Refusal
from tests.plan import recordings

NOW = 1_795_600_000
DRIVER = "580.178.04-0ubuntu0.24.04.1"
# what apt printed for the step of "sparky" to the kernel and driver of 7.6.0, by the names and versions of
# evanwtf/local-llm (a pair under OTA 7.6.0, 2026-09-22); the forms of rows are those of apt-get -s 2.8
KERNEL = "6.17.0-1032"
REBUILT = "linux-modules-nvidia-580-open-6.17.0-1029-nvidia"


def packages(unit: str) -> Packages:
    """The recorded packages of a unit, not held."""
    rows = [f"dpkg install installed {name} {version}" for name, version in recordings.packages(unit).items()]
    return driver.parse([*rows, "simulated 0"])


def known(rows: Iterable[str] = (), *, every: Packages | None = None) -> Repositories:
    """What the repositories have. every: they have each of these packages in its version, too."""
    has = [f"version {row.name} {row.version}" for row in every.installed] if every else []
    return repositories.parse([f"now {NOW}", f"lists {NOW - 3600}", *has, *rows])


def forecast(found: Packages, *more: str, without: Iterable[str] = ()) -> list[str]:
    """The driver and kernel of `found` go to DRIVER and KERNEL."""
    version = f"{KERNEL}.32"
    rows = [
        f"Inst {row.name} [{row.version}] ({DRIVER} Ubuntu:24.04/noble-updates [arm64])"
        for row in found.installed
        if row.version.startswith("580.")
    ]
    rows += [f"Inst {row.name} [{row.version}] ({version} Ubuntu:24.04/noble-updates [arm64])"
             for row in found.installed if row.name.endswith("-nvidia-hwe-24.04")]  # fmt: skip
    rows += [
        f"Inst {REBUILT} [6.17.0-1029.29+1] (6.17.0-1029.29+2 Ubuntu:24.04/noble-updates [arm64])",
        f"Inst linux-image-{KERNEL}-nvidia ({version} Ubuntu:24.04/noble-updates [arm64])",
        f"Inst linux-modules-nvidia-580-open-{KERNEL}-nvidia ({version}+1 Ubuntu:24.04/noble-updates [arm64])",
        *more,
        "simulated 0",
        "bytes 606000000",
        "from ports.ubuntu.com 606000000",
    ]
    return [row for row in rows if not any(f"Inst {name} " in row for name in without)]


def planned(found: Packages, rows: list[str], has: Repositories | None = None) -> Plan:
    return update.plan(found, has or known(every=found), upgrade.parse(rows), 580)


def test_driver_and_kernel_move_together_with_the_modules_of_both() -> None:
    found = packages("sparky")
    made = planned(found, forecast(found))
    assert (made.driver.before, made.driver.after) == ("580.173.02", "580.178.04")
    assert (made.kernel.before, made.kernel.after) == ("6.17.0-1029-nvidia", "6.17.0-1032-nvidia")
    assert made.boot.modules == "linux-modules-nvidia-580-open-6.17.0-1032-nvidia"
    assert made.reboots
    assert "linux-image-6.17.0-1032-nvidia" in made.new
    assert "nvidia-driver-580-open" in made.upgraded
    assert made.lost == ()
    assert "6.17.0-1029-nvidia" not in made.bare
    assert made.bytes == 606_000_000


def test_a_kernel_without_its_module_is_refused_by_name() -> None:
    """As booted on 2026-03-27: the module's package came later than its kernel."""
    found = packages("sparky")
    missing = f"linux-modules-nvidia-580-open-{KERNEL}-nvidia"
    rows = forecast(found, "kept linux-modules-nvidia-580-open-nvidia-hwe-24.04", without=[missing])
    with pytest.raises(Refusal) as refused:
        planned(found, rows)
    assert f"kernel {KERNEL}-nvidia without an nvidia.ko of driver 580" in refused.value.what
    assert "keeps back linux-modules-nvidia-580-open-nvidia-hwe-24.04" in refused.value.what
    assert missing in refused.value.cure


def test_an_earlier_kernel_that_loses_its_module_is_named() -> None:
    """As on 2026-05-27: the modules of the running kernel went first, then the driver moved."""
    found = packages("sparky")
    made = planned(found, forecast(found, f"Remv {REBUILT} [6.17.0-1029.29+1]", without=[REBUILT]))
    assert "6.17.0-1029-nvidia" in made.bare
    assert made.removed == (REBUILT,)


def test_a_module_that_stays_behind_its_driver_does_not_fit_it() -> None:
    """On 2026-08-10 that of the kernel of before was built anew with the driver; the older ones were not."""
    found = packages("sparky")
    assert "6.17.0-1029-nvidia" in planned(found, forecast(found, without=[REBUILT])).bare
    assert {*planned(found, forecast(found)).bare} == {*driver.kernels(found)} - {"6.17.0-1029-nvidia"}


def test_without_a_new_driver_every_kernel_keeps_its_module() -> None:
    found = packages("sparky")
    rows = [row for row in forecast(found) if "580.178" not in row]
    assert planned(found, rows).bare == ()


def test_what_cannot_be_had_again_is_named_with_its_version() -> None:
    found = packages("sparky")
    [compute] = [row for row in found.installed if row.name == "libnvidia-compute-580"]
    rows = [f"version {row.name} {row.version}" for row in found.installed if row is not compute]
    made = planned(found, forecast(found), known(rows))
    assert made.lost == (f"libnvidia-compute-580={compute.version}",)
    cached = f"cached libnvidia-compute-580_{compute.version}_arm64.deb"
    assert planned(found, forecast(found), known([*rows, cached])).lost == ()


OLD, RUNS, NEW = "6.17.0-1026-nvidia", "6.17.0-1029-nvidia", f"{KERNEL}-nvidia"


def test_a_menu_that_boots_the_newest_boots_the_new_one() -> None:
    found = replace(packages("sparky"), grub=Boot(RUNS))
    assert planned(found, forecast(found)).kernel.after == NEW


def test_a_kernel_that_an_owner_named_in_grub_stays_the_next_also_where_it_is_the_newest() -> None:
    named = replace(packages("sparky"), grub=Boot(RUNS, way="named"))
    assert planned(named, forecast(named)).kernel.after == RUNS


def test_a_kernel_that_stays_and_keeps_the_module_of_the_earlier_driver_is_refused() -> None:
    """Its package is not built anew, so that the Spark would come up without its GPU."""
    named = replace(packages("sparky"), grub=Boot(OLD, way="named"))
    with pytest.raises(
        Refusal, match=rf"kernel {OLD}, which boots next, would keep the nvidia\.ko of 580\.173\.02"
    ):
        planned(named, forecast(named))


@pytest.mark.parametrize("way", ["other", "first"])
def test_a_default_that_names_no_kernel_is_not_followed_once_the_menu_changes(way: Way) -> None:
    found = replace(packages("sparky"), grub=Boot(OLD, way=way))
    with pytest.raises(Refusal, match="GRUB's default names no kernel"):
        planned(found, forecast(found))
    assert planned(found, ["simulated 0", "bytes 0"]).idle


def test_a_menu_that_cannot_be_read_is_no_reason_against_what_leaves_driver_and_kernel() -> None:
    found = replace(packages("sparky"), grub=Boot("", "its menu has no entry"))
    with pytest.raises(Refusal, match="its menu has no entry"):
        planned(found, forecast(found))
    assert not planned(found, ["Inst curl [8.5.0-2] (8.5.0-3 Ubuntu [arm64])", "simulated 0", "bytes 1"]).moves


def test_a_named_kernel_that_goes_is_refused() -> None:
    found = replace(packages("sparky"), grub=Boot(OLD, way="named"))
    with pytest.raises(Refusal, match=f"GRUB's default is {OLD}, which the update removes"):
        planned(found, forecast(found, f"Remv linux-image-{OLD} [1]"))


def test_only_kernels_with_a_file_count() -> None:
    """A guest of the lab has NVIDIA's packages and boots Debian's kernel."""
    own = "6.12.117+deb13-amd64"
    row = (
        f"dpkg install installed linux-image-{own} 1\ndpkg install installed linux-modules-nvidia-580-open-{own} 1"
    )
    rows = [f"dpkg install installed {name} {version}" for name, version in recordings.packages("sparky").items()]
    found = replace(driver.parse([*rows, *row.split("\n"), "simulated 0"]), grub=Boot(own))
    made = planned(found, ["simulated 0", "bytes 0"], known([f"kernel {own} initrd module"]))
    assert made.kernel.after == own and made.idle


def test_what_is_torn_already_is_refused_unless_the_update_mends_it() -> None:
    found = packages("sparky")
    rows = tuple(row for row in found.rows if row.name != REBUILT)
    torn = replace(found, rows=rows)
    with pytest.raises(Refusal, match=f"the next boot has kernel {RUNS} without an nvidia"):
        planned(torn, ["simulated 0", "bytes 0"])
    mends = [f"Inst {REBUILT} (6.17.0-1029.29+2 Ubuntu:24.04/noble-updates [arm64])", "simulated 0", "bytes 1"]
    assert planned(torn, mends).boot.modules == REBUILT


@pytest.mark.parametrize(
    ("has", "said"),
    [("- module", "has no initrd"), ("initrd -", "its nvidia.ko is not on the disk")],
)
def test_what_the_disk_lacks_of_the_next_kernel_is_refused(has: str, said: str) -> None:
    found = packages("sparky")
    idle = ["simulated 0", "bytes 0"]
    assert planned(found, idle, known([f"kernel {RUNS} initrd module"])).idle
    with pytest.raises(Refusal, match=said):
        planned(found, idle, known([f"kernel {RUNS} {has}"]))


def test_what_waits_for_a_reboot_is_named() -> None:
    found = packages("sparky")
    assert update.waits(found, RUNS, ("libc6", "libc6")) == "libc6 waits for it"
    assert update.waits(found, RUNS, ()) == ""


def recipe(kernel: str, driver: str) -> Recipe:
    return Recipe("OTA2607", "July 2026", "2026-07-15", kernel, driver)


def test_a_release_never_pins_away_what_is_installed() -> None:
    """A Spark that is ahead of the release stays where it is."""
    found = packages("sparky")
    older = recipe("6.17.0-1022-nvidia", "580.159.03")
    assert update.limits(found, known(every=found), older, 580) == ""
    rows = [f"version nvidia-driver-580-open {DRIVER}", f"version linux-image-nvidia-hwe-24.04 {KERNEL}.32"]
    made = update.limits(found, known(rows, every=found), older, 580)
    assert made.count("Pin-Priority: -1") == 2 and DRIVER in made and f"{KERNEL}.32" in made


def test_of_a_kernels_modules_only_the_build_for_the_releases_driver_stays() -> None:
    """Each build takes one version of the driver, by its Depends."""
    found = packages("sparky")
    name = f"linux-modules-nvidia-580-open-{NEW}"
    meta = "linux-modules-nvidia-580-open-nvidia-hwe-24.04"
    rows = [
        f"build {name} {KERNEL}.32 >= 580.173.02 <= 580.173.02-1",
        f"build {name} {KERNEL}.32+1 >= 580.178.04 <= 580.178.04-1",
        f"version {meta} {KERNEL}.32",
        f"version {meta} {KERNEL}.32+1",
    ]
    made = update.limits(found, known(rows, every=found), recipe(NEW, "580.173.02"), 580)
    assert made.split("\n\n") == [
        f"Package: {each}\nPin: version {KERNEL}.32+1\nPin-Priority: -1" + ("\n" if each == meta else "")
        for each in (name, meta)
    ]


@pytest.mark.parametrize("row", ["build a 1 ~ 2", "build a", "build linux-x 1 >=", "build UPPER 1"])
def test_builds_of_another_form_are_an_error(row: str) -> None:
    with pytest.raises(ValueError):
        known([row])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("Inst nvidia-driver-590-open (590.48.01-0ubuntu0.24.04.1 NVIDIA [arm64])", "a driver later than 580"),
        ("Inst libnvidia-compute (590.48.01-1 NVIDIA [arm64])", "a driver later than 580"),
    ],
)
def test_a_later_branch_is_refused(row: str, said: str) -> None:
    found = packages("sparky")
    with pytest.raises(Refusal, match=said):
        planned(found, forecast(found, row))


def test_a_driver_that_would_be_removed_is_refused() -> None:
    found = packages("sparky")
    rows = [f"Remv {row.name} [{row.version}]" for row in found.installed if row.version.startswith("580.")]
    with pytest.raises(Refusal, match=r"would remove driver 580\.173\.02"):
        planned(found, [*rows, "simulated 0"])


def test_holds_of_others_are_named_where_apt_finds_no_way() -> None:
    """As on 2026-05-03 with 31 packages held [@spark-fleet-updates]."""
    found = packages("sparky")
    rows = [
        "E: Error, pkgProblemResolver::Resolve generated breaks, this may be caused by held packages.",
        "simulated 100",
    ]
    with pytest.raises(Refusal) as refused:
        planned(found, rows, known(["held docker-compose-plugin", "held nvidia-driver-580-open"]))
    assert "may be caused by held packages" in refused.value.what
    assert "apt-mark unhold docker-compose-plugin" in refused.value.cure
    assert "nvidia-driver-580-open" not in refused.value.cure  # a deploy's own, which an update releases


def test_a_reboot_that_is_due_already_is_named() -> None:
    found = packages("sparky")
    assert update.waits(found, "6.17.0-1029-nvidia") == ""
    assert update.waits(found, "6.17.0-1026-nvidia") == (
        "kernel 6.17.0-1026-nvidia runs, and 6.17.0-1029-nvidia boots next"
    )
    assert update.waits(replace(found, module="580.142"), "6.17.0-1029-nvidia") == (
        "nvidia.ko 580.142 is loaded, and driver 580.173.02 is installed"
    )


def test_nothing_to_do_is_idle() -> None:
    made = planned(packages("sparky"), ["simulated 0", "bytes 0"])
    assert made.idle
    assert not made.reboots


def test_packages_of_no_driver_need_no_reboot() -> None:
    made = planned(packages("sparky"), ["Inst curl [8.5.0-2] (8.5.0-3 Ubuntu:24.04/noble-updates [arm64])",
                                        "simulated 0", "bytes 4096"])  # fmt: skip
    assert (made.upgraded, made.reboots) == (("curl",), False)


@pytest.mark.parametrize(
    "row",
    ["Inst curl", "Inst $(reboot) (1 x)", "Inst curl [1] (;; x)", "Remv ../x", "bytes x", "kept UPPER", "else 1"],
)
def test_a_forecast_of_another_form_is_an_error(row: str) -> None:
    with pytest.raises(ValueError):
        upgrade.parse([row, "simulated 0"])


def test_a_forecast_without_its_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="no result"):
        upgrade.parse(["Inst curl [1] (2 x [arm64])"])


@pytest.mark.parametrize("row", ["version a", "kernel 6.17", "kernel ../x initrd module", "held $(x)", "else"])
def test_what_repositories_have_is_of_one_form(row: str) -> None:
    with pytest.raises(ValueError):
        repositories.parse([f"now {NOW}", row])


def test_kernels_and_a_reboot_that_is_due() -> None:
    rows = ["kernel 6.17.0-1029-nvidia initrd module", "kernel 6.17.0-1032-nvidia - -"]
    found = known([*rows, "reboot ", "reboot linux-image-6.17.0-1032-nvidia"])
    assert [(each.release, each.initrd, each.module) for each in found.kernels] == [
        ("6.17.0-1029-nvidia", True, True),
        ("6.17.0-1032-nvidia", False, False),
    ]
    assert found.reboot == ("linux-image-6.17.0-1032-nvidia",)
    assert known(["reboot "]).reboot == ()
    assert known().reboot is None
