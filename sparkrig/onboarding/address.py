"""Where a Spark is reached, as it is typed after ssh."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparkrig.refusal import Refusal

HERE = "here"
"""In the place of an address: the machine that sparkrig runs on."""
EXAMPLE = "nvidia@spark-1a2b.local"

_USER = r"((?P<user>[^@\s:-][^@\s:]*)@)?"
_NAMED = re.compile(_USER + r"(?P<host>[^@\s:/\[\]-][^@\s:/\[\]]*)(:(?P<port>\d{1,5}))?")
_BRACKETED = re.compile(_USER + r"\[(?P<host>[0-9A-Fa-f:.]+(%\w+)?)\](:(?P<port>\d{1,5}))?")
_IPV4 = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_BARE = re.compile(_USER + r"(?P<host>[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(%\w+)?)(?P<port>)")


@dataclass(frozen=True)
class Address:
    """A name or IP address; user and port only where they were typed."""

    host: str
    user: str | None = None
    port: int | None = None


def is_one(word: str) -> bool:
    """Whether a word is an address where an inventory could stand, too: a user, an IP address, a name of mDNS.

    A bare name is none: it is an inventory without its folder more often.
    """
    found = _BARE.fullmatch(word) or _BRACKETED.fullmatch(word) or _NAMED.fullmatch(word)
    if word == HERE or not found:
        return word == HERE
    return bool(found["user"] or _IPV4.fullmatch(found["host"]) or ":" in found["host"]) or found[
        "host"
    ].lower().endswith(".local")


def parse(text: str) -> Address:
    """Read `spark-a.local`, `nvidia@10.0.0.12`, `nvidia@[fd00::12]:2222`, `fd00::12`. Raises Refusal."""
    found = _BARE.fullmatch(text) or _BRACKETED.fullmatch(text) or _NAMED.fullmatch(text)
    port = int(found["port"]) if found and found["port"] else None
    if port is not None and not 0 < port < 65536:
        raise Refusal(
            f"{text!r} has port {port}; one from 1 to 65535 is expected", f"an address such as {EXAMPLE}:22"
        )
    if found is None:
        raise Refusal(f"{text!r} is no address; USER@NAME is expected", f"an address such as {EXAMPLE}")
    return Address(found["host"], found["user"], port)
