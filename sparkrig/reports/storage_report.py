"""What `sparkrig storage` prints for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkrig.reports.storage import Disk, Kind, Removal, Used
from sparkrig.serving.storage import Bar, Checkpoint, Docker, Room, Standing, Stored
from sparkrig.value import Unread


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint on a disk, as sparkrig.serving.storage.Checkpoint.

    bytes: that it takes; frees: those that its removal gives, both None where they were not counted to the end;
    user: whose Hugging Face cache it lies in, empty below the setting `weights`; needed_by: empty where nothing
    declared needs it.
    """

    name: str
    path: str
    standing: Standing
    bytes: int | None
    frees: int | None
    revision: str
    user: str
    bar: Bar
    needed_by: list[str]
    used: Used


@dataclass(frozen=True)
class StoredImage:
    """An image of docker's.

    names: its tags and digests, none for a dangling one; bytes: as docker reports it; created: in ISO 8601, or
    empty; layers: how many it has; shared_layers: those of them that other images have too.
    """

    id: str
    names: tuple[str, ...]
    bytes: int
    created: str
    layers: int
    shared_layers: int
    needed_by: list[str]
    used: Used


@dataclass(frozen=True)
class Cache:
    """A cache of the server. bytes: None where it was not counted to the end."""

    path: str
    bytes: int | None


@dataclass(frozen=True)
class Host:
    """What lies on one host.

    weights: the folder of the checkpoints; odd: folders in it whose names are no names of checkpoints; cut: what
    there is more of than is looked at; unknown: why it is not known what is needed, empty where it is.
    """

    weights: str
    docker: Docker
    checkpoints: list[StoredCheckpoint]
    images: list[StoredImage]
    caches: list[Cache]
    file_systems: tuple[Room, ...]
    odd: int
    cut: tuple[str, ...]
    unknown: list[str]


@dataclass(frozen=True)
class Removed:
    """What came of --remove on one host.

    kind, what: a checkpoint's folder or an image's ID, None where nothing was to go; frees: bytes; outcome: in
    words.
    """

    kind: Kind | None
    what: str | None
    frees: int | None
    removed: bool
    outcome: str
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class Report:
    """What lies on the disks of each host of an inventory, before anything was removed. removal: by host."""

    schema: Literal["sparkrig.storage/1"] = "sparkrig.storage/1"
    hosts: Mapping[str, Host | Unread]
    removal: Mapping[str, Removed]
    exit_code: int


def host(found: Disk) -> Host:
    """The document of one host."""
    seen = found.seen
    return Host(
        weights=seen.given,
        docker=seen.docker,
        checkpoints=[_checkpoint(found, each) for each in seen.checkpoints],
        images=[_image(found, each) for each in seen.images],
        caches=[Cache(path, count) for path, count in seen.caches.items()],
        file_systems=seen.rooms,
        odd=seen.odd,
        cut=seen.cut,
        unknown=found.unknown,
    )


def removed(removal: Removal | None, said: str, code: int, *, done: bool) -> Removed:
    """What came of a removal. said: in words; code: the exit code."""
    if removal is None:
        return Removed(None, None, None, done, said, code)
    return Removed(removal.kind, removal.what, removal.frees, done, said, code)


def _checkpoint(found: Disk, item: Checkpoint) -> StoredCheckpoint:
    return StoredCheckpoint(
        name=item.name,
        path=item.path,
        standing=item.standing,
        bytes=item.size,
        frees=item.frees,
        revision=item.revision,
        user=item.user,
        bar=item.bar,
        needed_by=found.needs(item),
        used=found.used(item),
    )


def _image(found: Disk, item: Stored) -> StoredImage:
    return StoredImage(
        id=item.image.id,
        names=item.names,
        bytes=item.size,
        created=item.created,
        layers=len(item.layers),
        shared_layers=found.seen.shared(item),
        needed_by=found.needs(item),
        used=found.used(item),
    )
