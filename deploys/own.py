"""An owner's own steps: deploys/mine.py of the project, at the end of the whole deploy, in the same run."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyinfra import host
from pyinfra import state as run
from pyinfra.api import Host, deploy
from pyinfra.api.exceptions import DeployError, PyinfraError
from pyinfra.context import ctx_host, ctx_state

from sparkrig.cure import local, quoted_path
from sparkrig.fleet import Fleet
from sparkrig.operations import own
from sparkrig.refusal import Refusal
from sparkrig.runs import journal
from sparkrig.ssh.remote import Failed
from sparkrig.terminal import project

_SECONDS = 90  # in which a host answers all that the steps ask, times patience


def file(inventory: Path | None) -> Path | None:
    """The steps of the project that an inventory is of; None where it has none."""
    found = project.root(inventory) / project.OWN
    return found if found.is_file() else None


@deploy(journal.OWN.removesuffix(" | "))
def apply(steps: Path) -> None:
    """Add them to the host at work, each of them noted. Raises DeployError where the file cannot be executed."""
    known = {*run.ops[host]}
    try:
        exec(compile(steps.read_text(encoding="utf-8"), str(steps), "exec"), {"__file__": str(steps)})  # noqa: S102 - the owner's
    except PyinfraError:
        raise
    except Exception as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(steps)]
        where = f"line {lines[-1]} of {steps}" if lines else str(steps)
        raise DeployError(f"{where}: {type(error).__name__}: {error}. Nothing was changed") from None
    own.record(run, host, known)


def planned(
    inventory: Path, fleet: Fleet, data: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[str] | Refusal]:
    """By host, the steps that would change it, or why that is not known; nothing where the project has none.

    data: of the hosts to ask. What a step asks are facts of pyinfra's; nothing is executed.
    """
    if not data or (steps := file(inventory)) is None:
        return {}
    from sparkrig.ssh import session

    limits = {name: _SECONDS * fleet[name].patience for name in data}
    told = session.asked(data, f"Asking {steps.name}", partial(_due, steps), limits_s=limits)
    asked = local(f"pyinfra {quoted_path(inventory)} {quoted_path(steps)} --dry")
    return {
        name: Refusal(f"its own steps ({project.OWN}) cannot be asked: {each}", asked)
        if isinstance(each, Exception)
        else each
        for name, each in told.items()
    }


def _due(steps: Path, at: Host) -> list[str]:
    """Raises Failed. A step that waits for another one (`_if`) is due with the others, and never alone."""
    with ctx_state.use(at.state), ctx_host.use(at):
        try:
            apply(steps=steps)
        except PyinfraError as error:
            raise Failed(str(error)) from None
    due = {each: told for each, told in at.state.ops[at].items() if told.operation_meta.will_change}
    if all(told.global_arguments["_if"] for told in due.values()):
        return []
    return [", ".join(sorted(at.state.get_op_meta(each).names)) for each in due]
