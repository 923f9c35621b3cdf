"""What is known of the hosts and learnt from texts, and the number of each value."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sparkrig.redaction.rows import words
from sparkrig.redaction.sheet import hex_digits, spellings, squashed
from sparkrig.redaction.words import Words

LONGEST = 200  # characters of what is learnt; where a longer value stands behind its label, it is taken out there
Forms = Callable[[str], Iterable[str]]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

ORDINARY = words("ordinary")

HOME_DOMAINS = ("local", "lan", "home.arpa", "fritz.box", "internal")
"""Domains of a home network, which are the same everywhere."""

SYSTEM_USERS = words("system users")
NO_MACHINES = words("no machines")

_SECRET = re.compile(r"[^\n]{6,1000}")  # a shorter one would take syllables out of words


@dataclass(frozen=True)
class Known:
    """The identifiers of the hosts, as they were read there or stand in the inventory.

    machines: for each host all of its names; domains: DNS domains; users: logins; people: their full names; macs
    and guids: in any spelling; ids: machine-id, UUIDs; serials: of anything; ssids: names of Wi-Fi networks and of
    profiles for them; keys: ssh public keys, without their type; secrets: tokens and passwords that are set there;
    neighbours: names of other machines.
    """

    machines: tuple[tuple[str, ...], ...] = ()
    domains: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    guids: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()
    ssids: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    neighbours: tuple[str, ...] = ()


class Book:
    """What is known and learnt of the hosts, and the pseudonym of each value.

    known: see Known; ordinary: more words that are replaced only as names; shared: UUIDs that are the same on the
    machines of all owners, and stay; kinds: the names of those that are taken out.
    """

    def __init__(
        self, known: Known, *, ordinary: Iterable[str], shared: Iterable[str], kinds: Iterable[str]
    ) -> None:
        self.known = known
        self.active = frozenset(kinds)
        self.shared = {hex_digits(each) for each in shared}
        self.ordinary = ORDINARY | {word.lower() for word in ordinary}
        self._numbers: dict[str, dict[str, int]] = {}
        self.times: Counter[str] = Counter()
        self.seen: defaultdict[str, set[str]] = defaultdict(set)
        self.macs: dict[str, None] = {}
        self._ends: dict[str, str] = {}  # the first MAC with those last six digits
        self.aliases: dict[str, str] = {}
        self._named: Counter[str] = Counter()  # how many names each machine has
        self.names: dict[str, None] = {}
        self.users: dict[str, None] = {}
        self.ssids: dict[str, None] = {}
        self.wired: set[str] = set()  # names of connections that are no Wi-Fi
        self.domains: dict[str, None] = {}
        self.serials: dict[str, None] = {}
        self.secrets: dict[str, None] = {}
        self._words: dict[str, Words] = {}
        self._take_in()

    def _take_in(self) -> None:
        known = self.known
        for mac in known.macs:
            self.add_mac(hex_digits(mac))
        for guid in map(hex_digits, known.guids):
            if len(guid) == 16:
                self.add_mac(self.mac_of(guid))
        for names in known.machines:
            self.add_machine(*names)
        for name in filter(lambda each: re.search("[A-Za-z]", each), known.neighbours):
            self.add_machine(name)
        for name in (*known.users, *known.people):
            if name.lower() not in SYSTEM_USERS:
                self.users.setdefault(name)
        self.ssids.update(dict.fromkeys(filter(None, known.ssids)))
        for secret in filter(_SECRET.fullmatch, known.secrets):
            self.add_secret(secret)
        for serial in known.serials:
            stem = re.sub(r"-[A-Za-z0-9]$", "", serial.strip())  # without the end of a cable, which stays
            if is_serial(stem):
                self.serials.setdefault(stem)

    # --- numbers

    def number(self, kind: str, value: str, book: str = "") -> int:
        """The number of a value of a kind, counted from 1; it is counted as replaced."""
        self.times[kind] += 1
        self.seen[kind].add(f"{book}:{value}")
        numbers = self._numbers.setdefault(f"{kind}/{book}", {})
        return numbers.setdefault(value, len(numbers) + 1)

    # --- what is learnt

    def add_mac(self, digits: str) -> None:
        """A MAC as 12 hex digits, to be found in every spelling."""
        if len(digits) == 12 and not is_common_mac(digits) and digits not in self.macs:
            self.macs[digits] = None
            self._ends.setdefault(digits[6:], digits)
            self.forget()

    def add_secret(self, value: str) -> None:
        """A secret, to be found wherever it stands."""
        if value not in self.secrets:
            self.secrets[value] = None
            self.forget()

    def add_machine(self, *names: str) -> None:
        """A machine by all of its names; the first gets `machine-N`, each other one a letter behind that."""
        group = ""
        for full in names:
            name = _bare(full)
            label, _, domain = name.partition(".")
            for each in (label, label if domain in HOME_DOMAINS else name):
                if each and each not in NO_MACHINES and not each.replace(".", "").isdigit() and ":" not in each:
                    found = self.alias(each, group)
                    group = group or found
                    self.names[each] = None
        self.forget()

    def alias(self, name: str, group: str = "") -> str:
        """The pseudonym of a machine's name, in lower case; group: that of another name of the same machine."""
        if name not in self.aliases:
            base = group.rstrip(_LETTERS) or f"machine-{len(self._named) + 1}"
            letter = _LETTERS[min(self._named[base], len(_LETTERS) - 1)] if group else ""
            self._named[base] += 1
            self.aliases[name] = f"{base}{letter}"
        return self.aliases[name]

    def machine(self, name: str) -> str:
        """The pseudonym of a host by its name in the inventory."""
        self.add_machine(name)
        return self.alias(_bare(name))

    def is_ordinary(self, name: str) -> bool:
        """Whether a name is a word that stands in texts for other reasons."""
        return len(name) < 3 or name.isdigit() or name.lower() in self.ordinary

    def words(self, name: str, values: Iterable[str], forms: Forms = spellings) -> Words:
        """Those values in any of their forms, kept under that name until more is learnt."""
        if name not in self._words:
            self._words[name] = Words((form, value) for value in values for form in forms(value))
        return self._words[name]

    def meant(self, name: str, written: str) -> str:
        """The value that is written so, where `words` of that name found it."""
        return self._words[name].meant(written)

    def forget(self) -> None:
        """Make all words anew when they are next asked for, since more was learnt."""
        self._words.clear()

    # --- what is made of a MAC

    def mac(self, digits: str) -> str:
        """The pseudonym of a MAC, both as 12 hex digits; one that identifies nothing stays."""
        if digits.startswith("3333ff"):
            return f"3333ff{self.low(digits[6:])}"
        if is_common_mac(digits):
            return digits
        return f"020000{self.number('mac', digits):06x}"

    def low(self, digits: str) -> str:
        """The pseudonym of the last six hex digits of a MAC, which IPv6 puts into multicast addresses."""
        whole = self._ends.get(digits, f"......{digits}")
        return f"{self.number('mac', whole):06x}"

    def mac_of(self, digits: str) -> str:
        """The MAC that 64 bits (16 hex digits) were made from, whatever their middle is."""
        plain = digits[:6] + digits[10:]
        flipped = f"{int(digits[:2], 16) ^ 2:02x}{plain[2:]}"
        if plain in self.macs or (digits[6:10] != "fffe" and flipped not in self.macs):
            return plain
        return flipped

    def eui64(self, digits: str) -> str:
        """The pseudonym of 64 bits that were made from a MAC, as 16 hex digits."""
        if not int(digits, 16):
            return digits
        mac = self.mac_of(digits)
        new = self.mac(mac)
        first = new[:2] if mac[:2] == digits[:2] else f"{int(new[:2], 16) ^ 2:02x}"
        return f"{first}{new[2:6]}{digits[6:10]}{new[6:]}"


def is_serial(value: str) -> bool:
    """Whether a text is a serial number that can be looked for, and no filler ("Not Specified", "0")."""
    if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", value.strip()):
        return False  # a PCI address, which a USB root hub has for one
    bare = squashed(value)
    long = len(bare) >= (7 if bare.isdigit() else 5)
    return long and len({*bare}) > 2 and any(each.isdigit() for each in bare)


def is_common_mac(digits: str) -> bool:
    """Whether a MAC is of no machine: zero, broadcast, multicast."""
    return not int(digits, 16) or (bool(int(digits[:2], 16) & 1) and not digits.startswith("3333ff"))


def _bare(name: str) -> str:
    """A host's name without pyinfra's connector, @fake/NAME, in lower case."""
    return name.rpartition("/")[2].strip().strip(".").lower()
