"""T2 and T3: a model served on one virtual Spark and on the pair, with real docker and systemd and no vLLM.

What answers is lab/standin.py, in an image made of the guest's own Python (lab/standin_image.py). The
weights are tiny files: of a checkpoint that somebody put there the deploy asks no more than what its index names.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab import NODES
from lab import pair as lab
from lab.standin_image import NAME, build, weights
from sparkrig.serving import served
from tests.faults.record import Seen
from tests.lab.commands import BIN, CLUSTER, ROOT, SOLO, STATE, run
from tests.lab.guests import Guest, Pair
from tests.lab.serving import IDS, ONE, SERVE, TWO, image, models, planned, serve, unit, until_it_answers, wrong

pytestmark = pytest.mark.exhaustive  # images are made, copied and started under emulation


def test_one_half_of_a_pair_serves_alone_and_it_can_be_undone(ready: Pair, inventory: str, seen: Seen) -> None:
    done = serve(inventory, ONE)
    assert done.code == 0, done.stderr[-3000:]
    fabric = "192.168.100.11"
    assert ONE in models(ready.a) and models(ready.b, fabric) == [], "without a key, from its own host alone"
    opened = serve(inventory, ONE, "--data", f"serve_listen={fabric}")
    assert opened.code == 0, opened.stderr[-3000:]
    assert ONE in models(ready.a) and ONE in models(ready.b, fabric)
    assert models(ready.b, fabric, 18000) == [], "vLLM itself is reached from its own host alone"
    done = serve(inventory, ONE, "--data", "serve_listen=local")
    assert done.code == 0 and "the API answers elsewhere from now on" in done.stderr, done.stderr[-3000:]
    assert ONE in models(ready.a) and models(ready.b, fabric) == []
    assert unit(ready.b) == "inactive" and ready.b.run("sudo docker image inspect vllm-standin:1").rc != 0
    assert "phase ready" in ready.a.output(f"sudo journalctl -o cat -u {served.UNIT}")
    environment = ready.a.output("sudo docker exec sparkrig-serve cat /proc/1/environ | tr '\\0' '\\n'")
    assert "VLLM_HOST_IP=127.0.0.1" in environment and "enp1s0f0np0" not in environment, "nothing of the fabric"
    command = ready.a.output("sudo docker exec sparkrig-serve cat /proc/1/cmdline | tr '\\0' ' '")
    assert "--gpu-memory-utilization 0." in command and "--max-model-len " in command
    assert planned(inventory, ONE) == {} == planned(inventory)
    assert wrong(inventory) == (0, set())

    for _ in range(3):  # of three runs, the last one first
        done = run("sparkrig", "undo", inventory, "--yes")
        assert done.code == 0, done.stdout + done.stderr
    assert models(ready.a) == [] and unit(ready.a) == "inactive"
    assert ready.a.run(f"test -e {served.SERVICE} || test -L {served.ENABLED}").rc != 0
    assert wrong(inventory) == (0, set())
    seen("served, found settled, undone: no unit and no port is left")


# a publisher's names: each would be a command, an option or two words where a shell read it
ODD = ("x';touch PWNED;'y.bin", "$(touch PWNED).bin", "it's.json", " blank.bin", "-n", "two words/`id`.txt")


def test_what_a_checkpoint_calls_its_files_is_data_on_both_halves(ready: Pair, inventory: str, seen: Seen) -> None:
    folder = f"/srv/models/{IDS[TWO]}"
    for name in ODD:
        file = f"{folder}/{name}"
        inside = file.rpartition("/")[0]
        ready.a.output(f"sudo mkdir -p {shlex.quote(inside)} && echo odd | sudo tee {shlex.quote(file)}")
    done = serve(inventory, TWO)
    assert done.code == 0, done.stderr[-3000:]
    listing = shlex.quote(f"cd {folder} && find . -type f ! -name '*.new' -print0 | sort -z | xargs -0 sha256sum")
    here, there = (guest.output(f"sudo sh -c {listing}") for guest in ready)
    assert here == there and all(f"./{name}\n" in f"{there}\n" for name in ODD)
    for guest in ready:
        assert guest.output("sudo find / -xdev -name 'PWNED*'") == ""
    assert planned(inventory, TWO) == {}
    seen(f"{len(ODD)} names that a shell would act on are on both halves as they are, and nothing ran")


def test_a_pair_serves_as_one_and_what_moves_is_found_and_mended(ready: Pair, inventory: str, seen: Seen) -> None:
    done = serve(inventory, TWO)
    assert done.code == 0, done.stderr[-3000:]
    assert TWO in models(ready.a) and (unit(ready.a), unit(ready.b)) == ("active", "active")
    assert image(ready.a) == image(ready.b), "copied over the fabric, it is the same"
    assert ready.b.output(f"sudo cat /srv/models/{IDS[TWO]}/sub/tokenizer.json") == "{}"
    environment = (
        "sudo docker exec sparkrig-serve cat /proc/1/environ | tr '\\0' '\\n' | grep -E '^(SPARK|NCCL_IB_HCA)'"
    )
    for number, guest in enumerate(ready):
        told = guest.output(environment)
        assert f"SPARKRIG_RANK={number}" in told and "SPARKRIG_HEAD=192.168.100.11" in told
        assert "NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0" in told
    assert planned(inventory) == {} and wrong(inventory) == (0, set())

    ready.b.output(f"sudo systemctl stop {served.UNIT}")
    ready.b.output("sudo docker image rm -f vllm-standin:1")
    ready.a.output(f"sudo systemctl stop {served.PORT_UNIT}.socket {served.PORT_UNIT}.service")
    code, rows = wrong(inventory)
    expected = {("spark-b", "serve.unit"), ("spark-b", "serve.image"), ("spark-a", "serve.answer")}
    assert code == 2 and rows == expected, rows
    done = serve(inventory)
    assert done.code == 0, done.stderr[-3000:]
    assert TWO in models(ready.a) and wrong(inventory) == (0, set())
    seen(f"found by drift: {sorted(rows)}; mended by {SERVE}")


def test_a_tag_that_leads_elsewhere_on_one_half_is_brought_back(ready: Pair, inventory: str) -> None:
    assert serve(inventory, TWO).code == 0
    before = image(ready.b)
    build(ready.b.node, "--token 0.02")
    assert planned(inventory).keys() >= {"Serve | image"}
    done = serve(inventory)
    assert done.code == 0, done.stderr[-3000:]
    assert ready.b.output("sudo docker image inspect -f '{{.Id}}' vllm-standin:1") == before == image(ready.b)


# docker's other store, beside whatever else is set
CONTAINERD_STORE = """
import json, pathlib
file = pathlib.Path("/etc/docker/daemon.json")
file.write_text(json.dumps({**json.loads(file.read_text()), "features": {"containerd-snapshotter": True}}))
"""


@pytest.mark.parametrize("node", NODES)
def test_one_image_in_two_stores_settles(ready: Pair, inventory: str, node: str, seen: Seen) -> None:
    """Docker's stores themselves: which ID each gives, and what crosses `docker save | docker load` unchanged.

    The next test begins with a saved state, so daemon.json is not put back here.
    """
    (guest,) = (each for each in ready if each.node == node)
    guest.output(f"sudo python3 -c {shlex.quote(CONTAINERD_STORE)} && sudo systemctl restart docker")
    assert "io.containerd.snapshotter.v1" in guest.output("sudo docker info -f '{{json .DriverStatus}}'")
    if guest is ready.a:
        build(node)  # its store is another one now, and empty
    done = serve(inventory, TWO)
    assert done.code == 0, done.stderr[-3000:]
    first, second = map(image, ready)
    assert first != second, "with one ID for both, this would show nothing"
    assert planned(inventory) == {} and wrong(inventory) == (0, set())
    again = serve(inventory)
    assert again.code == 0 and "over the fabric" not in again.stderr, again.stderr[-3000:]
    assert list(map(image, ready)) == [first, second] and TWO in models(ready.a)
    seen(f"containerd's store on {node}: {first[:19]} and {second[:19]} are one; a second run has nothing to do")


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("--garbage", "its answer is garbage"),
        ("--fail 500", "it answered a question with HTTP status 500"),
        ("--crash weights", "ended on spark-"),
        ("--unhealthy", "did not answer within"),
    ],
    ids=["garbage", "errors", "crash", "never healthy"],
)
def test_what_fails_its_trial_is_rolled_back(
    ready: Pair, inventory: str, told: str, reason: str, seen: Seen
) -> None:
    done = serve(inventory, ONE)
    assert done.code == 0, done.stderr[-3000:]
    build(ready.a.node, told, "vllm-broken:1")
    done = serve(inventory, TWO, "--data", "serve_image=vllm-broken:1")
    assert done.code == 1
    (said,) = [line.strip() for line in done.stderr.splitlines() if "Changed and rolled back:" in line]
    assert reason in said and f"{ONE} answers again on port 8000" in said, said
    assert ONE in models(ready.a) and unit(ready.b) == "inactive"
    left = planned(inventory)
    assert left.keys() == {"close the run"}, left
    assert wrong(inventory) == (2, {(host, "deploy.plan") for host in left["close the run"]})
    status = run("sparkrig", "status", inventory)
    assert status.code == 4 and f"rolled back: {TWO}: " in status.stdout, status.stdout
    seen(said)


@pytest.mark.parametrize(
    ("entrypoint", "kept"),
    [('["/opt/nvidia/nvidia_entrypoint.sh"]', True), ('["vllm", "serve"]', False)],
    ids=["NVIDIA's", "vLLM's"],
)
def test_an_entrypoint_of_the_image_is_kept_where_it_starts_the_server(
    ready: Pair, inventory: str, entrypoint: str, kept: bool
) -> None:
    """Docker itself: what `docker run` makes of an entrypoint, and what `docker image inspect` shows of it."""
    build(ready.a.node, "", "vllm-own:1", entrypoint)
    done = serve(inventory, ONE, "--data", "serve_image=vllm-own:1")
    assert done.code == 0, done.stderr[-3000:]
    environment = ready.a.output("sudo docker exec sparkrig-serve cat /proc/1/environ | tr '\\0' '\\n'")
    assert ("CUDA_COMPAT=set" in environment) is kept and ONE in models(ready.a)
    assert planned(inventory, ONE, "--data", "serve_image=vllm-own:1") == {}


def test_a_first_server_that_fails_leaves_nothing(ready: Pair, inventory: str) -> None:
    build(ready.a.node, "--garbage")
    done = serve(inventory, ONE)
    assert done.code == 1 and "Nothing is served, as before" in done.stderr, done.stderr[-3000:]
    assert models(ready.a) == [] and unit(ready.a) == "inactive"
    assert ready.a.run(f"test -e {served.SERVICE} || test -e {served.TRIAL}").rc != 0


def test_a_controller_that_dies_on_trial_leaves_the_port_closed(ready: Pair, inventory: str, seen: Seen) -> None:
    build(ready.a.node, "--startup 40")
    words = [str(BIN / "pyinfra"), "-y", inventory, SERVE, "--data", f"model={ONE}", "--data", "serve_seconds=300"]
    with subprocess.Popen(
        words,
        cwd=ROOT,
        env={**os.environ, "PYINFRA_PROGRESS": "off", "XDG_STATE_HOME": STATE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as controller:
        end = time.monotonic() + 600
        while unit(ready.a) != "active":
            assert time.monotonic() < end and controller.poll() is None
            time.sleep(1)
        controller.send_signal(signal.SIGKILL)
    end = time.monotonic() + 300
    while not models(ready.a, port=18000):
        assert time.monotonic() < end
        time.sleep(2)
    assert models(ready.a) == [], "it was not asked yet"
    code, rows = wrong(inventory)
    assert code == 2 and ("spark-a", "serve.trial") in rows, rows
    done = serve(inventory, "", "--data", "serve_seconds=300")
    assert done.code == 0, done.stderr[-3000:]
    assert ONE in models(ready.a) and wrong(inventory) == (0, set())
    seen("the port stayed closed, drift said so, and the deploy went on with the trial")


def test_a_node_that_is_lost_comes_back_as_part_of_the_server(ready: Pair, inventory: str, seen: Seen) -> None:
    assert serve(inventory, TWO).code == 0
    for node in ("spark-b", "spark-a"):
        lab.cut_power(node)
    until_it_answers(ready.a)
    assert (unit(ready.a), unit(ready.b)) == ("active", "active")
    rails = {(node, f"bandwidth.{netdev}") for node in NODES for netdev in ("enp1s0f0np0", "enP2p1s0f0np0")}
    assert planned(inventory) == {} and wrong(inventory) == (3, rails), "the server is well; nobody measured since"
    seen("each half after a power cut: both units up, the port open, nothing to do for the deploy")


def test_a_server_that_ends_is_started_again(ready: Pair, inventory: str) -> None:
    assert serve(inventory, ONE).code == 0
    ready.a.output("sudo docker kill sparkrig-serve")
    until_it_answers(ready.a)
    assert unit(ready.a, f"{served.PORT_UNIT}.socket") == "active"
    assert planned(inventory) == {}


def test_the_guard_of_the_memory_ends_the_server(ready: Pair, inventory: str) -> None:
    assert serve(inventory, ONE, "--data", "memory_guard=20").code == 0
    total, available = (
        int(ready.a.output(f"awk '/^{name}:/ {{print $2}}' /proc/meminfo"))
        for name in ("MemTotal", "MemAvailable")
    )
    left = total // 8  # less than the guard's fifth, more than the kernel's own end
    eat = f"import time; held = b'x' * ({available - left} * 1024); time.sleep(20)"
    ready.a.run(f'python3 -c "{eat}"', timeout=300)
    said = ready.a.output(f"sudo journalctl -o cat -u {served.WATCH_UNIT}")
    assert "sparkrig: trouble memory" in said, said
    until_it_answers(ready.a)


def test_a_disk_that_is_too_small_for_the_weights_is_refused(ready: Pair, inventory: str, seen: Seen) -> None:
    ready.a.output(f"sudo rm -r /srv/models/{IDS[ONE]}")
    done = serve(inventory, ONE)
    assert done.code == 1
    said = next(line.strip() for line in done.stderr.splitlines() if "Refused: the weights of" in line)
    assert "take 60.8 GiB" in said and "are free for /srv/models" in said
    assert ready.a.run(f"sudo test -e {served.STATE}").rc != 0, "nothing was changed"
    seen(said)


def test_a_spark_without_a_cable_serves(solo: Guest, tmp_path: Path) -> None:
    done = run("pyinfra", "-y", SOLO, CLUSTER)
    assert done.code == 0, done.stderr[-3000:]
    build(solo.node)
    weights(solo.node, f"/srv/models/{IDS[ONE]}")
    words = ("--data", f"serve_image={NAME}", "--data", "memory_gib=121.7")
    done = serve(SOLO, ONE, *words)
    assert done.code == 0, done.stderr[-3000:]
    assert ONE in models(solo)
    assert planned(SOLO, ONE, *words) == {}
    done = serve(SOLO, TWO, *words)
    assert done.code == 1 and "is for 2 Sparks" in done.stderr
