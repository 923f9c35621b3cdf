"""The documents that verbs print with --json, a type each; docs/schema/ is made from them.

Fields are only ever added. What would break a reader gets the next number, in the document's field `schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import TypedDict

from sparkrig import verdict
from sparkrig.bandwidth import measurement
from sparkrig.explain.explanation import Explained
from sparkrig.fabric import cabling
from sparkrig.rdma import rdma
from sparkrig.reports import doctor, drift
from sparkrig.runs import change, journal, undo
from sparkrig.serving import budget, startup
from sparkrig.serving.bench import report as bench
from sparkrig.serving.lint import claims, rule
from sparkrig.serving.model import Model, Nodes, Source


class Unread(TypedDict):
    """A host that could not be read, and why."""

    unread: str


# summary


class Spark(TypedDict):
    """dgx_os: None where the host does not say."""

    vendor: str
    dgx_os: str | None
    kernel: str


class Driver(TypedDict):
    """Driver and kernel packages of the branch.

    version: None where no driver of the branch is installed; held: how many packages are; unheld: those that are
    to be held and are not; later: installed ones of a later branch; would_move: what an upgrade would move, None
    where apt could not simulate one, with its reason in trouble.
    """

    version: str | None
    held: int
    unheld: list[str]
    later: list[str]
    would_move: list[str] | None
    trouble: str


class Rail(TypedDict):
    """One declared fabric netdev; each field None where it is not there or not known.

    address: as declared; mtu, path_mtu: bytes; gbps: Gb/s of the last measurement on record, at measured_path_mtu,
    measured_at (ISO 8601); complaints: what is not as declared, by the field that it is about;
    unknown: the fields of which that cannot be told, such as a figure from before a reboot.
    """

    netdev: str
    cabled: bool
    address: str
    mtu: int | None
    device: str | None
    path_mtu: int | None
    gid_index: int | None
    gbps: float | None
    measured_path_mtu: int | None
    measured_at: str | None
    complaints: dict[str, str]
    unknown: list[str]


class Containers(TypedDict):
    """toolkit: its version, None where it is not installed; nvidia_runtime: whether docker knows it."""

    toolkit: str | None
    nvidia_runtime: bool


class Figures(TypedDict):
    """One Spark. environment: the GID lines that containers get; None where the file is not there."""

    spark: Spark
    driver: Driver
    rails: list[Rail]
    containers: Containers
    environment: list[str] | None


class Summary(TypedDict):
    """What each Spark of an inventory is set to, by its name."""

    schema: Literal["sparkrig.summary/1"]
    hosts: dict[str, Figures | Unread]


# status


class Owner(TypedDict):
    """Who is, or was, at a host, as sparkrig.runs.lock.Owner; since: seconds since 1970 by the host's clock."""

    run: str
    who: str
    why: str
    version: str
    undoes: str
    origin: str
    since: int
    boot: str
    hosts: list[str]


class Lock(Owner):
    """Who holds a host. alive: whether its session still is, null where that cannot be told."""

    alive: bool | None


class Armed(TypedDict):
    """A network change that goes back by itself unless the run confirms it."""

    run: str
    reverts_in_s: int


class Changed(TypedDict):
    """An item that a run changed; before, after: `absent`, or what stood there in short."""

    item: str
    before: str
    after: str


class Left(TypedDict):
    """Something that was not put back, and why."""

    item: str
    why: str


class Run(Owner):
    """One run on one host, and who began it.

    ended: seconds since 1970 by the host's clock, None where it did not end; detail: the outcome in words;
    network: whether it changed the network; left: what of it an undo did not put back, or what it did not itself.
    """

    outcome: journal.Outcome
    detail: str
    ended: int | None
    steps: list[journal.Step]
    changed: list[Changed]
    network: bool
    left: list[Left]


class Journal(TypedDict):
    """One host: who holds it, what is armed, its newest runs."""

    lock: Lock | None
    armed: list[Armed]
    runs: list[Run]
    left_out: list[str]


