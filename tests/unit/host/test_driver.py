"""The hold set, what counts as later, and that pin, blacklist and proof agree on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.host import branches, driver
from sparkrig.host.driver import Package, Packages
from sparkrig.host.grub import Boot
from sparkrig.refusal import Refusal
from sparkrig.resources import driver as hold
from tests.tables import each_row, rows
from tests.unit.shells import well

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures" / "driver"
DGX_OS = (FIXTURES / "dgx-os-7.txt").read_text().splitlines()
UNHELD = (FIXTURES / "dist-upgrade-unheld.txt").read_text().splitlines()

HELD = (FIXTURES / "dgx-os-7.held.txt").read_text().split()

# name, version
LATER = rows(__file__, "later")
NOT_LATER = rows(__file__, "not later")


def packages(rows: Iterable[tuple[str, str]]) -> Packages:
    return Packages(tuple(Package(name, "install", "installed", version) for name, version in rows), {})


def recorded(spark: str) -> Packages:
    """The packages of a real Spark, from the list that its owner published."""
    lines = (FIXTURES.parent / "sparks" / f"{spark}-packages.csv").read_text().splitlines()
    return packages((name, version) for name, version in (line.split(",") for line in lines))


# --- the hold set


def test_the_hold_set_of_dgx_os_is_driver_and_kernel_and_nothing_else() -> None:
    assert driver.hold_set(driver.parse(DGX_OS), 580) == sorted(HELD)


def test_what_is_not_installed_is_not_held() -> None:
    """apt-mark fails on a name that apt does not know, and a removed package cannot be held back."""
    names = driver.hold_set(driver.parse(DGX_OS), 580)
    assert "nvidia-dkms-580-open" not in names and "linux-image-6.14.0-1015-nvidia" not in names


def test_other_names_of_the_set() -> None:
    def holds(name: str, version: str) -> None:
        assert driver.hold_set(packages([(name, version)]), 580) == [name]

    each_row(
        [
            ("nvidia-driver-580", "580.95.05-0ubuntu1"),  # the literal name of the mission, where it is installed
            ("nvidia-driver-open", "580.95.05-1"),  # CUDA repository: no number in the name
            ("libnvidia-compute", "1:580.95.05-1"),
            ("nvidia-kernel-common", "580.95.05-1"),
            ("xserver-xorg-video-nvidia", "580.95.05-1"),
            ("cuda-drivers", "580.95.05-1"),
            ("cuda-drivers-580", "580.95.05-1"),
            ("linux-generic-hwe-24.04", "6.17.0-14.14"),
            ("linux-image-generic", "6.8.0-90.91"),
        ],
        holds,
    )


def test_names_that_are_not_of_the_set() -> None:
    def holds(name: str, version: str) -> None:
        assert driver.hold_set(packages([(name, version)]), 580) == []

    each_row(
        [
            ("nvidia-driver-570-open", "570.86.10-0ubuntu1"),
            ("nvidia-driver-5800", "1.0"),
            ("libnvidia-compute", "575.51.03-1"),
            ("nvidia-cuda-toolkit", "5800.1-1"),
            ("cuda-compat-13-0", "580.95.05-1"),
        ],
        holds,
    )


def test_unheld_looks_at_what_dpkg_wants() -> None:
    found = driver.parse(
        [
            "dpkg hold installed nvidia-driver-580-open 580.1-1",
            "dpkg install installed nvidia-modprobe 580.1-1",
            "dpkg hold installed curl 8.5.0-1",
            "simulated 0",
        ]
    )
    assert driver.unheld(found, 580) == ["nvidia-modprobe"]


def test_nothing_but_a_hold_is_one() -> None:
    for want in ("deinstall", "install", "purge", "unknown"):
        assert driver.unheld(driver.parse([f"dpkg {want} installed nvidia-modprobe 580.1-1", "simulated 0"]), 580)


def test_version_is_that_of_an_installed_package_only() -> None:
    found = driver.parse(DGX_OS)
    assert found.version("nvidia-driver-580-open") == "580.159.03-0ubuntu0.24.04.1"
    assert found.version("linux-image-6.14.0-1015-nvidia") is None
    assert found.version("nvidia-driver-590-open") is None


# --- later branches


def test_is_later() -> None:
    def holds(name: str, version: str) -> None:
        assert branches.is_later(name, version, 580)

    each_row(LATER, holds)


def test_is_not_later() -> None:
    def holds(name: str, version: str) -> None:
        assert not branches.is_later(name, version, 580)

    each_row(NOT_LATER, holds)


@pytest.mark.parametrize("version", ["$(reboot)", "580;x", ""])
def test_a_version_that_is_none_is_refused_where_the_package_is_installed(version: str) -> None:
    """It becomes a word of a command that a person pastes; what is not installed has none."""
    with pytest.raises(ValueError, match="version of a Debian package"):
        driver.parse([f"dpkg hold installed nvidia-driver-580 {version}", "simulated 0"])
    assert (
        driver.parse([f"dpkg deinstall config-files nvidia-driver-580 {version}", "simulated 0"]).installed == []
    )


def test_a_later_driver_that_is_installed_is_refused_by_name() -> None:
    found = packages([("nvidia-driver-open", "590.48-1"), ("nvidia-utils", "590.48-1"), ("curl", "8.5-1")])
    with pytest.raises(Refusal, match=r"nvidia-driver-open 590\.48-1, nvidia-utils 590\.48-1") as caught:
        hold.judge(found, 580)
    assert "nvidia-driver-580-open" in caught.value.cure


def test_what_is_no_later_driver_is_not_refused() -> None:
    """Remains of one, a healthy Spark as its owner recorded it (tools at 610), and what carries no driver."""
    remains = Package("nvidia-driver-590-open", "deinstall", "config-files", "590.1-1")
    rows = {"remains": Packages((remains,), {}), "DGX OS": driver.parse(DGX_OS)}
    rows |= {spark: recorded(spark) for spark in ("sparketa", "sparkjr", "sparky")}
    for name in ("nvidia-firmware-590-590.48.01", "nvidia-driver-pinning-590"):
        package = Package(name, "install", "installed", "590.48.01-1")
        rows[name] = Packages((*recorded("sparketa").rows, package), {})

    def holds(found: Packages) -> None:
        assert driver.later_driver(found, 580) == []
        hold.judge(found, 580)

    each_row(rows, holds)


# --- apt's own simulation


def test_parse_of_a_simulation() -> None:
    upgrade = driver.parse(UNHELD).upgrade
    assert upgrade is not None
    assert upgrade["libnvidia-compute-580"] == "install 580.173.02-0ubuntu0.24.04.1"  # not the old, no :arm64
    assert upgrade["linux-image-7.0.0-1019-nvidia"] == "install 7.0.0-1019.19"  # new, so no [old]
    assert upgrade["nvidia-kernel-common-580"] == "remove"
    assert "nvidia-utils-580" not in upgrade  # Conf rows say nothing new
    assert len(upgrade) == 11


def test_touched_is_driver_and_kernel_and_nothing_else() -> None:
    assert hold.touched(driver.parse([*DGX_OS[:-1], *UNHELD]), 580) == [
        "libnvidia-compute-580: install 580.173.02-0ubuntu0.24.04.1",
        "libnvidia-nscq-580: install 580.173.02-0ubuntu0.24.04.1",
        "linux-image-7.0.0-1019-nvidia: install 7.0.0-1019.19",
        "linux-nvidia-hwe-24.04: install 7.0.0-1019.19",
        "nvidia-driver-590-open: install 590.48.01-0ubuntu0.24.04.1",
        "nvidia-kernel-common-580: remove",
        "nvidia-modprobe: install 610.57.04-1",
    ]


def test_what_an_upgrade_may_bring_and_what_it_may_not() -> None:
    def holds(upgrade: dict[str, str], touched: str) -> None:
        installed = Packages((Package("nvidia-open", "install", "installed", "580.1-1"),), upgrade)
        assert hold.touched(installed, 580) == ([touched] if touched else [])
        with pytest.raises(Refusal, match=f"would still touch .*{touched}") if touched else nullcontext():
            hold.judge_upgrade(installed, 580)

    each_row(
        {
            "harmless": ({"curl": "install 8.5.0-2", "nvidia-container-toolkit": "install 1.20.0-1"}, ""),
            "a tool": ({"nvidia-persistenced": "install 610.57.04-1ubuntu1"}, ""),
            "a driver of no branch": (
                {"cuda-drivers": "install 610.57.04-1"},
                "cuda-drivers: install 610.57.04-1",
            ),
            "its removal": ({"nvidia-open": "remove"}, "nvidia-open: remove"),
            "590": ({"nvidia-driver-590-open": "install 590.1"}, "nvidia-driver-590-open: install 590.1"),
        },
        holds,
    )


@pytest.mark.parametrize(
    ("rows", "trouble"),
    [
        (
            ["E: Unmet dependencies. Try 'apt --fix-broken install'", "E: second", "simulated 100"],
            "Unmet.* second",
        ),
        (["simulated 124"], "exit 124"),
        (["Inst curl (8.5.0-2 Ubuntu [arm64])", "simulated 100"], "exit 100"),
    ],
)
@pytest.mark.promise(9)
def test_what_apt_cannot_simulate_is_not_proven(rows: list[str], trouble: str) -> None:
    found = driver.parse(rows)
    assert found.upgrade is None
    with pytest.raises(Refusal, match=f"cannot simulate .*{trouble}.* not proven"):
        hold.judge_upgrade(found, 580)


def test_other_rows_of_a_simulation_say_nothing() -> None:
    found = driver.parse(["Conf curl (8.5)", "E: broken", "W: old lists", "simulated 100", "zz 0"])
    assert (found.upgrade, found.trouble) == (None, "broken")
    assert driver.parse(["simulated"]).upgrade is None


def test_a_fact_that_broke_off_is_an_error() -> None:
    with pytest.raises(ValueError, match="left no result"):
        driver.parse(DGX_OS[:-1])


# --- the files say the same


def pins() -> list[tuple[list[re.Pattern[str]], re.Pattern[str] | None]]:
    """Each stanza of the preferences: patterns of names, and the pattern of versions (None: any)."""
    found = []
    for stanza in branches.pin_file(580).content.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and line[0] != "#")
        assert fields["Pin-Priority"] == "-1"
        names = [re.compile(word.strip("/"), re.I) for word in fields["Package"].split(" ")]
        wanted = fields["Pin"].removeprefix("version ")
        found.append((names, None if wanted == "*" else re.compile(wanted.strip("/"))))
    return found


def test_the_pin_agrees_with_is_later() -> None:
    def holds(name: str, version: str) -> None:
        pinned = any(
            any(pattern.search(name) for pattern in names) and (versions is None or versions.search(version))
            for names, versions in pins()
        )
        assert bool(pinned) is branches.is_later(name, version, 580)

    each_row(LATER + NOT_LATER, holds)


def blacklisted(name: str) -> bool:
    """unattended-upgrades matches its entries at the start of a name."""
    entries = re.findall(r'^ {4}"(.+)";$', branches.blacklist_file().content, re.M)
    assert entries
    return any(re.match(entry, name) for entry in entries)


def test_unattended_upgrades_leaves_the_hold_set_alone() -> None:
    def holds(name: str) -> None:
        assert blacklisted(name)

    each_row(sorted({*HELD, *(name for name, _ in LATER)}), holds)


def test_unattended_upgrades_keeps_the_rest_safe() -> None:
    def holds(name: str) -> None:
        assert not blacklisted(name)

    each_row(rows(__file__, "unattended upgrades keeps the rest safe"), holds)


# --- and apt believes it


@pytest.fixture(scope="module")
def apt(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """apt on a system of its own: 580 is installed, a repository offers a point release and 590."""
    assert shutil.which("apt-get"), "these tests ask apt itself, and there is no apt-get on this machine"
    root = tmp_path_factory.mktemp("apt")
    for folder in ("etc/preferences.d", "state/lists/partial", "cache/archives/partial", "log", "repo"):
        (root / folder).mkdir(parents=True)
    installed = [("nvidia-driver-580-open", "580.159.03-1", ""), ("nvidia-open", "580.159.03-1", "")]
    installed += [("nvidia-modprobe", "580.159.03-1", ""), ("nvidia-settings", "610.57.04-1ubuntu1", "")]
    installed += [("curl", "1.0", "")]
    offered = [
        ("nvidia-driver-580-open", "580.173.02-1", ""),
        ("nvidia-open", "590.48.01-1", ""),
        ("nvidia-modprobe", "610.57.04-1", ""),
        ("nvidia-settings", "580.159.03-1", ""),
        ("nvidia-driver-590-open", "590.48.01-1", ""),
        ("nvidia-driver-open", "590.48.01-1", ""),
        ("libnvidia-compute-590", "590.48.01-1", ""),
        ("xserver-xorg-video-nvidia", "4:590.48.01-1", ""),
        ("cuda-drivers", "590.48.01-1", ""),
        ("linux-modules-nvidia-590-open-nvidia-hwe-24.04", "6.17.0-1014.14", ""),
        ("linux-modules-nvidia-580-open-nvidia-hwe-24.04", "6.17.0-1014.14", ""),
        ("nvidia-container-toolkit", "1.20.0-1", ""),
        ("wants-590", "1.0", "nvidia-driver-590-open"),
        ("curl", "2.0", ""),
    ]

    def stanza(name: str, version: str, depends: str, extra: str) -> str:
        needs = f"Depends: {depends}\n" if depends else ""
        return (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: test <t@example.org>\n"
            f"Description: test\n{needs}{extra}\n"
        )

    (root / "state/status").write_text(
        "".join(stanza(*row, "Status: install ok installed\n") for row in installed)
    )
    blank = f"Filename: ./none.deb\nSize: 1\nSHA256: {'0' * 64}\n"
    (root / "repo/Packages").write_text("".join(stanza(*row, blank) for row in offered))
    (root / "etc/sources.list").write_text(f"deb [trusted=yes] copy:{root}/repo ./\n")
    options = {
        "Dir": "/",
        "Dir::Etc": f"{root}/etc",
        "Dir::Etc::sourcelist": f"{root}/etc/sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferences": "-",
        "Dir::Etc::preferencesparts": f"{root}/etc/preferences.d",
        "Dir::State": f"{root}/state",
        "Dir::State::status": f"{root}/state/status",
        "Dir::Cache": f"{root}/cache",
        "Dir::Log": f"{root}/log",
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
    }
    command = ["apt-get", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    well(
        subprocess.run(
            [*command, "update"],
            capture_output=True,
            text=True,
            env={**os.environ, "APT_CONFIG": "/dev/null"},
            check=False,
        )
    )
    return [*command, str(root)]


def simulate(apt: list[str], *words: str, pinned: bool = True) -> tuple[bool, dict[str, str]]:
    *command, root = apt
    pin = Path(root) / "etc/preferences.d" / Path(branches.PIN_PATH).name
    pin.unlink(missing_ok=True)
    if pinned:
        pin.write_text(branches.pin_file(580).content)
    done = subprocess.run(
        [*command, "-s", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "APT_CONFIG": "/dev/null", "LC_ALL": "C"},
        check=False,
    )
    found = driver.parse([*done.stdout.splitlines(), f"simulated {done.returncode}"])
    assert "not support" not in done.stderr and "Invalid" not in done.stderr, done.stderr
    return done.returncode == 0, found.upgrade or {}


def test_without_the_pin_apt_takes_590(apt: list[str]) -> None:
    """Else the tests below would prove nothing."""
    _, upgrade = simulate(apt, "dist-upgrade", pinned=False)
    assert upgrade["nvidia-open"] == "install 590.48.01-1" and upgrade["nvidia-modprobe"] == "install 610.57.04-1"
    ok, upgrade = simulate(apt, "install", "nvidia-driver-590-open", pinned=False)
    assert ok and "nvidia-driver-590-open" in upgrade


def test_with_the_pin_a_dist_upgrade_takes_the_point_release_and_the_rest(apt: list[str]) -> None:
    ok, upgrade = simulate(apt, "dist-upgrade")
    assert ok
    assert upgrade == {
        "nvidia-driver-580-open": "install 580.173.02-1",
        "nvidia-modprobe": "install 610.57.04-1",  # a tool; the hold keeps it, not the pin
        "curl": "install 2.0",
    }


def test_with_the_pin_a_tool_stays_ahead_of_its_driver(apt: list[str]) -> None:
    """The pin must not make an older version of an installed tool the one that apt prefers."""
    assert simulate(apt, "install", "nvidia-settings") == (True, {})


def test_with_the_pin_an_explicit_install_is_refused(apt: list[str]) -> None:
    def holds(name: str) -> None:
        assert simulate(apt, "install", name) == (False, {})

    each_row(
        [
            "nvidia-driver-590-open",
            "nvidia-driver-open",
            "libnvidia-compute-590",
            "xserver-xorg-video-nvidia",
            "cuda-drivers",
            "linux-modules-nvidia-590-open-nvidia-hwe-24.04",
            "wants-590",
        ],
        holds,
    )


def test_with_the_pin_an_explicit_install_keeps_the_installed_version(apt: list[str]) -> None:
    assert simulate(apt, "install", "nvidia-open") == (True, {})


@pytest.mark.parametrize(
    "name",
    ["nvidia-container-toolkit", "linux-modules-nvidia-580-open-nvidia-hwe-24.04", "nvidia-driver-580-open"],
)
def test_the_pin_leaves_580_and_the_toolkit_installable(apt: list[str], name: str) -> None:
    ok, upgrade = simulate(apt, "install", name)
    assert ok and name in upgrade


@pytest.mark.parametrize("status", ["unpacked", "half-configured", "triggers-pending"])
def test_what_dpkg_left_half_done_is_held_too(status: str) -> None:
    row = Package("nvidia-driver-580-open", "install", status, "580.159.03-0ubuntu0.24.04.1")
    assert driver.hold_set(Packages((row,), {}), 580) == ["nvidia-driver-580-open"]


def test_the_way_back_from_590_is_in_apts_own_words() -> None:
    found = packages([("nvidia-driver-590-open", "590.48-1"), ("nvidia-open", "590.1-1"), ("curl", "8.5-1")])
    with pytest.raises(Refusal) as caught:
        hold.judge(found, 580)
    assert "nvidia-driver-580-open nvidia-driver-590-open- nvidia-open=VERSION-OF-580" in caught.value.cure


# --- Sparks as their owners recorded them


def test_each_that_carries_a_later_driver_is_refused_alone() -> None:
    def holds(name: str, version: str) -> None:
        healthy = recorded("sparketa")
        later = Packages((*healthy.rows, Package(name, "install", "installed", version)), {})
        with pytest.raises(Refusal, match=re.escape(f"later than 580 is installed ({name} {version})")):
            hold.judge(later, 580)

    each_row(
        [
            ("nvidia-driver-open", "590.48.01-0ubuntu0.24.04.1"),
            ("nvidia-kernel-common", "590.48.01-0ubuntu0.24.04.1"),
            ("libnvidia-compute", "590.48.01-0ubuntu0.24.04.1"),
            ("nvidia-driver-590-open", "590.48.01-0ubuntu0.24.04.1"),
            ("nvidia-kernel-common-590", "590.48.01-0ubuntu0.24.04.1"),
            ("libnvidia-compute-590", "590.48.01-0ubuntu0.24.04.1"),
            ("linux-modules-nvidia-590-open-6.17.0-1029-nvidia", "6.17.0-1029.29"),
            ("linux-modules-nvidia-open-6.17.0-1029-nvidia", "6.17.0-1029.29"),
        ],
        holds,
    )


def test_a_torn_upgrade_is_refused_before_it_is_frozen() -> None:
    """A kernel that came without its modules: the hold would keep it so, and keep its cure out."""
    healthy = recorded("sparketa")
    module = "linux-modules-nvidia-580-open-6.17.0-1029-nvidia"
    torn = Packages(tuple(row for row in healthy.rows if row.name != module), {})
    with pytest.raises(Refusal, match=r"kernel 6\.17\.0-1029-nvidia boots next, and no nvidia\.ko") as no:
        hold.judge(torn, 580)
    assert f"apt-get install {module}" in no.value.cure and "apt-mark unhold" in no.value.cure
    built = (Package("nvidia-dkms-580-open", "install", "installed", "580.173.02-0ubuntu0.24.04.1"),)
    hold.judge(Packages((*torn.rows, *built), {}), 580)
    without_driver = [row for row in torn.rows if row.name.startswith("linux-image")]
    hold.judge(Packages(tuple(without_driver), {}), 580)


def test_a_later_module_in_memory_is_refused_until_a_reboot() -> None:
    loaded = Packages(recorded("sparketa").rows, {}, module="590.48.01")
    with pytest.raises(Refusal, match=r"nvidia.ko 590\.48\.01") as caught:
        hold.judge(loaded, 580)
    assert caught.value.cure == "sudo reboot"
    assert driver.parse(["module 580.173.02", "simulated 0"]).module == "580.173.02"


# --- the next boot


def carried(*names: str) -> Packages:
    return Packages(
        tuple(Package(name, "install", "installed", "580.173.02-0ubuntu0.24.04.1") for name in names), {}
    )


def test_the_highest_kernel_boots_next_and_takes_the_modules_of_its_own_release_and_branch() -> None:
    image, open_580 = "linux-image-6.17.0-{}-nvidia", "linux-modules-nvidia-580-open-6.17.0-{}-nvidia"

    def holds(names: list[str], branch: int | None, kernel: str, modules: str, torn: bool) -> None:
        boot = driver.next_boot(carried(*names), branch)
        assert (boot.kernel, boot.modules, boot.torn) == (kernel, modules, torn)

    old, new = image.format(999), image.format(1029)
    release, fitting = "6.17.0-1029-nvidia", open_580.format(1029)
    unnumbered = f"linux-modules-nvidia-open-{release}"
    each_row(
        {
            "numbers as numbers": ([old, new, fitting], 580, release, fitting, False),
            "another kernel's": ([old, new, open_580.format(999)], 580, release, "", True),
            "a later branch's": ([new, fitting], 570, release, "", True),
            "an earlier branch's": ([new, fitting], 590, release, "", True),
            "any branch": ([new, fitting], None, release, fitting, False),
            "590 without its number": ([new, unnumbered], 590, release, unnumbered, False),
            "no branch of 580 is without": ([new, unnumbered], 580, release, "", True),
            "GPUDirect Storage is no driver": (
                [new, f"linux-modules-nvidia-fs-{release}"],
                580,
                release,
                "",
                True,
            ),
            "the closed driver knows no GB10": (
                [new, f"linux-modules-nvidia-580-{release}"],
                580,
                release,
                "",
                True,
            ),
            "64k is a kernel of its own": ([new, f"{new}-64k", fitting], 580, f"{release}-64k", "", True),
            "generic and unsigned": (
                [new, fitting, "linux-image-unsigned-7.0.0-12-generic"],
                580,
                "7.0.0-12-generic",
                "",
                True,
            ),
            "meta packages and debug symbols boot nothing": (
                ["linux-image-nvidia-hwe-24.04", "linux-image-7.0.0-12-generic-dbgsym", new, fitting],
                580,
                release,
                fitting,
                False,
            ),
            "no kernel": ([fitting], 580, "", "", False),
        },
        holds,
    )
    assert not driver.next_boot(carried(new, "nvidia-dkms-580-open"), 580).torn


def test_a_kernel_that_grubs_menu_pins_boots_next_and_only_that_one_is_judged() -> None:
    old, new = "linux-image-6.17.0-1008-nvidia", "linux-image-7.0.0-1019-nvidia"
    fits_old = "linux-modules-nvidia-580-open-6.17.0-1008-nvidia"
    fits_new = "linux-modules-nvidia-580-open-7.0.0-1019-nvidia"

    def holds(names: tuple[str, ...], menu: Boot | None, kernel: str, torn: bool) -> None:
        found = replace(carried(*names, "nvidia-driver-580-open"), grub=menu)
        boot = driver.next_boot(found, 580)
        assert (boot.kernel, boot.torn) == (kernel, torn)
        expected = f"kernel {kernel} boots next, and no nvidia.ko of driver 580 fits it"
        with pytest.raises(Refusal, match=expected) if torn else nullcontext():
            hold.judge(found, 580)

    pin = Boot("6.17.0-1008-nvidia", "Ubuntu, with Linux 6.17.0-1008-nvidia")
    each_row(
        {
            "pinned, and only the newest has none": ((old, new, fits_old), pin, "6.17.0-1008-nvidia", False),
            "pinned to the one that has none": ((old, new, fits_new), pin, "6.17.0-1008-nvidia", True),
            "not told": ((old, new, fits_old), Boot("", "its menu has no entry"), "", False),
            "built here": ((old, new, fits_old), Boot("6.18.1"), "", False),
            "no menu": ((old, new, fits_old), None, "7.0.0-1019-nvidia", True),
        },
        holds,
    )


def test_the_look_at_the_packages_reads_grubs_menu_too() -> None:
    rows = ["grub", "/boot/grub/grub.cfg", "grub menuentry x {", "grub linux /boot/vmlinuz-1.0", "grub }"]
    rows += ["grub-whole", "simulated 0"]
    assert driver.parse(iter(rows)).grub == Boot("1.0", "x") and driver.parse(["simulated 0"]).grub is None


def test_the_branch_is_told_by_what_carries_the_driver() -> None:
    both = packages([("libnvidia-compute", "1:590.48.01-1"), ("nvidia-driver-580-open", "580.173.02-0ubuntu1")])
    assert driver.versions(both) == ["580.173.02", "590.48.01"]
    each_row(
        [
            (both, 590),
            (driver.parse(DGX_OS), branches.BRANCH),
            (carried("nvidia-driver-580-open"), 580),
            (carried("linux-modules-nvidia-575-open-6.17.0-1029-nvidia"), 575),
            (carried("nvidia-settings", "linux-modules-nvidia-fs-6.17.0-1029-nvidia"), None),
            (carried("linux-modules-nvidia-open-7.0.0-1019-nvidia"), None),
        ],
        lambda found, branch: _is(driver.branch(found), branch),
    )


def _is(found: object, expected: object) -> None:
    assert found == expected


def test_the_modules_of_a_branch_have_its_number_up_to_589() -> None:
    assert driver.modules_package("7.0", 589) == "linux-modules-nvidia-589-open-7.0"
    assert driver.modules_package("7.0", 590) == "linux-modules-nvidia-open-7.0"
    assert driver.next_boot(carried("linux-image-7.0", "linux-modules-nvidia-open-7.0"), 589).modules == ""


def test_the_modules_that_do_not_fit_are_named() -> None:
    image, others = "linux-image-7.0", ("linux-modules-nvidia-570-open-7.0", "linux-modules-nvidia-580-open-6.9")
    assert driver.next_boot(carried(image, *others), 580).others == others
    assert driver.next_boot(carried(image, "linux-modules-nvidia-580-open-7.0"), 580).others == ()
    torn = packages([(name, "580.1-1") for name in (image, "nvidia-driver-580-open", *others)])
    with pytest.raises(Refusal, match=f"of driver 580 fits it; {', '.join(others)} fits others"):
        hold.judge(torn, 580)
    with pytest.raises(Refusal, match=r"of driver 580 fits it\. Nothing"):
        hold.judge(Packages(torn.rows[:2], {}), 580)


def test_tools_ahead_of_the_driver_are_named_and_nothing_else() -> None:
    found = packages(
        [
            ("nvidia-settings", "610.57-1"),
            ("nvidia-modprobe", "610.57-1"),
            ("nvidia-persistenced", "580.1-1"),
            ("nvidia-driver-open", "610.57-1"),
            ("curl", "8.5-1"),
        ]
    )
    assert driver.tools_ahead(found, 580) == ["nvidia-modprobe 610.57-1", "nvidia-settings 610.57-1"]


def test_the_package_that_a_branch_is_installed_by() -> None:
    def holds(names: str, version: str | None) -> None:
        assert driver.branch_version(packages([(name, f"{name}'s") for name in names.split()]), 580) == version

    open_, closed = "nvidia-driver-580-open", "nvidia-driver-580"
    each_row(
        [
            (open_, f"{open_}'s"),
            (closed, f"{closed}'s"),
            (f"{closed} {open_}", f"{open_}'s"),
            ("nvidia-driver-590-open nvidia-driver-580-server", None),
        ],
        holds,
    )
