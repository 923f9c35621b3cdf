"""T2 and T3: the watch of a server, with real units and docker, and a stand-in for vLLM whose engine freezes.

Only these show that systemd starts the watch again with a server that the watch ended, that the reason outlives
both, and that the other half of a pair follows. The engine stands still while FROZEN is there, whose folder the
container has. The GPU is a stand-in on the guest, too.
"""

from __future__ import annotations

import json
import time

import pytest

from lab.standin_image import build
from sparkrig.serving import served
from tests.faults.record import Seen
from tests.lab.commands import run
from tests.lab.frozen import STANDIN, N, asks, events, freeze, gpu, thaw, until
from tests.lab.guests import Pair
from tests.lab.inventories import inventory_with
from tests.lab.serving import ONE, SETTINGS, TWO, models, planned, serve, unit, until_it_answers, wrong

STUCK = ("spark-a", "serve.stuck")


pytestmark = pytest.mark.exhaustive  # a server is made, frozen and started twice under emulation


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The inventory of a pair whose engine may stand still for N seconds."""
    settings = f"'node_ssh': True, {SETTINGS}, 'serve_watch_seconds': {N}"
    return inventory_with(tmp_path_factory.mktemp("watched"), settings)


def serves(pair: Pair, watched: str, model: str, told: str = "", watts: float = 14) -> None:
    build(pair.a.node, f"{STANDIN} {told}".strip())
    gpu(pair.a, watts)
    done = serve(watched, model)
    assert done.code == 0, done.stderr[-3000:]
    assert unit(pair.a, served.WATCH_UNIT) == "active"
    assert planned(watched, model) == {}


def test_an_engine_that_freezes_is_restarted_once_and_then_stopped(ready: Pair, watched: str, seen: Seen) -> None:
    """The first question that start.sh asks of the new server freezes it again."""
    serves(ready, watched, ONE)
    freeze(ready.a)
    asks(ready.a)
    until(ready.a, lambda: events(ready.a) == ["stuck restarted"])
    until(ready.a, lambda: events(ready.a) == ["stuck restarted", "stuck stopped"])
    until(ready.a, lambda: unit(ready.a) == "inactive")
    assert unit(ready.a, served.WATCH_UNIT) == "inactive" and models(ready.a) == []
    code, rows = wrong(watched)
    assert code == 2 and {STUCK, ("spark-a", "serve.unit")} <= rows, rows
    told = json.loads(run("sparkrig", "startup", watched, "--once", "--json").stdout)
    assert "the watch stopped it at" in json.dumps(told)
    thaw(ready.a)
    done = serve(watched, ONE)
    assert done.code == 0, done.stderr[-3000:]
    assert ONE in models(ready.a) and events(ready.a) == []
    assert planned(watched, ONE) == {} and wrong(watched) == (0, set())
    seen("frozen: restarted, frozen again: stopped; found by drift and startup, and over with the next deploy")


def test_a_restart_takes_both_halves_and_they_serve_again(ready: Pair, watched: str, seen: Seen) -> None:
    serves(ready, watched, TWO)
    containers = "sudo docker container inspect -f '{{.Id}}' sparkrig-serve"
    before = [guest.output(containers) for guest in ready]
    freeze(ready.a)
    asks(ready.a, TWO)
    until(ready.a, lambda: events(ready.a) == ["stuck restarted"])
    thaw(ready.a)
    for guest, old in zip(ready, before, strict=True):
        until(guest, lambda at=guest, was=old: at.run(containers).stdout.strip() not in ("", was))  # type: ignore[misc]
    until_it_answers(ready.a)
    assert (unit(ready.a), unit(ready.b)) == ("active", "active")
    said = ready.b.output(f"sudo journalctl -o cat -u {served.WATCH_UNIT}")
    assert "sparkrig: trouble head" in said and events(ready.b) == []
    code, rows = wrong(watched)
    assert code == 2 and STUCK in rows, rows
    run("sparkrig", "undo", watched, "--yes")
    for guest in ready:
        assert guest.run(f"test -e {served.WATCH} || test -e {served.WATCHER} || test -e {served.STATE}").rc != 0
    seen(f"both containers are new; {said.splitlines()[-1]}")


def test_a_long_prefill_is_left_alone_while_the_gpu_works(ready: Pair, watched: str) -> None:
    serves(ready, watched, ONE, f"--first {3 * N}", watts=46)
    asks(ready.a)
    time.sleep(3 * N)
    assert events(ready.a) == [] and unit(ready.a) == "active"
    gpu(ready.a, 14)
    asks(ready.a)
    until(ready.a, lambda: events(ready.a) == ["stuck restarted"])


def test_an_engine_that_goes_on_in_time_is_left_alone(ready: Pair, watched: str) -> None:
    serves(ready, watched, ONE)
    for _ in range(3):
        freeze(ready.a)
        asks(ready.a)
        time.sleep(N - 15)
        thaw(ready.a)
        time.sleep(N)
    assert events(ready.a) == [] and unit(ready.a) == "active" and ONE in models(ready.a)
