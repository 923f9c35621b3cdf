"""The disk image of every guest: built once, and again only when something that goes into it changes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shlex
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import host, nodes
from lab.commands import run
from lab.guest.build import kernels
from lab.paths import home, images

GUEST = Path(__file__).parent / "guest"
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")
DISK_MIB = 6144
BUILD_TIMEOUT_S = 1800
FILES = ("base.qcow2", "vmlinuz", "toolkit.json", "switch.initrd")


@dataclass(frozen=True)
class Source:
    """Where the guests' packages come from."""

    suite: str
    mirror: str


def key(source: Source, stage: bytes) -> str:
    """Names an image by everything that goes into it; `stage` is our own share, as a tar archive."""
    recipe = json.dumps([mmdebstrap(source, Path("work")), DISK_MIB, script()])
    return hashlib.sha256(recipe.encode() + stage).hexdigest()[:16]


def packages() -> list[str]:
    """The Debian packages of a guest."""
    lines = (GUEST / "packages").read_text().splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]


def unused_modules() -> list[str]:
    """Patterns of dpkg for the kernel modules that no guest has a use for."""
    return [f"/usr/lib/modules/*/kernel/{folder}/*" for folder in kernels.left_out()]


def stage(authorized_key: str) -> bytes:
    """Our files for the new root, as a tar archive that depends on nothing but their content."""
    files = {path: text.encode() for path, text in nodes.link_files().items()}
    files["lab/authorized_keys"] = authorized_key.encode()
    executable = set()
    for top, prefix in ((GUEST / "root", ""), (GUEST / "build", "lab/guest/build/")):
        for path in sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = prefix + str(path.relative_to(top))
                files[name] = path.read_bytes()
                executable |= {name} if os.access(path, os.X_OK) else set()
    return archive(files, executable)


def archive(files: dict[str, bytes], executable: set[str]) -> bytes:
    """A tar archive of `files`, owned by root and dated at the epoch."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"./{name}")
            member.size, member.mode = len(content), 0o755 if name in executable else 0o644
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def complete(folder: Path) -> bool:
    """Whether `folder` holds a finished image."""
    return all((folder / name).is_file() for name in FILES)


def build(source: Source, staged: bytes, folder: Path) -> None:
    """Builds the image into `folder`, which appears only when finished. LabError if it cannot be built."""
    host.require_build_host()
    images().mkdir(parents=True, exist_ok=True)
    for disk in {images(), scratch(images())}:
        host.require_room(disk, host.BUILD_GIB)
    for leftover in images().glob(".build-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=images()) as temporary:
        work = Path(temporary) / "image"
        work.mkdir()
        (work / "stage.tar").write_bytes(staged)
        bootstrap(source, work)
        make_disk(work)
        for used in ("root.tar", "stage.tar"):
            (work / used).unlink()
        work.rename(folder)


def scratch(folder: Path) -> Path:
    """Where the unpacked tree may lie: subordinate user ids have no way into a home directory."""
    return folder if os.geteuid() == 0 else Path("/var/tmp")  # noqa: S108


def bootstrap(source: Source, work: Path) -> None:
    """Debian and our files, as `root.tar`; kernel and facts beside it."""
    named = " ".join(f"{node}={name}" for node, name in nodes.FACTORY_NAMES.items())
    run(
        mmdebstrap(source, work),
        attempt="sparkrig lab up --mirror URL",
        timeout=BUILD_TIMEOUT_S,
        log=images() / "build.log",
        env={**os.environ, "TMPDIR": str(scratch(work)), "LAB_NODES": named},
    )
    out = work / "out"
    for produced in out.iterdir():
        produced.rename(work / produced.name)
    out.rmdir()


def mmdebstrap(source: Source, work: Path) -> list[str]:
    """The command that makes the root file system."""
    inside = shlex.quote(str(work))
    hooks = [
        f"--essential-hook=tar-in {inside}/stage.tar /",
        '--customize-hook=chroot "$1" sh /lab/guest/build/customize.sh',
        f"--customize-hook=copy-out /lab/out {inside}",
        '--customize-hook=rm -r "$1/lab"',
    ]
    return [
        "mmdebstrap",
        # Also for root, so that its mounts end with it and never show on this machine.
        "--mode=unshare",
        "--variant=minbase",
        f"--keyring={host.KEYRING}",
        f"--include={','.join(packages())}",
        "--dpkgopt=force-unsafe-io",
        "--skip=cleanup/apt/lists",  # the guest's own: without them apt foresees no upgrade
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in [*LEFT_OUT, *unused_modules()]),
        *hooks,
        source.suite,
        str(work / "root.tar"),
        source.mirror,
    ]


def make_disk(work: Path) -> None:
    """Turns `root.tar` into `base.qcow2`."""
    # Only root may give files to other users outside a user namespace; stdin and stdout cross its border.
    enter = [] if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper"]
    command = shlex.join([*enter, "sh", "-c", script(), "make-disk", str(DISK_MIB)])
    files = f"<{shlex.quote(str(work / 'root.tar'))} >{shlex.quote(str(work / 'base.qcow2'))}"
    run(
        ["sh", "-c", f"{command} {files}"],
        attempt="sparkrig lab up",
        timeout=BUILD_TIMEOUT_S,
        log=images() / "disk.log",
        env={**os.environ, "TMPDIR": str(scratch(work))},
    )


def script() -> str:
    """Shell that reads a root file system as tar and writes a qcow2 disk that boots; its argument: MiB."""
    return (GUEST / "make-disk.sh").read_text()


def discard_others(keep: Path) -> None:
    """Removes every image but `keep`."""
    for folder in images().iterdir():
        if folder.is_dir() and folder != keep:
            shutil.rmtree(folder)


def publish_facts(image: Path) -> None:
    """Puts what an inventory reads of the image where it looks for it."""
    shutil.copy(image / "toolkit.json", home() / "toolkit.json")
