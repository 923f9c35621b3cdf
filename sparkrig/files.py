"""The files that this toolkit owns on a host: what they should be, and what they are."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sparkrig.parsing import archive, encoding
from sparkrig.value import Value

# What a run keeps on a host of itself: what was declared, and what was measured.
DECLARED = "/var/lib/sparkrig/declared.json"
MEASURED = "/var/lib/sparkrig/bandwidth.json"
# variables for root alone, which services and containers are given
SECRETS_FILE = "/etc/sparkrig/secrets.env"


@dataclass(frozen=True)
class Beside:
    """What is there with a file of ours and is none itself, and goes where an undo removes that file.

    said: in words; step, program, words: what takes it away as the ssh user, and its name in a journal; bars: the
    program that prints what bars that. All but the words are empty where having the file read again does it.
    """

    said: str
    step: str = ""
    program: str = ""
    words: tuple[str, ...] = ()
    bars: str = ""


@dataclass(frozen=True)
class Managed:
    """A file that a deploy may write on a host.

    path; kind: `owned` is ours, `private` ours and for root alone, so that no look reads it, `shared` holds what
    others wrote, too, and is merged into, `seen` is only looked at: a service of ours makes it; reload: the shell
    command that makes a service read it again, empty where none has to; form: how it is merged in an undo;
    restarts: whether docker starts with it, so that an undo asks docker first, and restarts it; beside: what goes
    with it.
    """

    path: str
    kind: Literal["owned", "private", "shared", "seen"] = "owned"
    reload: str = ""
    form: Literal["text", "json", "variables"] = "text"
    restarts: bool = False
    beside: Beside | None = None


@dataclass(frozen=True)
class File:
    """A whole text file, owned by root.

    mode: four octal digits, or `keep` for a file that others made and whose mode is theirs.
    """

    path: str
    content: str
    mode: str = "0644"


@dataclass(frozen=True)
class Found(Value):
    """A file as it stands on a host.

    fault: why its bytes are no text, or empty; content has U+FFFD for them; at: when it was written, in seconds
    since 1970, 0 for unknown.
    """

    content: str
    mode: str
    owner: str
    fault: str = ""
    at: int = field(default=0, compare=False, repr=False)

    def matches(self, wanted: File) -> bool:
        same = (self.content, self.mode, self.owner) == (wanted.content, wanted.mode, "root:root")
        return same and not self.fault


def parse(lines: Iterable[str]) -> dict[str, Found]:
    """Read `tar BASE64`, and of a link to a file `PATH MODE OWNER:GROUP BASE64`; an absent file has none."""
    found: dict[str, Found] = {}
    for line in lines:
        fields = line.split(" ")
        if len(fields) == 2 and fields[0] == "tar":
            for each in archive.files(_decoded(fields[1], "the files of ours")):
                found[each.path] = replace(_found(each.content, each.mode, each.owner), at=each.at)
        elif len(fields) == 4:
            path, mode, owner, encoded = fields
            found[path] = _found(_decoded(encoded, path), mode, owner)
        else:
            raise ValueError(f"cannot read the row {line[:60]!r} of a file")
    return found


def _decoded(encoded: str, what: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError(f"cannot read the content of {what}: {error}") from None


def _found(content: bytes, mode: str, owner: str) -> Found:
    text = sys.intern(content.decode("utf-8", "replace"))  # kept once of a fleet
    return Found(text, mode.rjust(4, "0"), owner, encoding.fault(content))


def stale(wanted: Iterable[File], found: Mapping[str, Found]) -> list[File]:
    """What must be written: files that are missing, differ, or have another mode or owner."""
    return [file for file in wanted if file.path not in found or not found[file.path].matches(file)]
