"""A release upgrade (Ubuntu's, with the DGX OS on it), and what else changes a Spark beside sparkrig.

do-release-upgrade goes on as a program that is named as the release that it brings, in a session of screen; its
offer stands in a file [@release-upgrader]. NVIDIA's dashboard installs through aptd, calls fwupdmgr for up to 25
minutes, and reboots by a program of its own; any user may ask it what it offers [@dgx-dashboard].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkrig.cure import on_host
from sparkrig.host import update_facts
from sparkrig.host.apt import Holder
from sparkrig.refusal import Refusal
from sparkrig.text import plain
from sparkrig.value import Value

_UPGRADER = "do-release-upgr"  # as /proc/PID/comm cuts it off
_DOES = {
    "fwupdmgr": "fwupdmgr (process {pid}) writes firmware",
    "dgx-dashboard-r": "NVIDIA's dashboard (process {pid}) is about to reboot this host",
}
_UBUNTU_FROM = 20  # numbers from here on are Ubuntu's, by its year
_REPLY = re.compile(r'ssbbs "[a-z-]{0,40}" "[^"]{0,60}" (?:true|false) true "([^"]{1,60})"')


@dataclass(frozen=True)
class Program(Value):
    """A program that changes a Spark now: its process, and its name as /proc/PID/comm has it."""

    pid: int
    name: str


@dataclass(frozen=True)
class Others(Value):
    """What changes a Spark beside sparkrig. ubuntu: the release on offer; dashboard: what NVIDIA's offers."""

    programs: tuple[Program, ...] = ()
    ubuntu: str = ""
    dashboard: str = ""


def parse(lines: Iterable[str]) -> Others:
    """Read the rows `works PID NAME`, `offer RELEASE` and `dashboard REPLY`, and no others. Raises ValueError."""
    programs, ubuntu, dashboard = list[Program](), "", ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "works":
            pid, _, name = rest.partition(" ")
            programs.append(Program(int(pid), plain(name)))
        elif word == "offer":
            ubuntu = plain(rest)[:40]
        elif word == "dashboard" and (reply := _REPLY.match(rest)):
            dashboard = plain(reply[1])
    return Others(tuple(programs), ubuntu, dashboard)


def is_meant(text: str) -> bool:
    """Whether a text ends with the number or the name of the next DGX OS, or of its Ubuntu or a later one."""
    after = update_facts.to_come()
    word = (text.casefold().split() or [""])[-1]
    major, _, rest = word.partition(".")
    if not (major.isdecimal() and len(major) <= 2):
        return update_facts.ubuntu().get(word, "") >= after.ubuntu
    if int(major) < _UBUNTU_FROM:
        return int(major) >= after.dgx_os
    return f"{major}.{rest or '10'}" >= after.ubuntu


def refusal(what: str, cure: str) -> Refusal:
    """No release upgrade is carried out, with what is known of the one to come."""
    return Refusal(f"{what}; {update_facts.to_come().shown}", cure)


def at_work(others: Others, held: Sequence[Holder]) -> list[Refusal]:
    """Why nothing is begun beside what works there now. held: who holds apt's locks."""
    codenames = {*update_facts.ubuntu()}
    upgraders = [(holder.pid, holder.name) for holder in held if holder.name in codenames]
    upgraders += [(program.pid, program.name) for program in others.programs if program.name == _UPGRADER]
    if upgraders:
        pid, name = upgraders[0]
        look = on_host(f"ps -fp {pid:d}; sudo screen -ls", ": cancel it there before it begins to install")
        return [refusal(f"a release upgrade of Ubuntu is at work ({name}, process {pid})", look)]
    return [
        Refusal(
            _DOES[program.name].format(pid=program.pid),
            on_host(f"ps -fp {program.pid:d}", ", and run again once it has ended"),
        )
        for program in others.programs
        if program.name in _DOES
    ]


def offers(others: Others, known: Iterable[str]) -> list[str]:
    """What is on offer there besides, a sentence each. known: names and titles of the Spark's recipes."""
    said = []
    leave = f"leave it; {update_facts.to_come().shown}"
    never = "sudo sed -i 's/^Prompt=.*/Prompt=never/' /etc/update-manager/release-upgrades"
    if others.ubuntu:
        said.append(f"do-release-upgrade offers Ubuntu {others.ubuntu}: {leave}; try: {never}")
    if others.dashboard and is_meant(others.dashboard):
        said.append(f"NVIDIA's dashboard offers {others.dashboard}: {leave}")
    elif others.dashboard and others.dashboard not in {*known}:
        said.append(f"NVIDIA's dashboard offers {others.dashboard}, of which the Spark has no recipe")
    return said
