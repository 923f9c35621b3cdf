"""docs/commands.md: a page of each command, by click itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from sparkrig.cli.main import sparkrig

PAGE = Path(__file__).resolve().parent / "commands.md"
_WIDTH = 78  # what click makes of a terminal of 80 columns

# options that mean the same everywhere: HEAD says it once
ALIKE = {"--help", "--json", "--yes"}
LAB = "sparkrig lab "  # docs/lab.md lists what the lab does

HEAD = """\
<!-- Made by `python -m docs.make` (make docs) from the commands themselves. Do not edit. -->

# Commands

This page lists every verb with its options.

```
sparkrig               # the three first commands
sparkrig --help        # the verbs by what you want
sparkrig plan --help   # all of a verb, with an example
```

- **INVENTORY** is a file like `inventories/sparks.py`, which `onboard` writes; [settings.md](settings.md) has
  its settings.
- **Results** go to standard output, progress to standard error.
- **`--json`** prints a document for programs, which names its [schema](schema). Later versions only add fields.
- **`--yes`** (`-y`) asks nothing.
- **[Exit codes](exit-codes.md)** are the same for all verbs.
- If a host may be rebooting, sparkrig waits for it for 90 s, or for `SPARKRIG_WAIT_S` seconds (0 to 86400).
  `drift`, `doctor` and `plan` do not wait; they report that it is down.
- If standard output cannot be written, for example because a disk is full, the exit code is 1.
"""


def page() -> str:
    """The text of docs/commands.md."""
    shown = [each for each in contexts() if each.parent and not each.command_path.startswith(LAB)]
    return "\n".join([HEAD, *map(_part, shown)])


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
    command = context.command
    usage = " ".join(each for each in command.collect_usage_pieces(context) if each != "[OPTIONS]")
    meaning = " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())
    above = {name for each in context.parent.command.params for name in each.opts} if context.parent else set()
    own = (each for each in command.params if isinstance(each, click.Option))
    options = [each for each in own if not (above | ALIKE) & {*each.opts}]
    records = [record for each in options if (record := each.get_help_record(context))]
    lines = [f"- `{names}`: {' '.join(words.split())}" for names, words in records]
    said = f"`{usage}`: {meaning}".removeprefix("``: ")
    return "\n".join([f"{level} {context.command_path}\n", said, *[""] * bool(lines), *lines, ""])
