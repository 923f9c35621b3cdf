"""Builds the guest's signed apt repositories; runs once inside the new root, with its tools.

    python3 -m lab.guest.build.repositories KERNEL_RELEASE SECOND_KERNEL.deb OTHERS SRV OUT

DGX OS goes to SRV/dgx-os (its factory packages also to SRV/dgx-os/factory), what comes after it to SRV/ota, with a
folder for each state of the same repository, and NVIDIA's container toolkit to SRV/libnvidia-container, laid out
like the real one; OUT/toolkit.json says how to reach and trust it. DGX OS and the toolkit have a key each, made
here and thrown away after signing. SRV/dgx-os/debian has Debian's own packages of the folder OTHERS, for which a
Spark has Ubuntu's repository.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.guest.build import catalogue, kernels

PROGRAMS = Path(__file__).parent / "programs"


def build(package: catalogue.Package, folder: Path) -> Path:
    """Makes the .deb of `package` in `folder`."""
    version = package.version.partition("-")[0]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        root.chmod(0o755)
        write(root / "DEBIAN/control", package.control)
        for path, content in package.files.items():
            write(root / path, content)
        for path, name in package.programs.items():
            text = (PROGRAMS / name).read_text()
            text = text.replace("@VERSION@", version).replace("@KERNEL@", package.kernel)
            write(root / path, text, mode=0o755)
        folder.mkdir(parents=True, exist_ok=True)
        deb = folder / f"{package.name}_{package.version}_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", root, deb], check=True)
    return deb


def write(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Writes a file with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def index_entry(deb: Path, base: Path) -> str:
    """The stanza of one package in `Packages`; apt looks for its file below `base`."""
    data = deb.read_bytes()
    shown = subprocess.run(["dpkg-deb", "--field", deb], check=True, capture_output=True)
    return (
        f"{shown.stdout.decode()}Filename: ./{deb.relative_to(base)}\n"
        f"Size: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    )


def release(packages: bytes, label: str, suite: str = "") -> str:
    """The `Release` file of a flat repository; suite: the name that apt's source has for it, where it has one."""
    fields = {
        "Origin": "NVIDIA",
        "Label": label,
        **({"Suite": suite} if suite else {}),
        "Date": datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S UTC"),
        "Architectures": "all amd64 arm64",
        "SHA256": f"\n {hashlib.sha256(packages).hexdigest()} {len(packages)} Packages",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


@dataclass(frozen=True)
class Signer:
    """Who signs repositories of that label, with the keyring where its key is for as long as that takes."""

    label: str
    keyring: str

    @property
    def gpg(self) -> list[str | Path]:
        """The beginning of each of its commands."""
        return ["gpg", "--homedir", self.keyring, "--batch", "--quiet", "--passphrase", ""]

    def publish(self, folder: Path, base: Path, debs: Iterable[Path]) -> None:
        """Makes `folder` a flat repository of packages that lie below `base`."""
        packages_file = "\n".join(index_entry(deb, base) for deb in debs).encode()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "Packages").write_bytes(packages_file)
        suite = f"{folder.relative_to(base)}/" if folder != base else ""
        write(folder / "Release", release(packages_file, self.label, suite))
        inline: list[str | Path] = ["--clearsign", "--output", folder / "InRelease", folder / "Release"]
        subprocess.run([*self.gpg, *inline], check=True)

    def export(self, public_key: Path) -> str:
        """Writes the public half of its key, and returns the fingerprint."""
        armored = subprocess.run([*self.gpg, "--armor", "--export"], check=True, capture_output=True)
        write(public_key, armored.stdout.decode())
        listing = subprocess.run([*self.gpg, "--with-colons", "--list-keys"], check=True, capture_output=True)
        rows = (line.split(":") for line in listing.stdout.decode().splitlines())
        return next(row[9] for row in rows if row[0] == "fpr")


@contextmanager
def signer(label: str) -> Iterator[Signer]:
    """A signer with a new key, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as keyring:
        found = Signer(label, keyring)
        owner = f"{label} stand-in <lab@localhost>"
        subprocess.run([*found.gpg, "--quick-gen-key", owner, "ed25519", "sign", "never"], check=True)
        try:
            yield found
        finally:
            # The agent would otherwise outlive the build and keep the new root busy.
            subprocess.run(["gpgconf", "--homedir", keyring, "--kill", "all"], check=True)


def dgx_os(own: str, second_kernel: Path, others: Path, srv: Path, public_key: Path) -> None:
    """The repository of DGX OS in all its states; a package that is in several of them is there once.

    Each state has the factory's packages too, as the real repositories keep their earlier versions for months.
    """
    factory = [build(package, srv / "dgx-os/factory") for package in catalogue.factory(own)]
    upgrades = [build(package, srv / "dgx-os/upgrades") for package in catalogue.upgrades()]
    second = kernels.second(own)
    debian = shutil.copytree(others, srv / "dgx-os/debian")
    factory += sorted(debian.glob("*.deb"))
    built: dict[tuple[str, str], Path] = {}
    with signer("DGX OS") as who:
        who.publish(srv / "dgx-os", srv / "dgx-os", [*factory, *upgrades])
        for state, packages in catalogue.offers(own, second).items():
            for package in packages:
                named = (package.name, package.version)
                built[named] = built.get(named) or build(package, srv / "ota/pool")
            debs = [*factory, *(built[package.name, package.version] for package in packages)]
            needed = any(f"linux-image-{second}" in package.depends for package in packages)
            who.publish(srv / "ota" / state, srv, [*debs, second_kernel] if needed else debs)
        who.export(public_key)


def toolkit(site: Path) -> dict[str, str]:
    """The repository of the container toolkit, and how to reach and trust it."""
    flat, key = site / "stable/deb/amd64", site / "gpgkey"
    with signer("NVIDIA Container Toolkit") as who:
        who.publish(flat, flat, [build(package, flat) for package in catalogue.toolkit()])
        fingerprint = who.export(key)
    return {"url": f"file:{flat}", "key_url": f"file://{key}", "fingerprint": fingerprint}


def main(own: str, debian_kernel: Path, others: Path, srv: Path, out: Path) -> None:
    """All repositories."""
    (srv / "ota/pool").mkdir(parents=True)
    second_kernel = kernels.slim(debian_kernel, srv / "ota/pool")
    dgx_os(own, second_kernel, others, srv, Path("/usr/share/keyrings/dgx-os.asc"))
    write(out / "toolkit.json", json.dumps(toolkit(srv / "libnvidia-container")))


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:6]))
