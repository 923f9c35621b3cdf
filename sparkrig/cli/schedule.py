"""`sparkrig schedule`: drift by a timer of this machine, and a notice when something changes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkrig.cli import extras, files
from sparkrig.watch.io import scheduled, scheduling

_EVERY = files.Duration(300, 7 * 86400, "5m to 7d is expected, such as 30m, 1h or 1d.")


class _PrivateFile(click.ParamType):  # type: ignore[type-arg]
    """A file with an address in it; an address itself is refused, and not repeated."""

    name = "file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if ":/" in str(value):
            self.fail(
                "an address may hold a secret, and every user can read the words of a command. Put it in a file, "
                "and give its name: (umask 077; cat >~/sparkrig-notify).",
                param,
                ctx,
            )
        return Path(str(value)).expanduser()


@click.command()
@files.INVENTORY
@click.option("--every", type=_EVERY, metavar="TIME", help="How often: 5m to 7d. [default: 1h]")
@click.option(
    "--notify",
    type=_PrivateFile(),
    metavar="FILE",
    help="File with an address of apprise in each line, readable by you alone (mode 0600).",
)
@click.option("--remove", is_flag=True, help="Take all of it back: timer, units, records.")
@click.option("--now", "run_now", is_flag=True, help="Do one run here, as the timer does; for a crontab, too.")
def schedule(
    inventory_file: Path,
    every: int | None,
    notify: Path | None,
    remove: bool,
    run_now: bool,
) -> None:
    """Run drift by a timer on this machine, and send a notice when something changes.

    It writes a service and a timer of your own user manager (systemd). A notice is sent once when a check fails, a
    host cannot be read or a run fails, and once when that is over. An option that is left out keeps its value;
    `sparkrig status` shows the last run, and says where one is missing (sparkrig docs scheduling).
    """
    given = {"every_s": every, "notify": notify}
    typed = {name: value for name, value in given.items() if value is not None}
    if remove and (typed or run_now):
        raise click.UsageError("--remove goes with no other option.", click.get_current_context())
    with files.refusals():
        if remove:
            scheduling.remove(inventory_file)
            return
        if typed or not run_now:
            files.inventory(inventory_file)
            order = scheduling.ordered(inventory_file, typed, by_hand=run_now)
            if order.made.notify:
                extras.need("watch")
                scheduling.judge(order)
            (scheduling.begin if run_now else scheduling.schedule)(inventory_file, order)
        if run_now:
            sys.exit(scheduled.run(inventory_file))