class Halved(TypedDict):
    """A run that one half of a pair alone committed, or that was taken back on one alone.

    on: those halves; others: the other ones; said: in words; cure: the one command that mends it.
    """

    run: str
    kind: Literal["committed", "undone"]
    on: list[str]
    others: list[str]
    said: str
    cure: str


class Status(TypedDict):
    """What was done to each host of an inventory, by its name. halves: what was done to one half alone."""

    schema: Literal["sparkrig.status/1"]
    hosts: dict[str, Journal | Unread]
    halves: list[Halved]


# topology


class Group(TypedDict):
    """A pair, or a Spark on its own. gids: the RDMA devices and GIDs of each host that could be read."""

    hosts: list[str]
    topology: cabling.Topology
    gids: dict[str, rdma.Rdma]
    findings: list[verdict.Finding]


class Topology(TypedDict):
    """Which cage reaches which, as it is and as it is declared."""

    schema: Literal["sparkrig.topology/1"]
    groups: list[Group]


# bandwidth

Refused = TypedDict("Refused", {"hosts": list[str], "refused": str, "try": str})  # `try` is no name in Python
Refused.__doc__ = "A pair that could not be measured: why, and one command to try."


class Bandwidth(TypedDict):
    """What each rail of each pair carries."""

    schema: Literal["sparkrig.bandwidth/1"]
    pairs: list[measurement.Run | Refused]


# explain


class Explain(TypedDict):
    """What each tool's output in a paste means."""

    schema: Literal["sparkrig.explain/1"]
    explained: list[Explained]


# lint


