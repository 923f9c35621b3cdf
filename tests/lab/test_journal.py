"""T3: two who come at once, a run that breaks off, and taking a run back, on the virtual pair."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import NODES
from lab import pair as lab
from lab.waiting import wait_until
from tests.faults import endstate
from tests.faults.record import Seen
from tests.lab.commands import BIN, LAB, ROOT, STATE, Done, assert_state, deploy, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.states import DEPLOYED

ENVIRONMENT, BANDWIDTH = "deploys/environment.py", "deploys/bandwidth.py"
AT_WORK = "sudo sh -c 'grep -q begun.Bandwidth /var/lib/sparkrig/runs/*/steps && test -e /run/sparkrig/lock'"
# what an undo leaves of a deploy: the toolkit's packages with what they brought
STAYS = ("package ", "file /etc/nvidia-container-", "file /etc/cdi", "file /etc/systemd/")


@contextmanager
def measuring() -> Iterator[subprocess.Popen[bytes]]:
    """A controller that holds both locks for minutes; killed in the end."""
    with subprocess.Popen(
        [BIN / "pyinfra", "-y", LAB, BANDWIDTH],
        cwd=ROOT,
        env={**os.environ, "PYINFRA_PROGRESS": "off", "XDG_STATE_HOME": STATE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as controller:
        try:
            yield controller
        finally:
            controller.send_signal(signal.SIGKILL)


def until_it_measures(guest: Guest, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while guest.run(AT_WORK).rc:
        assert time.monotonic() < end, guest.output("sudo ls -R /var/lib/sparkrig /run/sparkrig")
        time.sleep(1)


def until_it_measures_no_more(guests: Pair) -> None:
    """What a dead controller started ends by itself; beside it an emulated host takes no login in ten seconds."""
    for guest in guests:
        wait_until(
            lambda guest=guest: guest.run("pgrep -x ib_write_bw").rc == 1,  # type: ignore[misc]
            180,
            happened=f"ib_write_bw still runs on {guest.node}",
            attempt="sparkrig lab ssh " + guest.node,
        )


def environment() -> Done:
    return run("pyinfra", "-y", LAB, ENVIRONMENT)


def status(*words: str) -> Done:
    return run("sparkrig", "status", LAB, *words)


@pytest.mark.fault(39)
@pytest.mark.promise(4)
def test_two_at_once_and_one_that_dies(deployed: Pair, seen: Seen) -> None:
    """The second is refused by name; the first is killed and shown as broken off, and the next goes through."""
    for guest in deployed:
        guest.output("sudo rm /etc/nccl.conf; sudo rm -r /var/lib/sparkrig/runs")
    with measuring():
        until_it_measures(deployed.b)
        refused = environment()
        assert refused.code == 1
        for node in NODES:
            (said,) = [line for line in refused.stderr.splitlines() if f"[{node}] Refused: " in line]
            seen(said.strip())
            assert "is locked by " in said and f"for: pyinfra {LAB} {BANDWIDTH}" in said
            assert "now at Bandwidth | ib_write_bw on each rail" in said and "sparkrig unlock" in said
        assert deployed.b.run("test -e /etc/nccl.conf").rc == 1, "nothing was changed"
        assert status().code == 0, "a run that goes on is no finding"
        assert "running, at step 1 (Bandwidth" in status().stdout
    until_it_measures_no_more(deployed)
    shown = status()
    assert shown.code == 2, shown.stdout + shown.stderr
    assert shown.stdout.count("interrupted at step 1 (Bandwidth | ib_write_bw on each rail)") == 2
    went = environment()
    assert went.code == 0, went.stderr[-3000:]
    assert "took over the lock of" in went.stderr
    assert status().code == 0
    assert deployed.b.run("sudo test -e /run/sparkrig/lock").rc == 1


def test_a_lock_is_taken_away_only_on_demand(deployed: Pair) -> None:
    with measuring():
        until_it_measures(deployed.b)
        asked = run("sparkrig", "unlock", LAB)
        assert (asked.code, "then the same with --yes" in asked.stderr) == (1, True)
        done = run("sparkrig", "unlock", LAB, "--yes")
        assert done.code == 0, done.stdout + done.stderr
        assert done.stdout.count("its session is still there") == done.stdout.count(": unlocked") == 2
    assert run("sparkrig", "unlock", LAB, "--yes").stdout == "spark-a: not locked\nspark-b: not locked\n"


def undone_from(pristine: endstate.State, guests: Pair) -> None:
    """Take the deploy back, and compare both hosts with what they were before it."""
    done = run("sparkrig", "undo", LAB, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    left = endstate.differences(pristine, endstate.of(guests))
    assert [line for line in left if not line.split(" ", 1)[1][1:].startswith(STAYS)] == []


@pytest.mark.main
def test_an_undo_gives_back_the_pristine_pair(deployed_once: Pair) -> None:
    lab.reset(NODES)
    pristine = endstate.of(deployed_once)
    lab.reset(NODES, DEPLOYED)
    undone_from(pristine, deployed_once)


@pytest.mark.exhaustive
def test_an_undo_is_planned_told_and_a_deploy_works_again(deployed_once: Pair) -> None:
    lab.reset(NODES)
    pristine = endstate.of(deployed_once)
    lab.reset(NODES, DEPLOYED)
    dry = run("sparkrig", "undo", LAB, "--dry", "--json")
    assert dry.code == 0, dry.stderr
    (group,) = json.loads(dry.stdout)["groups"]
    acts = {each["item"]: each["act"] for each in group["plans"]["spark-a"]["changes"]}
    assert acts["file /etc/nccl.conf"] == "remove" and acts["hold nvidia-driver-580-open"] == "release"
    assert acts["package nvidia-container-toolkit"] == "stays"
    assert group["plans"]["spark-a"]["network"] is True
    assert planned() == {}, "a dry undo changes nothing"

    undone_from(pristine, deployed_once)
    assert "undone" in status().stdout
    assert run("sparkrig", "undo", LAB, "--yes").stdout.count("nothing to undo") == 1

    assert deploy().code == 0
    assert planned() == {}
    assert_state()


def test_an_undo_leaves_what_somebody_else_changed(deployed: Pair) -> None:
    deployed.a.output("sudo sh -c 'echo // mine >>/etc/apt/apt.conf.d/52sparkrig-nvidia'")
    done = run("sparkrig", "undo", LAB, "--dry")
    assert done.code == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if "52sparkrig-nvidia" in line]
    assert ["left alone" in line for line in said] == [True, False]
