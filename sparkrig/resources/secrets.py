"""The variables that only root may read on a host: known here by name and digest, never by content."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from sparkrig import programs
from sparkrig.files import SECRETS_FILE, Managed
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check, refused
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Resource
from sparkrig.text import listed
from sparkrig.value import Value

_MODE, _OWNER = "0600", "root:root"
LOOK = programs.text("facts/secrets_look.sh")


@dataclass(frozen=True)
class Secrets(Value):
    """The file as it stands on a host.

    mode, owner: empty where there is no file; salt: the text in its head, which every digest begins with;
    digests: of each variable by its name, SHA-256 over salt, line end, NAME=VALUE, in hex.
    """

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


class SecretsFile(Resource[Secrets]):
    """Mode, owner, names and digests of the file of secrets."""

    name = "secrets"
    files = (Managed(SECRETS_FILE, "private"),)
    script = f"f={SECRETS_FILE}{LOOK}"
    absent = Secrets()
    kinds = (
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

    def parse(self, lines: Iterable[str]) -> Secrets:
        """Read `file MODE OWNER`, `salt TEXT`, `secret NAME DIGEST` rows."""
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

    def judge(self, subject: Subject) -> None:
        """Raises Refusal where a value cannot be read on this machine, or the file on the host is none of ours."""
        _planned(subject)

    def due(self, subject: Subject) -> Iterator[str]:
        """The file, where it would be written or removed."""
        yield from (SECRETS_FILE,) if _planned(subject) else ()

    def checks(self, subject: Subject) -> Iterator[Check]:
        found, wanted = subject.found.secrets, subject.secrets
        if not subject.settings.secrets and not found.mode:
            return
        want = f"{SECRETS_FILE} holds {listed(subject.settings.secrets) or 'nothing'}"
        if isinstance(wanted, Refusal):
            yield Check("secrets.values", want, wanted.what, "unknown", wanted.cure)
            return
        try:
            changes = plan(found, wanted or {})
        except Refusal as refusal:
            yield refused("secrets.values", want, refusal)
            return
        odd = [f"{name} differs" if name in found.names else f"{name} absent" for name in changes.set]
        odd += [f"{name} is not declared" for name in changes.remove]
        yield check("secrets.values", not odd, want, ", ".join(odd) or "it does", subject.apply)
        yield check(
            "secrets.mode",
            not changes.rewrite,
            "for root alone",
            f"{found.mode} {found.owner}".strip(),
            subject.apply,
        )


SECRETS = SecretsFile()


def _planned(subject: Subject) -> Difference:
    """Raises Refusal where a value cannot be read on this machine, or cannot stand in the file."""
    if isinstance(subject.secrets, Refusal):
        raise subject.secrets
    return plan(subject.found.secrets, subject.secrets or {})


def digest(salt: str, name: str, value: SecretStr) -> str:
    """What the host's own sha256sum makes of a variable."""
    return hashlib.sha256(f"{salt}\n{name}={value.get_secret_value()}".encode()).hexdigest()


@dataclass(frozen=True)
class Difference:
    """What is to be done to the file: variables to set, to keep as they are there, and to take off."""

    set: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    rewrite: bool = False

    def __bool__(self) -> bool:
        return bool(self.set or self.remove or self.rewrite)


def plan(secrets: Secrets, wanted: Mapping[str, SecretStr | None]) -> Difference:
    """What to do so that the file holds the wanted variables and no other.

    wanted: each by name; None where its source has none on the machine that runs this. Raises Refusal where a
    value cannot stand in the file, or where neither here nor there has one.
    """
    for name, value in wanted.items():
        if value is None and name not in secrets.names:
            raise Refusal(
                f"the secret {name} was not found where the setting secrets says, and this host has none yet",
                f"set it where its source says, or take {name} out of secrets",
            )
        if value is not None:
            _fit(name, value)
    setting = tuple(name for name, value in wanted.items() if value is not None and not secrets.holds(name, value))
    keeping = tuple(name for name in wanted if name not in setting)
    standing = bool(secrets.mode)
    return Difference(
        set=setting,
        keep=keeping,
        remove=tuple(name for name in secrets.names if name not in wanted),
        rewrite=standing and ((secrets.mode, secrets.owner) != (_MODE, _OWNER) or not wanted),
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


def told(given: Difference, wanted: Mapping[str, SecretStr | None], salt: str) -> str:
    """What the host gets on standard input; a text without the last row `end` is cut off and counts as nothing."""
    rows = [f"salt {salt}"]
    for name, value in wanted.items():
        if name in given.set and value is not None:
            rows.append(f"set {name} {base64.b64encode(value.get_secret_value().encode()).decode()}")
        else:
            rows.append(f"keep {name}")
    return "\n".join([*rows, "end"]) + "\n"
