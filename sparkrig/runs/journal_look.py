"""What a host prints of its journal, read row by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from sparkrig import programs
from sparkrig.files import DECLARED
from sparkrig.host import armed, update_record
from sparkrig.host.armed import Armed
from sparkrig.parsing import grammar
from sparkrig.runs import lock
from sparkrig.runs.journal import ABSENT, HELD, NOTED, PATHS, Journal, Left, Run, Step
from sparkrig.runs.lock import Lock
from sparkrig.text import plain

LOOK = f"set -- {' '.join(PATHS)}\n{NOTED}{programs.text('runs/journal_look.sh')}"

_NETWORK = re.compile(rf"({ABSENT}|[0-9a-f]{{64}}) ({ABSENT}|[0-9a-f]{{64}}) (/.+)")
_WHOLE = re.compile(
    rf"{ABSENT}|{HELD}|([0-7]{{1,4}}|link) \S+:\S+ [0-9a-f]{{64}}"
)  # a value that keeps() wrote to its end


def parse(lines: Iterable[str]) -> Journal:
    """Read what LOOK prints. Raises ValueError where a row belongs to no run; one of a run spoils that run."""
    runs: list[Run] = []
    rows: dict[str, dict[str, str]] = {}
    now, taken, update = 0, None, ""
    unconfirmed: list[Armed] = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "now":
            now = int(rest)
        elif word == "update":
            update = update_record.opened(rest)
            update += "" if update == update_record.ANOTHERS else "; sparkrig update goes on with it"
        elif word == "armed":
            unconfirmed.append(armed.parse(rest))
        elif word == "lock":
            alive, _, whose = rest.partition(" ")
            taken = Lock(lock.owner(whose), {"alive": True, "dead": False}.get(alive))
        elif word == "held" and taken:
            seen, _, holder = rest.partition(" ")
            taken = replace(taken, id=seen, run=plain(holder))
        elif word == "run":
            name, _, whose = rest.partition(" ")
            runs.append(Run(grammar.RUN.held(name), lock.owner(whose)))
            rows = {}
        elif word == "profile":
            value, _, path = rest.partition(" ")
            rows.setdefault("now", {})[f"profile {path}"] = value
        elif word == "current":
            _item(rows.setdefault("now", {}), rest)
        elif runs:
            runs[-1] = _with_row(runs[-1], rows, word, rest)
        else:
            raise ValueError(f"cannot read the row {word!r} of the journal")
    if not now:  # the first row of any answer, an empty journal's too: without it nothing was read
        raise ValueError("the host does not say what time it is there")
    ordered = sorted(runs, key=lambda run: run.order, reverse=True)
    current = rows.get("now", {})
    lost = not runs and current.get(f"file {DECLARED}", ABSENT) != ABSENT
    return Journal(now, taken, tuple(ordered), current, update, tuple(unconfirmed), lost)


_Rows = dict[str, dict[str, str]]  # what stood before a run and after it, by item


def _with_row(run: Run, rows: _Rows, word: str, rest: str) -> Run:
    """What one row adds to a run. Raises ValueError for a row of another kind."""
    if word not in _READERS:
        raise ValueError(f"cannot read the row {word!r} of the journal")
    return _READERS[word](run, rows, rest)


def _read_after(run: Run, rows: _Rows, rest: str) -> Run:
    if not rest.startswith("end "):
        return replace(run, after=_item(rows.setdefault("after", {}), rest))
    ended = rest.removeprefix("end ").strip()
    if not ended.isdecimal():
        return replace(run, lacks=(*run.lacks, "after"))
    return replace(run, after=rows.setdefault("after", {}), ended=int(ended))


def _read_network(run: Run, _: _Rows, rest: str) -> Run:
    row = _NETWORK.fullmatch(rest)
    known = run.network or {}
    return replace(run, network={**known, f"profile {row[3]}": (row[1], row[2])} if row else known)


def _read_left(run: Run, _: _Rows, rest: str) -> Run:
    item, _tab, why = rest.partition("\t")
    return replace(run, left=(*run.left, Left(plain(item), plain(why))))


# by the first word of a row: the run with what the row adds
_READERS: Mapping[str, Callable[[Run, _Rows, str], Run]] = {
    "step": lambda run, _, rest: replace(run, steps=_stepped(run.steps, rest)),
    "before": lambda run, rows, rest: replace(run, before=_item(rows.setdefault("before", {}), rest)),
    "after": _read_after,
    "guard": lambda run, _, rest: replace(run, guard=rest.strip()),
    "number": lambda run, _, rest: replace(run, number=int(rest), wrote=run.wrote or {}),
    "trial": lambda run, _, rest: replace(run, trial=run.trial or plain(rest.strip())),
    "wrote": lambda run, _, rest: replace(run, wrote=_written(run.wrote or {}, rest)),
    "network": _read_network,
    "left": _read_left,
    "lacks": lambda run, _, rest: replace(run, lacks=(*run.lacks, plain(rest))),
    "unnoted": lambda run, _, rest: replace(run, unnoted=(*run.unnoted, rest)),
}


def _item(into: dict[str, str], row: str) -> dict[str, str]:
    kind, _, rest = row.partition(" ")
    name, _, value = rest.partition(" ")
    into[f"{kind} {name}"] = value
    return into


def _written(wrote: Mapping[str, tuple[str, ...]], row: str) -> Mapping[str, tuple[str, ...]]:
    """What a run wrote, with one more row; of one that a power cut tore nothing had been put there yet."""
    kind, _, rest = row.partition(" ")
    name, _, value = rest.partition(" ")
    item = f"{kind} {name}"
    if not _WHOLE.fullmatch(value) or wrote.get(item, ("",))[-1] == value:
        return wrote
    return {**wrote, item: (*wrote.get(item, ()), value)}


def _stepped(steps: tuple[Step, ...], row: str) -> tuple[Step, ...]:
    """The steps with one more row; commands of one operation are one step, and a torn row (power cut) is none."""
    clock, _, rest = row.partition(" ")
    word, _, rest = rest.partition(" ")
    last = steps[-1] if steps else None
    if word == "begun" and clock.isdecimal():
        if last and last.name == rest:
            return (*steps[:-1], replace(last, ended=None, rc=None))
        return (*steps, Step(rest, int(clock)))
    rc, _, name = rest.partition(" ")
    if word == "ended" and clock.isdecimal() and rc.isdecimal() and last and last.name == name:
        return (*steps[:-1], replace(last, ended=int(clock), rc=int(rc)))
    return steps
