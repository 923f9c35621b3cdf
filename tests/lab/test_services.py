"""T3: a second server beside the first on the virtual pair, with real docker and systemd and no vLLM.

Written, and not run yet.
"""

from __future__ import annotations

import json
import time

import pytest

from lab import pair as lab
from lab.standin_image import build, weights
from sparkrig.serving import served
from sparkrig.serving.served import Service
from tests.faults.record import Seen
from tests.lab.commands import run
from tests.lab.guests import Guest, Pair
from tests.lab.serving import ONE, TWO, models, planned, serve, unit, wrong

pytestmark = pytest.mark.exhaustive  # images are started under emulation

EMBED = Service("embed")
SECOND = "qwen3-30b-a3b"
ID = "nvidia/Qwen3-30B-A3B-NVFP4"
PORT, TRIAL = 8001, 18001
HALF = ("--data", 'serve_flags={"gpu-memory-utilization": 0.6}')
SHARE = ("--data", 'serve_flags={"gpu-memory-utilization": 0.2}')
NAMED = ("--data", "serve_name=embed")
IMAGE = ("--data", "serve_image=vllm-standin:1")
WORDS = (*NAMED, *IMAGE, "--data", f"serve_port={PORT}", "--data", f"serve_trial_port={TRIAL}", *SHARE)


def since(guest: Guest, name: str) -> str:
    """When a unit was started last."""
    return guest.output(f"systemctl show --value -p ActiveEnterTimestampMonotonic {name}").strip()


def second(ready: Pair, inventory: str, *words: str) -> None:
    """Both servers up: ONE with no name, and `embed` beside it."""
    weights(ready.a.node, f"/srv/models/{ID}")
    done = serve(inventory, ONE, *HALF)
    assert done.code == 0, done.stderr[-3000:]
    done = serve(inventory, ID, *WORDS, *words)
    assert done.code == 0, done.stderr[-3000:]


def test_a_second_server_stands_beside_the_first_and_goes_alone(ready: Pair, inventory: str, seen: Seen) -> None:
    weights(ready.a.node, f"/srv/models/{ID}")
    assert serve(inventory, ONE, *HALF).code == 0
    before = since(ready.a, served.UNIT)
    done = serve(inventory, ID, *WORDS)
    assert done.code == 0, done.stderr[-3000:]
    assert ONE in models(ready.a) and SECOND in models(ready.a, port=PORT)
    assert since(ready.a, served.UNIT) == before, "the first one was not touched"
    assert unit(ready.a, EMBED.unit) == "active" and unit(ready.b, EMBED.unit) == "inactive"
    assert planned(inventory, "", *NAMED) == {} == planned(inventory, ONE, *HALF)
    code, rows = wrong(inventory)
    assert not [row for row in rows if row[1].endswith("@embed")], (code, rows)

    done = run("sparkrig", "startup", inventory, "--once", "--json")
    services = json.loads(done.stdout)["hosts"]["spark-a"]["services"]
    assert services["embed"]["state"] == "serving", services

    ready.a.output(f"sudo systemctl stop {EMBED.unit}")
    code, rows = wrong(inventory)
    assert code == 2 and ("spark-a", "serve.unit@embed") in rows, rows
    assert serve(inventory, "", *NAMED).code == 0 and SECOND in models(ready.a, port=PORT)
    assert since(ready.a, served.UNIT) == before

    done = serve(inventory, "none", *NAMED)
    assert done.code == 0, done.stderr[-3000:]
    assert models(ready.a, port=PORT) == [] and ONE in models(ready.a)
    for guest in ready:
        left = guest.output(f"sudo find /etc/sparkrig /etc/systemd /usr/local/lib/sparkrig -path '*{EMBED.name}*'")
        assert left == ""
    seen("deployed beside the first, found stopped, started, taken away; the first went on all the while")


def test_an_undo_takes_back_the_second_alone(ready: Pair, inventory: str, seen: Seen) -> None:
    second(ready, inventory)
    before = since(ready.a, served.UNIT)
    done = run("sparkrig", "undo", inventory, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert models(ready.a, port=PORT) == [] and unit(ready.a, EMBED.unit) == "inactive"
    assert ONE in models(ready.a) and since(ready.a, served.UNIT) == before
    seen("undone: the second is gone, the first went on")


@pytest.mark.parametrize(("told", "reason"), [("--garbage", "garbage"), ("--crash weights", "ended on spark-a")])
def test_a_trial_of_the_second_that_fails_leaves_the_first_alone(
    ready: Pair, inventory: str, told: str, reason: str
) -> None:
    second(ready, inventory)
    before = since(ready.a, served.UNIT)
    build(ready.a.node, told)
    done = serve(inventory, "", *NAMED, *IMAGE)
    assert done.code == 1 and "rolled back" in done.stderr and reason in done.stderr, done.stderr[-3000:]
    assert SECOND in models(ready.a, port=PORT), "the old one of it is back"
    assert ONE in models(ready.a) and since(ready.a, served.UNIT) == before


def test_both_come_back_after_a_power_cut(ready: Pair, inventory: str) -> None:
    second(ready, inventory)
    lab.cut_power(ready.a.node)
    for port, name in ((8000, ONE), (PORT, SECOND)):
        end = time.monotonic() + 600
        while name not in models(ready.a, port=port):
            assert time.monotonic() < end, ready.a.output("sudo journalctl -b -n 60 -u 'sparkrig-serve*'")
            time.sleep(2)
    assert planned(inventory, "", *NAMED) == {}


def test_a_server_of_the_pair_and_one_of_the_head_alone(ready: Pair, inventory: str) -> None:
    weights(ready.a.node, f"/srv/models/{ID}")
    assert serve(inventory, TWO, *HALF).code == 0
    assert serve(inventory, ID, *WORDS).code == 0
    assert TWO in models(ready.a) and SECOND in models(ready.a, port=PORT)
    assert unit(ready.b) == "active" and unit(ready.b, EMBED.unit) == "inactive"
