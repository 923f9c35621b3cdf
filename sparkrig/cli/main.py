"""The `sparkrig` command: its verbs, each loaded only when it is asked for."""

from __future__ import annotations

import gc
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from sparkrig.terminal import surroundings, terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True)
class _Verb:
    """Where a verb lives, what it is for, and how it is typed."""

    module: str
    help: str
    example: str


_VERBS = {
    "accept": _Verb(
        "sparkrig.cli.accept",
        "Accept a failing check until a date, with a reason, in a file that you commit.",
        "sparkrig accept inventories/pair.py identity.kernel --until 2027-01-31 --why 'update planned'",
    ),
    "apply": _Verb(
        "sparkrig.cli.apply",
        "Make hosts match what you declared: show the plan, ask once, run pyinfra.",
        "sparkrig apply inventories/pair.py",
    ),
    "bandwidth": _Verb(
        "sparkrig.cli.bandwidth",
        "Measure each rail between hosts, and tell a faulty link from a healthy one.",
        "sparkrig bandwidth inventories/pair.py",
    ),
    "bench": _Verb(
        "sparkrig.cli.bench",
        "Measure how fast a served model answers, next to published figures.",
        "sparkrig bench inventories/pair.py",
    ),
    "blackbox": _Verb(
        "sparkrig.cli.blackbox",
        "Show the last minutes before a reset that was not asked for.",
        "sparkrig blackbox inventories/pair.py",
    ),
    "completion": _Verb(
        "sparkrig.cli.completion",
        "Print a script that completes verbs, options and inventories in your shell.",
        "sparkrig completion bash",
    ),
    "docs": _Verb(
        "sparkrig.cli.docs",
        "Show a page of the documentation, or list the pages.",
        "sparkrig docs troubleshooting",
    ),
    "doctor": _Verb(
        "sparkrig.cli.doctor",
        "Check whether hosts are healthy: what is wrong, why, and what to type next.",
        "sparkrig doctor inventories/pair.py",
    ),
    "drift": _Verb(
        "sparkrig.cli.drift",
        "Show where hosts differ from what you declared, and how to fix it.",
        "sparkrig drift inventories/pair.py",
    ),
    "explain": _Verb(
        "sparkrig.cli.explain",
        "Explain the output of ib_write_bw, show_gids, nvidia-smi and similar tools.",
        "sparkrig explain ib_write_bw.txt",
    ),
    "init": _Verb(
        "sparkrig.cli.init",
        "Create a project folder: inventories, deploys, and tests of the state.",
        "sparkrig init sparks",
    ),
    "lab": _Verb(
        "lab.cli",
        "Rehearse on virtual Sparks: a pair, a ring, or up to four on a switch.",
        "sparkrig lab up",
    ),
    "lint": _Verb(
        "sparkrig.cli.lint",
        "Find what a Spark cannot do, or what is disputed, in a launch of vLLM.",
        "sparkrig lint -- vllm serve openai/gpt-oss-120b -tp 4",
    ),
    "mcp": _Verb(
        "sparkrig.cli.mcp",
        "Serve what only looks as tools of the Model Context Protocol.",
        "sparkrig mcp inventories/pair.py",
    ),
    "models": _Verb(
        "sparkrig.cli.models",
        "Show which models fit one Spark, a pair or more, and what is known of each.",
        "sparkrig models show qwen3.5-122b-a10b",
    ),
    "onboard": _Verb(
        "sparkrig.cli.onboard",
        "Take a new Spark from the box into an inventory, and set it up as declared.",
        "sparkrig onboard nvidia@spark-a.local",
    ),
    "plan": _Verb(
        "sparkrig.cli.plan",
        "Show what the deploy would change on each host, and how long it takes.",
        "sparkrig plan inventories/pair.py",
    ),
    "schedule": _Verb(
        "sparkrig.cli.schedule",
        "Run drift by a timer, and send a notice when something changes.",
        "sparkrig schedule inventories/pair.py --notify ~/sparkrig-notify",
    ),
    "serve": _Verb(
        "sparkrig.cli.serve",
        "Serve a model: choose one that fits, ask once, and print how a client reaches it.",
        "sparkrig serve inventories/pair.py --for coding --lan",
    ),
    "startup": _Verb(
        "sparkrig.cli.startup",
        "Follow the start of a served model, and say why it fails or hangs.",
        "sparkrig startup inventories/pair.py",
    ),
    "status": _Verb(
        "sparkrig.cli.status",
        "Show what each host is set to, who works on it, and what its last runs changed.",
        "sparkrig status inventories/pair.py",
    ),
    "storage": _Verb(
        "sparkrig.cli.storage",
        "Show what models and images take on each disk and what needs them; remove one.",
        "sparkrig storage inventories/pair.py",
    ),
    "support": _Verb(
        "sparkrig.cli.support",
        "Write one archive that describes the hosts, without what identifies you.",
        "sparkrig support inventories/pair.py",
    ),
    "topology": _Verb(
        "sparkrig.cli.topology",
        "Show which cage reaches which, compared with the inventory, and every GID.",
        "sparkrig topology inventories/pair.py",
    ),
    "undo": _Verb(
        "sparkrig.cli.undo",
        "Restore hosts to what they were before a run.",
        "sparkrig undo inventories/pair.py --dry",
    ),
    "unlock": _Verb(
        "sparkrig.cli.unlock",
        "Release the lock that a dead run still holds on a host.",
        "sparkrig unlock inventories/pair.py",
    ),
    "update": _Verb(
        "sparkrig.cli.update",
        "Show what an update of driver, system and firmware would do to each Spark.",
        "sparkrig update inventories/pair.py --check",
    ),
}

_RENAMED = {"summary": "status"}
"""Verbs by the names that they had in the last release; the next one knows these no more."""


class _Verbs(click.Group):
    """A group that knows its verbs' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_VERBS)

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
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.help) for name, verb in sorted(_VERBS.items())])


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sparkrig")
def sparkrig(**_: Any) -> None:
    """Take DGX Sparks from the box to a verified node or cluster.

    One on its own, two joined by a cable, three in a ring, or up to eight on a switch.

    INVENTORY is a short Python file that lists your Sparks and their settings. To apply it, plain pyinfra is
    enough: pyinfra inventories/pair.py deploys/cluster.py

    In the place of an INVENTORY, verbs that only look take an ADDRESS, as one types it after ssh, or several, or
    `here` for this machine: sparkrig doctor nvidia@spark-1a2b.local

    A cage is a QSFP port; each has two network devices (netdevs). A rail is a netdev of one Spark together with
    the netdev that it reaches on another.

    Exit codes: 0 in spec, or done; 1 an error of the tool or its input; 2 drift or a failed check; 3 a host is
    unreachable or a state unknown; 4 a change was made and rolled back.
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
