"""`sparkrig schedule`: drift by a timer of this machine, and a notice when something changes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from sparkrig.cli import extras, files
from sparkrig.cure import quoted, quoted_path
from sparkrig.io import project, terminal
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from sparkrig.render.schedule import Command
    from sparkrig.reports.schedule import Schedule

_SHORTEST_S, _LONGEST_S = 300, 7 * 86400
_UNITS = {"m": 60, "min": 60, "h": 3600, "d": 86400}
_KEPT = ("XDG_STATE_HOME", "XDG_CONFIG_HOME")  # a user manager, or cron, need not have what this shell has


class _Every(click.ParamType):  # type: ignore[type-arg]
    """A time such as 30m, 1h or 1d, in seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"(\d{1,5})(m|min|h|d)", str(value), re.ASCII)
        seconds = int(found[1]) * _UNITS[found[2]] if found else 0
        if not _SHORTEST_S <= seconds <= _LONGEST_S:
            self.fail(f"{value!r} is no time from 5m to 7d, such as 30m, 1h or 1d.", param, ctx)
        return seconds


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
@click.option("--every", type=_Every(), metavar="TIME", help="How often: 5m to 7d. [default: 1h]")
@click.option(
    "--notify",
    type=_PrivateFile(),
    metavar="FILE",
    help="File with an address of apprise in each line, readable by you alone (mode 0600).",
)
@click.option(
    "--heartbeat",
    type=_PrivateFile(),
    metavar="FILE",
    help="File with one https:// address (mode 0600), asked after each good run.",
)
@click.option("--keep", type=click.IntRange(1, 1000), help="Number of reports to keep. [default: 48]")
@click.option(
    "--textfile",
    type=files.Folder(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write metrics of each run into FOLDER, for node_exporter's textfile collector.",
)
@click.option("--cron", is_flag=True, help="Print lines for a crontab, where systemd has no user manager.")
@click.option("--remove", is_flag=True, help="Take all of it back: timers, units, kept reports.")
@click.option("--now", "run_now", is_flag=True, help="Do one run, as the timer does.")
@click.option("--check", is_flag=True, help="Send a notice if a run is missing, as the second timer does.")
def schedule(
    inventory_file: Path,
    every: int | None,
    notify: Path | None,
    heartbeat: Path | None,
    keep: int | None,
    textfile: Path | None,
    cron: bool,
    remove: bool,
    run_now: bool,
    check: bool,
) -> None:
    """Run drift by a timer on this machine, keep the reports, and send a notice when something changes.

    It writes two timers of your own user manager (systemd): one runs drift, the other notices that no run came.
    A notice is sent once when a check fails, a host cannot be read, a run fails or is missing, and once when that
    is over. An option that is left out keeps its value; `sparkrig status` shows the last run (sparkrig docs
    scheduling).
    """
    from sparkrig.cli import scheduled

    given = {"every_s": every, "notify": notify, "heartbeat": heartbeat, "keep": keep, "textfile": textfile}
    _one_of({"--cron": cron, "--remove": remove, "--now": run_now, "--check": check}, given)
    with files.refusals():
        if remove:
            _remove(inventory_file)
        elif run_now:
            sys.exit(scheduled.run(inventory_file))
        elif check:
            sys.exit(scheduled.check(inventory_file))
        else:
            _schedule(inventory_file, cron, given)


def _one_of(flags: Mapping[str, bool], given: Mapping[str, object]) -> None:
    chosen = [name for name, is_set in flags.items() if is_set]
    alone = [name for name in chosen if name != "--cron"]
    if len(chosen) > 1 or (alone and any(value is not None for value in given.values())):
        raise click.UsageError(f"{(alone or chosen)[0]} goes with no other option.", click.get_current_context())


def _schedule(inventory: Path, cron: bool, given: Mapping[str, int | Path | None]) -> None:
    """Write what was asked for, and do the first run. Raises Refusal before anything was written."""
    from sparkrig.io import schedule_files, user_units
    from sparkrig.render import schedule as picture

    files.inventory(inventory)
    before = schedule_files.schedule(inventory)
    made = _made(inventory, cron, given, before)
    command = _command(inventory)
    _usable(made)
    if cron:
        rows = picture.cron_lines(made, command)
        _begin(inventory, made, before)
        _forget_units(inventory)
        _say_cron(rows, inventory)
        return
    user_units.manager()
    texts = picture.unit_files(schedule_files.folder(inventory).name, made, command)
    if made == before and user_units.written(texts) and _waits(inventory):
        terminal.echo("nothing to do: it is scheduled so already")
        return
    _begin(inventory, made, before)
    try:
        user_units.write(texts)
        user_units.enable([name for name in texts if name.endswith(".timer")])
    except Refusal:
        _take_back(inventory, before)
        raise
    _start(inventory, made)


def _take_back(inventory: Path, before: Schedule | None) -> None:
    """Leave nothing half done where systemd refused a unit: no units, and the record of before, if any."""
    from sparkrig.io import schedule_files

    _forget_units(inventory)
    if before:
        schedule_files.keep_schedule(inventory, before)
    else:
        schedule_files.forget(inventory)


def _made(
    inventory: Path, cron: bool, given: Mapping[str, int | Path | None], before: Schedule | None
) -> Schedule:
    """What is to be, of what was typed and what was there."""
    from sparkrig.reports.schedule import Schedule

    typed = {
        name: str(_whole(value)) if isinstance(value, Path) else value
        for name, value in given.items()
        if value is not None
    }
    kept = before.model_dump() if before else {"every_s": 3600}
    return Schedule.model_validate(
        {**kept, **typed, "inventory": str(_whole(inventory)), "by": "cron" if cron else "systemd"}
    )


def _whole(path: Path) -> Path:
    """By which a timer finds it, without a folder that it was only typed in and that may go."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _usable(made: Schedule) -> None:
    """Raises Refusal where a file with addresses cannot be used; exit code 1 where apprise is not installed."""
    from sparkrig.io import atomic_write, notify

    if made.notify:
        extras.need("watch")
        notify.check(Path(made.notify))
    if made.heartbeat:
        notify.heartbeat(Path(made.heartbeat))
    if made.textfile and not os.access(made.textfile, os.W_OK | os.X_OK):
        raise Refusal(
            f"{made.textfile} is no folder that you may write to, as is expected of one for metrics",
            f"sudo chown $USER {quoted_path(Path(made.textfile))}",
        )
    if made.textfile:  # which no run could write to, where another user's link leads there
        atomic_write.folder(Path(made.textfile) / "metrics")


def _begin(inventory: Path, made: Schedule, before: Schedule | None) -> None:
    """Show that notices arrive, and keep what was asked for. Raises Refusal where no address takes one."""
    from sparkrig.io import notify, schedule_files
    from sparkrig.reports.schedule import hello, spoken

    if made.notify and made != before:
        first = hello(made, spoken(made.every_s), schedule_files.node())
        failed, every = notify.send(Path(made.notify), first)
        for each in failed:
            terminal.echo(f"Warning: {each}", err=True)
        if len(failed) == every:
            raise Refusal(
                f"no address in {made.notify} took the first notice, and nothing was scheduled",
                "sparkrig docs scheduling, which has the form of each",
            )
    if before and before.textfile != made.textfile:
        schedule_files.forget_metrics(inventory, before)
    schedule_files.keep_schedule(inventory, made)


def _start(inventory: Path, made: Schedule) -> None:
    """Do the first run as the timer will: with the keys and the network that it has."""
    from sparkrig.cli import scheduled
    from sparkrig.io import progress, schedule_files, user_units
    from sparkrig.render import schedule as picture
    from sparkrig.reports.schedule import RUN_S, spoken

    names = picture.units(schedule_files.folder(inventory).name)
    service = names[picture.RUN][0]
    with progress.hosts([service], "The first run, by systemd") as told:
        told(service, "running")
        user_units.start(service, RUN_S)
    terminal.echo(
        f"{names[picture.RUN][1]} runs drift every {spoken(made.every_s)}, and "
        f"{names[picture.CHECK][1]} notices where a run is missing."
    )
    for line in scheduled.standing(inventory):
        terminal.echo(line)
    if user_units.lingers() is False:
        terminal.echo("Your timers stop when you log out. Try: loginctl enable-linger", err=True)
    last = schedule_files.state(inventory).ran
    if last is None or last.trouble:
        raise SystemExit(3)


def _say_cron(rows: list[str], inventory: Path) -> None:
    terminal.echo("Add these lines with: crontab -e", err=True)
    for row in rows:
        terminal.echo(row)
    terminal.echo(f"Then try one run: {quoted('sparkrig', 'schedule')} {quoted_path(inventory)} --now", err=True)


def _waits(inventory: Path) -> bool:
    from sparkrig.cli import scheduled

    return scheduled.stopped(inventory) == []


def _forget_units(inventory: Path) -> bool:
    """Remove the units of a schedule; whether there were any."""
    from sparkrig.io import schedule_files, user_units
    from sparkrig.render import schedule as picture

    names = picture.units(schedule_files.folder(inventory).name)
    return user_units.remove([name for pair in names.values() for name in pair])


def _remove(inventory: Path) -> None:
    """Take all of it back."""
    from sparkrig.io import schedule_files

    before = _before(inventory)
    were = _forget_units(inventory)
    if not were and not schedule_files.exist(inventory):
        terminal.echo(f"nothing to do: nothing is scheduled for {inventory}")
        return
    with schedule_files.alone(inventory) as free:
        if not free:  # it would write its state and its metrics again, for good
            raise Refusal(f"a run of the schedule of {inventory} goes on", "the same once it ended")
        schedule_files.forget_metrics(inventory, before)
        schedule_files.forget(inventory)
    terminal.echo(f"{inventory} is watched no longer; timers, units and kept reports are removed.")
    if before and before.by == "cron":
        terminal.echo("Its two lines are still in your crontab. Try: crontab -e", err=True)
    left = [each for each in (before.notify, before.heartbeat) if each] if before else []
    if left:
        terminal.echo(f"Your own files stay: {' '.join(map(quoted_path, left))}", err=True)


def _before(inventory: Path) -> Schedule | None:
    """What was asked for; None too where its file is damaged, which is no reason to keep the rest."""
    from sparkrig.io import schedule_files

    try:
        return schedule_files.schedule(inventory)
    except Refusal:
        return None


def _command(inventory: Path) -> Command:
    from sparkrig.render.schedule import Command

    program = Path(sys.executable).with_name("sparkrig")
    if not program.is_file():
        _no_program(program)
    return Command(
        str(program),
        project.root(inventory),
        _whole(inventory),
        {name: os.environ[name] for name in _KEPT if os.environ.get(name)},
    )


def _no_program(program: Path) -> NoReturn:
    raise Refusal(f"there is no {program} that a timer could start", "pip install sparkrig")
