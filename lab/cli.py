"""`sparkrig lab`: the virtual pair from the command line.

Importing this is cheap; each verb loads what it needs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from lab import NODES, SOLO

CAGES = click.Choice(["p0", "p1"])


def nodes(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """What a shell completes a node's name to."""
    return [name for name in (*NODES, SOLO) if name.startswith(begun)]


NODE = click.argument("node", shell_complete=nodes)


def one_word(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """A name that qemu's monitor takes as one word, other than the pristine state's own."""
    if value == "ready" or not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", value):
        raise click.BadParameter(f"{value!r}: small letters, digits and dashes are expected, and not ready.")
    return value


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turns a LabError into one sentence and exit code 1."""
    from lab.errors import LabError

    try:
        yield
    except LabError as error:
        raise click.ClickException(str(error)) from error


def example(words: str) -> str:
    """The last line of a verb's help, which is not to be wrapped."""
    return f"\b\nExample: sparkrig lab {words}"


@click.group()
def lab() -> None:
    """Two virtual Sparks to rehearse on."""


@lab.command(epilog=example("up --solo"))
@click.option("--solo", is_flag=True, help="One Spark without fabric (spark-c) instead of the pair.")
@click.option("--suite", default="trixie", show_default=True, help="Debian release of the guests.")
@click.option("--mirror", metavar="URL", help="Debian mirror  [default: the one apt uses here]")
def up(solo: bool, suite: str, mirror: str | None) -> None:
    """Start the pair, building and booting it the first time."""
    with one_sentence():
        from lab import mirror as mirrors
        from lab import pair
        from lab.image import Source

        pair.up(pair_or_solo(solo), Source(suite, mirror or mirrors.mirror()))


@lab.command(epilog=example("reset --to deployed"))
@click.option("--solo", is_flag=True, help="spark-c instead of the pair.")
@click.option("--to", "snapshot", metavar="NAME", help="A state that `lab save NAME` kept.")
def reset(solo: bool, snapshot: str | None) -> None:
    """Take the guests back to the pristine state, or to a saved one."""
    with one_sentence():
        from lab import pair
        from lab.qemu import PRISTINE

        pair.reset(pair_or_solo(solo), snapshot or PRISTINE)


@lab.command(epilog=example("save deployed"))
@click.argument("name", callback=one_word)
@click.option("--solo", is_flag=True, help="spark-c instead of the pair.")
def save(name: str, solo: bool) -> None:
    """Keep the guests as they are now, for `lab reset --to NAME`."""
    with one_sentence():
        from lab import pair

        pair.save(pair_or_solo(solo), name)


@lab.command(epilog=example("rewire crossed"))
@click.argument("way", type=click.Choice(["straight", "crossed"]))
def rewire(way: str) -> None:
    """Lay the pair's cables anew; the guests are pristine again."""
    with one_sentence():
        from lab import pair, wiring

        pair.rewire(NODES, wiring.CROSSED if way == "crossed" else wiring.STRAIGHT)


@lab.command(epilog=example("down"))
def down() -> None:
    """Stop the guests; the next `up` takes seconds."""
    with one_sentence():
        from lab import pair

        pair.down()


@lab.command(epilog=example("status --json"))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status(as_json: bool) -> None:
    """Say where each guest stands."""
    with one_sentence():
        from dataclasses import asdict

        from lab import pair

        rows = pair.status()
        if as_json:
            click.echo(json.dumps([asdict(row) for row in rows]))
            return
        for row in rows:
            where = f"127.0.0.1:{row.port}, qemu {row.pid}" if row.pid else ""
            click.echo(f"{row.node}  {row.state:8}  {where}".rstrip())


@lab.command(
    epilog=example("ssh spark-a nvidia-smi"),
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@NODE
@click.argument("cmd", nargs=-1, type=click.UNPROCESSED)
def ssh(node: str, cmd: tuple[str, ...]) -> None:
    """Log in to NODE, or run CMD there."""
    with one_sentence():
        from lab import pair
        from lab.ssh import command

        pair.running(node)
        os.execvp("ssh", command(node, *cmd))  # noqa: S606 - the terminal becomes ssh's


@lab.command(epilog=example("cable spark-a p0 unplug"))
@NODE
@click.argument("cage", type=CAGES)
@click.argument("action", type=click.Choice(["plug", "unplug"]))
def cable(node: str, cage: str, action: str) -> None:
    """Plug or unplug the cable in CAGE of NODE; both its ends notice."""
    with one_sentence():
        from lab import pair

        pair.cable(node, cage, plugged=action == "plug")


@lab.command(epilog=example("power spark-b cut"))
@NODE
@click.argument("action", type=click.Choice(["cut", "off", "on"]))
def power(node: str, action: str) -> None:
    """Cut NODE's power for a moment, or switch it off or on."""
    with one_sentence():
        from lab import pair

        if action == "cut":
            pair.cut_power(node)
        else:
            pair.power(node, on=action == "on")


@lab.command(epilog=example("standin spark-a openai/gpt-oss-120b"))
@NODE
@click.argument("checkpoints", nargs=-1, metavar="[OWNER/NAME]...")
@click.option("--told", default="", metavar="OPTIONS", help="For the stand-in: python3 lab/standin.py --help")
def standin(node: str, checkpoints: tuple[str, ...], told: str) -> None:
    """Put the image vllm-standin:1 on NODE, and files that pass for weights of OWNER/NAME.

    It answers like vLLM and has no model: deploys/serve.py, drift and bench can be rehearsed with it.
    """
    with one_sentence():
        from lab import pair, standin_image
        from lab.progress import step

        pair.running(node)
        with step(f"making {standin_image.NAME} on {node}", f"{standin_image.NAME} is on {node}"):
            standin_image.build(node, told)
            for each in checkpoints:
                standin_image.weights(node, f"/srv/models/{each}")


def pair_or_solo(solo: bool) -> tuple[str, ...]:
    """The nodes that a verb is about."""
    return (SOLO,) if solo else NODES
