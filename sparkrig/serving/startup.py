"""How far a served model is on its way up: what each node and vLLM logged, as phases with their times.

The log is that of the unit (facts/startup.py), with the time of each line by the journal. Its lines stand in
models/vllm/startup.yaml; a phase whose line a version words differently ends with the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sparkrig.host.images import Image, known
from sparkrig.parsing import bounds, safe_yaml
from sparkrig.serving.runtimes import RUNTIMES
from sparkrig.serving.served import Event, events_of, usable
from sparkrig.value import Value

State = Literal["absent", "stopped", "starting", "serving", "failed"]
Role = Literal["alone", "head", "worker"]
Name = Literal["cluster", "engine", "weights", "compile", "api", "answer"]


@dataclass(frozen=True)
class Line:
    """One line of the log; at: seconds since 1970 by the host's clock."""

    at: float
    text: str


@dataclass(frozen=True)
class Seen(Value):
    """What a host reports of its unit.

    load, active, result: as systemctl show has them; status: exit status of the last end; restarts: how often
    systemd did; now: seconds since 1970; image: the container's, None where there is none; total,
    available: memory in bytes; lines: of the log, those that WANTED matches; last: the newest line of all;
    events: what its watch did; named: the same of each named service of the host.
    """

    load: str
    active: str
    result: str
    status: int
    restarts: int
    now: float
    image: Image | None
    total: int
    available: int
    lines: tuple[Line, ...] = ()
    last: Line | None = None
    events: tuple[Event, ...] = ()
    named: Mapping[str, Seen] = field(default_factory=dict)


@dataclass(frozen=True)
class Reference:
    """What a source measured of a phase, in seconds."""

    seconds: float
    model: str
    source: str


@dataclass(frozen=True)
class Phase:
    """One phase. seconds: what it took, or has taken so far; None where it is still to come, or left no line.

    told: vLLM's own figures of it, in the order of its log.
    """

    name: Name
    state: Literal["done", "now", "to come"]
    seconds: float | None
    reference: Reference | None
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Startup:
    """One node on its way up.

    form: solo, ray, standing, multinode, or empty where start.sh has not begun; address: of this node in the
    network of the nodes; seconds: from the begin to the first answer, or until now; quiet: seconds without a
    line of any kind; nodes: how many there are, 0 where that is not known.
    """

    state: State
    role: Role
    form: str
    address: str
    phases: tuple[Phase, ...]
    seconds: float | None
    quiet: float | None
    nodes: int = 0

    @property
    def current(self) -> Phase | None:
        return next((phase for phase in self.phases if phase.state == "now"), None)


_FILE = Path(__file__).parents[1] / "models" / "vllm" / "startup.yaml"  # which says what its fields are
_TABLE: Mapping[str, Any] = safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST)
_PHASES: Mapping[Name, Mapping[str, Any]] = _TABLE["phases"]
_JOINED: str = _TABLE["joined"]
_ANNOUNCED: Mapping[str, str] = _TABLE["announced"]
MEANINGS: Mapping[Name, str] = {name: row["meaning"] for name, row in _PHASES.items()}
DOING: Mapping[Name, str] = {name: row["doing"] for name, row in _PHASES.items()}
_ENDS: Mapping[Name, str] = {name: row["ends"] for name, row in _PHASES.items()}
_FIGURES: Mapping[Name, list[list[str]]] = {name: row.get("figures", []) for name, row in _PHASES.items()}
# the same of the other engines
_ENDS_OF_OTHERS: dict[Name, list[str]] = {
    name: [words for runtime in RUNTIMES.values() for words in runtime.ends.get(name, ())] for name in MEANINGS
}

_PAIR, _SOLO = ("Qwen3-235B-A22B-GPTQ-Int4", "conselara-hardware"), ("Qwen3.5-122B-A10B-NVFP4", "docai-122b")
REFERENCES: dict[bool, dict[Name, Reference]] = {
    True: {
        "cluster": Reference(120, *_PAIR),
        "weights": Reference(420, *_PAIR),
        "compile": Reference(300, *_PAIR),
    },
    False: {
        "engine": Reference(20, *_SOLO),
        "weights": Reference(501 + 73, *_SOLO),  # and those of the draft model
        "compile": Reference(36.5 + 6.6 + 10 + 17, *_SOLO),  # with the draft model, autotune and graphs
    },
}
"""By whether several nodes serve. Each is in the catalogue, too (models/, `startup s`)."""
TOTALS = {True: Reference(900, *_PAIR), False: Reference(720, *_SOLO)}

WANTED = (
    *_TABLE["wanted"],
    *(words for runtime in RUNTIMES.values() for ends in runtime.ends.values() for words in ends),
)

