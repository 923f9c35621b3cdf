"""Whole deploys on pyinfra's @fake connector: what real hosts printed goes in, plan and commands come out."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sparkrig.checks import last_declaration
from sparkrig.checks.last_declaration import Declared
from sparkrig.facts.noun import PREAMBLE
from sparkrig.facts.spark import NOUNS
from sparkrig.files import DECLARED, MEASURED, File
from sparkrig.host import branches
from sparkrig.network import environment, rdma
from sparkrig.network import seen as network
from sparkrig.resources.environment import wanted as environment_files
from sparkrig.runs import lock
from tests import warm
from tests.looks import whole
from tests.plan.desk import Desk, Done, write
from tests.unit import disks

ROOT = Path(__file__).resolve().parents[2]
# pieces of what the journal sends: a run's begin and end, a step's begin and end, and who uses apt
BEGIN, END, NOTE, APT = "take() {", "after.new", 'note "$2" "$3"', "while held=$(holders)"
JOURNAL = f"for run in {lock.RUNS}/*; do"  # in the look at it, and in no other script
HOLD, WHO = 'exec 8>"$mine"', lock.IDENTITY  # what keeps a lock, and what orders the locks of a pair
KEEP = "good_until() {"  # in what leaves apt's simulation on the host, and in no other script
STEP = re.compile(r"steps=\S+\n.*?\nnote begun '(.+?)' \|\| exit 74\n\(\n(.*)\n\)\nrc=\$\?;.*", re.DOTALL)
RUNS = "#sparkrig:end runs"  # a piece of the look of `sparkrig status`, which reads the journal, too
STORAGE = "#sparkrig:end storage"  # a piece of the look at the disks, which reads the journal, too
PING = "ping -n -q -c"
USERS = "patience=$1 first=$2"  # a piece of the look at who else measures
SURVEY = ("#sparkrig:end users", "#sparkrig:end heard")  # of the look at the fabric
MEASUREMENT = {*SURVEY, "#sparkrig:end nics"}  # what only a measurement asks for
RECORDED = ROOT / "tests" / "fixtures" / "spark"
A, B = "@fake/spark-a", "@fake/spark-b"
REBOOTED = "11111111-2222-4333-8444-555555555555"
FABRIC = {
    A: {"enp1s0f0np0": "192.168.100.11/24", "enP2p1s0f0np0": "192.168.101.11/24"},
    B: {"enp1s0f0np0": "192.168.100.12/24", "enP2p1s0f0np0": "192.168.101.12/24"},
}


def recorded(name: str) -> str:
    """What `python -m tests.record` wrote down of a host of the virtual pair, as if it had been now."""
    text = whole((RECORDED / f"{name}.txt").read_text())
    return re.sub(r"^clock .*$", f"clock {time.time()}", text, flags=re.MULTILINE)


def rebooted(text: str) -> str:
    """What a host prints after another boot."""
    return re.sub(r"^(boot_id[= ]).*$", r"\g<1>" + REBOOTED, text, flags=re.MULTILINE)


def converged(letter: str, name: str = "", number: int | None = None) -> str:
    """A recorded host after the deploy, with the files of ours as this very code wants them.

    letter: of the recorded one; name: of the host; number: of its pair in a fleet (`fabric`).
    """
    text = _moved(recorded(f"converged-{letter}"), number)
    parts = sections(text)
    rails = {netdev: IPv4Interface(address) for netdev, address in fabric(letter, number).items()}
    found = network.parse(parts["network"].splitlines())
    node = environment.node(
        rails, rdma.parse(parts["rdma"].splitlines()), found.management, socket_interface="fabric"
    )
    ours = environment_files(name or f"spark-{letter}", node, rails, {})
    declared = File(DECLARED, last_declaration.dump(Declared(1763900000.0, {})), "0600")
    files = [branches.pin_file(580), branches.blacklist_file(), *ours, declared]
    rows = [_recoded(row, number) for row in parts["files"].splitlines() if row.startswith(MEASURED)]
    rows += [
        f"{file.path} {file.mode} root:root {base64.b64encode(file.content.encode()).decode()}" for file in files
    ]
    text = text.replace(parts["files"], "\n".join(rows) + "\n\n")
    return re.sub(r"^(simulated 0\n)(?!kept)", r"\1kept\n", text, flags=re.MULTILINE)


def fabric(letter: str, number: int | None = None) -> dict[str, str]:
    """Addresses of a recorded host's rails; those of a fleet's pair `number` are in 10.NUMBER, from 250 in 11."""
    return {netdev: _moved(address, number) for netdev, address in FABRIC[f"@fake/spark-{letter}"].items()}


def _moved(text: str, number: int | None) -> str:
    """What a host printed, with the addresses of another pair, in GIDs too."""
    if number is None:
        return text
    first, second = 10 + number // 250, number % 250
    text = text.replace("192.168.10", f"{first}.{second}.10")
    return text.replace("c0a8:6", f"{first:02x}{second:02x}:6")


def _recoded(row: str, number: int | None) -> str:
    """The same of a file that was read."""
    *words, content = row.split(" ")
    return " ".join(
        [*words, base64.b64encode(_moved(base64.b64decode(content).decode(), number).encode()).decode()]
    )


def sections(text: str) -> dict[str, str]:
    """The recorded output of each noun."""
    parts = re.split(r"^#sparkrig:end (\w+) 0\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[0::2], strict=False))


def joined(parts: Mapping[str, str]) -> str:
    """One look again, of the output of each noun."""
    return "".join(f"{text.strip()}\n\n#sparkrig:end {noun} 0\n" for noun, text in parts.items())


@dataclass
class Host:
    """One fake host: what its one look prints, and what is printed when one noun is looked at again."""

    name: str
    seen: str
    later: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    responses: Mapping[str, Any] = field(default_factory=dict)
    first: Mapping[str, Any] = field(default_factory=dict)  # weighs more than all others

    def fabric(self) -> dict[str, list[str]]:
        """What the bandwidth check is told: the survey of a converged host, and who it hears."""
        letter = self.name[-1]
        if letter not in "ab":
            return {}
        far = "01" if letter == "a" else "00"
        heard = [
            line
            for netdev, last in (("enp1s0f0np0", "01"), ("enP2p1s0f0np0", "02"))
            for line in (f"sent {netdev} 40", f"heard {netdev} 52:54:00:1b:{far}:{last} 38")
        ]
        return {
            "#sparkrig:end nics": self._surveyed(letter).splitlines(),
            "SPARKRIG_PROBE": [*heard, "end"],
            USERS: [],
        }

    def _surveyed(self, letter: str) -> str:
        """The look of the fabric, in the boot that the one look is of; the recorded one is masked."""
        boot = re.search(r"^boot_id=(.*)$", self.seen, re.MULTILINE)
        return re.sub(
            r"^boot_id .*$", f"boot_id {boot[1] if boot else ''}", recorded(f"fabric-{letter}"), flags=re.M
        )

    def entry(self) -> tuple[str, dict[str, Any]]:
        again = {**sections(self.seen), **self.later}
        # the first match wins: the one look holds every noun's script, so it is asked for first
        answers: dict[str, Any] = {
            STORAGE: disks.printed(),
            "#sparkrig:end identity": self.seen.splitlines(),
            BEGIN: ["lock free"],
            JOURNAL: ["now 1795230000"],
        }
        answers |= self.first
        answers |= self.fabric()
        answers |= {marker: text.splitlines() for noun, text in again.items() if (marker := _marker(noun))}
        answers |= self.responses
        several = {  # looks that hold what others are asked by: the disks' one reads the journal, too
            STORAGE: answers[STORAGE],
            RUNS: _with_runs(answers),
            **together(answers),
            **dict.fromkeys(SURVEY, _surveyed(answers)),
        }
        return self.name, {
            **self.data,
            "fake_responses": {**several, **answers},
            "fake_delay": 0,
            "fake_delay_jitter": 0,
        }


def together(answers: Mapping[str, Any]) -> dict[str, Any]:
    """What a host of a pair prints while the other one is asked, too: each noun as by itself."""
    rows = {
        "pings": answers.get(PING),
        "journal": answers.get(JOURNAL),
        "neighbours": answers.get("SPARKRIG_PROBE"),
    }
    told: list[str] = []
    for name, found in rows.items():
        printed = found if isinstance(found, list) else []
        told += [*printed, "", f"#sparkrig:end {name} {0 if isinstance(found, list | None) else 1}"]
    return {f"#sparkrig:end {name}": told for name in rows}


def _with_runs(answers: Mapping[str, Any]) -> Any:
    """What the look of `sparkrig status` prints: the journal, and all of the one look."""
    journal, look = answers[JOURNAL], answers["#sparkrig:end identity"]
    rows = journal if isinstance(journal, list) else []
    status = 0 if isinstance(journal, list) else 1
    return [*rows, "", f"{RUNS} {status}", *look] if isinstance(look, list) else look


def _surveyed(answers: Mapping[str, Any]) -> Any:
    """What the look at the fabric, at whom it hears and at who measures prints: each as by itself."""
    fabric = answers.get("#sparkrig:end nics")
    if not isinstance(fabric, list):
        return fabric or []
    users, heard = answers[USERS], answers.get("SPARKRIG_PROBE", [])
    return [*fabric, "", *users, "#sparkrig:end users 0", *heard, "", "#sparkrig:end heard 0"]


def _marker(noun: str) -> str:
    """A piece of its script alone; empty where each line has quotes, and looks different as a word of another."""
    return max((line for line in NOUNS[noun].script.splitlines() if "'" not in line), key=len, default="")


@dataclass
class Run:
    """One run of pyinfra."""

    code: int
    stdout: str
    stderr: str

    @property
    def plan(self) -> dict[str, set[str]]:
        """Operation -> hosts that it would change."""
        return {
            op["name"]: {*op["hosts_with_change"], *op["hosts_with_conditional_change"]}
            for op in json.loads(self.stdout)["plan"]
        }

    @property
    def commands(self) -> list[tuple[str, str]]:
        """What was executed, in order, as (host, command); a command of several lines by its first ones."""
        return [(host, STEP.sub(r"\2", text)) for host, text in self.sent]

    @property
    def sent(self) -> list[tuple[str, str]]:
        """The same as it was sent, with what notes it in the journal."""
        rows = re.split(r"^\s*\[@fake/([^\]]+)\] >>> ", self.stderr, flags=re.MULTILINE)[1:]
        return [(host, text.strip()) for host, text in zip(rows[0::2], rows[1::2], strict=True)]

    @property
    def steps(self) -> list[tuple[str, str]]:
        """The steps that are noted with their command in one exec, as (host, name)."""
        return [(host, found[1]) for host, text in self.sent if (found := STEP.match(text))]

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The commands that are neither looks nor the journal's own."""
        scripts = tuple(noun.script.strip()[:40] for noun in NOUNS.values())
        return [
            row
            for row in self.commands
            if not any(
                mark in row[1]
                for mark in ("#sparkrig:end", "SPARKRIG_PROBE", BEGIN, END, NOTE, APT, HOLD, WHO, KEEP)
            )
            and not row[1].removeprefix(PREAMBLE).lstrip().startswith(scripts)
        ]


