"""An engine of the stand-in that stands still: made, woken, and what the watch wrote down of it."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable

from sparkrig.serving import served
from tests.lab.guests import Guest
from tests.lab.serving import ONE

FROZEN = "/var/cache/sparkrig/serve/vllm/frozen"  # the engine stands still while it is there
STANDIN = "--frozen /root/.cache/vllm/frozen"  # the same file, as the container sees it
N = 30  # seconds that an engine may stand still in these tests


def gpu(guest: Guest, watts: float) -> None:
    """What nvidia-smi shows on it from now on."""
    text = f"#!/bin/sh\ncase $1 in *power.draw*) echo '{watts}, 96' ;; *) exit 9 ;; esac\n"
    guest.output(f"printf %s {shlex.quote(text)} | sudo install -m 755 /dev/stdin /usr/local/bin/nvidia-smi")


def asks(guest: Guest, model: str = ONE) -> None:
    """A request that nobody waits for."""
    body = json.dumps({"model": model, "prompt": "1", "max_tokens": 5})
    words = ["curl", "-s", "-m", "600", "-H", "Content-Type: application/json", "-d", body]
    guest.output(
        f"nohup {shlex.join([*words, 'http://127.0.0.1:18000/v1/completions'])} >/dev/null 2>&1 </dev/null &"
    )


def events(guest: Guest) -> list[str]:
    """What the watch did, and why: cause and act."""
    rows = guest.run(f"sudo cat {served.EVENTS}").stdout.splitlines()
    return [" ".join(row.split(" ")[1:3]) for row in rows]


def until(guest: Guest, holds: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, guest.output(
            f"sudo journalctl -b -n 60 -u {served.UNIT} -u {served.WATCH_UNIT}"
        )
        time.sleep(2)


def freeze(guest: Guest) -> None:
    guest.output(f"sudo touch {FROZEN}")


def thaw(guest: Guest) -> None:
    guest.output(f"sudo rm -f {FROZEN}")
