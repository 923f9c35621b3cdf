"""Beginning and ending a schedule: what was asked for is judged, shown to arrive, written down, and run once."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import progress, project, terminal
from sparkrig.watch.io import notify, schedule_files, scheduled, user_units
from sparkrig.watch.render import schedule as picture
from sparkrig.watch.render.schedule import Command
from sparkrig.watch.schedule import RUN_S, Schedule, hello, spoken

# a user manager need not have what this shell has
_KEPT = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")


class Order(NamedTuple):
    """What is scheduled, and what was before; None where nothing was."""

    made: Schedule
    before: Schedule | None


def ordered(inventory: Path, typed: Mapping[str, int | Path], *, by_hand: bool) -> Order:
    """What is to be by what was typed; an option that was left out keeps its value.

    by_hand: for runs that a crontab begins. Raises Refusal where a timer of systemd begins them.
    """
    known = scheduled.known(inventory) if by_hand else None
    if known and known.by == "systemd":
        raise Refusal(
            f"a timer of systemd runs the schedule of {inventory}, and --now changes none of it",
            "the same without --now",
        )
    before = schedule_files.schedule(inventory)
    kept = before.model_dump() if before else {"every_s": 3600}
    new = {name: str(_whole(value)) if isinstance(value, Path) else value for name, value in typed.items()}
    return Order(Schedule.model_validate({**kept, **new, "inventory": str(_whole(inventory))}), before)


def _whole(path: Path) -> Path:
    """By which a timer finds it, without a folder that it was only typed in and that may go."""
    return path.resolve() if ".." in path.parts else path.absolute()


def judge(order: Order) -> None:
    """Raises Refusal where the file of addresses cannot be used; apprise is installed."""
    notify.check(Path(order.made.notify))


def schedule(inventory: Path, order: Order) -> None:
    """Write what was asked for, and do the first run. Raises Refusal before anything was written."""
    user_units.manager()
    id = schedule_files.folder(inventory).name
    texts = picture.unit_files(id, order.made, _command(inventory))
    service, timer = picture.units(id)
    if order.made == order.before and user_units.written(texts) and user_units.active(timer):
        terminal.echo("nothing to do: it is scheduled so already")
        return
    begin(inventory, order)
    try:
        user_units.remove(picture.former_units(id))
        user_units.write(texts)
        user_units.enable([timer])
    except Refusal:  # leave nothing half done: no units, and the record of before, if any
        _forget_units(inventory)
        if order.before:
            schedule_files.keep_schedule(inventory, order.before)
        else:
            schedule_files.forget(inventory)
        raise
    _start(inventory, order.made, service, timer)


def begin(inventory: Path, order: Order) -> None:
    """Show that notices arrive, and keep what was asked for. Raises Refusal where no address takes one."""
    made = order.made
    if made.notify and made != order.before:
        failed, every = notify.send(Path(made.notify), hello(made, platform.node()))
        for sentence in failed:
            terminal.echo(f"Warning: {sentence}", err=True)
        if len(failed) == every:
            raise Refusal(
                f"no address in {made.notify} took the first notice, and nothing was scheduled",
                "sparkrig docs scheduling, which has the form of each",
            )
    schedule_files.keep_schedule(inventory, made)


def _start(inventory: Path, made: Schedule, service: str, timer: str) -> None:
    """Do the first run as the timer will: with its keys and its network. Exit code 3 where it fails."""
    with progress.hosts([service], "The first run, by systemd") as told:
        told(service, "running")
        user_units.start(service, RUN_S)
    terminal.echo(f"{timer} runs drift every {spoken(made.every_s)}.")
    known = scheduled.known(inventory)
    for line in picture.lines(known) if known else ():
        terminal.echo(line)
    if user_units.lingers() is False:
        terminal.echo("Your timers stop when you log out. Try: loginctl enable-linger", err=True)
    last = schedule_files.state(inventory).ran
    if last is None or last.trouble:
        raise SystemExit(3)


def _forget_units(inventory: Path) -> bool:
    """Remove the units of a schedule; whether there were any."""
    id = schedule_files.folder(inventory).name
    return user_units.remove([*picture.units(id), *picture.former_units(id)])


def remove(inventory: Path) -> None:
    """Take all of it back."""
    before = _before(inventory)
    were = _forget_units(inventory)
    if not were and not schedule_files.exist(inventory):
        terminal.echo(f"nothing to do: nothing is scheduled for {inventory}")
        return
    with schedule_files.alone(inventory):  # a run would write its state again, for good
        schedule_files.forget(inventory)
    terminal.echo(f"{inventory} is watched no longer; timer, units and records are removed.")
    if not were:
        terminal.echo("Where a crontab runs it, its line is still there. Try: crontab -e", err=True)
    if before and before.notify:
        terminal.echo(f"Your own file stays: {quoted_path(Path(before.notify))}", err=True)


def _before(inventory: Path) -> Schedule | None:
    """What was asked for; None too where its file is damaged, which is no reason to keep the rest."""
    try:
        return schedule_files.schedule(inventory)
    except Refusal:
        return None


def _command(inventory: Path) -> Command:
    program = Path(sys.executable).with_name("sparkrig")
    if not program.is_file():
        raise Refusal(f"there is no {program} that a timer could start", "pip install sparkrig")
    environment = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    return Command(str(program), project.root(inventory), _whole(inventory), environment)
