"""A model served on virtual Sparks: what its tests begin with, do and look at."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from lab import NODES
from lab import pair as lab
from lab.standin_image import NAME, build, weights
from sparkrig.serving import served
from tests.lab.commands import Done, deploy, run
from tests.lab.guests import Guest, Pair
from tests.lab.states import DEPLOYED

SERVE = "deploys/serve.py"
READY = "serve-ready"
ONE, TWO = "gpt-oss-120b", "qwen3-235b-a22b"
IDS = {ONE: "openai/gpt-oss-120b", TWO: "Qwen/Qwen3-235B-A22B-GPTQ-Int4"}
SETTINGS = f"'serve_image': {NAME!r}, 'serve_seconds': 60"


# as large as the pair's weights would be, and nearly nothing on the guest's own disk
DISK = """
sudo truncate -s 200G /var/lib/weights.img &&
sudo mkfs.ext4 -q -m 0 -i 67108864 -J size=4 -E lazy_itable_init=1,nodiscard /var/lib/weights.img &&
sudo mkdir -p /srv/models && echo '/var/lib/weights.img /srv/models ext4 loop 0 0' | sudo tee -a /etc/fstab &&
sudo systemctl daemon-reload && sudo mount /srv/models && sync
"""


def serve(inventory: str, model: str = "", *words: str) -> Done:
    data = ["--data", f"model={model}"] if model else []
    return run("pyinfra", "-y", inventory, SERVE, *data, *words, timeout=1800)


def planned(inventory: str, model: str = "", *words: str) -> dict[str, set[str]]:
    """Step -> the hosts that it would change, where there are any."""
    data = ["--data", f"model={model}"] if model else []
    done = run("pyinfra", "--json", "--dry", inventory, SERVE, *data, *words)
    assert done.code == 0, done.stderr[-3000:]
    rows = {row["name"]: {*row["hosts_with_change"]} for row in json.loads(done.stdout)["plan"]}
    assert len(rows) == 4, "an empty deploy proves nothing"
    return {name: hosts for name, hosts in rows.items() if hosts}


def wrong(inventory: str) -> tuple[int, set[tuple[str, str]]]:
    """Drift's exit code, and what does not hold on which host."""
    done = run("sparkrig", "drift", inventory, "--json")
    found = json.loads(done.stdout)["hosts"]
    rows = {(host["name"], row["id"]) for host in found for row in host["rows"] if row["status"] not in OK}
    return done.code, rows


OK = ("ok", "skipped")


def models(guest: Guest, address: str = "127.0.0.1", port: int = 8000) -> list[str]:
    """What a server calls its models; empty where nobody answers."""
    found = guest.run(f"curl -s -m 20 http://{address}:{port}/v1/models")
    return [each["id"] for each in json.loads(found.stdout)["data"]] if found.rc == 0 and found.stdout else []


def unit(guest: Guest, name: str = served.UNIT) -> str:
    return guest.run(f"systemctl is-active {name}").stdout.strip()


def image(guest: Guest) -> str:
    return guest.output("sudo docker container inspect -f '{{.Image}}' sparkrig-serve")


def until_it_answers(guest: Guest, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not models(guest):
        assert time.monotonic() < end, guest.output(f"sudo journalctl -b -n 40 -u {served.UNIT}")
        time.sleep(2)


def prepare(guests: Iterable[Guest], inventory: str) -> None:
    """Deploys the cluster; image and weights on its first host alone, room for them on the others."""
    done = deploy(inventory=inventory)
    assert done.code == 0, done.stderr[-3000:]
    first, *others = guests
    build(first.node)
    for id in IDS.values():
        weights(first.node, f"/srv/models/{id}")
    for guest in others:
        guest.output(DISK, timeout=300)


def make_ready(pair: Pair, inventory: str) -> None:
    """Once: the pair with a login over the fabric; image and weights on spark-a alone. Kept as READY."""
    lab.reset(NODES, DEPLOYED)
    prepare(pair, inventory)
    lab.save(NODES, READY)
