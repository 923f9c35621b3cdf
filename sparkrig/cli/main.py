"""The `sparkrig` command: its verbs, each loaded only when it is asked for."""

from __future__ import annotations

import gc
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from sparkrig.terminal import surroundings, terminal
from sparkrig.text import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True)
class _Verb:
    """Where a verb lives, what it is for, and how it is typed."""

    module: str
    help: str
    example: str


_GROUPS = {
    "Begin": {
        "init": _Verb(
            "sparkrig.cli.init",
            "Make a project folder: inventories, deploys, tests of the state.",
            "sparkrig init sparks",
        ),
        "onboard": _Verb(
            "sparkrig.cli.onboard",
            "Take a new Spark from the box into an inventory, and set it up.",
            "sparkrig onboard nvidia@spark-a.local",
        ),
        "plan": _Verb(
            "sparkrig.cli.plan",
            "Show what a deploy would change on each host.",
            "sparkrig plan inventories/sparks.py",
        ),
        "apply": _Verb(
            "sparkrig.cli.apply",
            "Make hosts match the inventory: plan, one question, deploy.",
            "sparkrig apply inventories/sparks.py",
        ),
        "lab": _Verb(
            "lab.cli",
            "Rehearse on virtual Sparks: no hardware is needed.",
            "sparkrig lab up",
        ),
        "docs": _Verb(
            "sparkrig.cli.docs",
            "Show a page of the documentation, or list the pages.",
            "sparkrig docs troubleshooting",
        ),
        "completion": _Verb(
            "sparkrig.cli.completion",
            "Print a script that completes verbs and files in your shell.",
            "sparkrig completion bash",
        ),
    },
    "Every day": {
        "status": _Verb(
            "sparkrig.cli.status",
            "Show what each host is, who works on it, what was done last.",
            "sparkrig status inventories/sparks.py",
        ),
        "drift": _Verb(
            "sparkrig.cli.drift",
            "Show where hosts differ from the inventory, and the cure.",
            "sparkrig drift inventories/sparks.py",
        ),
        "update": _Verb(
            "sparkrig.cli.update",
            "Update driver, system and firmware: plan, one question, the run.",
            "sparkrig update inventories/sparks.py --check",
        ),
        "storage": _Verb(
            "sparkrig.cli.storage",
            "Show what fills each disk, what needs it, and how the rest goes.",
            "sparkrig storage inventories/sparks.py",
        ),
        "undo": _Verb(
            "sparkrig.cli.undo",
            "Restore hosts to what they were before a run.",
            "sparkrig undo inventories/sparks.py --dry",
        ),
    },
    "When something is wrong": {
        "doctor": _Verb(
            "sparkrig.cli.doctor",
            "Check whether hosts are healthy: what is wrong, and the cure.",
            "sparkrig doctor inventories/sparks.py",
        ),
        "explain": _Verb(
            "sparkrig.cli.explain",
            "Explain what ib_write_bw, nvidia-smi, dmesg and others print.",
            "sparkrig explain ib_write_bw.txt",
        ),
        "topology": _Verb(
            "sparkrig.cli.topology",
            "Show which cage reaches which, and every GID.",
            "sparkrig topology inventories/sparks.py",
        ),
        "bandwidth": _Verb(
            "sparkrig.cli.bandwidth",
            "Measure each rail; tell a faulty link from a healthy one.",
            "sparkrig bandwidth inventories/sparks.py",
        ),
        "blackbox": _Verb(
            "sparkrig.cli.blackbox",
            "Show the last minutes before a reset that nobody asked for.",
            "sparkrig blackbox inventories/sparks.py",
        ),
        "unlock": _Verb(
            "sparkrig.cli.unlock",
            "Release the lock that a dead run still holds on a host.",
            "sparkrig unlock inventories/sparks.py",
        ),
        "support": _Verb(
            "sparkrig.cli.support",
            "Write one archive to send, without what identifies you.",
            "sparkrig support inventories/sparks.py",
        ),
    },
    "Serve models": {
        "serve": _Verb(
            "sparkrig.cli.serve",
            "Serve a model: one that fits, one question, its address.",
            "sparkrig serve inventories/sparks.py --for coding --lan",
        ),
        "models": _Verb(
            "sparkrig.cli.models",
            "Show which models fit one Spark, a pair or more.",
            "sparkrig models show qwen3.5-122b-a10b",
        ),
        "lint": _Verb(
            "sparkrig.cli.lint",
            "Find what a Spark cannot do in a launch of vLLM.",
            "sparkrig lint -- vllm serve openai/gpt-oss-120b -tp 4",
        ),
        "startup": _Verb(
            "sparkrig.cli.startup",
            "Follow a model's start; say why it fails or hangs.",
            "sparkrig startup inventories/sparks.py",
        ),
        "bench": _Verb(
            "sparkrig.cli.bench",
            "Measure how fast a model answers, beside published figures.",
            "sparkrig bench inventories/sparks.py",
        ),
    },
    "Fleet and CI": {
        "accept": _Verb(
            "sparkrig.cli.accept",
            "Accept a failing check until a day, with a reason.",
            "sparkrig accept inventories/sparks.py identity.kernel --until 2027-01-31 --why 'update planned'",
        ),
        "schedule": _Verb(
            "sparkrig.cli.schedule",
            "Run drift by a timer; send a notice when something changes.",
            "sparkrig schedule inventories/sparks.py --notify ~/sparkrig-notify",
        ),
        "mcp": _Verb(
            "sparkrig.cli.mcp",
            "Serve the read-only commands to agents (MCP).",
            "sparkrig mcp inventories/sparks.py",
        ),
    },
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
        if cmd_name == "lab":
            from sparkrig.cli import extras

            extras.need_the_lab()
        command: click.Command = getattr(importlib.import_module(verb.module), cmd_name)
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
