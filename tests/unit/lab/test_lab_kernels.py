"""The second kernel of a guest, and the nvidia.ko of both."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from lab.guest.build import kernels
from lab.image import unused_modules
from sparkrig.host import driver

OWN, SECOND = "6.12.117+deb13-amd64", "6.12.117+deb13-rt-amd64"


def test_the_second_kernel_is_the_newer_one_for_grub_and_for_us() -> None:
    assert kernels.second(OWN) == SECOND
    assert max(OWN, SECOND, key=driver.newer) == SECOND
    sorted_by_grub = subprocess.run(
        ["sort", "-V"], input=f"{SECOND}\n{OWN}\n", capture_output=True, text=True, check=True
    )
    assert sorted_by_grub.stdout.splitlines()[-1] == SECOND


@pytest.mark.parametrize("release", ["6.12.117", SECOND])
def test_a_release_without_a_second_kernel_is_refused(release: str) -> None:
    with pytest.raises(ValueError, match="is no release of a Debian kernel"):
        kernels.second(release)


def sections(elf: bytes) -> dict[str, bytes]:
    """The sections of an ELF64 file by their names, read as elf(5) has it."""
    magic, bits, order = elf[:4], elf[4], elf[5]
    assert (magic, bits, order) == (b"\x7fELF", 2, 1)
    (at,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQ", elf, at + each * size) for each in range(count)]
    table = elf[rows[names][4] :][: rows[names][5]]
    return {table[row[0] :].split(b"\0")[0].decode(): elf[row[4] :][: row[5]] for row in rows}


def test_nvidia_ko_names_its_driver_and_its_kernel_as_modinfo_reads_them() -> None:
    """A guest's own modinfo printed both of it (2026-11-26)."""
    found = sections(kernels.nvidia_ko("580.178.04", SECOND))
    fields = dict(field.split("=", 1) for field in found[".modinfo"].decode().rstrip("\0").split("\0"))
    assert fields["version"] == "580.178.04"
    assert fields["vermagic"].split()[0] == SECOND
    assert {"", ".modinfo", ".shstrtab"} == set(found)


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    """A kernel's package as Debian builds it, with one module that no guest has a use for."""
    assert shutil.which("dpkg-deb"), "this test makes Debian packages, and there is no dpkg-deb on this machine"
    root = tmp_path / "root"
    modules = f"usr/lib/modules/{SECOND}/kernel"
    for path in (
        f"{modules}/drivers/gpu/drm/radeon.ko.xz",
        f"{modules}/drivers/virtio/virtio_blk.ko.xz",
        "boot/vmlinuz",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    sums = subprocess.run(
        ["sh", "-c", "find boot usr -type f | xargs md5sum"], cwd=root, capture_output=True, check=True
    )
    (root / "DEBIAN").mkdir(mode=0o755)
    (root / "DEBIAN/md5sums").write_bytes(sums.stdout)
    fields = {"Package": f"linux-image-{SECOND}", "Version": "6.12.117-1", "Architecture": "amd64"}
    fields |= {"Maintainer": "a <a@b>", "Description": "a kernel"}
    (root / "DEBIAN/control").write_text("".join(f"{key}: {value}\n" for key, value in fields.items()))
    deb = tmp_path / "kernel.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, deb], check=True, capture_output=True)
    return deb


def test_the_second_kernel_comes_without_modules_that_no_guest_uses(debian: Path, tmp_path: Path) -> None:
    (tmp_path / "slim").mkdir()
    slim = kernels.slim(debian, tmp_path / "slim")
    shown = subprocess.run(["dpkg-deb", "--contents", slim], capture_output=True, text=True, check=True).stdout
    assert "virtio_blk" in shown and "boot/vmlinuz" in shown
    assert "radeon" not in shown
    sums = subprocess.run(
        ["dpkg-deb", "--info", slim, "md5sums"], capture_output=True, text=True, check=True
    ).stdout
    assert [row.split()[1].rpartition("/")[2] for row in sums.splitlines()] == ["vmlinuz", "virtio_blk.ko.xz"]


def test_the_guests_own_kernel_comes_without_them_too() -> None:
    assert "/usr/lib/modules/*/kernel/drivers/gpu/*" in unused_modules()
    # rdma_rxe makes the RDMA devices, and needs these
    needed = (
        "drivers/infiniband/sw",
        "drivers/infiniband/core",
        "net/ipv4",
        "drivers/net/virtio_net.ko.xz",
        "fs/ext4",
    )
    assert not [path for path in needed if any(path.startswith(folder) for folder in kernels.left_out())]
