"""Every noun about the state of a host, in one look: a Spark's, its NICs, GPU, health, board and resets."""

from __future__ import annotations

from typing import Any

from sparkrig.facts import spark
from sparkrig.facts.blackbox import Blackbox
from sparkrig.facts.board import Board
from sparkrig.facts.bundle import Bundle
from sparkrig.facts.gpu import Gpu
from sparkrig.facts.health import Health
from sparkrig.facts.nic import Nics
from sparkrig.facts.noun import Noun
from sparkrig.facts.own_address import OwnAddress
from sparkrig.resources.state import State

_MORE: dict[str, type[Noun[Any]]] = {
    "nics": Nics,
    "gpu": Gpu,
    "health": Health,
    "board": Board,
    "own_address": OwnAddress,
    "blackbox": Blackbox,
}


class Examination(Bundle[State]):
    """All of it, read by one command."""

    nouns = {**_MORE, **spark.NOUNS}
    whole = State.of
    beside = ("gpu", "board", "health", "nics", "serving")
    last = "preflight"
