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

What `sparkrig VERB --help` prints, of every verb. `sparkrig completion` makes a shell complete them.

- **Results** go to standard output. What is being done meanwhile goes to standard error: on a terminal, a line for
  each busy host; in a pipe, and with `CI`, `NO_COLOR` or `TERM=dumb`, plain lines of what takes over two seconds.
- **`--json`** prints a document for programs, which names its [schema](schema). Fields are only ever added to it.
- **INVENTORY** is a file like `inventories/pair.py`; [settings.md](settings.md) says what it may set.
- A host that may be rebooting is waited for, for 90 s or `SPARKRIG_WAIT_S` seconds (0 to 86400); `drift`,
  `doctor` and `plan` say that it is down.
- No verb begins with standard output closed (`>&-`) or from a working folder that is gone. What cannot be written
  to standard output, because a disk is full, is an error, too: exit code 1.
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
