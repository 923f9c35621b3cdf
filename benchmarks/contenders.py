"""The tools that are measured, and the command line of each for each work."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.hosts import Place

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


class Work(StrEnum):
    """What is done."""

    CONVERGE = "first converge"
    NOOP = "no-op converge"
    DRIFT = "drift"


# a line of a run's output that reports a change, as pyinfra and as Ansible print it
_CHANGED = re.compile(r"\] Success$|\bchanged=[1-9]", re.MULTILINE)
# Ansible's line for each host at the end. Where its inventory cannot be read it has none, and ends well
_RECAP = re.compile(r"^\S+ +: ok=[1-9]", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command line with its environment, and the exit codes that mean that it did its work.

    idle: whether it finds nothing to change, and would be another work if it did; recaps: of how many hosts its
    output says at the end that it did something there.
    """

    words: list[str]
    env: Mapping[str, str]
    good: tuple[int, ...] = (0,)
    idle: bool = False
    recaps: int = 0

    def did_it(self, code: int, output: str) -> bool:
        """Whether exit code and output are of this work."""
        if self.idle and _CHANGED.search(output):
            return False
        return code in self.good and len(_RECAP.findall(output)) >= self.recaps


@dataclass(frozen=True)
class Contender:
    """One tool that is measured. command: None where it cannot do the work."""

    name: str
    command: Callable[[Work, Place], Command | None]


def _sparkrig(work: Work, place: Place) -> Command:
    env = {"XDG_STATE_HOME": str(place.hosts.parent / "state")}
    if work is Work.DRIFT:
        return Command(
            [str(BIN / "sparkrig"), "drift", str(place.inventory)], env, (0,) if place.settled else (2,)
        )
    words = [str(BIN / "pyinfra"), "-y", str(place.inventory), "deploys/cluster.py"]
    return Command(words, env, idle=work is Work.NOOP)


def _floor(work: Work, place: Place) -> Command | None:
    """One process that runs the very script that sparkrig runs on all hosts at once."""
    if work is Work.CONVERGE:
        return None
    return Command(
        [str(environment() / "bin" / "python"), str(HERE / "floor.py"), str(place.hosts), str(place.look)], {}
    )


def _ssh(work: Work, place: Place) -> Command | None:
    """The same with one ssh to each host: two processes each, yet the faster one for a few hosts."""
    if work is Work.CONVERGE:
        return None
    root = "sudo sh -s" if place.sudo else "sh -s"
    one = (
        f"ssh -F {shlex.quote(str(place.ssh_config))} {{}} {root} <{shlex.quote(str(place.look))} >/dev/null 2>&1"
    )
    line = (
        f"sed -n 's/^Host //p' {shlex.quote(str(place.ssh_config))} | xargs -P 0 -I{{}} sh -c {shlex.quote(one)}"
    )
    return Command(["sh", "-c", line], {})


def _stock(work: Work, place: Place) -> Command:
    env = {"SPARKRIG_BENCH_HOSTS": str(place.hosts)}
    how = "--dry" if work is Work.DRIFT else "-y"
    words = [str(BIN / "pyinfra"), how, str(HERE / "stock_hosts.py"), str(HERE / "stock.py")]
    return Command(words, env, idle=place.settled and work is not Work.CONVERGE)


def _ansible(work: Work, place: Place, more: Mapping[str, str]) -> Command:
    env = {
        "ANSIBLE_PIPELINING": "True",
        # its default: at 5 s, a task of 64 hosts outlived the connections of some, which were lost (2026-11-21).
        # The other contenders take as long before its next run, so that this finds none open
        "ANSIBLE_SSH_ARGS": "-C -o ControlMaster=auto -o ControlPersist=60s",
        # by default mitogen gives a host up that has no Python within 10 s; 64 of them need more (2026-11-22)
        "ANSIBLE_TIMEOUT": "120",
        "ANSIBLE_FORKS": str(place.count),  # as many at once as sparkrig has
        "ANSIBLE_HOME": str(place.hosts.parent / "ansible"),
        "ANSIBLE_NOCOWS": "1",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_LOCALHOST_WARNING": "False",
        "LC_ALL": "C.UTF-8",
        **more,
    }
    check = ["--check"] if work is Work.DRIFT else []
    playbook = str(HERE / "ansible" / "site.yml")
    words = [str(environment() / "bin" / "ansible-playbook"), *check, "-i", str(place.hosts), playbook]
    return Command(words, env, idle=place.settled and work is not Work.CONVERGE, recaps=place.count)


def _pipelining(work: Work, place: Place) -> Command:
    return _ansible(work, place, {})


def _mitogen(work: Work, place: Place) -> Command:
    (plugins,) = environment().glob("lib/python3*/site-packages/ansible_mitogen/plugins/strategy")
    more = {"ANSIBLE_STRATEGY": "mitogen_linear", "ANSIBLE_STRATEGY_PLUGINS": str(plugins)}
    return _ansible(work, place, {**more, "MITOGEN_POOL_SIZE": str(max(32, place.count))})


def environment() -> Path:
    """The others' own virtual environment, outside the repository (benchmarks/requirements.lock)."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "sparkrig" / "benchmarks"


SPARKRIG = Contender("sparkrig", _sparkrig)
FLOOR = Contender("floor, one process", _floor)
SSH = Contender("floor, one ssh each", _ssh)
FLOORS = (FLOOR, SSH)  # whichever is faster is the floor
STOCK = Contender("stock pyinfra", _stock)
PIPELINING = Contender("Ansible, pipelining", _pipelining)
MITOGEN = Contender("Ansible, mitogen", _mitogen)
ALL = (SPARKRIG, FLOOR, SSH, STOCK, PIPELINING, MITOGEN)