def barred(text: str, row: str) -> str:
    """A look at a host that also found a file which cannot be written. row: as facts/preflight.py prints it."""
    return re.sub(r"^clock ", f"{row}\nclock ", text, flags=re.MULTILINE)


Deploy = Callable[..., Run]
Ended = TypeVar("Ended", Run, Done)


def well(run: Ended) -> Ended:
    """A run, or a verb, that ended well."""
    assert run.code == 0, run.stderr[-3000:] if isinstance(run, Run) else run
    return run


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def deploy(tmp_path: Path) -> Deploy:
    """Run a deploy file on fake hosts: deploy([Host(...)], "--dry", file="deploys/cluster.py")."""
    return partial(run_deploy, tmp_path)


def run_deploy(
    folder: Path,
    hosts: list[Host],
    *flags: str,
    file: str = "deploys/cluster.py",
    together: bool = True,
    state: str = "",
    head: str = "",
) -> Run:
    """One run of the real pyinfra command.

    together: whether a failed host stops all of them; state: another state folder of this machine; head: what the
    inventory begins with.
    """
    head += "from sparkrig.inventory import checked as _checked, stop_together as _stop_together\n"
    head += "_stop_together()\n" if together else ""
    # nothing settles on a fake host
    head += "import sparkrig.operations.guard as _guard\n_guard.APART_S = _guard.PAUSE_S = 0\n"
    inventory = write(folder, [host.entry() for host in hosts], head)
    env = {"PYINFRA_PROGRESS": "off", "NO_COLOR": "1", "XDG_STATE_HOME": state or str(folder / "state")}
    done = warm.run("pyinfra", "-vv", *flags, str(inventory), file, env=env, timeout=60)
    return Run(done.returncode, done.stdout, done.stderr)


def pair(a: str, b: str, **changes: Any) -> list[Host]:
    """Two hosts of one pair from what each printed; `changes` go to the settings of both."""
    common: dict[str, Any] = {"pair": "sparks", "bandwidth_floor": 0.01, **changes}
    return [Host(A, a, data={"fabric": FABRIC[A], **common}), Host(B, b, data={"fabric": FABRIC[B], **common})]
