"""A host's public key: how people compare it, and how known_hosts keeps it.

Sources: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; ssh-keygen(1), -l; RFC 4253 section 6.6 for the names of keys.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, computed_field

from sparkrig.cure import quoted
from sparkrig.refusal import Refusal

_FORM = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_HASHED = re.compile(r"\|1\|([A-Za-z0-9+/]{27}=)\|([A-Za-z0-9+/]{27}=)")  # HMAC-SHA1 of the name, by a salt
_FILES = {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}


@dataclass(frozen=True)
class HostKey:
    """A public key of a host. kind: its name on the wire (ssh-ed25519)."""

    kind: str
    blob: Annotated[bytes, Field(exclude=True)]  # the key itself

    @computed_field  # type: ignore[prop-decorator]
    @property
    def fingerprint(self) -> str:
        """What `ssh-keygen -lf` prints of it."""
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode()
        return f"SHA256:{digest.rstrip('=')}"

    @property
    def short(self) -> str:
        """The kind as the file on the host is named: ed25519, ecdsa, rsa."""
        return _FILES.get(self.kind, self.kind.split("-")[0])

    @property
    def console(self) -> str:
        """What to type on the host's own screen to see the same fingerprint."""
        return f"ssh-keygen -lf {quoted(f'/etc/ssh/ssh_host_{self.short}_key.pub')}"

    @property
    def public(self) -> str:
        """The key as its own file has it, without a comment."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    def line(self, entry: str) -> str:
        """Its line in known_hosts. entry: how that file calls the host."""
        return f"{entry} {self.public}\n"


def given(text: str) -> str:
    """A fingerprint as it was typed. Raises Refusal where it does not have the form of one."""
    if not _FORM.fullmatch(text):
        raise Refusal(
            f"{text!r} is no fingerprint; SHA256: and 43 letters, digits, + and / are expected",
            "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub, on the Spark",
        )
    return text


def forgotten(text: str, entry: str) -> str:
    """known_hosts without the keys of one host; every other line stays, byte for byte. entry: as of `line`.

    Where a line has several names, that one alone goes, for another may be the name of another host. Authorities,
    revoked keys and patterns stay, as with ssh-keygen -R.
    """
    kept = (_without(line, entry) for line in text.split("\n"))
    return "\n".join(line for line in kept if line is not None)


def _without(line: str, entry: str) -> str | None:
    """A line without a name; None where no other name is left on it."""
    names = line.split(maxsplit=1)[0] if len(line.split()) > 2 else ""
    if names.startswith("#"):
        return line
    left = [name for name in names.split(",") if not _means(name, entry)]
    if ",".join(left) == names:
        return line
    return line.replace(names, ",".join(left), 1) if left else None


def _means(name: str, entry: str) -> bool:
    """Whether a name of known_hosts is that entry, as it is or hashed (ssh_config(5), HashKnownHosts)."""
    salted = _HASHED.fullmatch(name)
    if salted is None:
        return name == entry
    salt, digest = map(base64.b64decode, salted.groups())
    return hmac.compare_digest(hmac.new(salt, entry.encode(), hashlib.sha1).digest(), digest)


def added(text: str, line: str) -> str:
    """known_hosts with one line more; the others stay as they are."""
    end = "" if not text or text.endswith("\n") else "\n"
    return text + end + line
