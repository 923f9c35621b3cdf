"""Each cure that drift prints and a guest can execute, from the state that printed it: the finding is gone."""

from __future__ import annotations

import json
import re

import pytest

from tests.faults.cures import CURES, Printed
from tests.faults.record import Seen
from tests.lab.commands import drift, typed
from tests.lab.guests import Pair

ROWS = {f"{each.id}: {each.state}": each for rows in CURES.values() if not isinstance(rows, str) for each in rows}


def cures(id: str) -> list[str]:
    """What drift prints for a check of spark-b that does not hold."""
    done = drift()
    assert done.code in (0, 2), done.stderr[-3000:]
    [host] = [each for each in json.loads(done.stdout)["hosts"] if each["name"] == "spark-b"]
    return [row["cure"] for row in host["rows"] if row["id"] == id and row["status"] not in ("ok", "skipped")]


def carried_out(deployed: Pair, cure: str) -> None:
    """The command of a cure, as a person types it: ours here, another one on the host; words follow a comma."""
    command = re.split(r", (?:and|or) ", cure)[0]
    if command.startswith(("pyinfra ", "sparkrig ")):
        done = typed(command)
        assert done.returncode == 0, f"{command}: {done.stdout[-1500:]}{done.stderr[-3000:]}"
    else:
        deployed.b.output(command.removeprefix("on spark-b: "))


@pytest.mark.promise(10)
@pytest.mark.parametrize("printed", ROWS.values(), ids=ROWS)
def test_a_printed_cure_mends_what_printed_it(deployed: Pair, printed: Printed, seen: Seen) -> None:
    deployed.b.output(printed.state)
    [cure] = cures(printed.id)
    carried_out(deployed, cure)
    assert cures(printed.id) == []
    seen(f"{printed.id}: {cure}")
