"""The variables for root alone, by name and digest, never by content."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.host import secrets
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check, refused
from sparkrig.resources.kind import Kind
from sparkrig.text import listed

KINDS = (
    Kind(
        "secrets.values",
        "containers",
        "the secrets of the inventory are on the host, by digest",
        "a secret changed on this machine, or on the host",
        "docs/security.md#secrets",
    ),
    Kind(
        "secrets.mode",
        "containers",
        "only root can read them",
        "the file's mode or owner was changed by hand",
        "docs/security.md#secrets",
    ),
)


def judge(subject: Subject) -> None:
    """Raises Refusal where a value cannot be read on this machine, or the file on the host is none of ours."""
    if isinstance(subject.secrets, Refusal):
        raise subject.secrets
    secrets.plan(subject.found.secrets, subject.secrets or {})


def due(subject: Subject) -> Iterator[str]:
    """The files that a deploy would write. Raises Refusal, as judge() does."""
    judge(subject)
    wanted = {} if isinstance(subject.secrets, Refusal) else subject.secrets or {}
    yield from (secrets.PATH,) if secrets.plan(subject.found.secrets, wanted) else ()


def checks(subject: Subject) -> Iterator[Check]:
    found, wanted = subject.found.secrets, subject.secrets
    if not subject.settings.secrets and not found.mode:
        return
    want = f"{secrets.PATH} holds {listed(subject.settings.secrets) or 'nothing'}"
    if isinstance(wanted, Refusal):
        yield Check("secrets.values", want, wanted.what, "unknown", wanted.cure)
        return
    try:
        plan = secrets.plan(found, wanted or {})
    except Refusal as refusal:
        yield refused("secrets.values", want, refusal)
        return
    odd = [f"{name} differs" if name in found.names else f"{name} absent" for name in plan.set]
    odd += [f"{name} is not declared" for name in plan.remove]
    yield check("secrets.values", not odd, want, ", ".join(odd) or "it does", subject.apply)
    yield check(
        "secrets.mode", not plan.rewrite, "for root alone", f"{found.mode} {found.owner}".strip(), subject.apply
    )
