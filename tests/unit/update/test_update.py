"""What an update would do to driver and kernel: apt's forecast, judged for Sparks whose packages are recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from sparkrig.host import driver, upgrade
from sparkrig.host.driver import Packages
from sparkrig.host.grub import Boot
from sparkrig.host.upgrade import Move
from sparkrig.refusal import Refusal
from sparkrig.update import repositories, update, update_judge
from sparkrig.update.branch import Way
from sparkrig.update.repositories import Repositories
from sparkrig.update.update import Plan
from tests.plan import recordings
from tests.unit import updates

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
    return updates.judged(found, has or known(every=found), upgrade.parse(rows), 580)


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


PINNED = Boot("6.17.0-1029-nvidia", "", "named")


def test_a_driver_that_moves_past_the_module_of_the_kernel_that_boots_is_refused() -> None:
    """As on 2026-05-27: the modules of the running kernel went first, then the driver moved."""
    found = replace(packages("sparky"), grub=PINNED)
    stays = forecast(found, without=[REBUILT])
    with pytest.raises(Refusal) as refused:
        planned(found, stays)
    assert refused.value.what == (
        "after the upgrade kernel 6.17.0-1029-nvidia would boot without an nvidia.ko of driver 580.178.04: "
        f"{REBUILT} stays behind, as it is built for another"
    )
    with pytest.raises(Refusal, match=r"1029-nvidia would boot without an nvidia[.]ko of driver 580"):
        planned(found, [f"Remv {REBUILT} [6.17.0-1029.29+1]", *stays])
    assert planned(found, ["Inst nvidia-dkms-580-open (580.178.04 x [arm64])", *stays]).amiss == ""
    assert planned(found, forecast(found)).amiss == ""  # its module is built anew


def test_an_earlier_kernel_that_loses_its_module_is_named() -> None:
    """On 2026-08-10 the module of the kernel of before was built anew with the driver; the older ones were not."""
    found = packages("sparky")
    made = planned(found, forecast(found, f"Remv {REBUILT} [6.17.0-1029.29+1]", without=[REBUILT]))
    assert "6.17.0-1029-nvidia" in made.bare and REBUILT in made.removed
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


def kernel_step(found: Packages) -> list[str]:
    """The kernel alone goes on."""
    return [row for row in forecast(found) if "580.178" not in row and REBUILT not in row]


def test_what_grub_boots_after_a_new_kernel_goes_by_how_it_chooses() -> None:
    for now, way, then in (
        ("6.17.0-1029-nvidia", "named", "6.17.0-1029-nvidia"),  # the newest one of now, and a pin all the same
        ("6.17.0-1026-nvidia", "named", "6.17.0-1026-nvidia"),
        ("6.17.0-1029-nvidia", "first", "6.17.0-1032-nvidia"),
    ):
        found = replace(packages("sparky"), grub=Boot(now, "", way))  # type: ignore[arg-type]
        assert planned(found, kernel_step(found)).kernel == Move(now, then)


@pytest.mark.parametrize(
    ("menu", "more", "why"),
    [
        (Boot("6.17.0-1029-nvidia", "", "other"), [], "a name without its kernel, or for one boot alone"),
        (Boot("", "its menu has no entry"), [], "its menu has no entry"),
        (
            Boot("6.17.0-1026-nvidia", "", "named"),
            ["Remv linux-image-6.17.0-1026-nvidia [6.17.0-1026.26]"],
            "GRUB's default is kernel 6.17.0-1026-nvidia, which would go",
        ),
    ],
)
def test_an_update_is_refused_if_it_is_unknown_which_kernel_boots_after_it(
    menu: Boot, more: list[str], why: str
) -> None:
    found = replace(packages("sparky"), grub=menu)
    with pytest.raises(Refusal, match="which kernel boots after the update is unknown") as refused:
        planned(found, [*more, *kernel_step(found)])
    assert why in refused.value.what
    made = planned(found, ["Inst curl [1] (2 x [arm64])", "simulated 0"])  # which has nothing to do with it
    assert made.kernel.after == menu.kernel


def test_the_newest_kernel_is_of_those_in_boot_and_not_of_packages_alone() -> None:
    """A guest of the lab has packages of recorded kernels, and boots its own one."""
    found = packages("sparky")
    own = known(["kernel 6.8.0-49-generic initrd -"], every=found)
    assert planned(found, ["simulated 0"], own).kernel == Move("6.8.0-49-generic", "6.8.0-49-generic")
    made = planned(found, forecast(found), own)
    assert made.kernel == Move("6.8.0-49-generic", "6.17.0-1032-nvidia")
    here = [f"kernel {each} initrd module" for each in ("6.17.0-1026-nvidia", "6.17.0-1029-nvidia")]
    gone = ["Remv linux-image-6.17.0-1029-nvidia [6.17.0-1029.29]", "simulated 0"]
    assert planned(found, gone, known(here, every=found)).kernel.after == "6.17.0-1026-nvidia"


@pytest.mark.parametrize(
    ("files", "said", "cure"),
    [
        ("- module", "without its initrd", "update-initramfs -c -k 6.17.0-1029-nvidia"),
        ("initrd -", "without the file of its nvidia.ko", f"install {REBUILT}"),
    ],
)
def test_a_kernel_that_lacks_a_file_at_the_next_boot_is_refused_unless_the_update_brings_it(
    files: str, said: str, cure: str
) -> None:
    found = packages("sparky")
    has = known([f"kernel 6.17.0-1029-nvidia {files}"], every=found)
    with pytest.raises(Refusal, match=said) as refused:
        planned(found, ["simulated 0"], has)
    assert cure in refused.value.cure
    again = [
        f"Inst {name} [1] (2 x [arm64])" for name in (REBUILT, "linux-modules-6.17.0-1029-nvidia")
    ]  # which bring the file, and make the initrd
    assert planned(found, [*again, "simulated 0"], has).amiss == ""


def test_a_next_boot_that_is_torn_already_is_refused() -> None:
    whole = packages("sparky")
    found = replace(whole, rows=tuple(row for row in whole.rows if row.name != REBUILT))
    with pytest.raises(Refusal) as refused:
        planned(found, ["simulated 0", "bytes 0"])
    assert refused.value.what == (
        "kernel 6.17.0-1029-nvidia boots next without an nvidia.ko of driver 580, and the update does not bring it"
    )
    assert f"apt-get install {REBUILT}" in refused.value.cure
    mends = [f"Inst {REBUILT} (6.17.0-1029.29+1 x [arm64])", "simulated 0"]
    assert planned(found, mends).boot.modules == REBUILT


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


def test_a_later_branch_that_is_there_already_is_told_so() -> None:
    whole = packages("sparky")
    later = driver.Package("nvidia-driver-590-open", "install", "installed", "590.48.01-0ubuntu0.24.04.1")
    with pytest.raises(Refusal, match="a driver later than 580 is installed"):
        planned(replace(whole, rows=(*whole.rows, later)), ["simulated 0"])


def test_without_a_driver_no_module_is_missing() -> None:
    whole = packages("sparky")
    bare = replace(whole, rows=tuple(row for row in whole.rows if "nvidia-580" not in row.name
                                     and not row.version.startswith("580.")))  # fmt: skip
    assert planned(bare, ["simulated 0"]).amiss == ""


def test_a_module_that_a_repository_has_comes_in_no_day() -> None:
    found, name = packages("sparky"), f"linux-modules-nvidia-580-open-{KERNEL}-nvidia"
    has = known([f"build {name} {KERNEL}.32 >= 580.178.04 <= 580.178.04-1"], every=found)
    for offered, said in ((known(every=found), True), (has, False)):
        with pytest.raises(Refusal) as refused:
            planned(found, forecast(found, without=[name]), offered)
        assert ("try again in a day" in refused.value.cure) is said


def test_without_package_lists_the_cure_fetches_them() -> None:
    """The text is that of facts/upgrade.sh."""
    with pytest.raises(Refusal, match="apt has no package lists") as refused:
        planned(packages("sparky"), ["E: apt has no package lists", "simulated 100"], known(["held docker-ce"]))
    assert "sudo apt-get update" in refused.value.cure and "unhold" not in refused.value.cure


def test_a_driver_that_would_be_removed_is_refused() -> None:
    found = packages("sparky")
    rows = [f"Remv {row.name} [{row.version}]" for row in found.installed if row.version.startswith("580.")]
    with pytest.raises(Refusal, match=r"would remove driver 580\.173\.02"):
        planned(found, [*rows, "simulated 0"])


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("ubuntu-desktop-minimal", "a part of the desktop"),
        ("gdm3", "a part of the desktop"),
        ("docker-ce-cli", "a part of docker"),
        ("nvidia-container-toolkit-base", "a part of docker"),
        ("nvidia-system-station", "a package of NVIDIA's"),
        ("openssh-server", "the host is reached or set up by it"),
        ("htop", "installed by hand"),
    ],
)
def test_what_a_person_would_miss_is_refused_until_it_may_go(name: str, what: str) -> None:
    rows = [f"Remv {name} [1]", "Remv libdocker1 [1]", "simulated 0"]  # the library has a successor
    by_hand = [*rows, "manual htop"] if name == "htop" else rows
    with pytest.raises(Refusal) as refused:
        planned(packages("sparky"), by_hand)
    assert refused.value.what == f"the upgrade would remove {name} ({what})"
    assert f"--allow-removal {name} " in refused.value.cure
    plan = update.draft(packages("sparky"), known(), upgrade.parse(by_hand), Way(580, 580))
    assert update_judge.refusals(plan, known(), 580, {name}) == []


DKMS = ["dkms r8127/11.015.00"]


@pytest.mark.parametrize(
    ("rows", "headers", "why"),
    [
        (DKMS, False, "DKMS builds: linux-headers-6.17.0-1032-nvidia does not come with it"),
        ([*DKMS, "key absent"], True, "r8127/11.015.00, which DKMS builds: Secure Boot is on"),
    ],
)
def test_a_kernel_that_dkms_cannot_build_for_is_refused(rows: list[str], headers: bool, why: str) -> None:
    found = packages("sparky")
    more = [f"Inst linux-headers-{KERNEL}-nvidia ({KERNEL}.32 x [arm64])"] if headers else []
    with pytest.raises(Refusal) as refused:
        planned(found, forecast(found, *more), known(rows, every=found))
    assert refused.value.what.startswith("kernel 6.17.0-1032-nvidia would boot without ")
    assert why in refused.value.what


@pytest.mark.parametrize("rows", [[], DKMS, [*DKMS, "key enrolled"]])
def test_a_kernel_with_its_headers_and_a_key_that_is_known_is_taken(rows: list[str]) -> None:
    found = packages("sparky")
    headers = f"Inst linux-headers-{KERNEL}-nvidia ({KERNEL}.32 x [arm64])"
    assert planned(found, forecast(found, headers), known(rows, every=found)).reboots


def test_a_kernel_that_stays_asks_nothing_of_dkms() -> None:
    assert planned(packages("sparky"), ["simulated 0"], known([*DKMS, "key absent"])).idle


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("- noble https://repo.download.nvidia.com/baseos/8/arm64", "is of DGX OS 8, and this Spark has 7.5.0"),
        ("fetched noble https://repo.download.nvidia.com/baseos/8/arm64", "is of DGX OS 8"),
        ("fetched resolute-updates http://ports.ubuntu.com/ubuntu-ports", "is of resolute, and this Spark is of"),
        ("fetched jammy https://download.docker.com/linux/ubuntu", "is of jammy"),
        ("- noble http://ports.ubuntu.com/ubuntu-ports", "apt has nothing of http://ports.ubuntu.com"),
        ("- / https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa", "apt has nothing of"),
    ],
)
def test_a_source_of_another_release_or_without_its_lists_is_refused(row: str, why: str) -> None:
    (refusal,) = update_judge.sources(known(["codename noble", *GOOD_SOURCES, f"source {row}"]), "7.5.0")
    assert why in refusal.what


GOOD_SOURCES = (
    "source fetched noble-updates http://ports.ubuntu.com/ubuntu-ports",
    "source fetched noble https://repo.download.nvidia.com/baseos/7/arm64",
    "source fetched / https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa",
    "source - any https://pkg.example.org/of-the-owner",  # a dead one of the owner's concerns no Spark
    "source - stable https://notnvidia.com/baseos",
)


def test_sources_of_its_own_release_and_those_of_its_owner_stand_in_no_way() -> None:
    assert [*update_judge.sources(known(["codename noble", *GOOD_SOURCES]), "7.5.0")] == []
    assert [*update_judge.sources(known(GOOD_SOURCES), "")] == [], "nothing is known of the host"


def test_what_was_installed_for_another_package_goes_without_a_word() -> None:
    assert planned(packages("sparky"), ["Remv libold [1]", "Remv htop [1]", "simulated 0"]).removed == (
        "htop",
        "libold",
    )


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
    assert update.waits(found, known(), "6.17.0-1029-nvidia") == ""
    assert update.waits(found, known(["reboot "]), "6.17.0-1029-nvidia") == "the system waits for it"
    two = known(["reboot ", "reboot libc6", "reboot dbus", "reboot libc6"])
    assert update.waits(found, two, "6.17.0-1029-nvidia") == "dbus and libc6 wait for it"
    assert update.waits(found, known(), "6.17.0-1026-nvidia") == (
        "kernel 6.17.0-1026-nvidia runs, and 6.17.0-1029-nvidia boots next"
    )
    assert update.waits(replace(found, module="580.142"), known(), "6.17.0-1029-nvidia") == (
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


@pytest.mark.parametrize("name", [REBUILT, "linux-firmware", "nvidia-spark-grub-kho", "grub-efi-arm64-signed"])
def test_what_is_used_from_the_next_boot_on_needs_a_reboot(name: str) -> None:
    """The same release of the kernel, built anew, too."""
    assert planned(packages("sparky"), [f"Inst {name} [1] (2 x [arm64])", "simulated 0"]).reboots


@pytest.mark.parametrize(
    "row",
    [
        "Inst curl",
        "Inst $(reboot) (1 x)",
        "Inst curl [1] (;; x)",
        "Remv ../x",
        "bytes x",
        "kept UPPER",
        "manual ../x",
        "else 1",
    ],
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
