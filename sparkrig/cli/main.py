"""The `sparkrig` command: its verbs, each loaded only when it is asked for."""

from __future__ import annotations

import gc
import importlib
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sparkrig.terminal import surroundings, terminal
from sparkrig.text import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _Verb(NamedTuple):
    """What a verb is for, and how it is typed."""

    help: str
    example: str


_GROUPS = {
    group: {name: _Verb(**row) for name, row in verbs.items()}
    for group, verbs in tomllib.loads(Path(__file__).with_name("verbs.toml").read_text(encoding="utf-8")).items()
}
_VERBS = {name: verb for verbs in _GROUPS.values() for name, verb in verbs.items()}

_COLUMN = max(len(name) for name in _VERBS)
"""The width of all groups' first column, so that the helps of all verbs begin below each other."""

_FIRST = """\
Take DGX Sparks from the box to a verified node or cluster. To begin with:

  sparkrig doctor nvidia@spark-1a2b.local   look at one Spark; `here` on itself
  sparkrig onboard nvidia@spark-1a2b.local  set it up; it asks first
  sparkrig --help                           show every verb"""

_RENAMED = {"summary": "status"}
"""Verbs by the names that they had in the last release; the next one knows these no more."""


class _Verbs(click.Group):
    """A group that knows its verbs' names and help without importing them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            terminal.echo(_FIRST, err=True)
            ctx.exit(1)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_VERBS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in _VERBS | _RENAMED:
            near = nearest(name, _VERBS)
            ctx.fail(f"No such command {name!r}.{f' Did you mean {near!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _RENAMED:
            old, cmd_name = cmd_name, _RENAMED[cmd_name]
            if not ctx.resilient_parsing:
                terminal.echo(f"Warning: sparkrig {old} is now sparkrig {cmd_name}", err=True)
        verb = _VERBS.get(cmd_name)
        if verb is None:
            return None
        module = f"sparkrig.cli.{cmd_name}"
        if cmd_name == "lab":
            from sparkrig.cli import extras

            extras.need_the_lab()
            module = "lab.cli"
        command: click.Command = getattr(importlib.import_module(module), cmd_name)
        command.epilog = f"\b\nExample: {verb.example}"  # \b: not wrapped, so that it can be copied
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=verb.help) for name, verb in sorted(_VERBS.items())]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [verb for verb in verbs if verb.value.startswith(incomplete)] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, verbs in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(_COLUMN), verb.help) for name, verb in verbs.items()])


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sparkrig")
def sparkrig(**_: Any) -> None:
    """Take DGX Sparks from the box to a verified node or cluster.

    INVENTORY is a short Python file that lists your Sparks and their settings. Read-only verbs also take an
    ADDRESS, as one types it after ssh, or several, or `here` for this machine.

    Exit codes: 0 in spec, or done; 1 an error of the tool or its input; 2 drift or a failed check; 3 a host is
    unreachable or a state unknown; 4 a change was rolled back.
    """
    surroundings.folder()
    surroundings.home()


def main() -> None:
    """The console script."""
    # all that was loaded would be looked through for garbage at every 700 objects more, and at the end, when the
    # process gives back all of it anyway: each a tenth of a short command's time (2026-11-22)
    gc.set_threshold(50_000)
    click.UsageError.exit_code = 1  # click's own 2 means drift here, for ever
    terminal.errors()
    try:
        with surroundings.streams():
            surroundings.completion()
            sparkrig(prog_name="sparkrig")
    finally:
        gc.freeze()
