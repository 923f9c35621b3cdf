"""`sparkrig serve`: one command with which a model answers, from the choice of it to the first answer."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig import cure
from sparkrig.cli import extras, files
from sparkrig.cure import local, quoted, verb
from sparkrig.refusal import Refusal
from sparkrig.serving.purposes import PURPOSES
from sparkrig.terminal import project, terminal
from sparkrig.terminal.project import Addresses, Where
from sparkrig.text import bare_name, listed

if TYPE_CHECKING:
    from sparkrig.checks.server import Server
    from sparkrig.checks.server_plan import Report
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
    "--data", metavar="NAME=VALUE", multiple=True, help="A setting for this run alone (sparkrig docs settings)."
)
@click.option("--stop", is_flag=True, help="Take the server away; its image and weights stay.")
@click.option("--dry", is_flag=True, help="Show the plan and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation; of several models take the first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/serve.json).")
def serve(
    inventory_file: Where,
    model: str | None,
    purpose: str | None,
    lan: bool,
    name: str,
    context: int | None,
    data: tuple[str, ...],
    stop: bool,
    dry: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Serve a model: choose one that fits, show the plan, ask once, and print how a client reaches it.

    It runs `pyinfra INVENTORY deploys/serve.py` in a process of its own; plain pyinfra does the same. The server
    is tried before a client reaches it, and what served before comes back where the new one does not answer.
    Without a MODEL, and where the inventory declares none, it asks what the model is for.

    Exit code 1: refused, declined, or the run did not finish; 2: it answers nothing that makes sense; 3: a host
    could not be reached; 4: it was changed and rolled back (sparkrig docs serving).
    """
    inventory, typed = _inventory(inventory_file), _settings(data)
    again = cure.AGAIN[0] = _again(inventory)
    _consistent(click.get_current_context().params)
    _, own = files.inventory(inventory)
    files.must_answer(dry or yes, f"{again} --dry, which shows the plan; then {again} --yes")
    known = files.catalogue(inventory)
    with files.refusals():
        from sparkrig.checks import server_plan
        from sparkrig.deploys.served import Run

        given = server_plan.given(model, name, context, next(iter(own.values())), typed, lan=lan, stop=stop)
        run = Run(inventory, own, known, given, lan)
        door = _Door.of(run, again, dry=dry, yes=yes, as_json=as_json)
        with files.interruptible(lambda: f"what was done stays; {again} goes on" if run.began else ""):
            door.report.exit_code = door.stop() if stop else door.serve(purpose)
    if as_json:
        files.print_json(door.report)
    raise SystemExit(door.report.exit_code)


def _consistent(options: Mapping[str, Any]) -> None:
    """Raises UsageError for options that exclude one another."""
    if options["stop"] and any(options[name] for name in ("model", "purpose", "context", "data", "lan")):
        raise click.UsageError("--stop goes with --name alone")
    if options["model"] and options["purpose"]:
        raise click.UsageError("--for proposes a model, and one is named")


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


def _settings(data: tuple[str, ...]) -> dict[str, Any]:
    parted = {name: value for name, _, value in (each.partition("=") for each in data)}
    if "" in parted or not all("=" in each for each in data):
        raise click.UsageError("--data is to be NAME=VALUE")
    return {name: cure.read_value(value) for name, value in parted.items()}


def _again(inventory: Path) -> str:
    """The command as it was typed, less --dry, --yes and --json."""
    given = click.get_current_context().params
    words = ["sparkrig", "serve", project.as_typed(inventory), *filter(None, [given["model"]])]
    for option, name in {"--for": "purpose", "--name": "name", "--context": "context"}.items():
        words += [option, str(given[name])] if given[name] else []
    words += [word for each in given["data"] for word in ("--data", each)]
    return shlex.join([*words, *(f"--{name}" for name in ("lan", "stop") if given[name])])


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


