"""T2 and T3: what lies on the disks of the virtual pair, with a real docker, real mounts and the real journal.

Only these show what docker prints of its images, that the server's container is seen by its mounts, that a link
and a mount have no command that removes them, and that the command of what nothing needs removes it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lab.standin_image import NAME
from tests.faults.record import Seen
from tests.lab.commands import run
from tests.lab.guests import Guest, Pair
from tests.lab.serving import IDS, ONE, TWO, models, serve

pytestmark = pytest.mark.exhaustive  # an image is made and a model served under emulation

A = "spark-a"


def look(inventory: str) -> dict[str, Any]:
    done = run("sparkrig", "storage", inventory, "--json")
    assert done.code == 0, done.stderr[-3000:]
    hosts: dict[str, Any] = json.loads(done.stdout)["hosts"]
    return hosts


def ways(inventory: str) -> list[str]:
    """The commands that remove what nothing needs, as the screen of the first host has them."""
    shown = " ".join(run("sparkrig", "storage", inventory, "--host", A).stdout.split())
    return re.findall(
        r"nothing declared needs it: (sudo (?:rm|docker image rm) [-\w./ ]*?)(?= [^\w\s/-]|$)", shown
    )


def checkpoint(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in found["checkpoints"] if each["name"] == name)


def there(guest: Guest, name: str) -> bool:
    return guest.run(f"test -d /srv/models/{name}").rc == 0


def test_what_is_served_is_needed_and_what_nothing_needs_goes(ready: Pair, inventory: str, seen: Seen) -> None:
    done = serve(inventory, ONE)
    assert done.code == 0, done.stderr[-3000:]
    found = look(inventory)[A]
    mine, other = checkpoint(found, IDS[ONE]), checkpoint(found, IDS[TWO])
    assert len(mine["needed_by"]) == 2 and mine["standing"] == "whole"
    assert other["needed_by"] == [] and other["standing"] == "loose" and other["bytes"] > 0
    (image,) = [each for each in found["images"] if NAME in each["names"]]
    assert image["bytes"] > 10**6 and any("container sparkrig-serve" in each for each in image["needed_by"])
    commands = ways(inventory)
    assert not any(IDS[ONE] in each for each in commands)
    ready.a.output(next(each for each in commands if IDS[TWO] in each))
    assert not there(ready.a, IDS[TWO]) and there(ready.a, IDS[ONE]) and ONE in models(ready.a)
    seen("what is served and its image are needed, and the command of what nothing needs removes it")


def test_what_undo_brings_back_is_needed(ready: Pair, inventory: str, seen: Seen) -> None:
    for model in (ONE, TWO):
        done = serve(inventory, model)
        assert done.code == 0, done.stderr[-3000:]
    needs = checkpoint(look(inventory)[A], IDS[ONE])["needed_by"]
    assert any("brings it back" in each for each in needs)
    seen("the model before the last one is needed by undo")


def test_links_and_mounts_have_no_command(ready: Pair, inventory: str, seen: Seen) -> None:
    """A bind mount of the same disk is no other file system to rm."""
    ready.a.output(
        "sudo mkdir -p /root/precious /srv/models/org/mounted/in && sudo touch /root/precious/file && "
        "sudo ln -s /root/precious /srv/models/org/link && "
        "sudo mount --bind /root/precious /srv/models/org/mounted/in"
    )
    assert not any("org/link" in each or "org/mounted" in each for each in ways(inventory))
    seen("a link and a folder with a bind mount have no command that removes them")
