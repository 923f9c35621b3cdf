"""The files of a set of tables, as a folder has them, an archive (.tar.gz, .zip), or an https address of one.

Nothing is unpacked to a disk: a file that is no table, wherever its name leads, is never written.
"""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import struct
import tarfile
import urllib.error
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from sparkrig.cure import quoted, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.serving.io import catalogue_files, https, vllm_flags
from sparkrig.text import reason

# bounds of our own; the whole repository has 3.5 MB packed, 12 MB unpacked, 1,400 files, the tables 0.5 MB
_PACKED = 33_554_432
_UNPACKED = 134_217_728
_MEMBERS = 20_000
_TABLE = 4_194_304
_TABLES = 1_000
_WHOLE_S = 300.0  # for a download
_LENGTH_DIGITS = 20  # of a length that is one; Python reads no number of 5,000
_REDIRECTS = range(300, 400)
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OverflowError, struct.error)
_TORN = (*_BROKEN, EOFError, RuntimeError, ValueError, OSError)
_OF_VLLM = [PurePosixPath(file) for file in (vllm_flags.FLAGS, vllm_flags.IMAGES)]


@dataclass(frozen=True)
class _Member:
    """path: with its folders; plain: whether it is a file, and no link or device; open: to read its content."""

    path: str
    plain: bool
    open: Callable[[], IO[bytes] | None]


def read(source: str) -> Mapping[str, bytes]:
    """The tables by their paths below models/, `lint/memory.yaml`. Raises Refusal."""
    if "://" in source:
        members = _unpacked(_fetched(source), source)
    elif Path(source).is_dir():
        members = _of_folder(Path(source))
    else:
        members = _unpacked(_of_file(Path(source)), source)
    tables = {name: member for name, member in _tables(members, source) if _is_table(name)}
    if len(tables) > _TABLES:
        raise Refusal(f"{source} has {len(tables)} tables, at most {_TABLES} expected", _another())
    content: dict[str, bytes] = {}
    left = _UNPACKED  # a zip packs the same bytes a thousand to one
    for name, member in tables.items():
        content[name] = _content(member, f"{name} of {source}")
        left -= len(content[name])
        if left < 0:
            raise _too_large(source)
    return content


def _is_table(name: str) -> bool:
    """Whether an update takes it: models, sources, lint, vLLM's flags and images. The rest goes with the code."""
    path = PurePosixPath(name)
    if len(path.parts) == 1:
        return path.suffix == ".yaml" and (
            name == catalogue_files.SOURCES or name not in catalogue_files.NO_MODELS
        )
    return path in _OF_VLLM or (path.parent == PurePosixPath("lint") and path.suffix == ".yaml")


def _content(member: _Member, name: str) -> bytes:
    if not member.plain:
        raise Refusal(f"{name} is a link or a device, a plain file expected", _another())
    try:
        with member.open() or io.BytesIO() as stream:
            content = stream.read(_TABLE + 1)
    except _TORN:
        raise Refusal(f"{name} cannot be read: it is torn", _another()) from None
    if len(content) > _TABLE:
        raise Refusal(f"{name} is larger than {_TABLE:,} bytes", _another())
    return content


def _tables(members: Iterator[_Member], source: str) -> Iterator[tuple[str, _Member]]:
    """What lies in the folder of the tables, and below, by its path there."""
    found = {_inside(member.path, source): member for member in members}
    roots = [path.parent for path in found if path.name == catalogue_files.SOURCES]
    if not roots:
        raise Refusal(f"{source} has no models/{catalogue_files.SOURCES}, so it has no tables", _another())
    root = min(roots, key=lambda path: len(path.parts))
    for path, member in found.items():
        if path.is_relative_to(root) and path != root:
            yield str(path.relative_to(root)), member