@dataclass
class _Door:
    """What is shown of a run, and kept for --json. again: the command to type once more."""

    run: Run
    sheet: Sheet
    report: Report
    again: str
    dry: bool
    yes: bool

    @classmethod
    def of(cls, run: Run, again: str, *, dry: bool, yes: bool, as_json: bool) -> _Door:
        """as_json: what is shown goes to standard error."""
        from sparkrig.checks.server_plan import Report
        from sparkrig.drift.render.plan import Sheet
        from sparkrig.terminal.screen import Screen

        return cls(run, Sheet(Screen(stderr=as_json)), Report(inventory=str(run.inventory)), again, dry, yes)

    # --- a model

    def serve(self, purpose: str | None) -> int:
        run = self.run
        if run.makes_key:
            extras.need("onboard", "a key in an inventory")
        run.judge()
        if unread := run.look():
            return self._unread(unread)
        if purpose or not (run.named or run.serving):
            run.give({"model": self._chosen(purpose or _purpose()).wish.model.name})
        run.find_ports()
        if refused := run.refusals():
            for text, names in refused.items():
                self._amiss(names, text)
            return self._end("Refused; nothing was changed.", 1)
        for server in run.leaders:
            self._plan(server)
        if self.dry:
            self.report.outcome = "Planned; nothing was changed."
            return 0
        if run.settled:
            self._end("It is so already; nothing is to be done.", 0)
        elif code := self._carry_out("Serve this?"):
            return code
        return max(self._answered(server) for server in run.leaders)

    def _chosen(self, purpose: str) -> Proposal:
        """Raises Refusal where nothing fits."""
        from sparkrig.checks import server_plan

        found = self.run.proposed(purpose)
        if not found:
            raise Refusal(
                f"no model of the catalogue for {PURPOSES[purpose]} fits as the hosts are now",
                local(f"sparkrig models --for {quoted(purpose)}", "; named, each says what is in its way"),
            )
        self.sheet.put(f"For {PURPOSES[purpose]}, and fit to be served now:", "bold")
        for number, each in enumerate(found, 1):
            self.sheet.put(f"{number}  {server_plan.offered(each, self.run.known.sources)}", "", 2, 5)
        if self.yes or self.dry or len(found) == 1:
            return found[0]
        given: int = terminal.prompt("Which one", type=click.IntRange(1, len(found)), default=1)
        return found[given - 1]

    def _plan(self, server: Server) -> None:
        from sparkrig.checks.server_plan import rows

        plan = self.run.planned(server)
        self.report.servers.append(plan)
        new = f"; it is made, and {self.run.inventory} names it" if self.run.makes_key else ""
        self._rows([*rows(plan), ("key", f"in {plan.client.lies}{new}" if plan.client.key else "")])
        for text in plan.warnings:
            self.sheet.put(f"! {text}", "yellow", 0, 2)
        self.sheet.blank()

    def _carry_out(self, question: str) -> int:
        """The exit code, after consent; 0 where the run got to its end."""
        if not self.yes and not files.agreed(question):
            return self._end("Declined; nothing was changed.", 1)
        ended = self.run.carry_out()
        if ended is None:
            self.report.outcome = "Done."
            return 0
        for text in ended.applied.why():
            self.sheet.put(text, "red", 0, 2)
        return self._end(ended.said(self.run.inventory, self.again), ended.applied.exit_code(back=ended.back))

    def _answered(self, server: Server) -> int:
        """Ask the first question, and say how a client reaches the server."""
        run, host = self.run, server.host.name
        said = run.first_answer(server)
        if said.amiss:
            self._amiss([host], f"{said.amiss}. Try: {verb('startup')}")
            return 3 if said.lost else 2
        self.report.answers[bare_name(host)] = said.text
        client = run.client(server)
        self._rows(
            [
                ("answer", said.text),
                ("URL", f"{client.base}, model {client.model}"),
                ("key", client.lies if client.key else "none is asked for"),
                ("tunnel", run.tunnel(server)),
                ("editor", client.editor),
            ]
        )
        stop = verb("serve", *(["--name", run.name] if run.name else []), "--stop")
        pasted = {"curl": client.curl, "Python": client.python(said.path), "stop": stop}
        for word, line in pasted.items():
            self.sheet.cure(local(line), f"{word:<{_HANGING}}")
        return 0

    # --- the end of one

    def stop(self) -> int:
        if unread := self.run.look():
            return self._unread(unread)
        there = {bare_name(server.host.name): server.record for server in self.run.leaders if server.record}
        if not there:
            return self._end("Nothing is served; nothing was done.", 0)
        for host, record in there.items():
            self.sheet.put(f"{record.model} on {host} goes; its image and weights stay.")
        if self.dry:
            return 0
        if code := self._carry_out("Stop it?"):
            return code
        self._end(f"Nothing is served any more on {listed(there)}.", 0)
        for other in filter(None, map(self.run.other, self.run.leaders)):
            self.sheet.put(
                f"! {self.run.inventory} still declares {other}; drift says so until it does not", "yellow", 0, 2
            )
        return 0

    # --- what is shown

    def _rows(self, rows: Iterable[tuple[str, str]]) -> None:
        for word, text in rows:
            if text:
                self.sheet.put(f"{word:<{_HANGING}}{text}", "", 0, _HANGING)

    def _unread(self, unread: Mapping[str, str]) -> int:
        for host, why in unread.items():
            self._amiss([host], why)
        files.try_doctor()
        self.report.outcome = "Not every host could be read; nothing was changed."
        return 3

    def _amiss(self, hosts: Iterable[str], why: str) -> None:
        from sparkrig.checks.server_plan import Amiss

        names = [*map(bare_name, hosts)]
        self.report.amiss.append(Amiss(hosts=names, why=why))
        self.sheet.put(f"✗ {listed(names)}: {why}", "red", 0, 2)

    def _end(self, outcome: str, code: int) -> int:
        """Say how it stands."""
        self.report.outcome = outcome
        self.sheet.put(outcome, "bold", 0, 2)
        return code
