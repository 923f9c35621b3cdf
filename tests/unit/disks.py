"""A host in a folder, with checkpoints and stand-ins for docker and systemctl; and one as a look would show it."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sparkrig.facts.storage import Storage as StorageFact
from sparkrig.runs.journal import Journal, Run
from sparkrig.runs.lock import Owner
from sparkrig.serving import served
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.served import Service
from sparkrig.storage import storage
from sparkrig.storage.report import Declared, Disk
from sparkrig.storage.storage import Storage
from tests.unit.shells import sh, tool, well

NOW = 1795348900
DAY = 86400
ONE, TWO = "openai/gpt-oss-120b", "Qwen/Qwen3-235B-A22B-GPTQ-Int4"
IMAGE, BASE, LOOSE = (f"sha256:{each * 32}" for each in ("a1", "b2", "c3"))
MOUNTS = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
DOCKER = """echo docker "$@" >>{log}
case "$1 $2" in
"info -f") echo {root}/var/lib/docker ;;
"image ls") cat {root}/images ;;
"container ls") cat {root}/containers ;;
"image inspect") cat {root}/inspected ;;
"container inspect") cat {root}/started ;;
esac"""


def record(checkpoint: str = ONE, image: str = IMAGE, rank: int = 0, **more: Any) -> Record:
    values = {"name": "vllm/vllm-openai:v0.17.0-cu130", "weights": "/srv/models", **more}
    return Record("m", checkpoint, image, form="solo", nodes=1, rank=rank, port=8000, trial_port=18000, **values)


class Spark:
    """A host in a folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.log = root, root / "log"
        self.weights = root / "srv" / "models"
        for place in ("srv/models", "var/lib/docker", "bin", "home"):
            (root / place).mkdir(parents=True)
        self.log.write_text("")
        self.has(images="", containers="", inspected="", started="", mountinfo=MOUNTS)
        tool(root / "bin", "docker", DOCKER.format(log=self.log, root=root))
        tool(root / "bin", "systemctl", f"[ ! -e {root}/no-docker ] || exit 3")
        tool(root / "bin", "getent", f"echo $2:x:0:0::{root}/home/$2:/bin/sh")

    def has(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text)

    def text(self, script: str) -> str:
        script = re.sub(
            r"(?<=[\s\"])/(etc|var/lib|var/cache)/(?=sparkrig|containerd)", rf"{self.root}/\1/", script
        )
        return script.replace("/proc/self/mountinfo", f"{self.root}/mountinfo")

    def sh(self, script: str, *words: str) -> str:
        done = well(sh(self.text(script), *words, path=self.root / "bin", env={"SUDO_USER": "ann"}))
        return done.stdout

    def printed(self, weights: Path | None = None) -> list[str]:
        return self.sh(f"weights={weights or self.weights}\n{StorageFact.script}").splitlines()

    def look(self, weights: Path | None = None) -> Storage:
        return StorageFact().process(self.printed(weights))

    def checkpoint(self, name: str, size: int = 8192, *, sealed: bool = True, at: Path | None = None) -> Path:
        folder = (at or self.weights) / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(os.urandom(size))
        if sealed:
            (folder / served.MANIFEST).write_text(f"2 config.json\n{size} model.safetensors\n")
        return folder

    def cached(self, user: str, name: str) -> Path:
        """A checkpoint as the library of Hugging Face keeps it."""
        at = self.root / "home" / user / ".cache/huggingface/hub" / f"models--{name.replace('/', '--')}"
        snapshot = at / "snapshots" / ("e" * 40)
        snapshot.mkdir(parents=True)
        (at / "blobs").mkdir()
        for number, file in enumerate(("config.json", "model.safetensors")):
            (at / "blobs" / f"{number}").write_text("12345")
            (snapshot / file).symlink_to(f"../../blobs/{number}")
        return at

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()


# --- as a look would show it


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kept(record: Record) -> str:
    return encoded(json.dumps(asdict(record)))


ROWS = f"""weights /srv/models /srv/models
checkpoint {ONE} whole 65000000000 none
checkpoint {TWO} partial 120000000000 none
checkpoint org/elsewhere unknown - link
cache /home/ann/.cache/huggingface/hub 65000000000
cache /var/cache/sparkrig/serve/vllm 1234567
record {kept(record())}
docker running
image {IMAGE} 22000000000 vllm/vllm-openai:v0.17.0-cu130 vllm/vllm-openai@sha256:{"7" * 64}
image {BASE} 20000000000 vllm-sm121:latest
image {LOOSE} 5000000
container {IMAGE} running "/sparkrig-serve" "{IMAGE}"
mounted "/srv/models/{ONE}"
mounted "/usr/local/lib/sparkrig/serve/start.sh"
room 4000000000000 1000000000000 /"""


def printed(rows: str = ROWS) -> list[str]:
    """What the whole look prints, with an empty journal."""
    return [f"now {NOW}", "#sparkrig:end journal 0", *rows.split("\n"), "#sparkrig:end storage 0"]


def seen(rows: str = ROWS) -> Storage:
    return storage.parse(rows.split("\n"))


def run(
    at: int, before: str = "644 root:root a", wrote: str = "644 root:root b", of: Service = served.UNNAMED
) -> Run:
    """A run that wrote another record of what is served."""
    item = f"file {of.record}"
    owner = Owner(f"R{at}", "ann@laptop", "pyinfra x.py deploys/serve.py", since=NOW - 100 * DAY + at * DAY)
    return Run(
        f"R{at}", owner, (), {item: before}, {item: wrote}, owner.since + 60, number=at, wrote={item: (wrote,)}
    )


def disk(rows: str = ROWS, runs: Sequence[Run] = (), declared: Declared | None = None) -> Disk:
    """A host; runs: as they came."""
    found = Journal(NOW, None, tuple(reversed(runs)), {})
    return Disk(seen(rows), found, declared or Declared())
