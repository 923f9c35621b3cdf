"""The forecast of an upgrade past the hold, by apt itself in a system of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sparkrig.facts.repositories import Repositories
from sparkrig.facts.upgrade import Upgrade
from sparkrig.host import repositories, upgrade
from tests.unit.look.world import PLACES, World

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
    found = World(tmp_path)
    found.tools.mkdir()
    for place in PLACES:
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
    for folder in (
        "var/lib/apt/lists/partial",
        "run/cache/archives/partial",
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
        "".join(stanza(name, version, f"Status: {want} ok installed\n") for name, version, want in INSTALLED)
    )
    rows = [
        stanza(name, version, (f"Depends: {needs}\n" if needs else "") + f"Filename: ./{name}_{version}.deb\n"
               f"Size: 1000\nSHA256: {'0' * 64}\n")
        for name, version, needs in OFFERED
    ]  # fmt: skip
    listed = "".join(rows)
    found.file("/repo/Packages").write_text(listed)
    found.file("/repo/Release").write_text(
        f"SHA256:\n {hashlib.sha256(listed.encode()).hexdigest()} {len(listed)} Packages\n"
    )
    return found


def forecast(world: World, *released: str, limits: str = "") -> upgrade.Upgrade:
    rows, _ = world.look(f"{UPDATE}\n{Upgrade().command(released, limits)}")
    return upgrade.parse(row for row in rows if row)


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


def test_nothing_of_the_host_changes(world: World) -> None:
    world.look(UPDATE)
    before = files(world.root)
    rows, _ = world.look(f"{Upgrade().command(['nvidia-driver-580-open'])}\n{Repositories().command()}")
    assert "simulated 0" in rows and "held theirs" in rows
    assert {path: text for path, text in files(world.root).items() if not path.endswith(("/first", "/last"))} == {
        path: text for path, text in before.items() if not path.endswith(("/first", "/last"))
    }


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
    rows, _ = world.look(f"{UPDATE}\n{Repositories().command()}")
    found = repositories.parse(row for row in rows if row)
    assert found.versions["nvidia-driver-580-open"] == ("580.173.02-1", "580.178.04-1")
    assert found.has("nvidia-driver-580-open", "580.173.02-1")
    assert not found.has("linux-image-nvidia-hwe-24.04", "6.17.0-1029.29")
    assert set(found.held) == {"nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04", "theirs"}
    assert [(each.release, each.initrd, each.module) for each in found.kernels] == [
        (release, True, False),
        ("6.17.0-1032-nvidia", False, False),
    ]
    assert found.reboot == ("libc6",)