def _inside(name: str, source: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
        raise Refusal(f"{source} has a file named {quoted(name)}: a plain path expected", _another())
    return path


def _another() -> str:
    return "take another SOURCE, or tell whoever made it; the tables of before are in use"


# --- a folder


def _of_folder(folder: Path) -> Iterator[_Member]:
    """Its files, two levels deep; of a project or a repository those of its models/."""
    root = folder / "models" if (folder / "models" / catalogue_files.SOURCES).exists() else folder
    for file in sorted([*root.glob("*.yaml"), *root.glob("*/*.yaml")]):
        whole = file.is_file() and not file.is_symlink() and not file.parent.is_symlink()
        yield _Member(file.relative_to(root).as_posix(), whole, partial(_opened, file))


def _opened(file: Path) -> IO[bytes]:
    return file.open("rb")


# --- an archive


def _of_file(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise Refusal(f"{file} is no folder and no file", f"ls -l {quoted_path(file.parent)}")
        with _opened(file) as stream:
            return stream.read(_PACKED + 1)
    except OSError as error:
        what = f"{file} cannot be read: {reason(error)}"
        raise Refusal(what, f"ls -l {quoted_path(file.parent)}") from None


def _unpacked(packed: bytes, source: str) -> Iterator[_Member]:
    if len(packed) > _PACKED:
        raise Refusal(f"{source} is larger than {_PACKED:,} bytes", _another())
    kinds = {b"\x1f\x8b": _of_tar, b"PK": _of_zip}
    kind = kinds.get(packed[:2])
    if kind is None:
        raise Refusal(f"{source} is no archive: .tar.gz or .zip expected", _another())
    try:
        for at, member in enumerate(kind(packed)):
            if at == _MEMBERS:
                raise Refusal(f"{source} has more than {_MEMBERS:,} files", _another())
            yield member
    except _TooLarge:
        raise _too_large(source) from None
    except _TORN:
        raise Refusal(f"{source} is torn: it cannot be unpacked to its end", _another()) from None


def _too_large(source: str) -> Refusal:
    return Refusal(f"{source} is larger than {_UNPACKED:,} bytes when unpacked", _another())


class _TooLarge(Exception):
    """An archive has more in it than is unpacked."""


def _of_tar(packed: bytes) -> Iterator[_Member]:
    # as a whole: gzip's checksum stands in the end, where tarfile does not look
    with gzip.open(io.BytesIO(packed)) as stream:
        content = stream.read(_UNPACKED + 1)
    if len(content) > _UNPACKED:
        raise _TooLarge
    archive = tarfile.open(fileobj=io.BytesIO(content), mode="r:")  # noqa: SIM115 - read later, and of memory
    for each in archive:
        if not each.isdir():
            yield _Member(each.name, each.isreg(), partial(archive.extractfile, each))


def _of_zip(packed: bytes) -> Iterator[_Member]:
    archive = zipfile.ZipFile(io.BytesIO(packed))
    for each in archive.infolist():
        if not each.is_dir():
            kind = stat.S_IFMT(each.external_attr >> 16)
            yield _Member(each.filename, kind in (0, stat.S_IFREG), partial(archive.open, each))


# --- an address


def _fetched(address: str) -> bytes:
    if not https.is_safe(address):
        raise Refusal(f"{address} is no https address without a login", "sparkrig models update --help")
    try:
        content, headers = https.get(address, _PACKED, _WHOLE_S)
    except urllib.error.HTTPError as error:
        with error:
            why = "leads to where it is no https" if error.code in _REDIRECTS else f"answers {error.code}"
            raise Refusal(f"{address} {why}", f"curl -I {quoted(address)}") from None
    except https.FAULTS as error:
        what = f"{address} could not be asked: {https.why(error)}"
        raise Refusal(what, "fetch the archive where there is a network; sparkrig models update FILE") from None
    length = headers.get("Content-Length") or ""
    if length.isdecimal() and len(length) <= _LENGTH_DIGITS and len(content) < min(int(length), _PACKED):
        raise Refusal(f"{address} is torn: {len(content):,} of {int(length):,} bytes came", _another())
    return content
