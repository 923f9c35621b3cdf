"""T2 and T3: what lies on the disks of the virtual pair, with a real docker, real mounts and the real journal.

Only these show what docker prints of its images and refuses to remove, that the server's container is seen by its
mounts, that a link and a mount are kept, and that undo leaves what was removed.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.standin_image import NAME, build
from sparkrig.serving import served
from tests.faults.record import Seen
from tests.lab.commands import Done, run
from tests.lab.guests import Guest, Pair
from tests.lab.serving import IDS, ONE, TWO, models, serve

pytestmark = pytest.mark.exhaustive  # an image is made and a model served under emulation

A, B = "spark-a", "spark-b"
SPARE = "vllm-spare:1"  # of which no setting knows


def look(inventory: str) -> dict[str, Any]:
    done = run("sparkrig", "storage", inventory, "--json")
    assert done.code == 0, done.stderr[-3000:]
    hosts: dict[str, Any] = json.loads(done.stdout)["hosts"]
    return hosts


def remove(inventory: str, name: str, *words: str) -> Done:
    return run("sparkrig", "storage", inventory, "--remove", name, "--yes", *words)


def checkpoint(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in found["checkpoints"] if each["name"] == name)


def there(guest: Guest, name: str) -> bool:
    return guest.run(f"test -d /srv/models/{name}").rc == 0


def test_what_is_served_stays_and_what_nothing_needs_goes(ready: Pair, inventory: str, seen: Seen) -> None:
    done = serve(inventory, ONE)
    assert done.code == 0, done.stderr[-3000:]
    found = look(inventory)[A]
    mine, other = checkpoint(found, IDS[ONE]), checkpoint(found, IDS[TWO])
    assert len(mine["needed_by"]) == 2 and mine["standing"] == "whole"
    assert other["needed_by"] == [] and other["standing"] == "loose" and other["bytes"] > 0
    (image,) = [each for each in found["images"] if NAME in each["names"]]
    assert image["bytes"] > 10**6 and any("container sparkrig-serve" in each for each in image["needed_by"])

    for name in (IDS[ONE], NAME, image["id"]):
        done = remove(inventory, name)
        assert done.code == 1 and "is needed: container sparkrig-serve, which runs" in " ".join(
            done.stdout.split()
        )
    done = remove(inventory, IDS[TWO])
    assert done.code == 0, done.stdout + done.stderr
    assert not there(ready.a, IDS[TWO]) and there(ready.a, IDS[ONE]) and ONE in models(ready.a)

    status = run("sparkrig", "status", inventory, "--json")
    newest = json.loads(status.stdout)["hosts"][A]["runs"][0]
    assert newest["outcome"] == "done" and [each["item"] for each in newest["changed"]] == [f"weights {IDS[TWO]}"]
    done = run("sparkrig", "undo", inventory, newest["run"], "--dry", "--limit", A, "--one-host")
    assert "stays gone" in done.stdout and "which is kept nowhere" in " ".join(done.stdout.split())
    seen("a checkpoint that nothing needs is removed; what is served and its image are refused; undo says so")


def test_what_undo_brings_back_is_refused(ready: Pair, inventory: str, seen: Seen) -> None:
    for model in (ONE, TWO):
        done = serve(inventory, model)
        assert done.code == 0, done.stderr[-3000:]
    done = remove(inventory, IDS[ONE])
    assert done.code == 1 and "brings it back" in " ".join(done.stdout.split()) and there(ready.a, IDS[ONE])
    done = run("sparkrig", "undo", inventory, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert json.loads(ready.a.output(f"sudo cat {served.RECORD}"))["model"] == ONE
    seen("the model before the last one is kept, and undo serves it again")


def test_links_and_mounts_stay(ready: Pair, inventory: str, seen: Seen) -> None:
    """A bind mount of the same disk is no other file system to rm."""
    ready.a.output(
        "sudo mkdir -p /root/precious /srv/models/org/mounted/in /srv/models/org/plain && "
        "sudo touch /root/precious/file && sudo ln -s /root/precious /srv/models/org/link && "
        "sudo ln -s /root/precious /srv/models/org/plain/out && "
        "sudo mount --bind /root/precious /srv/models/org/mounted/in"
    )
    for name in ("org/link", "org/mounted"):
        assert remove(inventory, name).code == 1
    done = remove(inventory, "org/plain", "--host", A)
    assert done.code == 0 and not there(ready.a, "org/plain"), done.stdout + done.stderr
    assert ready.a.run("sudo test -e /root/precious/file").rc == 0
    seen("a link, a folder with a bind mount and what links lead to are as they were")


def test_images_go_by_name_and_docker_has_the_last_word(deployed: Pair, inventory: str, seen: Seen) -> None:
    ids = {guest: build(guest.node, "", SPARE) for guest in deployed}
    deployed.a.output(f"sudo docker create --name mine {SPARE} sh")
    done = remove(inventory, SPARE)
    assert done.code == 1 and "container mine, which is stopped" in " ".join(done.stdout.split())
    assert deployed.a.run(f"sudo docker image inspect {ids[deployed.a]}").rc == 0, "refused on one half"
    assert deployed.b.run(f"sudo docker image inspect {ids[deployed.b]}").rc != 0, "and gone on the other"
    deployed.a.output("sudo docker rm mine")
    done = remove(inventory, ids[deployed.a])
    assert done.code == 0 and deployed.a.output("sudo docker image ls -a -q") == "", done.stdout + done.stderr
    seen("an image goes by name and by ID, and one that a stopped container has is refused")
