"""`sparkrig undo`: put the hosts of an inventory back to what stood there before a run."""

from __future__ import annotations

from pathlib import Path

import click

from sparkrig.cli import files
from sparkrig.operations import undoing


@click.command()
@files.INVENTORY
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="Also undo what others changed since.")
@click.option(
    "--limit", multiple=True, metavar="HOST", help="Only this host; may be repeated. Its peers are read, too."
)
@click.option(
    "--one-host",
    "--one-half",  # as it was called
    "one_host",
    is_flag=True,
    help="With --limit: undo one part of a pair or cluster alone, even if the run was on all.",
)
@click.option(
    "--restart-docker", is_flag=True, help="Restart docker while containers run, if its daemon.json is restored."
)
@click.option("--dry", is_flag=True, help="Show the plan and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/undo.json).")
def undo(
    inventory_file: Path,
    run: str | None,
    everything: bool,
    limit: tuple[str, ...],
    one_host: bool,
    restart_docker: bool,
    dry: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Restore files, holds, pins and network profiles to what they were before RUN.

    RUN is a run that `sparkrig status` shows; by default the newest that changed something. It shows a plan
    first, and asks. Of packages only the exporter and earlyoom go, and an update goes back by `sparkrig update
    --back`. An undo is a run, too, and can be undone.

    A pair or cluster is undone as a whole or not at all. If a host keeps no record of a run that was made on it,
    too, only --limit with --one-host undoes the others.

    Exit code 2: something was not restored (it was changed since, docker does not start with it, or it differs
    afterwards), and a line says why; 3: a host could not be read, or keeps no record of the old state, or the undo
    broke off (run the same command again); 4: the network could not be restored, and nothing was changed.
    """
    if one_host and not limit:
        raise click.UsageError("--one-host expects --limit HOST, which names what goes back")
    fleet, every = files.inventory(inventory_file)
    with files.refusals():
        data = files.limited(every, limit, fleet, with_peers=not one_host)
        asked = undoing.Asked(inventory_file, run, limit, one_host, everything, restart_docker)
    if not dry:
        files.must_answer(yes, "the same with --dry, which shows the plan; then with --yes")
    from sparkrig.runs.undo_outcome import Report
    from sparkrig.terminal.screen import Screen

    with files.refusals():
        made = undoing.undone(Screen(stderr=as_json), data, fleet, asked, dry=dry, yes=yes)
    if as_json:
        files.print_json(Report(groups=[group.undone for group in made]))
    raise SystemExit(max(group.code for group in made))
