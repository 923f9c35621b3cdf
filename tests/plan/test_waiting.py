"""A plain deploy whose hosts take their time says, after two seconds, who is at what."""

from __future__ import annotations

import re

import pytest

from tests import warm
from tests.plan.conftest import A, B, converged, pair
from tests.plan.desk import Desk
from tests.plan.states import applied

# two seconds are a tenth of one here
FAST = "import sparkrig.ssh.waiting as _waiting\n_waiting.WORTH_S, _waiting._AGAIN_S = 0.1, 0.15\n"
SLOW_S = 0.3


def lines(desk: Desk, file: str) -> list[tuple[str, str]]:
    """Who is at what, as (host, step)."""
    text = desk.inventory.read_text().replace("'fake_delay': 0,", f"'fake_delay': {SLOW_S},")
    guard = "import sparkrig.operations.guard as _guard\n_guard.APART_S = _guard.PAUSE_S = 0\n"
    desk.inventory.write_text(FAST + guard + text)
    env = {"PYINFRA_PROGRESS": "off", "NO_COLOR": "1", "XDG_STATE_HOME": str(desk.folder / "state")}
    done = warm.run("pyinfra", "-y", str(desk.inventory), file, env=env, timeout=120)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return re.findall(r"^    \[(\S+)\] (.+) goes on \(\d+ s\)$", done.stderr, re.MULTILINE)


@pytest.mark.slow
def test_the_look_at_a_slow_host_is_said_more_than_once(desk: Desk) -> None:
    found = lines(desk.has(pair(converged("a"), converged("b"))), "deploys/cluster.py")
    assert {(A, "Look at the host"), (B, "Look at the host")} == set(found)
    assert found.count((A, "Look at the host")) > 1


@pytest.mark.slow
def test_what_is_heard_of_the_cables_is_waited_for_aloud(desk: Desk) -> None:
    found = lines(desk.has(applied()), "deploys/network.py")
    assert {(A, "See which cage reaches which"), (B, "See which cage reaches which")} <= set(found)


@pytest.mark.slow  # seconds of real waiting or of many processes
def test_a_slow_step_is_said_with_its_name_and_no_longer_once_it_is_over(desk: Desk) -> None:
    found = lines(desk.has(applied()), "deploys/containers.py")
    for name in (A, B):
        for step in ("nvidia-container-toolkit", "docker's nvidia runtime"):
            assert (name, f"Containers | {step}") in found
    steps = [step for host, step in found if host == A]
    assert steps == sorted(steps, key=lambda step: [*dict.fromkeys(steps)].index(step)), "in order"