class Broken(TypedDict):
    """A rule that a launch breaks.

    meaning: what holds where it is kept; found: what was seen; better: what to set; holds: of which versions;
    reasons, against: who asks for it, and who says otherwise.
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


class Startup(TypedDict):
    """How far each host of an inventory is on its way to serve, by its name."""

    schema: Literal["sparkrig.startup/1"]
    hosts: dict[str, Node | Unread]


# models


class Room(TypedDict):
    """What a checkpoint leaves of the memory of each of its nodes, as sparkrig.serving.budget.Budget, in GiB.

    weights_estimated: no source says how large they are, and this is the least; tokens: of the KV cache, as vLLM
    up to 0.19 logs them; sequences: of full context at a time; assumed: in sentences.
    """

    checkpoint: str
    nodes: Nodes
    fit: budget.Fit
    share_gib: float
    weights_gib: float | None
    weights_estimated: bool
    graphs_gib: float
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


# undo and unlock


class Change(TypedDict):
    """What becomes of one item.

    later: the later runs whose change of it goes with it; why: what docker says of a
    file that it does not start with, or why what another one changed cannot be merged; diff: of a file that
    another one changed, from what is there to what would be.
    """

    item: str
    act: undo.Act
    later: list[str]
    why: str
    diff: list[str]


class Plan(TypedDict):
    """What an undo does to one host. network, restart_docker: whether it touches them."""

    run: str
    changes: list[Change]
    network: bool
    restart_docker: bool


class Undone(TypedDict):
    """A pair, or a Spark on its own.

    plans: by host; outcome: in words; exit_code: of this group alone; left: by host, what is not put back.
    """

    hosts: list[str]
    plans: dict[str, Plan]
    outcome: str
    exit_code: int
    left: dict[str, list[Left]]


class Undo(TypedDict):
    """What was put back, or would be."""

    schema: Literal["sparkrig.undo/1"]
    groups: list[Undone]


class Unlock(TypedDict):
    """What came of each host, by its name, in words."""

    schema: Literal["sparkrig.unlock/1"]
    hosts: dict[str, str]


# onboard


class HostKey(TypedDict):
    """kind: its name on the wire; fingerprint: as ssh-keygen -lf prints it."""

    kind: str
    fingerprint: str


class Management(TypedDict):
    """The netdev that ssh came in on, and its address with its prefix."""

    netdev: str
    address: str


class Newcomer(TypedDict):
    """A Spark as it was found.

    dgx_os: None where the host does not say; spark: whether it is one; management: None where it is not known;
    cages: the netdevs of each that has a carrier; driver: None where none of the branch is installed.
    """

    vendor: str
    dgx_os: str | None
    kernel: str
    memory_kib: int
    spark: bool
    management: Management | None
    cages: dict[str, list[str]]
    driver: str | None


class Refusal(TypedDict):
    """Why nothing is done, and one thing to try."""

    what: str
    cure: str


class Onboarding(TypedDict):
    """What is done to one host: to let pyinfra in, and by the deploy.

    container_restarts: running containers that a restart of docker stops; network_reverts_s: after how many
    seconds a network change that was not proven goes back by itself, None where there is none.
    """

    login: list[str]
    steps: list[str]
    refusals: list[Refusal]
    reboots: int
    container_restarts: int
    network_reverts_s: int | None


class Onboard(TypedDict):
    """A new Spark, what is proposed for it, and what came of it.

    address, user: how it is reached; peer: None where it stays on its own; data, peer_data: what is written of
    both into the inventory; here: what is written on this machine; hosts: by name; outcome: in words.
    """

    schema: Literal["sparkrig.onboard/1"]
    address: str
    user: str
    host_key: HostKey
    name: str
    peer: str | None
    inventory: str
    data: dict[str, Any]
    peer_data: dict[str, Any]
    identity: Newcomer
    here: list[str]
    hosts: dict[str, Onboarding]
    outcome: str
    exit_code: int


# plan and apply


class PlannedChange(TypedDict):
    """One thing that changes, as sparkrig.runs.change.Change.

    before, after: in words; None where it is absent, or goes; diff: the lines of a file's unified diff; keeps:
    what keeps a user's lines that go with a file, or empty.
    """

    kind: change.Kind
    item: str
    before: str | None
    after: str | None
    diff: list[str]
    keeps: str


class PlannedStep(TypedDict):
    """An operation of the deploy that would change a host; changes: empty where it does not report them."""

    name: str
    changes: list[PlannedChange]


class PlannedHost(TypedDict):
    """One host.

    refusals: why the deploy would do nothing to it; unread: why it could not be read; held_up_by: the other half
    of its pair, for whose sake nothing is done here either; interrupts: what breaks off meanwhile; seconds:
    roughly how long it takes; exit_code: of this host alone.
    """

    name: str
    steps: list[PlannedStep]
    refusals: list[Refusal]
    unread: str | None
    held_up_by: str | None
    interrupts: list[str]
    seconds: int
    exit_code: int


class Planning(TypedDict):
    """What the deploy would change on each host of an inventory."""

    schema: Literal["sparkrig.plan/1"]
    inventory: str
    deploy: str
    hosts: list[PlannedHost]
    exit_code: int


class Applying(TypedDict):
    """What was planned, and what came of it. outcome: in words; plan: as `sparkrig plan --json` prints it."""

    schema: Literal["sparkrig.apply/1"]
    plan: Planning
    outcome: str
    exit_code: int


# support


class SupportFile(TypedDict):
    """One file of an archive. bytes: its size; cut: whether there was more."""

    name: str
    bytes: int
    cut: bool


class Replaced(TypedDict):
    """How often values of a kind were replaced, and how many different ones."""

    times: int
    different: int


class Support(TypedDict):
    """An archive for support.

    archive: where it lies; created: UTC, ISO 8601; hosts: their pseudonyms; replaced: by kind; missing, notes:
    sentences.
    """

    schema: Literal["sparkrig.support/1"]
    archive: str
    version: str
    created: str
    hosts: list[str]
    files: list[SupportFile]
    replaced: dict[str, Replaced]
    missing: list[str]
    notes: list[str]


DOCUMENTS: Mapping[str, Any] = {
    "apply": Applying,
    "bandwidth": Bandwidth,
    "bench": bench.Report,
    "doctor": doctor.Report,
    "drift": drift.Report,
    "explain": Explain,
    "lint": Lint,
    "models": Models,
    "onboard": Onboard,
    "plan": Planning,
    "startup": Startup,
    "status": Status,
    "summary": Summary,
    "support": Support,
    "topology": Topology,
    "undo": Undo,
    "unlock": Unlock,
}
"""What each verb prints: a type, or a model where the verb has one."""
