"""Hosts that are to serve."""

from __future__ import annotations

from typing import Any

from sparkrig.fleet import Fleet
from sparkrig.serving import plan, unit_files
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.model import Checkpoint, Format, Model, Shape
from sparkrig.serving.wish import Chosen, Node, Wish
from sparkrig.settings import Settings

CATALOGUE = catalogue()


ID = f"sha256:{'a1' * 32}"


def mine(**data: Any) -> Settings:
    return Fleet.parse({"x": data})["x"]


def asked(model: str = "gpt-oss-120b", sparks: int = 2, **data: Any) -> Wish:
    return plan.wish(CATALOGUE.find, mine(model=model, **data), sparks)


LONE = Node()


def made(
    wish: Wish, node: Node = LONE, ray: bool = False, chosen: Chosen | None = None, **data: Any
) -> dict[str, str]:
    files = unit_files.files(wish, chosen or Chosen(ID, ray), node, mine(**data))
    return {file.path: file.content for file in files}


def model_of(gib: float | None, shape: Shape | None, format: Format = "nvfp4") -> Model:
    """A model of nobody's, of 100 billion parameters."""
    return Model(
        name="some",
        title="Some",
        architecture="moe",
        parameters_b=100,
        active_b=10,
        nodes=1,
        standing="unknown",
        why="a test",
        source="a test",
        shape=shape,
        checkpoints=(Checkpoint(id="a/b", format=format, weights_gib=gib, source="a test"),),
    )
