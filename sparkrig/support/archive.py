"""The archive that an owner sends: what is in it, how it is made of texts without identifiers, and read again.

It is a tar.gz of plain texts and JSON documents. A reader does not know who wrote it: where a member has another
name, kind or size than ours have, all of it is refused before anything is kept.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import re
import tarfile
import textwrap
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

from sparkrig.parsing import bounds, rows
from sparkrig.redaction import places
from sparkrig.redaction.book import HOME_DOMAINS, Known
from sparkrig.redaction.redactor import KINDS, Count, Redactor
from sparkrig.refusal import Refusal
from sparkrig.value import Value

PART_BYTES = 262_144  # of each part that a host prints; a list of all packages takes a third of it
FILE_BYTES = 2_097_152  # of each file; the one look of a host takes 100 kB
WHOLE_BYTES = 67_108_864
ALL_CHARS = 1_000_000  # of all texts together, for to take the identifiers out of them takes 10 to 15 s
_MEMBERS = 2000
MANIFEST, CONTENTS = "manifest.json", "contents.txt"
# The names that files of an archive have. One of another name may be run where it is unpacked, as pytest runs
# conftest.py.
_NAMES = re.compile(
    r"(?:manifest|versions|settings|doctor|drift)\.json|(?:contents|doctor\.error|drift\.error)\.txt"
    r"|machine-\d{1,4}/(?:looks|tools|journals)/[a-z][a-z0-9-]{0,60}\.txt"
)
_STAYS = (
    "These stay: private addresses, the inventory's path as it was typed, a user's name that is an ordinary word, "
    "versions, and the names of models, containers and images."
)
_COLUMNS = 79
Schema = Literal["sparkrig.support/1"]
SCHEMA: Schema = "sparkrig.support/1"


@dataclass(frozen=True)
class Part(Value):
    """What one part of the evidence printed. status: its exit code; cut: whether it had more to print."""

    text: str
    status: int = 0
    cut: bool = False


def parts(lines: Iterable[str]) -> dict[str, Part]:
    """Read `part NAME BASE64 EXIT` rows. Others are left out: the last one may be torn, where time was up."""
    found: dict[str, Part] = {}
    for line in lines:
        words = line.split(" ")
        if len(words) != 4 or words[0] != "part" or not re.fullmatch(r"\d{1,3}", words[3]):
            continue
        try:
            raw = base64.b64decode(words[2], validate=True)
        except binascii.Error:
            continue
        found[words[1]] = _part(raw, int(words[3]))
    return found


def _part(raw: bytes, status: int) -> Part:
    text = raw[:PART_BYTES].decode(errors="replace")
    cut = len(raw) > PART_BYTES
    return Part(_whole_lines(text) if cut else text, status, cut)


def _whole_lines(text: str) -> str:
    """Without the last line, which is cut: half of a secret is not known as one."""
    return text[: text.rfind("\n") + 1]


@dataclass(frozen=True)
class Identifiers(Value):
    """What a host reports of itself that must not be in an archive, and what it could not report.

    rows: (word, value), a word for each kind; unread: sentences. A value is shown nowhere, so none is in `repr`.
    """

    rows: tuple[tuple[str, str], ...] = field(repr=False)
    unread: tuple[str, ...] = ()

    def of(self, word: str) -> tuple[str, ...]:
        return tuple(value for each, value in self.rows if each == word)


_NEEDED = {"machine": "its name", "mac": "its MAC addresses", "id": "its machine-id", "user": "its users"}


def identifiers(lines: Iterable[str]) -> Identifiers:
    """Read the part of that name. Raises ValueError where it is not whole, or lacks what every host has."""
    part = parts(lines).get("identifiers")
    told = rows.of(part.text) if part else []
    if part is None or part.cut or part.status or told[-1:] != ["end"]:
        raise ValueError("its own identifiers could not be read to the end")
    given = [(word, value.strip()) for word, _, value in (row.partition(" ") for row in told)]
    known = tuple((word, value) for word, value in given if word not in ("unread", "end") and value)
    for word, what in _NEEDED.items():
        if word not in {each for each, _ in known}:
            raise ValueError(f"{what} could not be read")
    return Identifiers(known, tuple(value for word, value in given if word == "unread"))


def known(
    found: Mapping[str, Identifiers],
    named: Mapping[str, Sequence[str]],
    users: Iterable[str],
    secrets: Iterable[str] = (),
) -> Known:
    """What is known of all hosts.

    named: for each host, its names in the inventory, the one that it has there first; users: of the inventory and
    of this machine; secrets: values that this machine has for the hosts.
    """

    def every(word: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for each in found.values() for value in each.of(word)))

    given = [text[start:end] for text in every("given") for start, end in places.spans(text)]
    names = [(*own, *(found[host].of("machine") if host in found else ())) for host, own in named.items()]
    domains = [each.partition(".")[2] for own in names for each in own if not re.fullmatch(r"[\d.:]+", each)]
    return Known(
        machines=tuple(names),
        domains=tuple(each for each in (*every("domain"), *domains) if each not in HOME_DOMAINS),
        neighbours=every("neighbour"),
        users=tuple(dict.fromkeys((*every("user"), *users))),
        people=tuple(each for each in every("person") if " " in each),
        macs=every("mac"),
        guids=every("guid"),
        ids=every("id"),
        serials=every("serial"),
        ssids=every("ssid"),
        keys=every("key"),
        secrets=tuple(dict.fromkeys((*secrets, *every("secret"), *given))),
    )


@dataclass(frozen=True)
class File(Value):
    """One file of an archive: name, text, and whether it was cut."""

    name: str
    text: str
    cut: bool = False

    @property
    def size(self) -> int:
        return len(self.text.encode())


@dataclass(frozen=True)
class Archive(Value):
    """All of it.

    hosts: their pseudonyms; replaced: by kind; missing: what should be
    in it and is not, in sentences; notes: what is good to know of it.
    """

    version: str
    created: str
    hosts: tuple[str, ...]
    files: tuple[File, ...]
    replaced: Mapping[str, Count]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Member:
    """One file of an archive. bytes: its size; cut: whether there was more."""

    name: str
    bytes: int
    cut: bool


@dataclass(frozen=True, kw_only=True)
class Support:
    """An archive for support.

    archive: where it lies; created: UTC, ISO 8601; hosts: their pseudonyms; replaced: by kind; missing, notes:
    sentences.
    """

    schema: Schema = SCHEMA
    archive: str
    version: str
    created: str
    hosts: tuple[str, ...]
    files: list[Member]
    replaced: Mapping[str, Count]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def document(made: Archive, at: str) -> Support:
    """What a program reads of an archive. at: where it lies."""
    files = [Member(each.name, each.size, each.cut) for each in made.files]
    return Support(archive=at, **{**vars(made), "files": files})


def archive(given: Iterable[File], redactor: Redactor, about: Archive) -> Archive:
    """An archive of texts as hosts printed them. about: all but files and counts, its sentences not yet redacted.

    A file in which a known identifier is still left is left out, and so is one that has too many.
    """
    raw = _newest(list(given))
    for each in raw:
        redactor.learn(each.text)
    files, lacks = [], list(about.missing)
    for each in raw:
        name = each.name if _NAMES.fullmatch(each.name) else redactor.redact(each.name).lower()
        try:
            new = _bounded(File(name, redactor.redact(each.text), each.cut))
        except ValueError:
            lacks.append(f"{name} is left out: it has more identifiers than can be told apart")
            continue
        if left := redactor.leaks(new.text):
            lacks.append(f"{name} is left out: something of the kind {left[0]} is still in it")
        else:
            files.append(new)
    return replace(
        about,
        files=tuple(files),
        missing=tuple(map(redactor.redact, lacks)),
        notes=tuple(map(redactor.redact, about.notes)),
        replaced=redactor.counts,
    )


def _newest(files: list[File]) -> list[File]:
    """The files, of which the longest are cut to their last lines where all are too long together."""
    left = ALL_CHARS
    for rest, size in enumerate(sorted(len(each.text) for each in files)):
        most = left // (len(files) - rest)
        if size > most:
            return [_last_lines(each, most) for each in files]
        left -= size
    return files


def _last_lines(file: File, most: int) -> File:
    if len(file.text) <= most:
        return file
    _, _, text = file.text[-most:].partition("\n")  # half of a secret is not known as one
    return File(file.name, text, cut=True)


def _bounded(file: File) -> File:
    raw = file.text.encode()
    if len(raw) <= FILE_BYTES:
        return file
    return File(file.name, _whole_lines(raw[:FILE_BYTES].decode(errors="ignore")), cut=True)


def contents(made: Archive, columns: int = _COLUMNS) -> str:
    """The list that a person reads: what is in it, what was replaced, what is missing."""
    wrapped = partial(_wrapped, columns)
    meanings = {kind.name: kind for kind in KINDS}
    about_it = f"sparkrig {made.version}, {made.created}, {len(made.files)} files of {len(made.hosts)} hosts"
    lines = [*wrapped(about_it, ""), "", *_sizes(made, columns), ""]
    lines += wrapped("Taken out, and replaced by pseudonyms (the same value has the same one on every host):", "")
    for kind, count in made.replaced.items():
        about = meanings.get(kind)
        example = f", such as {about.pseudonym}" if about and count.times else ""
        said = f"{count.times} times, {count.different} different{example}"
        lines += wrapped(f"{about.meaning if about else kind}: {said}")
    for title, sentences in (("Missing", made.missing), ("Good to know", (_STAYS, *made.notes))):
        if sentences:
            lines += ["", f"{title}:", *(line for each in sentences for line in wrapped(each))]
    return "\n".join(lines) + "\n"


def _sizes(made: Archive, columns: int) -> Iterator[str]:
    """Each file with its size, which is below its name where a line has no room for both."""
    sizes = {each.name: f"{each.size:>9,} bytes{', cut' if each.cut else ''}" for each in made.files}
    width = max(map(len, sizes), default=0)
    fit = all(2 + width + 2 + len(size) <= columns for size in sizes.values())
    for name, size in sizes.items():
        yield from [f"  {name:{width}}  {size}"] if fit else [f"  {name}", f"    {size.strip()}"]


def _wrapped(columns: int, sentence: str, indent: str = "  ") -> list[str]:
    """A sentence in lines of so many columns; what has no blank in it stays whole."""
    return textwrap.wrap(
        sentence,
        columns,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def pack(made: Archive) -> bytes:
    """The archive as a tar.gz: no names, times or owners of this machine are in its headers."""
    printed = asdict(document(made, ""))
    del printed["archive"]  # it does not know where it will lie
    manifest = json.dumps(printed, indent=2) + "\n"
    files = [File(CONTENTS, contents(made)), File(MANIFEST, manifest), *made.files]
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for each in files:
            about = tarfile.TarInfo(f"sparkrig-support/{each.name}")
            about.size, about.mode, about.mtime = each.size, 0o600, 0
            tar.addfile(about, io.BytesIO(each.text.encode()))
    return packed.getvalue()


def unpack(content: bytes, what: str) -> dict[str, str]:
    """The texts of an archive by name. what: its name in a Refusal, which is raised where it is none."""
    raw = _inflated(content, what)
    found: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for member in tar:
                name = member.name.removeprefix("sparkrig-support/")
                if not member.isreg() or not _NAMES.fullmatch(name) or name in found:
                    raise _refused(what, f"it holds {member.name[:80]!r}, which none of ours does")
                if member.size > FILE_BYTES or len(found) >= _MEMBERS:
                    raise _refused(what, f"{name} is larger than any file of it, or there are too many")
                stream = tar.extractfile(member)
                text = stream.read(FILE_BYTES + 1) if stream else b""
                if len(text) != member.size:
                    raise _refused(what, f"{name} is not whole")
                found[name] = text.decode()
    except (tarfile.TarError, UnicodeDecodeError, EOFError, ValueError) as error:
        raise _refused(what, f"it cannot be read ({type(error).__name__})") from None
    if MANIFEST not in found:
        raise _refused(what, f"it has no {MANIFEST}")
    return found


def manifest(files: Mapping[str, str], what: str) -> dict[str, Any]:
    """The document of an archive that was unpacked. Raises Refusal where it is none of ours."""
    try:
        told = bounds.loads(files[MANIFEST])
    except ValueError:
        told = None
    if not isinstance(told, dict) or told.get("schema") != SCHEMA:
        raise _refused(what, f"its {MANIFEST} is none of {SCHEMA}")
    return told


def _inflated(content: bytes, what: str) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    try:
        raw = stream.decompress(content, WHOLE_BYTES)
    except zlib.error:
        raise _refused(what, "it is no tar.gz") from None
    if stream.unconsumed_tail or not stream.eof:
        raise _refused(what, "it is larger than an archive can be, or cut off")
    return raw


def _refused(what: str, why: str) -> Refusal:
    return Refusal(
        f"{what} is no archive of sparkrig support: {why}", "sparkrig support INVENTORY, which makes one"
    )
