"""`sparkrig schedule`: drift by a timer of this machine, and a notice when something changes."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkrig.cli import extras, files
from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import project, terminal
from sparkrig.watch.io import scheduled

if TYPE_CHECKING:
    from sparkrig.watch.render.schedule import Command
    from sparkrig.watch.schedule import Schedule

_EVERY = files.Duration(300, 7 * 86400, "5m to 7d is expected, such as 30m, 1h or 1d.")
_KEPT = ("XDG_STATE_HOME", "XDG_CONFIG_HOME")  # a user manager need not have what this shell has


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
@click.option(
    "--textfile",
    type=files.Folder(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write metrics of each run into FOLDER, for node_exporter's textfile collector.",
)
@click.option("--remove", is_flag=True, help="Take all of it back: timer, units, records.")
@click.option("--now", "run_now", is_flag=True, help="Do one run here, as the timer does; for a crontab, too.")
def schedule(
    inventory_file: Path,
    every: int | None,
    notify: Path | None,
    textfile: Path | None,
    remove: bool,
    run_now: bool,
) -> None:
    """Run drift by a timer on this machine, and send a notice when something changes.

    It writes a service and a timer of your own user manager (systemd). A notice is sent once when a check fails, a
    host cannot be read or a run fails, and once when that is over. An option that is left out keeps its value;
    `sparkrig status` shows the last run, and says where one is missing (sparkrig docs scheduling).
    """
    given = {"every_s": every, "notify": notify, "textfile": textfile}
    typed = {name: value for name, value in given.items() if value is not None}
    if remove and (typed or run_now):
        raise click.UsageError("--remove goes with no other option.", click.get_current_context())
    with files.refusals():
        if remove:
            _remove(inventory_file)
            return
        if not run_now:
            _schedule(inventory_file, typed)
            return
        if typed:
            _keep(inventory_file, typed)
        sys.exit(scheduled.run(inventory_file))


def _keep(inventory: Path, typed: Mapping[str, int | Path]) -> None:
    """Write down what was asked for, for runs that a crontab begins. Raises Refusal."""
    known = scheduled.known(inventory)
    if known and known.by == "systemd":
        raise Refusal(
            f"a timer of systemd runs the schedule of {inventory}, and --now changes none of it",
            "the same without --now",
        )
    before, made = _wanted(inventory, typed)
    _begin(inventory, made, before)


def _schedule(inventory: Path, typed: Mapping[str, int | Path]) -> None:
    """Write what was asked for, and do the first run. Raises Refusal before anything was written."""
    from sparkrig.watch.io import schedule_files, user_units
    from sparkrig.watch.render import schedule as picture

    before, made = _wanted(inventory, typed)
    user_units.manager()
    id = schedule_files.folder(inventory).name
    texts = picture.unit_files(id, made, _command(inventory))
    service, timer = picture.units(id)
    if made == before and user_units.written(texts) and user_units.active(timer):
        terminal.echo("nothing to do: it is scheduled so already")
        return
    _begin(inventory, made, before)
    try:
        user_units.remove(picture.former_units(id))
        user_units.write(texts)
        user_units.enable([timer])
    except Refusal:  # leave nothing half done: no units, and the record of before, if any
        _forget_units(inventory)
        if before:
            schedule_files.keep_schedule(inventory, before)
        else:
            schedule_files.forget(inventory)
        raise
    _start(inventory, made, service, timer)


def _wanted(inventory: Path, typed: Mapping[str, int | Path]) -> tuple[Schedule | None, Schedule]:
    """What was there, and what is to be by what was typed. Raises Refusal where that cannot be."""
    from sparkrig.watch.io import schedule_files
    from sparkrig.watch.schedule import Schedule

    files.inventory(inventory)
    before = schedule_files.schedule(inventory)
    kept = before.model_dump() if before else {"every_s": 3600}
    new = {name: str(_whole(value)) if isinstance(value, Path) else value for name, value in typed.items()}
    made = Schedule.model_validate({**kept, **new, "inventory": str(_whole(inventory))})
    _usable(inventory, made)
    return before, made


def _whole(path: Path) -> Path:
    """By which a timer finds it, without a folder that it was only typed in and that may go."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _usable(inventory: Path, made: Schedule) -> None:
    """Raises Refusal where a file or folder cannot be used; exit code 1 where an extra is not installed."""
    from sparkrig.terminal import atomic_write
    from sparkrig.watch.io import notify, schedule_files

    if made.notify:
        extras.need("watch")
        notify.check(Path(made.notify))
    if made.textfile:
        extras.need("report")
    if made.textfile and not os.access(made.textfile, os.W_OK | os.X_OK):
        raise Refusal(
            f"{made.textfile} is no folder that you may write to, as is expected of one for metrics",
            f"sudo chown $USER {quoted_path(Path(made.textfile))}",
        )
    if made.textfile:  # which no run could write to, where another user's link leads there
        atomic_write.folder(Path(made.textfile) / "metrics")
        schedule_files.metrics_alone(inventory, made)


