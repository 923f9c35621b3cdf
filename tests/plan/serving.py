"""What a host of the virtual pair would print of a server, for whole deploys on fake hosts."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from sparkrig.files import File
from sparkrig.fleet import Fleet
from sparkrig.serving import plan, served, unit_files
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.sizing import Room
from sparkrig.serving.wish import Chosen, Node, Sizing
from tests.plan.conftest import FABRIC, A, B, Host, pair
from tests.plan.trusting import trusting

IMAGE, OTHER = f"sha256:{'a1' * 32}", f"sha256:{'b2' * 32}"
HELD = "c3" * 32
NAME = "vllm-standin:1"
SOLO, BOTH = "openai/gpt-oss-120b", "Qwen/Qwen3-235B-A22B-GPTQ-Int4"
DATA: dict[str, Any] = {"serve_image": NAME, "memory_gib": 121.7}
GIB = 2**30
GGUF_GIB = 60.0  # of all parts of a file
_catalogue = cache(catalogue)
ANSWER = {"model": "MODEL", "choices": [{"message": {"content": "The capital of France is Paris."}}]}


@dataclass
class Spark:
    """One host's server, as a test wants it."""

    unit: dict[str, str] = field(default_factory=dict)
    port: str = "inactive"
    image: str = ""
    images: dict[str, str] = field(default_factory=dict)  # name -> ID
    contents: dict[str, str] = field(default_factory=dict)  # ID -> what it holds
    sizes: dict[str, int] = field(default_factory=dict)  # ID -> bytes
    store: int = 900 * GIB  # bytes that are free for docker's images
    weights: dict[str, tuple[str, int]] = field(default_factory=dict)
    commit: str = ""  # of all of them
    ggufs: dict[str, int] = field(default_factory=dict)  # OWNER/NAME/FILE -> bytes
    room: int = 900 * GIB
    listening: tuple[int, ...] = (22,)
    bound: tuple[str, ...] = ()
    health: int | None = None
    trial: bool = False
    token: str = ""
    part: bool = False
    events: tuple[str, ...] = ()  # of the watch, as it writes them
    memory: tuple[float, float] | None = (121.7, 116.7)  # GiB, and how much of it is available
    others: tuple[str, ...] = ()
    files: list[File] = field(default_factory=list)
    named: dict[str, Spark] = field(default_factory=dict)  # each as a host that has it alone

    def rows(self) -> str:
        """What the fact prints."""
        lines = ["looked", *self.own()]
        lines += ["memory {} {}".format(*(round(each * 2**20) for each in self.memory))] if self.memory else []
        lines += [f"other {name}" for name in self.others]
        lines += [f"image {id} amd64 {name}" for name, id in self.images.items()]
        lines += [f"size {id} {size}" for id, size in self.sizes.items()]
        lines += [f"store {self.store} /var/lib/docker"]
        lines += [f"content {id} {held}" for id, held in self.contents.items()]
        lines += [f"weights {name} {state} {size}" for name, (state, size) in self.weights.items()]
        lines += [f"revision {name} {self.commit}" for name in self.weights if self.commit]
        lines += [f"gguf {size} {path}" for path, size in self.ggufs.items()]
        lines += [f"room {self.room}", *(f"listen {port}" for port in self.listening)]
        for name, each in self.named.items():
            lines += [f"service {name}", *each.own()]
        return "\n".join(lines) + "\n"

    def own(self) -> list[str]:
        """Those of its one service."""
        unit = {"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead", "UnitFileState": ""}
        lines = ["trial"] if self.trial else []
        lines += [f"token {self.token}"] if self.token else []
        lines += ["part"] if self.part else []
        lines += [f"event {event}" for event in self.events]
        lines += [f"unit {name}={value}" for name, value in {**unit, **self.unit}.items()]
        lines += [f"port {self.port}"]
        lines += [f"container {self.image} 2026-11-21T14:00:00Z"] if self.image else []
        lines += [f"bound {each}" for each in self.bound]
        return [*lines, *([] if self.health is None else [f"health {self.health}"])]

    def printed(self, letter: str) -> str:
        """The whole look of a host whose peer may log in."""
        files = "".join(
            f"{each.path} {each.mode} root:root {base64.b64encode(each.content.encode()).decode()}\n"
            for each in [*self.files, *(file for one in self.named.values() for file in one.files)]
        )
        text = trusting(letter).replace("\n#sparkrig:end files 0", f"{files}\n#sparkrig:end files 0")
        return text.replace("\n#sparkrig:end serving 0", f"{self.rows()}\n#sparkrig:end serving 0")


