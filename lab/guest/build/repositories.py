"""Builds the guest's two signed apt repositories; runs once inside the new root, with its tools.

    python3 -m lab.guest.build.repositories KERNEL_RELEASE SRV OUT

DGX OS goes to SRV/dgx-os (its factory packages also to SRV/dgx-os/factory) and NVIDIA's container toolkit
to SRV/libnvidia-container, laid out like the real one; OUT/toolkit.json says how to reach and trust it. Each
repository has a key of its own, made here and thrown away after signing.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from lab.guest.build import catalogue

PROGRAMS = Path(__file__).parent / "programs"


def build(package: catalogue.Package, folder: Path) -> Path:
    """Makes the .deb of `package` in `folder`."""
    version = package.version.partition("-")[0]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        root.chmod(0o755)
        write(root / "DEBIAN/control", package.control)
        for path, text in package.files.items():
            write(root / path, text)
        for path, name in package.programs.items():
            write(root / path, (PROGRAMS / name).read_text().replace("@VERSION@", version), mode=0o755)
        deb = folder / f"{package.name}_{package.version}_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", root, deb], check=True)
    return deb


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Writes `text` with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def index_entry(deb: Path, repository: Path, control: str) -> str:
    """The stanza of one package in `Packages`."""
    data = deb.read_bytes()
    return (
        f"{control}Filename: ./{deb.relative_to(repository)}\n"
        f"Size: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    )


def release(packages: bytes, label: str) -> str:
    """The `Release` file of a flat repository."""
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S UTC")
    return (
        f"Origin: NVIDIA\nLabel: {label}\nDate: {now}\nArchitectures: all amd64 arm64\n"
        f"SHA256:\n {hashlib.sha256(packages).hexdigest()} {len(packages)} Packages\n"
    )


def sign(repository: Path, owner: str, public_key: Path) -> str:
    """Signs Release with a new key, publishes its public half, and returns its fingerprint."""
    with tempfile.TemporaryDirectory() as keyring:
        gpg: list[str | Path] = ["gpg", "--homedir", keyring, "--batch", "--quiet", "--passphrase", ""]
        subprocess.run([*gpg, "--quick-gen-key", owner, "ed25519", "sign", "never"], check=True)
        listing = subprocess.run([*gpg, "--with-colons", "--list-keys"], check=True, capture_output=True)
        armored = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True)
        inline: list[str | Path] = ["--clearsign", "--output", repository / "InRelease", repository / "Release"]
        subprocess.run([*gpg, *inline], check=True)
        # The agent would otherwise outlive the build and keep the new root busy.
        subprocess.run(["gpgconf", "--homedir", keyring, "--kill", "all"], check=True)
    write(public_key, armored.stdout.decode())
    rows = (line.split(":") for line in listing.stdout.decode().splitlines())
    return next(row[9] for row in rows if row[0] == "fpr")


def publish(repository: Path, label: str, groups: dict[str, list[catalogue.Package]], key: Path) -> str:
    """Builds and signs one flat repository; `groups` maps a subfolder to its packages."""
    entries = []
    for group, packages in groups.items():
        folder = repository / group
        folder.mkdir(parents=True)
        entries += [index_entry(build(package, folder), repository, package.control) for package in packages]
    packages_file = "\n".join(entries).encode()
    (repository / "Packages").write_bytes(packages_file)
    write(repository / "Release", release(packages_file, label))
    return sign(repository, f"{label} stand-in <lab@localhost>", key)


def main(kernel_release: str, srv: Path, out: Path) -> None:
    """Both repositories."""
    system = {"factory": catalogue.factory(kernel_release), "upgrades": catalogue.upgrades()}
    publish(srv / "dgx-os", "DGX OS", system, Path("/usr/share/keyrings/dgx-os.asc"))
    site = srv / "libnvidia-container"
    flat, key = site / "stable/deb/amd64", site / "gpgkey"
    fingerprint = publish(flat, "NVIDIA Container Toolkit", {".": catalogue.toolkit()}, key)
    facts = {"url": f"file:{flat}", "key_url": f"file://{key}", "fingerprint": fingerprint}
    write(out / "toolkit.json", json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
