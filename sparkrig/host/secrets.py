"""The variables that only root may read on a host: known here by name and digest, never by content."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import SecretStr

from sparkrig.files import Managed
from sparkrig.refusal import Refusal
from sparkrig.value import Value

PATH = "/etc/sparkrig/secrets.env"
_MODE, _OWNER = "0600", "root:root"


@dataclass(frozen=True)
class Secrets(Value):
    """The file as it stands on a host.

    mode, owner: empty where there is no file; salt: the text in its head, which every digest begins with;
    digests: of each variable by its name, SHA-256 over salt, line end, NAME=VALUE, in hex.
    """

    FILES: ClassVar = (Managed(PATH, "private"),)

    mode: str = ""
    owner: str = ""
    salt: str = ""
    digests: Mapping[str, str] | None = None

    @property
    def names(self) -> list[str]:
        return list(self.digests or ())

    def holds(self, name: str, value: SecretStr) -> bool:
        """Whether the host has this very value under that name."""
        known = (self.digests or {}).get(name, "")
        return hmac.compare_digest(known, digest(self.salt, name, value))


def parse(lines: Iterable[str]) -> Secrets:
    """Read `file MODE OWNER`, `salt TEXT`, `secret NAME DIGEST` rows. Raises ValueError where one is no such."""
    rows = [line.split(" ") for line in lines]
    found = {word: rest for word, *rest in rows if word != "secret"}
    digests: dict[str, str] = {}
    for _, *fields in (row for row in rows if row[0] == "secret"):
        name, hexadecimal = fields
        digests.setdefault(name, hexadecimal)  # of two lines the first is kept
    if "file" not in found:
        return Secrets()
    mode, owner = found["file"]
    return Secrets(mode.rjust(4, "0"), owner, "".join(found.get("salt", [])), digests)


def digest(salt: str, name: str, value: SecretStr) -> str:
    """What the host's own sha256sum makes of a variable."""
    return hashlib.sha256(f"{salt}\n{name}={value.get_secret_value()}".encode()).hexdigest()


@dataclass(frozen=True)
class Plan:
    """What is to be done to the file: variables to set, to keep as they are there, and to take off."""

    set: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    rewrite: bool = False

    def __bool__(self) -> bool:
        return bool(self.set or self.remove or self.rewrite)


def plan(found: Secrets, wanted: Mapping[str, SecretStr | None]) -> Plan:
    """What to do so that the file holds the wanted variables and no other.

    wanted: each by name; None where its source has none on the machine that runs this. Raises Refusal where a
    value cannot stand in the file, or where neither here nor there has one.
    """
    for name, value in wanted.items():
        if value is None and name not in found.names:
            raise Refusal(
                f"the secret {name} was not found where the setting secrets says, and this host has none yet",
                f"set it where its source says, or take {name} out of secrets",
            )
        if value is not None:
            _fit(name, value)
    setting = tuple(name for name, value in wanted.items() if value is not None and not found.holds(name, value))
    keeping = tuple(name for name in wanted if name not in setting)
    standing = bool(found.mode)
    return Plan(
        set=setting,
        keep=keeping,
        remove=tuple(name for name in found.names if name not in wanted),
        rewrite=standing and ((found.mode, found.owner) != (_MODE, _OWNER) or not wanted),
    )


def _fit(name: str, value: SecretStr) -> None:
    """docker takes a line of an env file as it is, systemd reads quotes, backslashes and blanks at the ends."""
    text = value.get_secret_value()
    if not text:
        raise Refusal(
            f"the secret {name} is empty", f"set it where its source says, or take {name} out of secrets"
        )
    if not text.isprintable():
        raise Refusal(
            f"the secret {name} holds a line break or another character that cannot be printed; "
            "one line is expected",
            "keep it in a file of its own on the host, and give containers that file",
        )
    if text != text.strip() or set(text) & set("\"'\\"):
        raise Refusal(
            f"the secret {name} holds a quote, a backslash or a blank at an end, which docker and systemd read "
            "differently",
            "choose another value, or encode it (base64) and decode it where it is used",
        )


def told(given: Plan, wanted: Mapping[str, SecretStr | None], salt: str) -> str:
    """What the host gets on standard input; a text without the last row `end` is cut off and counts as nothing."""
    rows = [f"salt {salt}"]
    for name, value in wanted.items():
        if name in given.set and value is not None:
            rows.append(f"set {name} {base64.b64encode(value.get_secret_value().encode()).decode()}")
        else:
            rows.append(f"keep {name}")
    return "\n".join([*rows, "end"]) + "\n"
