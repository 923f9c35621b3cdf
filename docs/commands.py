"""docs/commands.md: a page of each command, by click itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from sparkrig.cli.main import sparkrig

PAGE = Path(__file__).resolve().parent / "commands.md"
_WIDTH = 78  # what click makes of a terminal of 80 columns

HEAD = """\
<!-- Made by `python -m docs.make` (make docs) from the commands themselves. Do not edit. -->

# Commands

This page has the help text of every verb, as `sparkrig VERB --help` prints it. `sparkrig completion` prints a
script with which your shell completes verbs, options and inventories.

- **INVENTORY** is a file like `inventories/pair.py`; [settings.md](settings.md) has its settings.
- **Results** go to standard output. Progress goes to standard error: on a terminal, a line for each busy host; in
  a pipe, and with `CI`, `NO_COLOR` or `TERM=dumb`, plain lines for everything that takes over two seconds.
- **`--json`** prints a document for programs, which names its [schema](schema). Later versions only add fields.
- **[Exit codes](exit-codes.md)** are the same for all verbs.
- If a host may be rebooting, sparkrig waits for it for 90 s, or for `SPARKRIG_WAIT_S` seconds (0 to 86400).
  `drift`, `doctor` and `plan` do not wait; they report that it is down.
- A verb does not start if standard output is closed (`>&-`) or if the working folder no longer exists. If standard
  output cannot be written, for example because a disk is full, the exit code is 1.
"""


def page() -> str:
    """The text of docs/commands.md."""
    return "\n".join([HEAD, *(_part(each) for each in contexts())])


def contexts(parent: click.Context | None = None, name: str = "sparkrig") -> Iterator[click.Context]:
    """A context of each command, groups before what is in them."""
    group = parent.command if parent else None
    command = group.get_command(parent, name) if parent and isinstance(group, click.Group) else sparkrig
    assert command is not None
    context = click.Context(command, parent, name, terminal_width=_WIDTH, **command.context_settings)
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            yield from contexts(context, each)


def _part(context: click.Context) -> str:
    level = "##" + "#" * max(0, context.command_path.count(" ") - 1)
    return f"{level} {context.command_path}\n\n```text\n{context.get_help()}\n```\n"
