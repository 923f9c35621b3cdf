"""Shell scripts as one command, their values as words, and an end to all of it."""

from __future__ import annotations

from typing import Any

from pyinfra.api import QuoteString, StringCommand

from sparkrig import programs

AS_USER = programs.text("operations/as_user.sh")


def script(text: str, *words: str, seconds: int = 60, **arguments: Any) -> StringCommand:
    """One exec of a script; `words` are its $1, $2, ... and are never part of its text.

    seconds: when the host itself ends it (pyinfra's own `_timeout` only stops waiting); arguments: pyinfra's.
    """
    return limited(seconds, "sh", "-c", QuoteString(text), "sparkrig", *map(QuoteString, words), **arguments)


def as_user(user: str, text: str, *words: str, seconds: int = 60, stdin: str = "") -> StringCommand:
    """One script that runs as a user without root's rights. user: empty for the ssh user."""
    return script(AS_USER, user, text, "sparkrig", *words, seconds=seconds, _stdin=stdin)


def in_turn(*commands: StringCommand) -> StringCommand:
    """One exec of several commands of a step, each once the one before has ended well, and the run has its lock.

    A command of its own costs another login of root, and another two rows in the journal with a look at every file
    that a run may write. Standard input is for the one command that has any. `goes_on` is the journal's, which
    stands around each command of a step (templates/programs/runs/journal_note.sh).
    """
    given: dict[str, Any] = {}
    for string_command in commands:
        given.update(string_command.connector_arguments)
    parts = [
        command if command.connector_arguments.get("_stdin") else StringCommand(command, "</dev/null")
        for command in commands
    ]
    bits = [bit for part in parts for bit in ("&& goes_on &&", part)][1:]
    return StringCommand(*bits, **given)


def limited(seconds: int, *bits: Any, **arguments: Any) -> StringCommand:
    """One command that the host ends after `seconds`."""
    return StringCommand("timeout", "-k", "5", str(seconds), *bits, **arguments)
