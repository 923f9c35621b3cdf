"""What gives access: tokens, passwords, and keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator

from sparkrig.redaction import places
from sparkrig.redaction.book import Book
from sparkrig.redaction.forms import is_telling
from sparkrig.redaction.secret_names import names_a_secret
from sparkrig.redaction.sheet import INNER, MARK, Sheet, decoded, unquoted
from sparkrig.redaction.words import anywhere

# --- tokens


def learn(book: Book, text: str) -> None:
    """Note each secret that is no word, so that it is found where no name stands before it."""
    for start, end in places.spans(text):
        if is_telling(text[start:end]):
            book.add_secret(text[start:end])


def tokens(book: Book, sheet: Sheet) -> None:
    """Twice: what the hosts and other texts tell, wherever it stands, then what stands where a secret does."""

    def replaced(value: str) -> str | None:
        return None if re.fullmatch(f"{MARK}+", value) else f"token-{book.number('token', value)}"

    sheet.known(book.words("token", book.secrets), replaced, anywhere)
    sheet.put_at(places.spans(sheet.text), replaced)


# a variable whose name may show that its value is a secret, whatever the value looks like
_VARIABLE = re.compile(r"(?m)^[-+ ]?[ \t]*(?:export[ \t]+)?(\w+)=(\S.*)$")


def masked(text: str) -> str:
    """The text with *** in place of each value that looks like a secret; all else stays as it is."""

    def mask(found: re.Match[str]) -> str:
        if not names_a_secret(found[1]):
            return found[0]
        opened, value, closed = unquoted(found[2])
        return f"{found[0][: found.start(2) - found.start()]}{opened}***{closed}" if value else found[0]

    text = _VARIABLE.sub(mask, text)
    kept: list[str] = []
    place = 0
    for start, end in places.spans(text):
        kept += [text[place:start], "***"]
        place = end
    return _PEM.sub("***", "".join([*kept, text[place:]]))


# --- keys

_PEM = re.compile(
    r"(?s)-----BEGIN [A-Za-z0-9 ]{1,40}-----(?:(?!-----BEGIN).){0,20000}?-----END [A-Za-z0-9 ]{1,40}-----"
    r"|-----BEGIN [A-Za-z0-9 ]{1,40}-----(?:(?:\s|\\n){1,9}[A-Za-z0-9+/=]{2,})*"
)
_LINE_OF_A_KEY = re.compile(r"(?:^|[ \t\n])[A-Za-z0-9+/=]{1,76}(?:\s|\\n)*$")
_PEM_END = re.compile(r"-----END [A-Za-z0-9 ]{1,40}-----")
_PUTTY = re.compile(r"(?:Public|Private)-Lines: \d+((?:\s+[A-Za-z0-9+/=]{4,})+)(?=\s|$)")
_PUBLIC = re.compile(r"AAAA[A-Z][0-9A-Za-z][A-Za-z0-9+/]{10,}={0,3}")
_FINGERPRINT = re.compile(r"(?:(?<=SHA256:)|(?<=SHA512:))[A-Za-z0-9+/]{20,}={0,2}")
_MD5 = re.compile(
    r"[0-9A-Fa-f](?:(?<=(?i:MD5):.)|(?<![0-9A-Fa-f:].))[0-9A-Fa-f]:(?:[0-9A-Fa-f]{2}:){14}[0-9A-Fa-f]{2}"
    r"(?![0-9A-Fa-f:])"
)
_HASHED_HOST = re.compile(r"\|1\|[A-Za-z0-9+/]{20,}={0,2}\|[A-Za-z0-9+/]{20,}={0,2}")
_BLOB = re.compile(
    r"(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{43})(?=[^\s]{0,200}?[a-z])(?=[^\s]{0,200}?[A-Z])(?=[^\s]{0,200}?\d)"
    r"[A-Za-z0-9+/]{43,}={0,2}(?![A-Za-z0-9+/=])"
)


def keys(book: Book, sheet: Sheet) -> None:
    digests = {digest: blob for blob in book.known.keys for digest in _digests(blob)}
    if digests:
        either = "|".join(re.escape(each) for each in digests)
        sheet.sub(re.compile(either), lambda found: f"key-{book.number('key', digests[found[0]])}")
    sheet.sub(_PEM, lambda found: f"key-{book.number('key', found[0])}")
    sheet.sub(_PUTTY, lambda found: f" key-{book.number('key', found[1])}", 1)
    sheet.put_at(_ends_of_keys(sheet), lambda written: f"key-{book.number('key', written)}")
    for pattern in (_FINGERPRINT, _MD5, _HASHED_HOST):
        sheet.sub(pattern, lambda found: f"key-{book.number('key', found[0])}")
    # OpenSSH's form, which our own parser reads (sparkrig.resources.trust)
    sheet.sub(_PUBLIC, lambda found: f"AAAApseudonym{book.number('key', found[0].rstrip('=')):07d}")


def _ends_of_keys(sheet: Sheet) -> Iterator[tuple[int, int]]:
    """Where a key stands whose beginning was cut off."""
    least = 0
    for end in _PEM_END.finditer(sheet.text):
        start = end.start()
        while line := _LINE_OF_A_KEY.search(sheet.text[max(least, start - 100) : start]):
            start -= len(line[0])
        least = end.end()
        yield start, least


def blobs(book: Book, sheet: Sheet) -> None:
    def replace(found: re.Match[str]) -> str | None:
        named = found[0].startswith("AAAApseudonym") or re.fullmatch("[0-9a-fA-F]+", found[0])
        if named or found[0].count("/") > 6 or decoded(found[0]) is not None:
            return None
        return f"key-{book.number('key', found[0])}"

    def random(found: re.Match[str]) -> str | None:
        return (
            f"key-{book.number('key', found[0])}" if _is_random(found[0]) and decoded(found[0]) is None else None
        )

    sheet.sub(_BLOB, replace)
    sheet.sub(_WORD, random)
    sheet.sub(_COMMENT, lambda found: f"key-{book.number('key', found[1], 'comment')}", 1)


_WORD = re.compile(r"(?<![\w./+-])[A-Za-z0-9_-]{24,200}(?![\w./+=-])")
_NETDEV = re.compile(r"(?:en|wl|ib|roce)[pP]\d")
_KINDS_OF_LETTERS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
# what stands behind a public key: a name that its owner gave
_COMMENT = re.compile(
    rf"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\S{{1,60}}|sk-\S{{1,60}}) {MARK} ([^\s@\"'{INNER}](?:[^\n\"@]*"
    rf"[^\s@\"])?)(?=[ \t]*(?:\"|$|\n))"
)


def _is_random(word: str) -> bool:
    """Whether small and large letters and digits take turns too often for a word: a token, an id."""
    if re.fullmatch("[0-9a-fA-F_-]+", word) or _NETDEV.search(word):
        return False
    runs = _KINDS_OF_LETTERS.findall(word)
    bare = re.sub("[_-]", "", word)
    return len(runs) > len(bare) / 3 and any(map(str.isdigit, bare)) and len(bare) > len(word) * 0.85


def _digests(blob: str) -> Iterable[str]:
    """How a public key is shown: SHA256 in base64 and hex, MD5 with colons."""
    try:
        raw = base64.b64decode(blob)
    except binascii.Error:
        return
    sha = hashlib.sha256(raw)
    yield base64.b64encode(sha.digest()).decode().rstrip("=")
    yield sha.hexdigest()
    yield hashlib.md5(raw, usedforsecurity=False).hexdigest()
