"""What the verbs about serving print with --json, a type each (sparkrig/reports/schema.py)."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from sparkrig import verdict
from sparkrig.reports.fields import Unread
from sparkrig.serving import budget, startup
from sparkrig.serving.lint import claims, rule
from sparkrig.serving.model import Model, Nodes, Source

# lint


class Broken(TypedDict):
    """A rule that a launch breaks.

    meaning: what holds where it is kept; found: what was seen; better: what to set; holds: of which versions;
    reasons, against: the sources that ask for it, and those against it.
    """

    rule: str
    severity: rule.Severity
    topic: rule.Topic
    meaning: str
    found: str
    better: str
    holds: str
    reasons: list[claims.Claim]
    against: list[claims.Claim]


class Launched(TypedDict):
    """One launch of vLLM.

    source: what it was read from; model: as it was given; known: its name in the catalogue, None where it is not
    there; image: empty where it is not seen; gpus: how many it wants, None where that cannot be read.
    """

    source: str
    model: str
    known: str | None
    image: str
    gpus: int | None
    findings: list[Broken]


class Lint(TypedDict):
    """What each launch in a text does that it should not."""

    schema: Literal["sparkrig.lint/1"]
    launches: list[Launched]


# startup


class Node(TypedDict):
    """One node of a served model, as sparkrig.serving.startup.Startup.

    image: ID of the container's, empty where none runs; restarts: how often systemd started it again.
    """

    state: startup.State
    role: startup.Role
    form: str
    address: str
    phases: list[startup.Phase]
    seconds: float | None
    quiet: float | None
    image: str
    restarts: int
    verdict: verdict.Verdict


class Host(Node):
    """The node of the server without a name, or of the first service where there is none.

    services: the nodes of the named services, by their names.
    """

    services: dict[str, Node]


class Startup(TypedDict):
    """How far each host of an inventory is on its way to serve, by its name."""

    schema: Literal["sparkrig.startup/1"]
    hosts: dict[str, Host | Unread]


# models


class Room(TypedDict):
    """What a checkpoint leaves of the memory of each of its nodes, as sparkrig.serving.budget.Budget, in GiB.

    weights_estimated: no source states their size, and this is the least; tokens: of the KV cache, as vLLM
    up to 0.19 logs them; sequences: of full context at a time; assumed: in sentences.
    """

    checkpoint: str
    nodes: Nodes
    fit: budget.Fit
    share_gib: float
    weights_gib: float | None
    weights_estimated: bool
    graphs_gib: float
    non_torch_gib: float
    activations_gib: float
    kv_gib: float | None
    needed_gib: float | None
    tokens: int | None
    sequences: float | None
    assumed: list[str]


class Listed(TypedDict):
    """A model. fewest_nodes: Sparks that its first good checkpoint takes, None where a pair is too little."""

    model: Model
    fewest_nodes: Nodes | None
    rooms: list[Room]


class Models(TypedDict):
    """The catalogue, or one model of it. use: how they are to be served; sources: by the keys that models name."""

    schema: Literal["sparkrig.models/1"]
    use: budget.Use
    models: list[Listed]
    sources: dict[str, Source]
