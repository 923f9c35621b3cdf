"""The property loop: whatever breaks a deploy off, at whichever step, the next run ends where it would have ended.

Each cell starts from a pair on which the parts of the deploy before step k were made, each by its own file; it
breaks the deploy off in step k, runs it again, compares both hosts with those of a deploy that nothing befell,
and asks a third run for its plan, which is empty. The parts are made once and kept: from the pristine pair each
cell would do them again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache

import pytest

from lab import NODES, pair
from lab.machine import Machine
from lab.nodes import MANAGEMENT
from lab.qemu import PRISTINE
from tests.faults import endstate
from tests.faults.deploying import Deploying, deploying
from tests.faults.endstate import State
from tests.faults.record import Seen
from tests.lab.commands import ROOT, deploy, planned
from tests.lab.guests import Pair
from tests.plan.steps import STEPS

NOTICED_S = (
    60  # what a controller has to notice that a host is gone; a promise of its own, tests/lab/test_waiting.py
)
BACK_S = 120  # for ssh to answer over a link that is plugged in again


def killed(running: Deploying, node: str) -> str:
    running.kill()
    return "controller killed"


def power_cut(running: Deploying, node: str) -> str:
    pair.cut_power(node)
    return f"{node} lost its power, {_end(running)}"


def cut_off(running: Deploying, node: str) -> str:
    Machine(node).set_carriers({MANAGEMENT: False})
    told = _end(running)
    Machine(node).set_carriers({MANAGEMENT: True})
    Machine(node).wait_for_ssh(BACK_S)
    return f"{node} lost its management link, {told}"


def _end(running: Deploying) -> str:
    """The end of a controller that was left alone with a lost host, in words."""
    started = time.monotonic()
    if running.wait(NOTICED_S):
        return f"the controller ended with {running.code} after {time.monotonic() - started:.0f} s"
    running.kill()
    return f"the controller had not noticed after {NOTICED_S} s and was killed"


KINDS: dict[str, Callable[[Deploying, str], str]] = {
    "kill": killed,
    "power": power_cut,
    "link": cut_off,
}


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


PARTS = list(dict.fromkeys(step.partition(" | ")[0] for step in STEPS))


def part(step: str) -> str:
    return step.partition(" | ")[0]


@cache
def made(before: str) -> str:
    """The name of the state in which all parts of the deploy before this one are made, on both hosts."""
    number = PARTS.index(before)
    if number == 0:
        return PRISTINE
    last, name = PARTS[number - 1], f"loop-{number}"
    pair.reset(NODES, made(last))
    done = deploy(file=f"deploys/{last.lower()}.py")
    assert done.code == 0, done.stderr[-3000:]
    pair.save(NODES, name)
    return name


CELLS = [pytest.param(step, kind, id=f"{kind}-{slug(step)}") for step in STEPS for kind in KINDS]


@pytest.mark.representative
def test_each_part_but_the_last_has_a_file_of_its_own() -> None:
    """By which a state before it is made; the last one closes the run."""
    *parts, last = PARTS
    assert all((ROOT / "deploys" / f"{each.lower()}.py").is_file() for each in parts) and last == STEPS[-1]


@pytest.mark.fault(4, 5, 6)
@pytest.mark.promise(4, 6)
@pytest.mark.parametrize(("step", "kind"), CELLS)
def test_the_next_run_finishes_what_was_broken_off(
    undisturbed: State,
    lab_pair: Pair,
    seen: Seen,
    record_property: Callable[[str, object], None],
    step: str,
    kind: str,
) -> None:
    record_property("cell", (step, kind))
    node = NODES[STEPS.index(step) % 2]
    pair.reset(NODES, made(part(step)))
    with deploying() as running:
        where = running.in_step(step, node)
        seen(f"{where}, {KINDS[kind](running, node)}")
    started = time.monotonic()
    again = deploy()
    assert again.code == 0, again.stderr[-3000:]
    assert endstate.differences(undisturbed, endstate.of(lab_pair)) == []
    assert planned() == {}
    seen(f"the next run took {time.monotonic() - started:.0f} s, same end state, a third has nothing to do")
