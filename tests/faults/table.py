"""docs/faults.md, made from the matrix, what its tests saw last, and the mutations: python -m docs.make"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.faults.matrix import FAULTS, PROMISES, Fault
from tests.faults.record import ROOT, Row, load
from tests.mutations import score
from tests.mutations.score import MODULES, NAMED, Score
from tests.plan.steps import STEPS

PAGE = ROOT / "docs" / "faults.md"
KINDS = {
    "kill": "controller killed (-9)",
    "power": "power of one host cut",
    "link": "management link of one host cut",
}
NOT_YET = "not run yet"

HEAD = """\
<!-- Made by `python -m docs.make` (make docs) from tests/faults. Do not edit. -->

# Faults

This page lists what can go wrong, what sparkrig promises, and whether that held on the [virtual pair](lab.md).
Nothing here has run on a real Spark.

```
make faults                                    # runs all of it: hours under emulation; CI runs a part
git grep -nE "fault.(.*, )?16[,)]" tests       # the tests of row 16; promise for P3
```

`tests/faults/matrix.yaml` says how each fault is made, and `tests/faults/seen.json` what each test saw.

"""

MUTATIONS = """
## The mutations

The code that guards a change is broken in one place at a time, and its fast tests must fail (T0, T1).
`make mutate` does so everywhere in the modules that `tests/mutations/score.py` lists. *Explained*: no test can
find it, and `tests/mutations/survivors.yaml` has the reason. *Open*: a test is missing.

"""

LOOP = """
## The property loop

The deploy is interrupted in each of its steps, in three ways, and is then run again. *Held* means:

- the second run ends with exit code 0;
- both hosts are like after a deploy without an interruption: files, packages, holds, profiles, links, routes,
  docker;
- no unit, timer, lock, guard or process is left over;
- the plan of a third run is empty.

Steps of which each cell is held are not listed.
"""


def page(rows: Sequence[Row] | None = None, scores: Sequence[Score] | None = None) -> str:
    """The text of docs/faults.md."""
    rows = load() if rows is None else rows
    scores = score.load() if scores is None else scores
    return "".join(
        [
            HEAD,
            _summary(rows),
            "\n## The matrix\n\n",
            *_table(
                ("#", "fault", "promised", "held on"),
                (_fault(fault, [row for row in rows if fault.number in row.faults]) for fault in FAULTS),
            ),
            LOOP,
            "\n" * any(not _whole(step, rows) for step in STEPS),
            *_loop(rows),
            "\n## The promises\n\n",
            *_table(("", "promise", "held on"), (_promise(number, rows) for number in PROMISES)),
            MUTATIONS,
            _mutations(scores),
        ]
    )


def held(rows: Iterable[Row]) -> str:
    """Whether what these tests show holds, in words."""
    failed = [row for row in rows if not row.held]
    return "**not held**" if failed else "held"


def _summary(rows: Sequence[Row]) -> str:
    shown = {fault.number: [row for row in rows if fault.number in row.faults] for fault in FAULTS}
    good = sum(bool(found) and all(row.held for row in found) for found in shown.values())
    open_ = [str(number) for number, found in shown.items() if not found]
    bad = [str(number) for number, found in shown.items() if any(not row.held for row in found)]
    cells = [row for row in rows if row.cell and row.cell[0] in STEPS]
    lines = [
        f"- Of {len(FAULTS)} rows, {good} are held"
        + (f", not held: {', '.join(bad)}" if bad else "")
        + (f", not run yet: {', '.join(open_)}" if open_ else "")
        + ".",
        f"- Of {len(STEPS) * len(KINDS)} cells of the property loop {sum(row.held for row in cells)} are held"
        + (f", {sum(not row.held for row in cells)} are not" if any(not row.held for row in cells) else "")
        + f", {len(STEPS) * len(KINDS) - len(cells)} were not run.",
    ]
    return "\n".join(lines) + "\n"


def _fault(fault: Fault, found: Sequence[Row]) -> tuple[str, ...]:
    name = fault.name + (f". Not as on a Spark: {fault.missing}" if fault.missing else "")
    return str(fault.number), name, fault.promise, _held(found)


def _held(found: Sequence[Row]) -> str:
    """Whether it held, with the day of the oldest run, and how many cells of the loop are among them."""
    if not found:
        return NOT_YET
    cells = [row for row in found if row.cell]
    loop = f"; {sum(row.held for row in cells)} of {len(cells)} cells" if cells else ""
    mark = "" if held(found) == "held" else f"{held(found)}, "
    return f"{mark}{min(row.date for row in found)}{loop}"


def _loop(rows: Sequence[Row]) -> list[str]:
    """The steps of which a cell is not held, or nothing."""
    steps = [_step(step, rows) for step in STEPS if not _whole(step, rows)]
    return _table(("step", *KINDS.values()), steps) if steps else []


def _step(step: str, rows: Sequence[Row]) -> tuple[str, ...]:
    return step, *(_cell([row for row in rows if row.cell == (step, kind)]) for kind in KINDS)


def _whole(step: str, rows: Sequence[Row]) -> bool:
    """Whether each cell of a step was run and is held."""
    return {row.cell for row in rows if row.held} >= {(step, kind) for kind in KINDS}


def _cell(found: Sequence[Row]) -> str:
    return ". ".join(f"{held([row])}, {row.date}" for row in found) or NOT_YET


def _promise(number: int, rows: Sequence[Row]) -> tuple[str, ...]:
    return f"P{number}", PROMISES[number], _held([row for row in rows if number in row.promises])


def _mutations(scores: Sequence[Score]) -> str:
    """What all runs came to, with the modules of which a mutant is open or which were not run."""
    rows = {each.module: each for each in scores if each.module in (*MODULES, NAMED)}
    killed, explained, mutants = (
        sum(getattr(row, name) for row in rows.values()) for name in ("killed", "explained", "mutants")
    )
    open_ = ", ".join(f"`{row.module}` {row.open}" for row in rows.values() if row.open) or "none"
    missing = ", ".join(f"`{name}`" for name in (*MODULES, NAMED) if name not in rows) or "none"
    last = min((row.date for row in rows.values()), default=NOT_YET)
    return (
        f"- Of {mutants} mutants {killed} are killed, {explained} are explained; the oldest run: {last}.\n"
        f"- Open: {open_}.\n- Not run yet: {missing}.\n"
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    titles = list(head)
    lines = [titles, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    first, *rest = (f"| {' | '.join(row)} |\n" for row in lines)
    return [first, "|---" * len(titles) + "|\n", *rest]


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
