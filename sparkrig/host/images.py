"""Docker's images, and which of two hosts' are the same: by content, since an ID is valid in one store only.

Docker keeps images in one of two stores: fresh installations of 29 in containerd's, older ones in a graphdriver's
[@docker-containerd]. The first calls an image by the digest of its manifest or index, the second by that of its
configuration [@moby-48401]. So one image has two IDs, and `docker save | docker load` may give it a third: the
manifest of one platform in place of the index that it came by [@moby-44833]. What a registry calls it is not in
what `docker save` writes. Its configuration crosses unchanged, and of that `docker image inspect` shows the same
in both stores: the layers, by digests of their uncompressed content (diff IDs [@oci-config]), and what a
container starts with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# What stays the same, after the ID. {{.ID}}, since {{.Id}} is no field of the client's own: it then takes the raw
# answer, of which docker 29 leaves out what is empty, and gives up on that (seen with the client of 28.2.2).
HELD = (
    "{{.ID}} {{range .RootFS.Layers}}{{.}} {{end}}{{.Os}}/{{.Architecture}}"
    "{{with .Config}} user {{json .User}} in {{json .WorkingDir}}"
    "{{range .Entrypoint}} entrypoint {{json .}}{{end}}{{range .Cmd}} cmd {{json .}}{{end}}"
    "{{range .Env}} env {{json .}}{{end}}{{end}}"
)


@dataclass(frozen=True)
class Image:
    """An image of docker's.

    id: `sha256:...`, as the store of its host calls it; names: its tags and digests; content: SHA-256 of what
    stays the same in either store, empty where it is not known; size: bytes, as that store counts them, 0 where
    that is not known.
    """

    id: str
    architecture: str = ""
    names: tuple[str, ...] = ()
    content: str = ""
    size: int = 0

    @property
    def short(self) -> str:
        """Its ID as docker lists it."""
        return self.id.removeprefix("sha256:")[:12]

    def same(self, other: Image) -> bool:
        """Whether it has the same content as the other image, which may be of another host."""
        return self.id == other.id or self.content == other.content != ""


def one(images: Iterable[Image]) -> bool:
    """Whether all of them are the same image; True for no images."""
    first, *rest = [*images] or [Image("")]
    return all(first.same(image) for image in rest)


def contents(rows: Iterable[str]) -> dict[str, str]:
    """The content of each image by its ID, from the rows of `content_of`; other rows are left out."""
    found = (row.strip().partition(" ")[::2] for row in rows)
    return {id: digest for id, digest in found if re.fullmatch("[0-9a-f]{64}", digest)}


def known(id: str, rows: Iterable[str]) -> Image | None:
    """The image of that ID with its content from the rows of `content_of`; None for no ID."""
    return Image(id, content=contents(rows).get(id, "")) if id else None


def find(images: Iterable[Image], wanted: str) -> Image | None:
    """The image of that name, digest or ID."""
    named = _whole_name(wanted)
    return next((image for image in images if wanted == image.id or named in map(_whole_name, image.names)), None)


def _whole_name(name: str) -> str:
    """A name as docker completes it: a tag, but not beside a digest, and no registry where it is docker's own."""
    short = re.sub(r":[^:/@]+@", "@", re.sub(r"^(docker\.io/)?(library/)?", "", name))
    return short if "@" in short or ":" in short.rpartition("/")[2] else f"{short}:latest"


def is_id(name: str) -> bool:
    """Whether an image is named by its content, so that no registry can be asked for it."""
    return name.startswith("sha256:")
