"""The documents that verbs print with --json, a type each; docs/schema/ is made from them.

Fields are only ever added. What would break a reader gets the next number, in the document's field `schema`.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from sparkrig.reports.fields import Left, Unread
from sparkrig.runs import journal

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

    halves: what was done to one half alone; schedule: None where drift does not run by a timer; unread, so
    that no run can work either, where its record is damaged.
    """

    schema: Literal["sparkrig.status/1"]
    hosts: dict[str, Journal | Unread]
    halves: list[Halved]
    schedule: Scheduled | Unread | None
