"""The guests' kernels: the second one, which an update installs, and the nvidia.ko that is built for each.

Both are Debian's, of one source package, so that each boots a guest: the guest's own (6.12.117+deb13-amd64), and
the one for real-time work beside it (6.12.117+deb13-rt-amd64), which GRUB lists before it.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def second(release: str) -> str:
    """The release of the second kernel, by the guest's own. ValueError where it has no such sibling."""
    version, dash, architecture = release.rpartition("-")
    if not dash or version.endswith("-rt"):
        raise ValueError(f"{release!r} is no release of a Debian kernel, such as 6.12.117+deb13-amd64")
    return f"{version}-rt-{architecture}"


def left_out() -> list[str]:
    """The folders below kernel/ of modules that no guest has a use for."""
    lines = (HERE / "no-modules").read_text().splitlines()
    return [folder for line in lines if not line.startswith("#") for folder in line.split()]


def slim(deb: Path, folder: Path) -> Path:
    """Debian's kernel as a package in `folder` without those modules, and without compression of its own.

    Less than half the size, and an emulated guest unpacks it sooner: what is in it is compressed already.
    """
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        subprocess.run(["dpkg-deb", "--raw-extract", deb, root], check=True)
        for modules in root.glob("usr/lib/modules/*/kernel"):
            for name in left_out():
                shutil.rmtree(modules / name, ignore_errors=True)  # not each suite has each
        sums = root / "DEBIAN/md5sums"
        rows = sums.read_text().splitlines(keepends=True)
        sums.write_text("".join(row for row in rows if (root / row[34:].rstrip("\n")).exists()))
        smaller = folder / deb.name
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", root, smaller], check=True)
    return smaller


def nvidia_ko(driver: str, release: str) -> bytes:
    """A stand-in of nvidia.ko that `depmod` and `modinfo` read as they read the real one; no kernel loads it.

    It is an ELF64 object with the section .modinfo, as modpost writes it, and nothing else.
    """
    fields = {
        "version": driver,
        "supported": "external",
        "license": "Dual MIT/GPL",
        "name": "nvidia",
        "vermagic": f"{release} SMP preempt mod_unload modversions ",
    }
    modinfo = b"".join(f"{key}={value}".encode() + b"\0" for key, value in fields.items())
    return elf64({".modinfo": modinfo})


def elf64(sections: dict[str, bytes]) -> bytes:
    """A relocatable ELF object for x86-64 of sections that are data, by their names (elf(5))."""
    header_size, entry_size, progbits, strtab, alloc = 64, 64, 1, 3, 2
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*sections, ".shstrtab"])
    table, body = [struct.pack("<IIQQQQIIQQ", *[0] * 10)], b""
    for name, content in [*sections.items(), (".shstrtab", names)]:
        kind, flags = (strtab, 0) if name == ".shstrtab" else (progbits, alloc)
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        offset = header_size + len(body)
        table.append(struct.pack("<IIQQQQIIQQ", at, kind, flags, 0, offset, len(content), 0, 0, 1, 0))
        body += content
    body += b"\0" * (-len(body) % 8)
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)  # 64 bit, little-endian, version 1
    relocatable, x86_64 = 1, 62
    header = identity + struct.pack(
        "<HHIQQQIHHHHHH",
        *(relocatable, x86_64, 1, 0, 0, header_size + len(body), 0),
        *(header_size, 0, 0, entry_size, len(table), len(table) - 1),
    )
    return header + body + b"".join(table)