_STAMPED = re.compile(r"(\d+\.\d+) \S+ [^:\[]+(?:\[\d+\])?: ?(.*)", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BEGUN = re.compile(r"sparkrig: phase start \S+ (.*)")


def announced(line: str) -> str:
    """What start.sh announced, without its time: a phase in words, a trouble with its cause."""
    word, _, rest = line.partition(" ")
    name, _, more = rest.partition(" ")
    if word == "phase" and name in _ANNOUNCED:
        return _ANNOUNCED[name]
    detail = more.partition(" ")[2]
    return f"{name}: {detail}" if word == "trouble" and detail else line


def parse(lines: Iterable[str]) -> Seen:
    """Read what facts/startup.py prints. Raises ValueError or LookupError for nonsense."""
    host: dict[str, list[str]] = {}
    named: dict[str, dict[str, list[str]]] = {}
    rows = host
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "service":
            rows = {each: host[each] for each in ("now", "MemTotal", "MemAvailable")}
            named |= {rest: rows} if usable(rest) else {}
        else:
            rows.setdefault(word, []).append(rest)
    return replace(_seen(host), named={name: _seen(each) for name, each in named.items()})


def _seen(rows: Mapping[str, Sequence[str]]) -> Seen:
    """The rows of one service, with those of its host."""
    unit = dict(row.partition("=")[::2] for row in rows.get("unit", ()))
    logged = [made for row in rows.get("log", ()) if (made := _line(row))]
    newest = [made for row in rows.get("last", ()) if (made := _line(row))]
    return Seen(
        load=unit.get("LoadState", "not-found"),
        active=unit.get("ActiveState", "inactive"),
        result=unit.get("Result", ""),
        status=int(unit.get("ExecMainStatus") or 0),
        restarts=int(unit.get("NRestarts") or 0),
        now=bounds.finite(rows["now"][0]),
        image=known(rows.get("image", [""])[0].strip(), rows.get("content", ())),
        total=int(rows["MemTotal"][0]) * 1024,
        available=int(rows["MemAvailable"][0]) * 1024,
        lines=tuple(logged),
        last=newest[-1] if newest else None,
        events=events_of(rows.get("event", ())),
    )


def absent(host: Seen) -> Seen:
    """What is seen of a service that a host has not."""
    return Seen("not-found", "inactive", "", 0, 0, host.now, None, host.total, host.available)


def _line(row: str) -> Line | None:
    """A row of `journalctl --output short-unix`."""
    found = _STAMPED.fullmatch(row)
    return Line(bounds.finite(found[1]), _COLOUR.sub("", found[2]).rstrip()) if found else None


def attempts(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each try, which systemd may have made several of; those before the first begin are dropped.

    A launch that does not begin with start.sh is one try.
    """
    tries: list[list[Line]] = []
    for line in lines:
        if _BEGUN.search(line.text):
            tries.append([])
        if tries:
            tries[-1].append(line)
    return tries or ([[*lines]] if lines else [])


def read(seen: Seen) -> Startup:
    """How far a node is by what its host reports."""
    tries = attempts(seen.lines)
    lines = tries[-1] if tries else []
    order = _order(lines)
    form, several = order.get("form", ""), order.get("form", "solo") != "solo"
    role: Role = "alone" if not several else "head" if order.get("rank") == "0" else "worker"
    names = _names(form, role)
    ended = {name: at for name in names if (at := _end(lines, name, form, role)) is not None}
    state = _state(seen, names[-1] in ended)
    begun = lines[0].at if lines else None
    over = max(ended.values(), default=seen.now) if state == "serving" else seen.now
    return Startup(
        state=state,
        role=role,
        form=form,
        address=order.get("address", ""),
        phases=tuple(_phases(lines, names, ended, seen.now, several, state)),
        seconds=None if begun is None else max(0.0, over - begun),
        quiet=max(0.0, seen.now - seen.last.at) if seen.last else None,
        nodes=int(told) if (told := order.get("nodes", "")).isdecimal() and len(told) < 3 else 0,
    )


def _order(lines: Sequence[Line]) -> dict[str, str]:
    """What start.sh was started with, from its first line."""
    found = _BEGUN.search(lines[0].text) if lines else None
    return dict(word.partition("=")[::2] for word in found[1].split()) if found else {}


def _names(form: str, role: Role) -> list[Name]:
    """The phases that a node of this kind goes through, and logs."""
    if role == "worker":
        return ["cluster"] if form == "ray" else ["cluster", "engine", "weights", "compile"]
    return [name for name in MEANINGS if name != "cluster" or role == "head"]


def has_ended(name: Name, line: str) -> bool:
    """Whether a line ends that phase, of whatever engine."""
    return re.search(_end_of(name), line) is not None


def _end_of(name: Name) -> str:
    return "|".join([_ENDS[name], *map(re.escape, _ENDS_OF_OTHERS[name])])


def _end(lines: Sequence[Line], name: Name, form: str, role: Role) -> float | None:
    sign = _JOINED if (name, form, role) == ("cluster", "ray", "worker") else _end_of(name)
    found = [line.at for line in lines if re.search(sign, line.text)]
    if name in (
        "engine",
        "api",
        "answer",
    ):  # the first: later ones are of a draft model, or of a second start of the API
        return found[0] if found else None
    return found[-1] if found else None


def _state(seen: Seen, up: bool) -> State:
    if seen.load == "not-found":
        return "absent"
    if seen.active == "failed" or (seen.active == "activating" and seen.result not in ("", "success")):
        return "failed"  # or systemd is about to try again
    if seen.active not in ("active", "activating", "reloading"):
        return "stopped"
    return "serving" if up else "starting"


def _phases(
    lines: Sequence[Line], names: Sequence[Name], ended: dict[Name, float], now: float, several: bool, state: State
) -> Iterable[Phase]:
    """Each phase takes from the end of the one before it; one that left no line is over when a later one is."""
    before = lines[0].at if lines else None
    running = state == "starting"
    for number, name in enumerate(names):
        reference = REFERENCES[several].get(name)
        told = _told(lines, name)
        later = any(each in ended for each in names[number + 1 :])
        if name in ended and before is not None:
            yield Phase(name, "done", max(0.0, ended[name] - before), reference, told)
            before = max(before, ended[name])
        elif later:
            yield Phase(name, "done", None, reference, told)
        elif running and before is not None:
            yield Phase(name, "now", max(0.0, now - before), reference, told)
            running = False
        else:
            yield Phase(name, "to come", None, reference, told)


def _told(lines: Sequence[Line], name: Name) -> tuple[str, ...]:
    found = [
        put.format(match[1])
        for line in lines
        for sign, put in _FIGURES.get(name, ())
        if (match := re.search(sign, line.text))
    ]
    return tuple(dict.fromkeys(found))