def _begin(inventory: Path, made: Schedule, before: Schedule | None) -> None:
    """Show that notices arrive, and keep what was asked for. Raises Refusal where no address takes one."""
    from sparkrig.watch.io import notify, schedule_files
    from sparkrig.watch.schedule import hello

    if made.notify and made != before:
        failed, every = notify.send(Path(made.notify), hello(made, platform.node()))
        for sentence in failed:
            terminal.echo(f"Warning: {sentence}", err=True)
        if len(failed) == every:
            raise Refusal(
                f"no address in {made.notify} took the first notice, and nothing was scheduled",
                "sparkrig docs scheduling, which has the form of each",
            )
    if before and before.textfile != made.textfile:
        schedule_files.forget_metrics(inventory, before)
    schedule_files.keep_schedule(inventory, made)


def _start(inventory: Path, made: Schedule, service: str, timer: str) -> None:
    """Do the first run as the timer will: with the keys and the network that it has."""
    from sparkrig.terminal import progress
    from sparkrig.watch.io import schedule_files, user_units
    from sparkrig.watch.render.schedule import lines
    from sparkrig.watch.schedule import RUN_S, spoken

    with progress.hosts([service], "The first run, by systemd") as told:
        told(service, "running")
        user_units.start(service, RUN_S)
    terminal.echo(f"{timer} runs drift every {spoken(made.every_s)}.")
    known = scheduled.known(inventory)
    for line in lines(known) if known else ():
        terminal.echo(line)
    if user_units.lingers() is False:
        terminal.echo("Your timers stop when you log out. Try: loginctl enable-linger", err=True)
    last = schedule_files.state(inventory).ran
    if last is None or last.trouble:
        raise SystemExit(3)


def _forget_units(inventory: Path) -> bool:
    """Remove the units of a schedule; whether there were any."""
    from sparkrig.watch.io import schedule_files, user_units
    from sparkrig.watch.render import schedule as picture

    id = schedule_files.folder(inventory).name
    return user_units.remove([*picture.units(id), *picture.former_units(id)])


def _remove(inventory: Path) -> None:
    """Take all of it back."""
    from sparkrig.watch.io import schedule_files

    before = _before(inventory)
    were = _forget_units(inventory)
    if not were and not schedule_files.exist(inventory):
        terminal.echo(f"nothing to do: nothing is scheduled for {inventory}")
        return
    with schedule_files.alone(inventory):  # a run would write its state and its metrics again, for good
        schedule_files.forget_metrics(inventory, before)
        schedule_files.forget(inventory)
    terminal.echo(f"{inventory} is watched no longer; timer, units and records are removed.")
    if not were:
        terminal.echo("Where a crontab runs it, its line is still there. Try: crontab -e", err=True)
    if before and before.notify:
        terminal.echo(f"Your own file stays: {quoted_path(Path(before.notify))}", err=True)


def _before(inventory: Path) -> Schedule | None:
    """What was asked for; None too where its file is damaged, which is no reason to keep the rest."""
    from sparkrig.watch.io import schedule_files

    try:
        return schedule_files.schedule(inventory)
    except Refusal:
        return None


def _command(inventory: Path) -> Command:
    from sparkrig.watch.render.schedule import Command

    program = Path(sys.executable).with_name("sparkrig")
    if not program.is_file():
        raise Refusal(f"there is no {program} that a timer could start", "pip install sparkrig")
    environment = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    return Command(str(program), project.root(inventory), _whole(inventory), environment)
