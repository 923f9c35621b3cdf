"""`sparkrig lab`: the virtual Sparks from the command line.

Importing this is cheap; each verb loads what it needs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from lab import CABLED, SOLO
from lab.nodes import LAN, SWITCH

CAGES = click.Choice(["p0", "p1"])


def nodes(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """The names of nodes that begin with these letters, for a shell's completion."""
    return [name for name in (*CABLED, SOLO) if name.startswith(begun)]


NODE = click.argument("node", shell_complete=nodes)


def one_word(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """A name that qemu's monitor accepts as one word, and not that of the pristine state."""
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
    """The last line of a verb's help; \\b keeps click from wrapping it."""
    return f"\b\nExample: sparkrig lab {words}"


@click.group()
def lab() -> None:
    """Rehearse on two virtual Sparks, on three in a ring, or on up to four on a switch (docs/lab.md).

    NODE is spark-a, spark-b, spark-c or spark-d, or spark-s, a single Spark without a cable.

    Exit code 1: an error, or something that the lab needs is missing.
    """


@lab.command(epilog=example("up --nodes 3 --topology ring"))
@click.option("--nodes", "count", type=int, default=2, show_default=True, help="How many Sparks.")
@click.option(
    "--topology",
    type=click.Choice(["cable", "ring", "switch"]),
    default="cable",
    show_default=True,
    help="What joins them: a cable (2), cables from each to the next (3), a switch (2 to 4).",
)
@click.option("--lan", is_flag=True, help="Give the pair one management network; a ring and a switch have one.")
@click.option("--solo", is_flag=True, help="Start spark-s, a single Spark without a cable, instead.")
@click.option("--suite", default="trixie", show_default=True, help="Debian release of the guests.")
@click.option("--mirror", metavar="URL", help="Debian mirror.  [default: the mirror of this machine's apt]")
def up(count: int, topology: str, lan: bool, solo: bool, suite: str, mirror: str | None) -> None:
    """Start the pair, or other Sparks; the first time, build their image and boot them.

    The first start takes about two minutes, each later one takes seconds. The commands that follow are about what
    was started last.
    """
    with one_sentence():
        from lab import layout, pair
        from lab import mirror as mirrors
        from lab.image import Source

        if solo:
            wanted = layout.solo()
        elif topology == "cable" and count == 2:
            wanted = layout.pair(lan=lan)
        else:
            wanted = layout.cluster(topology, count)
        pair.lay(wanted, Source(suite, mirror or mirrors.mirror()))


@lab.command(epilog=example("reset --to deployed"))
@click.option("--solo", is_flag=True, help="Reset spark-s instead.")
@click.option("--to", "snapshot", metavar="NAME", help="Name of a state that `sparkrig lab save NAME` saved.")
def reset(solo: bool, snapshot: str | None) -> None:
    """Restore the pristine state of the guests, or a saved one."""
    with one_sentence():
        from lab import layout, pair
        from lab.qemu import PRISTINE

        pair.restore(layout.solo() if solo else layout.in_force().straight, snapshot or PRISTINE)


@lab.command(epilog=example("save deployed"))
@click.argument("name", callback=one_word)
@click.option("--solo", is_flag=True, help="Save spark-s instead.")
def save(name: str, solo: bool) -> None:
    """Save the state of the running guests as NAME.

    `sparkrig lab reset --to NAME` restores it.
    """
    with one_sentence():
        from lab import layout, pair

        pair.save((layout.solo() if solo else layout.in_force()).nodes, name)


@lab.command(epilog=example("rewire crossed"))
@click.argument("way", nargs=-1, required=True, metavar="straight | crossed | END=END...")
def rewire(way: tuple[str, ...]) -> None:
    """Change how the Sparks are cabled, and restore the pristine state.

    straight: as they should be. crossed: with the plugs of spark-b in one another's cage. Or name each cable by
    its two ends, such as spark-a:p0=spark-b:p1 or spark-a:p0=switch:spark-a; other cages have none then.
    """
    with one_sentence():
        from lab import layout, pair, wiring

        now = layout.in_force()
        named = {("straight",): now.straight, ("crossed",): now.crossed}
        pair.restore(named[way] if way in named else now.laid(wiring.parse(way)))


@lab.command(epilog=example("down"))
def down() -> None:
    """Stop the guests. Snapshots stay, so the next `sparkrig lab up` takes seconds."""
    with one_sentence():
        from lab import pair

        pair.down()


@lab.command(epilog=example("status --json"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> None:
    """Show the state of each guest.

    It is absent, booting, running or stopped; a running guest has its ssh port and qemu process.
    """
    with one_sentence():
        from dataclasses import asdict

        from lab import pair

        rows = pair.status()
        if as_json:
            click.echo(json.dumps([asdict(row) for row in rows]))
            return
        for row in rows:
            port = f"127.0.0.1:{row.port}, " if row.port else ""
            where = f"{port}{'process' if row.node == LAN else 'qemu'} {row.pid}" if row.pid else ""
            click.echo(f"{row.node:7}  {row.state:8}  {where}".rstrip())


@lab.command(
    epilog=example("ssh spark-a nvidia-smi"),
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@NODE
@click.argument("cmd", nargs=-1, type=click.UNPROCESSED)
def ssh(node: str, cmd: tuple[str, ...]) -> None:
    """Log in to NODE as the user nvidia, or run CMD there."""
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
    """Plug or unplug the cable in a cage of NODE. Both ends notice it."""
    with one_sentence():
        from lab import pair

        pair.cable(node, cage, plugged=action == "plug")


@lab.command(epilog=example("power spark-b cut"))
@NODE
@click.argument("action", type=click.Choice(["cut", "off", "on"]))
def power(node: str, action: str) -> None:
    """Cut the power of NODE, or switch it off or on.

    cut: off, and on again. NODE may be `switch`, too, which keeps the settings of its ports.
    """
    with one_sentence():
        from lab import pair, ports

        if node == SWITCH:
            ports.power(off=action != "on", on=action != "off")
        elif action == "cut":
            pair.cut_power(node)
        else:
            pair.power(node, on=action == "on")


@lab.command(epilog=example("port spark-b --mtu 1500"))
@NODE
@click.option("--mtu", type=int, help="The largest frame that it forwards, without its header (9216).")
@click.option("--vlan", type=int, help="The VLAN that it is in (1).")
@click.option("--bridge", type=int, help="The bridge that it is in (1).")
@click.option("--rate", type=int, metavar="MBIT", help="Mb/s to each netdev of the Spark; 0: no limit (0).")
@click.option(
    "--speed", type=int, metavar="GBIT", help="Gb/s that the Spark shows as the speed of the link (200)."
)
def port(node: str, speed: int | None, **changes: int | None) -> None:
    """Show or change the port of the switch that NODE is cabled to."""
    with one_sentence():
        from dataclasses import asdict

        from lab import ports

        found = ports.set_port(node, **{name: value for name, value in changes.items() if value is not None})
        if speed is not None:
            ports.set_speed(node, speed)
        click.echo(f"{node}: " + ", ".join(f"{name} {value}" for name, value in asdict(found).items()))


@lab.command(epilog=example("standin spark-a openai/gpt-oss-120b"))
@NODE
@click.argument("checkpoints", nargs=-1, metavar="[OWNER/NAME]...")
@click.option("--told", default="", metavar="OPTIONS", help="Its options (python3 lab/standin.py --help).")
@click.option(
    "--engine",
    type=click.Choice(["vllm", "sglang", "llama.cpp"]),
    default="vllm",
    show_default=True,
    help="The engine that it stands in for.",
)
def standin(node: str, checkpoints: tuple[str, ...], told: str, engine: str) -> None:
    """Install a stand-in for vLLM, SGLang or llama.cpp on NODE.

    It is the image vllm-standin:1 (sglang-standin:1, llama.cpp-standin:1), with files that look like the weights
    of OWNER/NAME, or like OWNER/NAME/FILE.gguf. It answers like the engine but has no model. Use it to rehearse
    deploys/serve.py, drift and bench.
    """
    with one_sentence():
        from lab import pair, standin_image
        from lab.progress import step

        pair.running(node)
        name = standin_image.NAMES[engine]
        with step(f"making {name} on {node}", f"{name} is on {node}"):
            standin_image.build(node, told, engine=engine)
            for each in checkpoints:
                put = standin_image.gguf if each.endswith(".gguf") else standin_image.weights
                put(node, f"/srv/models/{each}")
