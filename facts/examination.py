"""Every noun that tells how a host is, in one look: those of a Spark, and its NICs, GPU, health and name."""

from __future__ import annotations

from typing import Any

from facts import spark
from facts.bundle import Bundle
from facts.gpu import Gpu
from facts.health import Health
from facts.hostname import Hostname
from facts.nic import Nics
from facts.noun import Noun
from sparkrig.look import examination

_MORE: dict[str, type[Noun[Any]]] = {"nics": Nics, "gpu": Gpu, "health": Health, "hostname": Hostname}


class Examination(Bundle[examination.Examination]):
    """All of it, read by one command."""

    nouns = {**_MORE, **spark.NOUNS}  # those of a Spark last, for the clock
    whole = examination.whole
