"""The forecast of an upgrade past the hold, by apt itself in a system of its own."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sparkrig.facts.repositories import Repositories
from sparkrig.facts.upgrade import Upgrade
from sparkrig.host import driver, upgrade
from sparkrig.host.releases import Recipe
from sparkrig.update import repositories, update_limits
from sparkrig.update.branch import Way
from tests.unit import updates
from tests.unit.resources.world import PLACES, World

INSTALLED = [
    ("nvidia-driver-580-open", "580.173.02-1", "hold"),
    ("linux-image-nvidia-hwe-24.04", "6.17.0-1029.29", "hold"),
    ("theirs", "1.0", "hold"),
    ("curl", "1.0", "install"),
    ("nvidia-settings", "610.57.04-1", "install"),
]
OFFERED = [
    ("nvidia-driver-580-open", "580.173.02-1", ""),
    ("nvidia-driver-580-open", "580.178.04-1", ""),
    ("linux-image-nvidia-hwe-24.04", "6.17.0-1032.32", "linux-image-6.17.0-1032-nvidia"),
    ("linux-image-6.17.0-1032-nvidia", "6.17.0-1032.32", ""),
    ("theirs", "2.0", ""),
    ("curl", "2.0", ""),
]
UPDATE = "apt-get -qq -o Dir::Cache=/run/cache update >/dev/null 2>&1"


def stanza(name: str, version: str, more: str) -> str:
    return (
        f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: test <t@example.org>\n"
        f"Description: test\n{more}\n"
    )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return system(tmp_path, INSTALLED, OFFERED)


def system(
    tmp_path: Path, installed: Iterable[tuple[str, str, str]], offered: Iterable[tuple[str, str, str]]
) -> World:
    """A Spark of apt's alone. installed: names, versions and what dpkg wants; offered: what each needs."""
    found = World(tmp_path)
    for place in PLACES:
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
    for folder in (
        "var/lib/apt/lists/partial",
        "run/cache/archives/partial",
        "var/cache/apt/archives/partial",
        "etc/apt/apt.conf.d",
        "var/lib/dpkg",
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    alternatives = Path("/etc/alternatives/awk")  # which /usr/bin/awk leads to
    if alternatives.is_symlink():
        found.file(str(alternatives)).symlink_to(alternatives.readlink())
    found.file("/etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    found.file("/etc/apt/apt.conf.d/00test").write_text(
        'APT::Architecture "arm64";\nAPT::Architectures {"arm64";};\nAPT::Sandbox::User "root";\n'
    )
    found.file("/etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{tmp_path}/repo ./\n")
    found.file("/var/lib/dpkg/status").write_text(
        "".join(stanza(name, version, f"Status: {want} ok installed\n") for name, version, want in installed)
    )
    rows = [
        stanza(name, version, (f"Depends: {needs}\n" if needs else "") + f"Filename: ./{name}_{version}.deb\n"
               f"Size: 1000\nSHA256: {'0' * 64}\n")
        for name, version, needs in offered
    ]  # fmt: skip
    listed = "".join(rows)
    found.file("/repo/Packages").write_text(listed)
    found.file("/repo/Release").write_text(
        f"SHA256:\n {hashlib.sha256(listed.encode()).hexdigest()} {len(listed)} Packages\n"
    )
    return found


def forecast(world: World, *released: str, limits: str = "", **more: Any) -> upgrade.Upgrade:
    rows, _ = world.look(f"{UPDATE}\n{Upgrade().command(released, limits, **more)}")
    return upgrade.parse(row for row in rows if row)


def looked(world: World) -> repositories.Repositories:
    rows, _ = world.look(f"{UPDATE}\n{Repositories().command()}")
    return repositories.parse(row for row in rows if row)


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_only_what_is_released_moves_and_the_holds_of_others_stay(world: World) -> None:
    held = forecast(world)
    assert {*held.installs} == {"curl"}
    assert {*held.kept} == {"nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04", "theirs"}
    found = forecast(world, "nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04")
    assert {name: (move.before, move.after) for name, move in found.installs.items()} == {
        "curl": ("1.0", "2.0"),
        "linux-image-6.17.0-1032-nvidia": ("", "6.17.0-1032.32"),
        "linux-image-nvidia-hwe-24.04": ("6.17.0-1029.29", "6.17.0-1032.32"),
        "nvidia-driver-580-open": ("580.173.02-1", "580.178.04-1"),
    }
    assert found.trouble == ""


def test_sources_are_told_with_what_was_fetched_of_them_and_without_a_password(world: World) -> None:
    forecast(world)  # which fetches its only source
    with world.file("/etc/apt/sources.list").open("a") as file:
        file.write(
            "deb [trusted=yes] https://me:secret@repo.download.nvidia.com/baseos/8/arm64/ noble common updates\n"
            "deb [trusted=yes] http://ports.ubuntu.com/ubuntu-ports noble-updates main\n"
            "deb cdrom:[Ubuntu 24.04 LTS _Noble_ - arm64 (20240423)]/ noble main\n"  # as an installer leaves it
            "deb [trusted=yes] file:/srv/of%20mine ./\n"
        )
    world.file("/etc/os-release").write_text("ID=ubuntu\nVERSION_CODENAME=noble\n")
    rows, _ = world.look(Repositories().command())
    found = repositories.parse(row for row in rows if row)
    assert found.codename == "noble"
    fetched = {each.uri: (each.suite, each.fetched) for each in found.sources}
    assert [each for uri, each in fetched.items() if uri.startswith(f"file:{world.root}")] == [("/", True)]
    assert fetched["cdrom://Ubuntu 24.04 LTS _Noble_ - arm64 (20240423)"] == ("noble", False)
    assert fetched["file:/srv/of mine/."] == ("/", False)
    assert fetched["https://repo.download.nvidia.com/baseos/8/arm64"] == ("noble", False)
    assert fetched["http://ports.ubuntu.com/ubuntu-ports"] == ("noble-updates", False)


@pytest.mark.parametrize(
    ("boots", "answer", "absent"),
    [
        (1, "/var/lib/shim-signed/mok/MOK.der is not enrolled", True),
        (1, "/var/lib/shim-signed/mok/MOK.der is already enrolled", False),
        (1, "EFI variables are not supported on this system", False),
        (0, "/var/lib/shim-signed/mok/MOK.der is not enrolled", False),
    ],
)
def test_what_dkms_builds_is_named_with_its_key(world: World, boots: int, answer: str, absent: bool) -> None:
    """The words are those of mokutil 0.6."""
    world.file("/var/lib/dkms/r8127/11.015.00/source").mkdir()
    world.file("/var/lib/dkms/broken/1.0/other").mkdir()
    variable = world.file("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")
    variable.write_bytes(bytes([6, 0, 0, 0, boots]))
    world.says("mokutil", answer)
    rows, _ = world.look(Repositories().command())
    found = repositories.parse(row for row in rows if row)
    assert (found.dkms, found.key_absent) == (("r8127/11.015.00",), absent)


@pytest.mark.parametrize(
    ("name", "words", "seen"),
    [
        ("do-release-upgrade", [], True),
        ("dgx-dashboard-reboot.sh", [], True),
        ("fwupdmgr", ["upgrade", "-y"], True),
        ("fwupdmgr", ["get-devices", "--json"], False),
        ("dgx-dashboard", [], False),
    ],
)
def test_a_program_that_changes_the_host_is_seen_by_its_process(
    world: World, tmp_path: Path, name: str, words: list[str], seen: bool
) -> None:
    program = tmp_path / name
    program.write_text("#!/bin/sh\nread -r end\n")
    program.chmod(0o755)
    with subprocess.Popen([program, *words], stdin=subprocess.PIPE, text=True) as process:
        while name[:15] not in Path(f"/proc/{process.pid}/comm").read_text():
            pass  # it is still what forked it
        rows, _ = world.look(Repositories().command())
        process.communicate("end\n")
    programs = repositories.parse(row for row in rows if row).others.programs
    assert [each.name for each in programs if each.pid == process.pid] == [name[:15]] * seen


def test_offers_and_kho_are_read_as_ubuntu_and_the_dashboard_write_them(world: World) -> None:
    """The dashboard's replies are those of two recorded Sparks, the offer's words those of Ubuntu's motd."""
    offer = "New release '26.04.1 LTS' available.\nRun 'do-release-upgrade' to upgrade to it.\n\n"
    world.file("/var/lib/ubuntu-release-upgrader/release-upgrade-available").write_text(offer)
    world.file("/etc/default/grub").write_text('GRUB_CMDLINE_LINUX="quiet kho=on"\n')
    line = 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX kho=off"\n# GRUB_CMDLINE_LINUX="kho=on"\n'
    world.file("/etc/default/grub.d/nvidia-spark-grub-kho.cfg").write_text(line)
    replies = {
        'ssbbs "ready" "2026-09-05T10:33:15+03:00" true true "July 2026"': "July 2026",
        'ssbbs "ready" "2026-09-05T10:33:15+03:00" true false ""': "",
        "another form": "",
    }
    for reply, offered in replies.items():
        world.says("busctl", reply)
        rows, _ = world.look(Repositories().command())
        found = repositories.parse(row for row in rows if row)
        assert (found.kho, found.others.ubuntu, found.others.dashboard) == ("off", "26.04.1 LTS", offered)


def test_what_goes_is_told_apart_by_whether_it_was_installed_by_its_own_name(tmp_path: Path) -> None:
    held = [(name, "1.0", "install") for name in ("curl", "htop", "libold")]
    found = system(tmp_path, held, [("curl", "2.0", "")])
    listed = (
        found.file("/repo/Packages")
        .read_text()
        .replace("Version: 2.0\n", "Version: 2.0\nConflicts: htop, libold\n")
    )
    found.file("/repo/Packages").write_text(listed)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    found.file("/repo/Release").write_text(f"SHA256:\n {digest} {len(listed)} Packages\n")
    found.file("/var/lib/apt/extended_states").write_text(
        "Package: libold\nArchitecture: arm64\nAuto-Installed: 1\n\n"
        "Package: htop\nArchitecture: arm64\nAuto-Installed: 0\n\n"
    )
    made = forecast(found)
    assert {*made.removes} == {"htop", "libold"}
    assert {*made.manual} == {"htop"}


def test_a_name_is_released_as_a_whole(world: World) -> None:
    """`nvidia-driver` is another package than `nvidia-driver-580-open`, and a dot is no sign for any character."""
    assert {*forecast(world, "nvidia-driver", "linux-image-nvidia-hwe-24x04").installs} == {"curl"}


def test_a_limit_keeps_newer_versions_away(world: World) -> None:
    limit = "Package: nvidia-driver-580-open\nPin: version 580.178.04-1\nPin-Priority: -1"
    assert {*forecast(world, "nvidia-driver-580-open", limits=limit).installs} == {"curl"}


def test_the_preferences_of_the_host_hold_as_well(world: World) -> None:
    world.file("/etc/apt/preferences").write_text("Package: curl\nPin: version 2.0\nPin-Priority: -1\n")
    found = forecast(world, limits="Package: theirs\nPin: version 2.0\nPin-Priority: -1")
    assert (found.idle, found.trouble) == (True, "")


def test_a_limit_comes_before_a_preference_of_the_host_for_the_same_version(world: World) -> None:
    """Of two records for one version apt takes the first, whatever its priority."""
    theirs = "Package: nvidia-driver-580-open\nPin: version 580.178.04-1\nPin-Priority: 1001\n"
    world.file("/etc/apt/preferences").write_text(theirs)
    limit = "Package: nvidia-driver-580-open\nPin: version 580.178.04-1\nPin-Priority: -1"
    assert {*forecast(world, "nvidia-driver-580-open", limits=limit).installs} == {"curl"}
    assert "nvidia-driver-580-open" in forecast(world, "nvidia-driver-580-open").installs


def test_what_a_deploy_would_hold_is_shown_as_held(tmp_path: Path) -> None:
    """A Spark before its first deploy holds nothing, and `--only os` is to leave driver and kernel alone."""
    loose = system(tmp_path, [(name, version, "install") for name, version, _ in INSTALLED], OFFERED)
    assert "nvidia-driver-580-open" in forecast(loose).installs
    held = ["nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04"]
    found = forecast(loose, held=held)
    assert {*found.installs} == {"curl", "theirs"} and {*found.kept} == {*held}


def test_the_driver_alone_of_a_spark_that_is_ahead_of_a_release_stays(world: World) -> None:
    """What is installed is never pinned away, else apt would have no candidate of it at all."""
    found = looked(world)
    packages = driver.parse(
        [*(f"dpkg hold installed {name} {version}" for name, version, _ in INSTALLED), "simulated 0"]
    )
    july = Recipe("OTA2607", "July 2026", "2026-07-15", "6.17.0-1022-nvidia", "580.159.03")
    limits = update_limits.limits(packages, found, july, Way(580, 580))
    ours = driver.hold_set(packages, 580)
    made = forecast(world, *ours, limits=limits, alone=["nvidia-driver-580-open"])
    assert (made.trouble, made.installs) == ("", {})
    assert "version 580.173.02-1" not in limits and "version 580.178.04-1" in limits


def built(release: str, version: str, needs: str) -> list[tuple[str, str, str]]:
    """One build of the modules of a kernel, and the meta package of it."""
    for_one = f"nvidia-kernel-common-580 (>= {needs}), nvidia-kernel-common-580 (<= {needs}-1)"
    name = f"linux-modules-nvidia-580-open-{release}-nvidia"
    meta = "linux-modules-nvidia-580-open-nvidia-hwe-24.04"
    return [(name, version, for_one), (meta, version, f"{name} (= {version}), {for_one}")]


def release_of(driver_version: str, kernel: str) -> list[tuple[str, str, str]]:
    """What a repository has of driver and kernel; its modules come besides."""
    full, abi = f"{driver_version}-0ubuntu0.24.04.1", kernel.rpartition(".")[0]
    return [
        ("nvidia-driver-580-open", full, f"nvidia-kernel-common-580 (= {full})"),
        ("nvidia-kernel-common-580", full, ""),
        ("linux-image-nvidia-hwe-24.04", kernel, f"linux-image-{abi}-nvidia (= {kernel})"),
        (f"linux-image-{abi}-nvidia", kernel, ""),
    ]


APRIL = [*release_of("580.142", "6.17.0-1014.14"), *built("6.17.0-1014", "6.17.0-1014.14+1", "580.142")]
# of one kernel several builds, a later one for each later driver, as on ports.ubuntu.com in 2026
AUTUMN = [
    *APRIL,
    *release_of("580.159.03", "6.17.0-1022.22"),
    *release_of("580.173.02", "6.17.0-1029.29"),
    *built("6.17.0-1014", "6.17.0-1014.14+2", "580.159.03"),
    *built("6.17.0-1014", "6.17.0-1014.14+3", "580.173.02"),
    *built("6.17.0-1022", "6.17.0-1022.22", "580.159.03"),
    *built("6.17.0-1022", "6.17.0-1022.22+1", "580.173.02"),
    *built("6.17.0-1029", "6.17.0-1029.29", "580.173.02"),
]


def test_a_spark_of_april_reaches_july_with_the_modules_that_are_built_for_its_driver(tmp_path: Path) -> None:
    rows = [(name, version, "hold") for name, version, _ in APRIL]
    april = system(tmp_path, rows, AUTUMN)
    with april.file("/var/lib/dpkg/status").open("w") as status:
        status.write("".join(stanza(name, version, f"Status: hold ok installed\n{_needs(needs)}")
                             for name, version, needs in APRIL))  # fmt: skip
    known = looked(april)
    module = "linux-modules-nvidia-580-open-6.17.0-1022-nvidia"
    assert known.builds[module]["6.17.0-1022.22"] == ((">=", "580.159.03"), ("<=", "580.159.03-1"))
    packages = driver.parse(
        [*(f"dpkg hold installed {name} {version}" for name, version, _ in rows), "simulated 0"]
    )
    july = Recipe("OTA2607", "July 2026", "2026-07-15", "6.17.0-1022-nvidia", "580.159.03")
    limits = update_limits.limits(packages, known, july, Way(580, 580))
    assert "6.17.0-1022.22+1" in limits and "6.17.0-1014.14+2" not in limits
    assert "6.17.0-1014.14+1\n" not in limits, "what is installed is built for the driver of now"
    assert "linux-modules-nvidia-580-open-6.17.0-1029-nvidia" not in limits, "its meta package is pinned"
    made = updates.judged(packages, known, forecast(april, *driver.hold_set(packages, 580), limits=limits), 580)
    assert (made.driver.after, made.kernel.after) == ("580.159.03", "6.17.0-1022-nvidia")
    assert (made.boot.modules, made.amiss, made.kept) == (module, "", ())
    assert update_limits.out_of_reach(made, packages, known, july, 580) == []


def _needs(needs: str) -> str:
    return f"Depends: {needs}\n" if needs else ""


@pytest.mark.parametrize("look", [Upgrade().command(["nvidia-driver-580-open"]), Repositories().command()])
def test_nothing_of_the_host_changes(world: World, look: str) -> None:
    world.look(UPDATE)
    before = files(world.root)
    rows, _ = world.look(look)
    assert "simulated 0" in rows or "held theirs" in rows
    assert {path: text for path, text in files(world.root).items() if not path.endswith(("/first", "/last"))} == {
        path: text for path, text in before.items() if not path.endswith(("/first", "/last"))
    }


def test_what_apt_was_shown_goes_with_a_look_that_is_broken_off(world: World) -> None:
    world.tool("apt-get", "sleep 1")
    look = shlex.quote(Upgrade().command())
    rows, _ = world.look(
        f"touch /var/lib/apt/lists/x_Release; sh -c {look} >/dev/null & sleep 0.5; ls /run | grep -c ^sparkrig-\n"
        "kill -TERM $!; wait $!; echo ended $?; ls /run | grep ^sparkrig-"
    )
    assert rows == ["1", "ended 143"]


def test_a_forecast_ends_before_the_look_is_cut_off(world: World) -> None:
    world.tool("apt-get", "exec sleep 60")
    world.file("/var/lib/apt/lists/x_Release").write_text("")
    began = time.monotonic()
    rows, _ = world.look(Upgrade().command(within=5))
    assert time.monotonic() - began < 5
    assert upgrade.parse(row for row in rows if row).trouble == "it took too long"


def test_what_apt_cannot_do_is_its_trouble(world: World) -> None:
    with world.file("/var/lib/dpkg/status").open("a") as status:
        status.write(stanza("torn", "1.0", "Status: install ok installed\nDepends: nowhere\n"))
    found = forecast(world)
    assert "Unmet dependencies" in found.trouble
    assert found.installs == {}


def test_without_lists_nothing_is_foreseen(world: World) -> None:
    rows, _ = world.look(Upgrade().command())
    assert upgrade.parse(row for row in rows if row).trouble == "apt has no package lists"


def test_what_can_be_had_and_what_the_kernels_have(world: World) -> None:
    release = "6.17.0-1029-nvidia"
    world.file(f"/boot/vmlinuz-{release}").write_text("kernel")
    world.file(f"/boot/initrd.img-{release}").write_text("initrd")
    world.file("/boot/vmlinuz-6.17.0-1032-nvidia").write_text("kernel")
    world.file("/boot/initrd.img-6.17.0-1032-nvidia").write_text("")
    world.file("/run/reboot-required").write_text("*** System restart required ***\n")
    world.file("/run/reboot-required.pkgs").write_text("libc6\n")
    found = looked(world)
    assert found.versions["nvidia-driver-580-open"] == ("580.173.02-1", "580.178.04-1")
    assert found.has("nvidia-driver-580-open", "580.173.02-1")
    assert not found.has("linux-image-nvidia-hwe-24.04", "6.17.0-1029.29")
    assert set(found.held) == {"nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04", "theirs"}
    assert [(each.release, each.initrd, each.module) for each in found.kernels] == [
        (release, True, False),
        ("6.17.0-1032-nvidia", False, False),
    ]
    assert found.reboot == ("libc6",)
