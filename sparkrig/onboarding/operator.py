"""The operator's own public key."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparkrig.refusal import Refusal

_PUBLIC = re.compile(
    r"(?P<bare>(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]+=*)(?: (?P<comment>[^\r\n]*))?"
)


@dataclass(frozen=True)
class PublicKey:
    """A line of authorized_keys. bare: without its comment."""

    bare: str
    comment: str = ""

    @property
    def line(self) -> str:
        return f"{self.bare} {self.comment}".rstrip()


def public(text: str, file: str) -> PublicKey:
    """Read a .pub file. Raises Refusal for a private key, or for none."""
    found = _PUBLIC.fullmatch(text.strip())
    if found is None:
        kind = "a private key" if "PRIVATE KEY" in text else "no public key"
        raise Refusal(
            f"{file} holds {kind}; the public half is expected", "sparkrig onboard ADDRESS --key ~/.ssh/id_ed25519"
        )
    return PublicKey(found["bare"], found["comment"] or "")
