"""The documents that verbs print with --json, a type each; docs/schema/ is made from them.

Fields are only ever added. What would break a reader gets the next number, in the document's field `schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from sparkrig import verdict
from sparkrig.bandwidth import measurement
from sparkrig.explain.explanation import Explained
from sparkrig.fabric import cabling
from sparkrig.host import blackbox
from sparkrig.rdma import rdma
from sparkrig.reports import doctor, drift, schema_changes, schema_serving
from sparkrig.reports.fields import Left, Unread
from sparkrig.runs import journal
from sparkrig.serving.bench import report as bench

# summary


class Spark(TypedDict):
    """dgx_os: None where the host does not name it."""

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
    unknown: the fields of which that is unknown, such as a figure from before a reboot.
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
    """One Spark. environment: the GID lines that containers get; None where the file is not there.

    unconfirmed: a sentence about each network change that goes back unless its run confirms it; journal_lost:
    whether the journal of the runs on it is gone.
    """

    spark: Spark
    driver: Driver
    rails: list[Rail]
    containers: Containers
    environment: list[str] | None
    unconfirmed: list[str]
    journal_lost: bool


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
    """Who holds a host. alive: whether its session still is, null where that is unknown."""

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
    """One host: who holds it, what is armed, its newest runs.

    update: one that is open (`sparkrig update`); lost: whether the runs are gone, although one ended there.
    """

    lock: Lock | None
    armed: list[Armed]
    update: str | None
    runs: list[Run]
    left_out: list[str]
    lost: bool


class PartialRun(TypedDict):
    """A run that one host of a pair alone committed, or that was taken back on one alone.

    on: those hosts; others: the other ones; said: in words; cure: the one command that mends it.
    """

    run: str
    kind: Literal["committed", "undone"]
    on: list[str]
    others: list[str]
    said: str
    cure: str


class LastRun(TypedDict):
    """The last scheduled run of drift. trouble: why it made no report, empty where it made one."""

    started: str
    seconds: float
    exit: int
    trouble: str


class Open(TypedDict):
    """What a notice was sent for, and is not over. host: empty where it is the schedule's own."""

    host: str
    id: str
    said: str


class Scheduled(TypedDict):
    """Drift by a timer (`sparkrig schedule`). last: None before the first run; wrong: of the schedule itself."""

    every_s: int
    by: Literal["systemd", "cron"]
    notifies: bool
    last: LastRun | None
    open: list[Open]
    wrong: list[str]


class Status(TypedDict):
    """What was done to each host of an inventory, by its name.

    halves: what was done to one host alone; schedule: None where drift does not run by a timer; unread, so
    that no run can work either, where its record is damaged.
    """

    schema: Literal["sparkrig.status/1"]
    hosts: dict[str, Journal | Unread]
    halves: list[PartialRun]
    schedule: Scheduled | Unread | None


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
Refused.__doc__ = "A pair or a cluster that could not be measured: why, and one command to try."


class Bandwidth(TypedDict):
    """What each rail of each pair carries, and each edge of each larger cluster.

    clusters: absent where the inventory has pairs alone.
    """

    schema: Literal["sparkrig.bandwidth/1"]
    pairs: list[measurement.PairRun | Refused]
    clusters: NotRequired[list[measurement.Run | Refused]]


# explain


class Explain(TypedDict):
    """What each tool's output in a paste means."""

    schema: Literal["sparkrig.explain/1"]
    explained: list[Explained]


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


# blackbox


class Reset(TypedDict):
    """An end that was not asked for.

    at: the last row that reached the disk; booted: when the host came back, both ISO 8601 by its own clock;
    sentence: what matters most of it; signs: what stood out, the weightiest first; steps: the rows before it.
    """

    at: str
    booted: str
    sentence: str
    signs: list[blackbox.Sign]
    steps: list[blackbox.Step]


class Guarded(TypedDict):
    """at: ISO 8601 by the host's own clock; done: what the guard did, and why."""

    at: str
    done: str


class Box(TypedDict):
    """The black box of a host.

    runs: whether it does; reset: the last that it saw, null for none; guard: what its guard did, oldest first.
    """

    runs: bool
    reset: Reset | None
    guard: list[Guarded]


class BlackBox(TypedDict):
    """What preceded the last reset of each host."""

    schema: Literal["sparkrig.blackbox/1"]
    hosts: dict[str, Box | Unread]


DOCUMENTS: Mapping[str, Any] = {
    "apply": schema_changes.Applying,
    "bandwidth": Bandwidth,
    "bench": bench.Report,
    "blackbox": BlackBox,
    "doctor": doctor.Report,
    "drift": drift.Report,
    "explain": Explain,
    "lint": schema_serving.Lint,
    "models": schema_serving.Models,
    "onboard": schema_changes.Onboard,
    "plan": schema_changes.Planning,
    "startup": schema_serving.Startup,
    "status": Status,
    "storage": schema_serving.Storage,
    "summary": Summary,
    "support": Support,
    "topology": Topology,
    "undo": schema_changes.Undo,
    "unlock": schema_changes.Unlock,
    "update": schema_changes.Update,
}
"""What each verb prints: a type, or a model where the verb has one."""