def ready(model: str = SOLO, **changes: Any) -> Spark:
    """A host that has image and weights, and serves nothing."""
    given: dict[str, Any] = {"images": {NAME: IMAGE}, "weights": {model: ("whole", 60 * GIB)}}
    return Spark(**{**given, **changes})


def running(leads: bool = True) -> dict[str, Any]:
    """What a host shows of a server that is up. leads: whether it answers the API."""
    return {
        "unit": {"LoadState": "loaded", "ActiveState": "active", "UnitFileState": "enabled", "NRestarts": "0"},
        "port": "active" if leads else "inactive",
        "image": IMAGE,
        "listening": (22, 8000, 18000),
        "bound": ("127.0.0.1:8000",) if leads else (),
        "health": 200 if leads else None,
    }


def serving(model: str, letter: str = "a", nodes: int = 1, ray: bool = False, **changes: Any) -> Spark:
    """A host that serves it as this very code wants it."""
    rank = "ab".index(letter)
    up = {**running(rank == 0), "files": files(model, rank, nodes, ray), "token": "0123abcd" if ray else ""}
    if rank >= nodes:
        up = {"files": files(model, served.ASIDE, nodes, ray)}
    return ready(model, **{**up, **changes})


def in_another_store(spark: Spark, model: str, rank: int, nodes: int) -> Spark:
    """A host whose docker calls the same image by another ID."""
    swapped: dict[str, Any] = {"images": dict.fromkeys(spark.images, OTHER), "contents": {OTHER: HELD}}
    if spark.image:
        swapped |= {"image": OTHER, "files": files(model, rank, nodes, image=OTHER)}
    return replace(spark, **swapped)


def files(
    model: str,
    rank: int,
    nodes: int,
    ray: bool = False,
    image: str = IMAGE,
    sized: Sizing | None = None,
    standing: bool = False,
    **changes: Any,
) -> list[File]:
    mine = Fleet.parse({"x": {"model": model, **DATA, **changes}})["x"]
    asked = plan.wish(_catalogue().find, mine, 2 if nodes == 2 else 1)
    addresses = [Fleet.parse({"x": {"fabric": FABRIC[each]}})["x"].fabric["enp1s0f0np0"].ip for each in (A, B)]
    node = Node(rank, addresses[0], addresses[rank], standing=standing) if nodes == 2 else Node(rank)
    room = Room(121.7, 116.7, weights=GGUF_GIB if asked.gguf else None)
    chosen = Chosen(image, ray, "0.19.0", sizing=sized or plan.size(asked, mine, room))
    return unit_files.files(asked, chosen, node, mine)


EMBED = "nvidia/Qwen3-30B-A3B-NVFP4"
SMALL = Sizing(0.2, 8192)


def beside(first: Spark, **changes: Any) -> Spark:
    """A host that serves, with a service `embed` beside it."""
    own = {**running(), "bound": ("127.0.0.1:8001",), "files": embed_files()}
    listening = (*first.listening, 8001, 18001)
    weights = {**first.weights, EMBED: ("whole", GIB)}
    return replace(first, named={"embed": Spark(**{**own, **changes})}, listening=listening, weights=weights)


def embed_files(rank: int = 0, sized: Sizing = SMALL, **changes: Any) -> list[File]:
    settings = {"serve_name": "embed", "serve_port": 8001, "serve_trial_port": 18001, **changes}
    return files(EMBED, rank, 1, sized=sized, **settings)


def hosts(a: Spark, b: Spark, **changes: Any) -> list[Host]:
    """The pair. Whoever is asked again prints the same."""
    return pair(a.printed("a"), b.printed("b"), **{"node_ssh": True, **DATA, **changes})


def answers(
    model: str, *, code: int = 200, state: str = "active 0 200", engine: str = "vllm", **changes: Any
) -> dict[str, Any]:
    """What a head answers that is started, by a piece of each script."""
    body = json.dumps({**ANSWER, "model": model, **changes})
    return {
        "command -v vllm": [f"has {engine}", "version 0.19.0"],
        "port=$1 before=$2": [f"state {state}", "said phase ready 2026-11-21T14:00:00Z"],
        "VLLM_API_KEY": [body, str(code)],
        "journalctl --sync; journalctl": ["RuntimeError: out of memory"],
    }


def answering(found: list[Host], model: str, **changes: Any) -> list[Host]:
    """The hosts, of which the head answers once it is started. changes: as `answers` takes them."""
    for host in found:
        host.responses = {**host.responses, **answers(model, **changes)}
    return found
