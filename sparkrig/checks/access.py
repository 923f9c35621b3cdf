"""Whether a host lets this machine in, makes it root, and shows what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sparkrig import login
from sparkrig.host.identity import Identity, to_root
from sparkrig.resources.check import Check, Status
from sparkrig.resources.kind import PREFLIGHT, Kind

KINDS = (
    Kind(
        "access.ssh",
        "access",
        "ssh gets in by key, and the host key is the known one",
        "the host is off, in another network, was installed anew, or has not this machine's public key",
        "docs/security.md#host-keys",
    ),
    Kind(
        "access.sudo",
        "access",
        "commands become root without a password",
        "the ssh user has no line in sudoers that asks for none",
        "docs/settings.md#how-to-log-in",
    ),
    Kind(
        "access.look",
        "access",
        "the host answers every question about itself",
        "a command there hangs or fails; the host may be out of memory or disk",
        PREFLIGHT,
    ),
)

_WANTS = {
    "ssh": "a login with a known host key",
    "sudo": "root, without a password",
    "look": "answers to every question",
}
_HERE_WANTS = "sparkrig on the Spark itself, typed as its own user"


def checks(name: str, data: Mapping[str, Any], found: Identity) -> Iterator[Check]:
    """Of a host that answered. data: its inventory data."""
    yield _in(name, data)
    status: Status = "drift" if found.uid else "ok"
    yield _check("sudo", f"commands run as uid {found.uid}", status, to_root() if found.uid else "")
    yield _check("look", "it answered every question")


def unread(name: str, data: Mapping[str, Any], why: str) -> list[Check]:
    """Of a host that did not let us in, or did not answer. why: the sentence of sparkrig.ssh.session."""
    step, refusal = login.hindrance(name, data, why)
    failed: Status = "unknown" if step == "look" else "drift"
    found = {want: _check(want, f"access.{step} says why", "skipped") for want in _WANTS}
    if step != "ssh":
        found["ssh"] = _in(name, data)
    told = replace(_check(step, refusal.what, failed, refusal.cure), cause=login.cause(why))
    if step == "ssh" and data.get(login.HERE):  # its kind is of another machine
        told = replace(told, want=_HERE_WANTS, cause="it was started in a container, or by sudo")
    return list({**found, step: told}.values())


def _in(name: str, data: Mapping[str, Any]) -> Check:
    if data.get(login.HERE):
        return _check("ssh", f"{name} is the machine that sparkrig runs on, and needs no login")
    return _check("ssh", f"{login.typed(name, data)} gets in, and its host key is known")


def _check(step: str, found: str, status: Status = "ok", cure: str = "") -> Check:
    return Check(f"access.{step}", _WANTS[step], found, status, cure, environment=True)
