"""What the verbs about serving print with --json, a type each (sparkrig/reports/schema.py)."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from sparkrig.reports.fields import Unread
from sparkrig.serving import storage

# storage


class Used(TypedDict):
    """When something was used last.

    now: whether it is in use; at: in seconds since 1970, by the host's clock, None where it is in use or that is
    not known; how: by what that is known, or why it is not.
    """

    now: bool
    at: int | None
    how: str


class StoredCheckpoint(TypedDict):
    """A checkpoint on a disk, as sparkrig.serving.storage.Checkpoint.

    bytes: that it takes; frees: those that its removal gives, both None where they were not counted to the end;
    user: whose Hugging Face cache it lies in, empty below the setting `weights`; needed_by: empty where nothing
    declared needs it.
    """

    name: str
    path: str
    standing: storage.Standing
    bytes: int | None
    frees: int | None
    revision: str
    user: str
    bar: storage.Bar
    needed_by: list[str]
    used: Used


class StoredImage(TypedDict):
    """An image of docker's.

    names: its tags and digests, none for a dangling one; bytes: as docker reports it; created: in ISO 8601, or
    empty; layers: how many it has; shared_layers: those of them that other images have too.
    """

    id: str
    names: list[str]
    bytes: int
    created: str
    layers: int
    shared_layers: int
    needed_by: list[str]
    used: Used


class Cache(TypedDict):
    """A cache of the server. bytes: None where it was not counted to the end."""

    path: str
    bytes: int | None


class FileSystem(TypedDict):
    """A file system: where it is mounted, its size, and what is free."""

    path: str
    bytes: int
    free: int


class Stored(TypedDict):
    """What lies on one host.

    weights: the folder of the checkpoints; odd: folders in it whose names are no names of checkpoints; cut: what
    there is more of than is looked at; unknown: why it is not known what is needed, empty where it is.
    """

    weights: str
    docker: storage.Docker
    checkpoints: list[StoredCheckpoint]
    images: list[StoredImage]
    caches: list[Cache]
    file_systems: list[FileSystem]
    odd: int
    cut: list[str]
    unknown: list[str]


class Removed(TypedDict):
    """What came of --remove on one host.

    kind, what: a checkpoint's folder or an image's ID, None where nothing was to go; frees: bytes; outcome: in
    words.
    """

    kind: Literal["checkpoint", "image"] | None
    what: str | None
    frees: int | None
    removed: bool
    outcome: str
    exit_code: int


class Storage(TypedDict):
    """What lies on the disks of each host of an inventory, before anything was removed. removal: by host."""

    schema: Literal["sparkrig.storage/1"]
    hosts: dict[str, Stored | Unread]
    removal: dict[str, Removed]
    exit_code: int
