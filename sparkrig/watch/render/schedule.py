"""A schedule as text: the two units of systemd's user manager, and what a person reads of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkrig.refusal import Refusal
from sparkrig.runs.render.journal import ago
from sparkrig.serving.unit_files import command_line, unit_word
from sparkrig.watch.schedule import RUN_S, Known, Schedule, spoken, standing, told

_FIRST = "2min"  # after the user manager began: a network is up by then


@dataclass(frozen=True)
class Command:
    """What the timer starts. program: sparkrig's own, whole; place: where it is typed; inventory: whole.

    environment: what the shell that scheduled it has and a user manager does not.
    """

    program: str
    place: Path
    inventory: Path
    environment: Mapping[str, str]


def units(id: str) -> tuple[str, str]:
    """The names of service and timer. id: of the schedule's folder."""
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_.-") else "_" for letter in id)
    return f"sparkrig-drift-{safe}.service", f"sparkrig-drift-{safe}.timer"


def former_units(id: str) -> list[str]:
    """The names of a second pair, which looked for a missing run until `status` did."""
    return [name.replace("-drift-", "-check-", 1) for name in units(id)]


def unit_files(id: str, schedule: Schedule, command: Command) -> dict[str, str]:
    """The text of each unit, by its file name. Raises Refusal for a path that no unit can have."""
    _plain(command)
    # the path is not last: a blank there would be lost, and a backslash take the next line
    about = f"sparkrig: {command.inventory}, drift".replace("%", "%%")
    service, timer = units(id)
    return {service: _service(about, command), timer: _timer(about, schedule.every_s)}


def _service(about: str, command: Command) -> str:
    given = [f"Environment={unit_word(f'{name}={value}')}" for name, value in command.environment.items()]
    return _text(
        [
            "[Unit]",
            f"Description={about}",
            "",
            "[Service]",
            "Type=oneshot",
            # `-`: where the folder was moved or removed, the run is to fail in a notice, and not to be none
            # `/` at the end, for the reason above
            f"WorkingDirectory=-{str(command.place).replace('%', '%%')}/",
            *given,
            f"ExecStart={command_line((command.program, 'schedule', str(command.inventory), '--now'))}",
            f"TimeoutStartSec={RUN_S + 300}",
            "Nice=10",
        ]
    )


def _timer(about: str, every_s: int) -> str:
    # what a monotonic timer counts is time awake, so a machine that slept looks once when it wakes, not at each
    # missed hour (systemd.timer(5))
    return _text(
        [
            "[Unit]",
            f"Description={about}",
            "",
            "[Timer]",
            f"OnActiveSec={_FIRST}",
            f"OnUnitActiveSec={every_s}s",
            "",
            "[Install]",
            "WantedBy=timers.target",
        ]
    )


def _text(rows: Sequence[str]) -> str:
    return "\n".join(
        ("# Written by sparkrig schedule; sparkrig schedule INVENTORY --remove takes it away.", *rows, "")
    )


def _plain(command: Command) -> None:
    """Refuse what would end a line of a unit, and a program that systemd starts in no quotes."""
    for path in (command.program, str(command.place), str(command.inventory), *command.environment.values()):
        if not path.isprintable() or (path is command.program and set("\\\"'") & set(path)):
            raise Refusal(f"the path {path} has a character in it that no unit can have", "rename it")


def lines(known: Known) -> list[str]:
    """One line on what is scheduled and how it stands, and one for each thing that is wrong with it."""
    head, ran = f"watched every {spoken(known.schedule.every_s)} by {known.by}", known.state.ran
    if ran and not ran.trouble:
        age = int((known.now - ran.started).total_seconds())
        head += f"; last run {ago(age)}: {told(ran.counts.model_dump())}"
    return [head, *(f"! {sentence}" for sentence in standing(known))]
