"""A public key of ssh, as a row of authorized_keys without options: sshd(8), AUTHORIZED_KEYS FILE FORMAT."""

from __future__ import annotations

import base64
import binascii

_KINDS = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-", "sk-ssh-ed25519@", "sk-ecdsa-sha2-")
_SHORTEST = 32  # bytes behind the type: those of an Ed25519 key


def fault(key: str) -> str:
    """Why a text is no public key that sshd takes, or empty. The text itself is never part of it."""
    kind, _, rest = key.partition(" ")
    if "PRIVATE" in key:
        return "a private key is never declared; the public one is in the file that ends with .pub"
    if not key.isprintable() or not kind.startswith(_KINDS):
        return f"a public key is one row that begins with its type, such as {_KINDS[0]}, and has no options"
    try:
        data = base64.b64decode(rest.partition(" ")[0], validate=True)
    except binascii.Error:
        return f"what stands behind {kind} is no key; the row of ~/.ssh/id_ed25519.pub or its like is expected"
    named = data[4 : 4 + int.from_bytes(data[:4])]  # RFC 4253, 6.6: the type is there again
    return "" if named == kind.encode() and len(data) > len(named) + _SHORTEST else f"this is no whole {kind} key"
