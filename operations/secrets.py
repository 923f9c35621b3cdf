"""Writing the variables that only root may read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from pydantic import SecretStr
from pyinfra import host
from pyinfra.api import StringCommand, operation

from sparkrig import programs
from sparkrig.cure import quoted, quoted_path
from sparkrig.files import SECRETS_FILE
from sparkrig.operations import plan as plans
from sparkrig.operations.files import remove
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.refusal import Refusal
from sparkrig.resources import secrets
from sparkrig.runs.change import Change
from sparkrig.ssh.shell import script


def gathered(sources: Mapping[str, str]) -> dict[str, SecretStr | None]:
    """The value of each variable from its source on this machine; None where that has none.

    Raises Refusal where a file is there and cannot be read.
    """
    return {name: _value(name, *source.split(":", 1)) for name, source in sources.items()}


def _value(name: str, kind: str, where: str) -> SecretStr | None:
    if kind == "env":
        found = os.environ.get(where)
        return SecretStr(found) if found else None
    try:
        return SecretStr(Path(where).expanduser().read_text(encoding="utf-8").removesuffix("\n"))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:  # its own text holds the bytes
        why = "it is no text"
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or "it has no home folder to start from"
    raise Refusal(f"the source of the secret {name} cannot be read ({where}: {why})", f"ls -l {_typed(where)}")


def _typed(where: str) -> str:
    """A file as a shell finds it, below the home folder, too."""
    return f"~/{quoted(where[2:])}" if where.startswith("~/") else quoted_path(where)


@operation()
@refusing
@recorded
def place(found: secrets.Secrets, wanted: Mapping[str, SecretStr | None]) -> Commands:
    """Write the file of secrets where a value, its mode or its owner differs; remove it with its last variable.

    + found: names and digests as the facts of this run saw them
    + wanted: each variable; None where its source has none here, and the host's own is kept
    """
    plan = secrets.plan(found, wanted)
    plans.report(_changes(plan, found))
    absent = [name for name, value in wanted.items() if value is None]
    if absent:
        host.log(f"Secrets kept as the host has them, for their source has none here: {', '.join(absent)}")
    if not plan:
        host.noop("secrets are as they should be")
    elif wanted:
        yield write(plan, wanted)
    else:
        yield remove(SECRETS_FILE)


def _changes(plan: secrets.Difference, found: secrets.Secrets) -> list[Change]:
    """By name alone: a value is never shown, neither the old one nor the new one."""
    changes = [
        Change("secret", name, "another value" if name in found.names else None, "set") for name in plan.set
    ]
    changes += [Change("secret", name, "set", None) for name in plan.remove]
    if plan.rewrite:
        changes.append(Change("file", SECRETS_FILE, f"{found.mode} {found.owner}", "written anew, 0600 root:root"))
    return changes


WRITE = programs.text("operations/secrets_write.sh")


def write(plan: secrets.Difference, wanted: Mapping[str, SecretStr | None]) -> StringCommand:
    """One command that replaces the file whole; the values travel on its standard input."""
    return script(WRITE, SECRETS_FILE, _stdin=secrets.told(plan, wanted, token_hex(16)))
