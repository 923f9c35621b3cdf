"""Every noun of a host in one look: what a Spark is."""

from __future__ import annotations

import shlex
from typing import Any

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.containers import Containers
from sparkrig.facts.driver import Packages
from sparkrig.facts.files import Files
from sparkrig.facts.identity import Identity
from sparkrig.facts.network import Network
from sparkrig.facts.noun import Noun
from sparkrig.facts.preflight import Preflight
from sparkrig.facts.rdma import Rdma
from sparkrig.facts.secrets import Secrets
from sparkrig.facts.serving import Serving
from sparkrig.facts.trust import Trust
from sparkrig.look.state import State

NOUNS: dict[str, type[Noun[Any]]] = {
    "identity": Identity,
    "packages": Packages,
    "network": Network,
    "rdma": Rdma,
    "containers": Containers,
    "files": Files,
    "secrets": Secrets,
    "trust": Trust,
    "serving": Serving,
    "preflight": Preflight,  # last, for its clock
}


class Spark(Bundle[State]):
    """All nouns, read by one command."""

    nouns = NOUNS
    whole = State

    def command(self, weights: str = "") -> str:
        """+ weights: their folder, where a model is asked for; else a host that serves none is not looked at"""
        return f"weights={shlex.quote(weights)}; export weights\n{super().command()}"
