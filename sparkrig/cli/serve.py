"""`sparkrig serve`: one command with which a model answers, from the choice of it to the first answer."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkrig.cli import extras, files
from sparkrig.cure import local, quoted, verb
from sparkrig.refusal import Refusal
from sparkrig.serving.purposes import PURPOSES
from sparkrig.terminal import project, terminal
from sparkrig.terminal.project import Addresses, Where
from sparkrig.text import bare_name, listed

if TYPE_CHECKING:
    from sparkrig.checks.server import Server
    from sparkrig.deploys.served import Run
    from sparkrig.drift.render.plan import Sheet
    from sparkrig.serving.purposes import Proposal

_HANGING = 11  # columns: where the sentences of a plan begin


@click.command()
@files.SERVED
@click.argument("model", required=False, metavar="[MODEL|RECIPE]")
@click.option(
    "--for",
    "purpose",
    metavar="PURPOSE",
    type=click.Choice(tuple(PURPOSES)),
    help=f"Propose models for that: {listed(PURPOSES)}.",
)
@click.option("--lan", is_flag=True, help="Answer the management network, with a key that is made for it.")
@click.option("--name", default="", metavar="NAME", help="Of a server beside the first one.")
@click.option("--context", type=click.IntRange(min=1), help="Longest sequence, in tokens.")
@click.option(
    "--mods", metavar="DIGEST", help="Of a recipe's programs, which `sparkrig models show RECIPE` shows."
)
@click.option("--stop", is_flag=True, help="Take the server away; its image and weights stay.")
@click.option("--dry", is_flag=True, help="Show the plan and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation; of several models take the first.")
def serve(
    inventory_file: Where,
    model: str | None,
    purpose: str | None,
    lan: bool,
    name: str,
    context: int | None,
    mods: str | None,
    stop: bool,
    dry: bool,
    yes: bool,
) -> None:
    """Serve a model: choose one that fits, show the plan, ask once, and print how a client reaches it.

    It runs `pyinfra INVENTORY deploys/serve.py` in a process of its own; plain pyinfra does the same. The server
    is tried before a client reaches it, and what served before comes back where the new one does not answer.
    Without a MODEL, and where the inventory declares none, it asks what the model is for.

    Exit code 1: refused, declined, or the run did not finish; 2: it answers nothing that makes sense; 3: a host
    could not be reached; 4: it was changed and rolled back (sparkrig docs serving).
    """
    inventory = _inventory(inventory_file)
    again = _again(inventory)
    if stop and (model or purpose or context or mods or lan):
        raise click.UsageError("--stop goes with --name alone")
    if model and purpose:
        raise click.UsageError("--for proposes a model, and one is named")
    _, data = files.inventory(inventory)
    if not dry:
        files.must_answer(yes, f"{again} --dry, which shows the plan; then {again} --yes")
    known = files.catalogue(inventory)
    with files.refusals():
        from sparkrig.checks import server_plan
        from sparkrig.deploys.served import Run
        from sparkrig.drift.render.plan import Sheet
        from sparkrig.terminal.screen import Screen

        given = server_plan.given(model, name, context, next(iter(data.values())), mods=mods, lan=lan, stop=stop)
        run, sheet = Run(inventory, data, known, given, lan), Sheet(Screen())
        way = _stopped if stop else partial(_served, purpose=purpose)
        raise SystemExit(way(run, sheet, again, dry=dry, yes=yes))


def _inventory(target: Where) -> Path:
    """Raises Refusal for an address: what is served has to be declared where its owner keeps it."""
    if isinstance(target, Addresses):
        with files.refusals():
            raise Refusal(
                f"what {target} serves is to be declared, and no inventory has it",
                local(
                    f"sparkrig init sparks --from {quoted(target.words[0])}",
                    ", then in the folder sparks: sparkrig serve inventories/sparks.py",
                ),
            )
    return target


def _again(inventory: Path) -> str:
    """The command as it was typed, less --dry and --yes."""
    given = click.get_current_context().params
    words = ["sparkrig", "serve", project.as_typed(inventory), *filter(None, [given["model"]])]
    for option, name in {"--for": "purpose", "--name": "name", "--context": "context", "--mods": "mods"}.items():
        words += [option, str(given[name])] if given[name] else []
    return shlex.join([*words, *(f"--{name}" for name in ("lan", "stop") if given[name])])


# --- a model


def _served(run: Run, sheet: Sheet, again: str, *, purpose: str | None, dry: bool, yes: bool) -> int:
    run.judge()
    if run.makes_key:
        extras.need("onboard", "a key in an inventory")
        run.edited()
    if unread := run.look():
        return _unread(sheet, unread)
    if purpose or not (run.named or run.serving):
        chosen = _proposal(run, sheet, purpose or _purpose(), yes=yes or dry)
        run.given["model"] = chosen.wish.model.name
    run.find_ports()
    if refused := run.refusals():
        for text, names in refused.items():
            _amiss(sheet, names, text)
        return 1
    for server in run.leaders:
        _plan(run, sheet, server)
    if dry:
        return 0
    if run.settled:
        sheet.put("It is so already; nothing is to be done.")
    elif code := _run(run, sheet, "Serve this?", again, yes=yes):
        return code
    return max(_answered(run, sheet, server) for server in run.leaders)


def _purpose() -> str:
    """What it is for, as the terminal says. Raises Refusal where there is none."""
    if not sys.stdin.isatty():
        raise Refusal(
            "no model is named, and there is no terminal to ask at what it is for",
            verb("serve", "--for", "coding", "--yes").then(", or with a MODEL (sparkrig models)"),
        )
    for number, words in enumerate(PURPOSES.values(), 1):
        terminal.echo(f"  {number}  {words}", err=True)
    given: int = terminal.prompt("What is it for", type=click.IntRange(1, len(PURPOSES)))
    return [*PURPOSES][given - 1]


def _proposal(run: Run, sheet: Sheet, purpose: str, *, yes: bool) -> Proposal:
    """Raises Refusal where nothing fits."""
    from sparkrig.checks import server_plan

    found = run.proposed(purpose)
    if not found:
        raise Refusal(
            f"no model of the catalogue for {PURPOSES[purpose]} fits as the hosts are now",
            local(f"sparkrig models --for {quoted(purpose)}", "; named, each says what is in its way"),
        )
    sheet.put(f"For {PURPOSES[purpose]}, and fit to be served now:", "bold")
    for number, each in enumerate(found, 1):
        sheet.put(f"{number}  {server_plan.offered(each, run.known.sources)}", "", 2, 5)
    if yes or len(found) == 1:
        return found[0]
    given: int = terminal.prompt("Which one", type=click.IntRange(1, len(found)), default=1)
    return found[given - 1]


def _plan(run: Run, sheet: Sheet, server: Server) -> None:
    _rows(sheet, run.lines(server))
    for text in run.warnings(server):
        sheet.put(f"! {text}", "yellow", 0, 2)
    sheet.blank()


def _rows(sheet: Sheet, rows: Iterable[tuple[str, str]]) -> None:
    for word, text in rows:
        sheet.put(f"{word:<{_HANGING}}{text}", "", 0, _HANGING)


def _run(run: Run, sheet: Sheet, question: str, again: str, *, yes: bool) -> int:
    """Carry it out, after consent; the exit code, 0 where it got to its end."""
    if not yes and not files.agreed(question):
        sheet.put("Declined; nothing was changed.", "bold")
        return 1
    ended = run.carry_out()
    if ended is None:
        return 0
    for text in ended.applied.why():
        sheet.put(text, "red", 0, 2)
    sheet.put(ended.said(run.inventory, again), "bold", 0, 2)
    return ended.applied.exit_code(back=ended.back)


def _answered(run: Run, sheet: Sheet, server: Server) -> int:
    """Ask the first question, and say how a client reaches the server."""
    said = run.first_answer(server)
    if said.amiss:
        _amiss(sheet, [server.host.name], f"{said.amiss}. Try: {verb('startup')}")
        return 3 if said.lost else 2
    client = run.client(server, said.path)
    rows = [
        ("answer", said.text),
        ("URL", f"{client.base}, model {client.model}"),
        ("key", client.lies if client.key else "none is asked for"),
        ("tunnel", run.tunnel(server)),
    ]
    _rows(sheet, [(word, text) for word, text in rows if text])
    stop = verb("serve", *(["--name", run.name] if run.name else []), "--stop")
    pasted = {"curl": client.curl, "Python": client.python, "editor": client.editor, "stop": stop}
    for word, line in pasted.items():
        sheet.cure(local(line), f"{word:<{_HANGING}}")
    return 0


# --- the end of one


def _stopped(run: Run, sheet: Sheet, again: str, *, dry: bool, yes: bool) -> int:
    if unread := run.look():
        return _unread(sheet, unread)
    there = {bare_name(server.host.name): server.record for server in run.leaders if server.record}
    if not there:
        sheet.put("Nothing is served; nothing was done.", "bold")
        return 0
    for host, record in there.items():
        sheet.put(f"{record.model} on {host} goes; its image and weights stay.")
    if dry:
        return 0
    if code := _run(run, sheet, "Stop it?", again, yes=yes):
        return code
    sheet.put(f"Nothing is served any more on {listed(there)}.", "bold")
    for other in filter(None, map(run.other, run.leaders)):
        sheet.put(f"! {run.inventory} still declares {other}; drift says so until it does not", "yellow", 0, 2)
    return 0


def _unread(sheet: Sheet, unread: Mapping[str, str]) -> int:
    for host, why in unread.items():
        _amiss(sheet, [host], why)
    files.try_doctor()
    return 3


def _amiss(sheet: Sheet, hosts: Iterable[str], why: str) -> None:
    sheet.put(f"✗ {listed(map(bare_name, hosts))}: {why}", "red", 0, 2)
