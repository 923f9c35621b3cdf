"""Takes what identifies an owner or a machine out of a text, and puts pseudonyms in its place.

A pseudonym is a number in the order of appearance, so nothing of the value is in it. Within one Redactor the same
value has the same pseudonym, whatever its spelling; and where a parser needs a form, the pseudonym has that form:
a MAC becomes a MAC, the EUI-64 made from it the EUI-64 made from its pseudonym, a UUID a UUID.

What is known of the hosts (`Known`) is replaced wherever it stands. What is not known is found by its form, or by
the label in front of it. A name that is an ordinary word (a host called `spark`, the user `nvidia`) would take
words out of every line, so it is replaced only where it stands as a name: before or behind an @, in a home folder,
behind a label. The word itself shows nothing of an owner.

`sheet` knows how values are written in a text, `book` what is known and learnt and the pseudonyms, and each other
module how some kinds look.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sparkrig.redaction import addresses, credentials, hardware, ids, names, servers, wifi
from sparkrig.redaction.book import Book, Known
from sparkrig.redaction.sheet import BASE64, STRING, Sheet, clean, decoded, decoded_words, from_json, squashed
from sparkrig.redaction.words import Words, anywhere


@dataclass(frozen=True)
class Count:
    """How often values of a kind were replaced, and how many different ones."""

    times: int
    different: int


@dataclass(frozen=True)
class Kind:
    """One kind of identifier.

    meaning: what is taken out, for a list; pseudonym: what stands there instead; find: replaces it in a sheet;
    first: the same, before words of base64 are decoded.
    """

    name: str
    meaning: str
    pseudonym: str
    find: Callable[[Book, Sheet], None] | None = field(default=None, repr=False)
    first: Callable[[Book, Sheet], None] | None = field(default=None, repr=False)


KINDS = (
    Kind("token", "tokens, passwords, and who logs in by a URL", "token-1", first=credentials.tokens),
    Kind("key", "ssh host keys, fingerprints, private keys", "key-1", credentials.blobs, first=credentials.keys),
    Kind(
        "uuid", "machine-id, product_uuid, boot ids, UUIDs of profiles and GPUs", "a UUID of a number", ids.uuids
    ),
    Kind("serial", "serial numbers", "serial-1", ids.serials),
    Kind("mac", "MAC addresses, and GUIDs and IPv6 addresses made from them", "02:00:00:00:00:01", hardware.macs),
    Kind("address", "public addresses", "198.18.0.1, 2001:db8:5afe:1::1", addresses.addresses),
    Kind("ssid", "names of Wi-Fi networks", "ssid-1", wifi.ssids),
    Kind("share", "shares of file servers, names of disks and mount points, labels", "share-1", servers.shares),
    Kind("machine", "names of machines and their domains", "machine-1", names.machines),
    Kind("user", "names of users", "user-1", names.users),
)
"""Every kind, in the order in which they are taken out."""


_DEEPEST = 4  # a text in a text, in base64 or JSON
_APART = "\n\x01\n"  # between texts that are redacted together; no text has it (sheet.clean)


class Redactor:
    """One archive's pseudonyms.

    known: see Known; ordinary: more words that are replaced only as names; shared: UUIDs that are the same on the
    machines of all owners, and stay; kinds: what is taken out.
    """

    def __init__(
        self,
        known: Known | None = None,
        *,
        ordinary: Iterable[str] = (),
        shared: Iterable[str] = (),
        kinds: Iterable[Kind] = KINDS,
    ) -> None:
        self._kinds = tuple(kinds)
        active = [kind.name for kind in self._kinds]
        self._book = Book(known or Known(), ordinary=ordinary, shared=shared, kinds=active)

    @property
    def counts(self) -> dict[str, Count]:
        """What was replaced so far, by kind; each kind that is at work, in their order."""
        book = self._book
        return {kind.name: Count(book.times[kind.name], len(book.seen[kind.name])) for kind in self._kinds}

    def machine(self, name: str) -> str:
        """The pseudonym of a host by its name in the inventory."""
        return self._book.machine(name)

    def learn(self, text: str) -> None:
        """Note what a text shows in an unmistakable form, so that its other forms are found too, in all texts."""
        bare = clean(text)
        for each in (bare, _APART.join(decoded_words(bare))):
            for kind in (hardware, wifi, servers, names, ids, credentials):
                kind.learn(self._book, each)

    def redact(self, text: str) -> str:
        """The text without control characters, and with a pseudonym for each value.

        Raises ValueError where there are more values than pseudonyms: 65,535 networks of IPv6, twice as many
        addresses of IPv4, or values in one text.
        """
        return self._redact(clean(text), 0)

    def _redact(self, text: str, depth: int, put: list[str] | None = None) -> str:
        """put: what the marks stand for that are in the text already."""
        sheet = Sheet(text, put)
        for kind in self._kinds:
            if kind.first:
                kind.first(self._book, sheet)
        if depth < _DEEPEST:
            self._quoted(sheet, depth)
            self._encoded(sheet, depth)
        if {"mac", "address"} & self._book.active:
            addresses.sixes(self._book, sheet)  # half of an address is of the one kind, half of the other
        for kind in self._kinds:
            if kind.find:
                kind.find(self._book, sheet)
        return sheet.whole()

    def _together(self, texts: list[str], depth: int, put: list[str] | None = None) -> list[str]:
        """Each of many small texts redacted, in one walk through all."""
        if not texts:
            return []
        told = self._redact(_APART.join(texts), depth, put).split(_APART)
        if len(told) == len(texts):
            return told
        middle = len(texts) // 2  # a value went over the end of a text
        return self._together(texts[:middle], depth, put) + self._together(texts[middle:], depth, put)

    def _quoted(self, sheet: Sheet, depth: int) -> None:
        """Strings of JSON in which something is escaped, with what they hold redacted."""
        held = [(each, text) for each in STRING.finditer(sheet.text) if (text := from_json(each[0])) is not None]
        told = self._together([text for _, text in held], depth + 1, sheet.put)
        sheet.put_each(
            (*each.span(), json.dumps(new, ensure_ascii=each[0].isascii()))
            for (each, text), new in zip(held, told, strict=True)
            if new != text
        )

    def _encoded(self, sheet: Sheet, depth: int) -> None:
        """Words of base64 that hold a text, with that text redacted."""
        if "token" in self._book.active:
            sheet.sub(BASE64, self._login)
        held = [(each, text) for each in BASE64.finditer(sheet.text) if (text := decoded(each[0])) is not None]
        told = self._together([text for _, text in held], depth + 1)
        sheet.put_each(
            (*each.span(), base64.b64encode(new.encode()).decode())
            for (each, text), new in zip(held, told, strict=True)
            if new != text
        )

    def _login(self, found: re.Match[str]) -> str | None:
        text = decoded(found[0])
        is_login = text is not None and re.fullmatch(r"[\w-]{8,}:[\w-]{16,}", text.strip())
        return f"token-{self._book.number('token', found[0])}" if is_login else None

    def leaks(self, text: str) -> list[str]:
        """The kinds of which a known value still stands in a text that was redacted.

        The search is not the one that took it out: it compares letters and digits alone, whatever is between.
        """
        book = self._book
        known = {"mac": book.macs, "uuid": book.known.ids, "serial": book.serials, "key": book.known.keys}
        known["token"] = book.known.secrets
        bare = squashed(text)
        return [kind for kind, values in known.items() if any(self._left(kind, values).spans(bare, anywhere))]

    def _left(self, kind: str, values: Iterable[str]) -> Words:
        long = (each for each in map(squashed, values) if len(each) >= 8)
        return self._book.words(f"left {kind}", long, lambda each: (each,))
