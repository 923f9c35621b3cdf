"""A schedule as text: units of systemd's user manager, lines of a crontab, and what a person reads of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkrig.cure import quoted, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.render.journal import ago
from sparkrig.reports.schedule import NO_CHECK, NO_TIMER, RUN_S, Awake, Schedule, State, spoken, standing, told
from sparkrig.serving.unit_files import command_line, unit_word

RUN, CHECK = "--now", "--check"
_NAMES = {RUN: "drift", CHECK: "check"}
_FIRST = "2min"  # after the user manager began: a network is up by then


@dataclass(frozen=True)
class Command:
    """What a timer starts. program: sparkrig's own, whole; place: where it is typed; inventory: whole.

    environment: what the shell that scheduled it has and a user manager does not.
    """

    program: str
    place: Path
    inventory: Path
    environment: Mapping[str, str]

    def words(self, option: str) -> tuple[str, ...]:
        return self.program, "schedule", str(self.inventory), option


def units(id: str) -> dict[str, tuple[str, str]]:
    """The names of service and timer of each part, by its option. id: of the schedule's folder."""
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "_.-") else "_" for each in id)
    return {
        option: (f"sparkrig-{name}-{safe}.service", f"sparkrig-{name}-{safe}.timer")
        for option, name in _NAMES.items()
    }


def unit_files(id: str, schedule: Schedule, command: Command) -> dict[str, str]:
    """The text of each unit, by its file name. Raises Refusal for a path that no unit can have."""
    _plain(command, unfit="\\\"'")  # systemd starts no such program, however it is quoted
    first = {RUN: _FIRST, CHECK: f"{schedule.every_s}s"}
    made = {}
    for option, (service, timer) in units(id).items():
        # the path is not last: a blank there would be lost, and a backslash take the next line
        about = f"sparkrig: {command.inventory}, {'drift' if option == RUN else 'whether drift still runs'}"
        made[service] = _service(about, option, command)
        made[timer] = _timer(about, first[option], schedule.every_s)
    return made


def _service(about: str, option: str, command: Command) -> str:
    given = [f"Environment={unit_word(f'{name}={value}')}" for name, value in command.environment.items()]
    return _text(
        [
            "[Unit]",
            f"Description={about.replace('%', '%%')}",
            "",
            "[Service]",
            "Type=oneshot",
            # `-`: where the folder was moved or removed, the run is to fail in a notice, and not to be none
            # `/` at the end, for the reason above
            f"WorkingDirectory=-{str(command.place).replace('%', '%%')}/",
            *given,
            f"ExecStart={command_line(command.words(option))}",
            f"TimeoutStartSec={RUN_S + 300}",
            "Nice=10",
        ]
    )


def _timer(about: str, first: str, every_s: int) -> str:
    # what a monotonic timer counts is time awake, so a machine that slept looks once when it wakes, not at each
    # missed hour (systemd.timer(5))
    return _text(
        [
            "[Unit]",
            f"Description={about.replace('%', '%%')}",
            "",
            "[Timer]",
            f"OnActiveSec={first}",
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


def cron_lines(schedule: Schedule, command: Command) -> list[str]:
    """The two lines of a crontab. Raises Refusal for a time that cron does not have."""
    _plain(command)
    given = "".join(f"{name}={quoted(value)} " for name, value in command.environment.items())
    return [
        f"{times} cd {quoted_path(command.place)}; {given}{quoted(*command.words(option))} >/dev/null".replace(
            "%",
            r"\%",  # which ends a line of cron's (crontab(5))
        )
        for option, times in zip((RUN, CHECK), _cron(schedule.every_s), strict=True)
    ]


def _cron(every_s: int) -> tuple[str, str]:
    minutes, hours = every_s // 60, every_s // 3600
    if minutes < 60 and 60 % minutes == 0:
        return f"*/{minutes} * * * *", f"{minutes // 2}-59/{minutes} * * * *"
    if every_s % 3600 == 0 and hours < 24 and 24 % hours == 0:
        return f"0 */{hours} * * *", f"30 */{hours} * * *"
    if every_s == 86400:
        return "0 6 * * *", "0 7 * * *"
    raise Refusal(
        f"cron has no line for every {spoken(every_s)}: a part of an hour or of a day is expected", "--every 1h"
    )


def _plain(command: Command, unfit: str = "") -> None:
    """Refuse what would end a line of a unit or a crontab. unfit: what the program's path may not have either."""
    for each in (command.program, str(command.place), str(command.inventory), *command.environment.values()):
        if not each.isprintable() or (each is command.program and set(unfit) & set(each)):
            raise Refusal(f"the path {each} has a character in it that no unit can have", "rename it")


# --- what a person reads


def lines(schedule: Schedule, state: State, awake: Awake, stopped: Iterable[str] | None) -> list[str]:
    """One line on what is scheduled and how it stands, one for each that is wrong, and what was told last."""
    wrong = standing(schedule, state, awake, stopped)
    head = f"watched every {spoken(schedule.every_s)} by {schedule.by}"
    if state.ran and not state.ran.trouble:
        age = int((awake.now - state.ran.started).total_seconds())
        head += f"; last run {ago(age)}: {told(state.ran.counts.model_dump())}"
    return [head, *(f"! {each}" for each in wrong)]


STOPPED = {RUN: NO_TIMER, CHECK: NO_CHECK}
"""What a part's timer is in a notice, where it was stopped."""
