"""The `sparkrig` command: its verbs, each loaded only when it is asked for."""

from __future__ import annotations

import importlib
from typing import Any

import click

_VERBS = {
    "lab": ("lab.cli", "lab", "Rehearse on two virtual Sparks."),
    "summary": (
        "sparkrig.summary",
        "summary",
        "Show what an inventory's Sparks are set to, and the bandwidth of each rail.",
    ),
}


class _Verbs(click.Group):
    """A group that knows its verbs' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _VERBS:
            return None
        module, name, _ = _VERBS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, help_) for verb, (_, _, help_) in sorted(_VERBS.items())])


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sparkrig")
def sparkrig(**_: Any) -> None:
    """Take one or two DGX Sparks from the box to a verified cluster.

    Applying needs no more than pyinfra: pyinfra inventories/pair.py deploys/cluster.py

    Exit codes: 0 in spec; 1 error of the tool or its input; 2 drift or a failed check; 3 a host unreachable or a
    state unknown; 4 a change was made and rolled back.
    """


def main() -> None:
    """The console script."""
    click.UsageError.exit_code = 1  # click's own 2 means drift here, for ever
    sparkrig(prog_name="sparkrig")
