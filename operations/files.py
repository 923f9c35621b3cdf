"""Writing the files that this toolkit owns."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from pyinfra import host
from pyinfra.api import StringCommand, operation

from sparkrig import programs
from sparkrig.files import File, Found, stale
from sparkrig.operations import plan
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands
from sparkrig.resources.resource import Edit
from sparkrig.runs.change import Change, of_files
from sparkrig.runs.managed_files import RELOADS
from sparkrig.ssh.shell import script


@operation()
@recorded
def place(
    wanted: Iterable[File], found: Mapping[str, Found], unwanted: Iterable[str] = (), edits: Sequence[Edit] = ()
) -> Commands:
    """Write the files that are missing or differ, each as a whole and atomically; remove what is there no more.

    + wanted: the files as they should be
    + found: the files as the facts of this run saw them
    + unwanted: paths of files of ours that should not be there
    + edits: what changes of files that others write, too
    """
    wanted = list(wanted)
    late, gone = stale(wanted, found), [path for path in unwanted if path in found]
    plan.report(
        [
            *of_files(wanted, found),
            *(Change("file", path, "not declared", None) for path in gone),
            *(Change("file", edit.path, edit.before, edit.after) for edit in edits),
        ]
    )
    if late:
        yield write(*late)
    if gone:
        yield remove(*gone)
    for edit in edits:
        yield script(edit.program, *edit.words)
    if not late and not gone and not edits:
        host.noop("files are as they should be")


@operation()
@recorded
def reload(paths: Iterable[str]) -> Commands:
    """Have the services that read these files of ours read them again.

    + paths: empty where nothing changed
    """
    commands = [RELOADS[path] for path in paths]
    if commands:
        yield script("\n".join(("set -e", *commands)))
    else:
        host.noop("the service has read them")


REMOVE = programs.text("operations/files_remove.sh")


def remove(*paths: str) -> StringCommand:
    """One command that removes files of ours."""
    return script(REMOVE, *paths)


WRITE = programs.text("operations/files_write.sh")


def write(*files: File, check: str = "") -> StringCommand:
    """One command that replaces files: a power cut leaves the old or the new of each, never half of one.

    check: a command that is given each new file's path, and whose failure leaves the old one in place.
    The content travels on standard input: neither the process list nor a log shows it. What stood there
    before and was not ours is kept once, beside it, as `NAME.before-sparkrig`.
    """
    return script(WRITE, check, _stdin="".join(map(_line, files)))


def _line(file: File) -> str:
    path = PurePosixPath(file.path)
    return f"{path.parent} {path.name} {file.mode} {base64.b64encode(file.content.encode()).decode()}\n"
