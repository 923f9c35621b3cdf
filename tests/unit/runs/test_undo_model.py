"""Undo against a model: every short history of runs, edits, power cuts, clocks and undos, on a host in memory."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from sparkrig.network import environment
from sparkrig.resources import containers
from sparkrig.runs import lock, undo, undo_merge, undo_outcome, undo_target
from sparkrig.runs.journal import ABSENT, Journal, Run, Step
from sparkrig.runs.lock import Owner
from sparkrig.runs.undo import Change, Plan

DAEMON, NCCL = containers.DAEMON_JSON, environment.NCCL_CONF
HOLD = "hold nvidia-driver-580-open"
OURS = {"nvidia": {"path": "nvidia-container-runtime"}}
CLOCKS = (2_000_000_000, 1_000_000_000, 1_500_000_000, 9, 1_900_000_000, 40, 7, 1_200_000_000)

Files = dict[str, str]


LINK = "-> "  # how the text of a link begins here


def value(text: str | None) -> str:
    if text is None:
        return ABSENT
    return f"{'link' if text.startswith(LINK) else '644'} root:root {hashlib.sha256(text.encode()).hexdigest()}"


def dumped(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=4) + "\n"


@dataclass
class Host:
    """What stands there, what was there at first, and what its journal keeps."""

    files: Files
    holds: set[str] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    kept: Files = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)
    at_first: Files = field(default_factory=dict)

    def snapshot(self) -> dict[str, str]:
        held = {f"hold {name}": "held" for name in self.holds}
        return {f"file {path}": value(text) for path, text in self.files.items()} | held

    def journal(self) -> Journal:
        return Journal(9, None, tuple(sorted(self.runs, key=lambda run: run.order, reverse=True)), self.snapshot())

    def texts(self, paths: list[str]) -> Files:
        known = {**self.kept, **self.files}
        return {path: known[path] for path in paths if path in known and not known[path].startswith(LINK)}

    def run(self, writes: Mapping[str, str | None], *, cut: str = "", undoes: str = "", holds: str = "") -> str:
        """A run that writes these. cut: where the power goes: before or after the last of it takes its place."""
        number = len(self.runs) + 1
        id, before = f"R{number}", self.snapshot()
        self.kept |= {f"{lock.RUNS}/{id}/before/files{path}": text for path, text in self.files.items()}
        wrote: dict[str, tuple[str, ...]] = {}
        for index, (path, text) in enumerate(writes.items(), 1):
            wrote[f"file {path}"] = (value(text),)
            if text is not None:
                self.kept[f"{lock.RUNS}/{id}/wrote/files{path}"] = text
            if index == len(writes) and cut == "before":
                break
            self.put(path, text)
        if holds and not cut:
            wrote[HOLD] = (holds,)
            self.holds = {HOLD.removeprefix("hold ")} if holds == "held" else set()
        owner = Owner(id, "ann@laptop", "x", undoes=undoes, since=CLOCKS[number % len(CLOCKS)])
        steps = (Step("one", 1, None if cut else 2, None if cut else 0),)
        after = None if cut else self.snapshot()
        self.runs.append(Run(id, owner, steps, before, after, None if cut else 3, number=number, wrote=wrote))
        return id

    def put(self, path: str, text: str | None) -> None:
        if text is None:
            self.files.pop(path, None)
        else:
            self.files[path] = text


# --- what can happen


def deploy(host: Host, cut: str = "") -> None:
    """As a deploy does it: daemon.json is merged into, nccl.conf replaced; nothing where it is so already."""
    daemon = {**settings(host), "runtimes": OURS}
    nccl = f"# ours\nA=1\nRUN={len(host.runs) % 2}\n"
    writes = {DAEMON: dumped(daemon), NCCL: nccl}
    host.run({path: text for path, text in writes.items() if host.files.get(path) != text}, cut=cut, holds="held")


def edit_daemon(host: Host) -> None:
    name = f"user-{len(host.runs)}"
    host.files[DAEMON] = dumped({**settings(host), name: True})
    host.foreign.add(name)


def edit_nccl(host: Host) -> None:
    line = f"USER_{len(host.runs)}=1\n"
    there = host.files.get(NCCL, "")
    host.files[NCCL] = ("" if there.startswith(LINK) else there) + line
    host.lines.add(line)


def link(path: str) -> Callable[[Host], None]:
    def linked(host: Host) -> None:
        host.files[path] = f"{LINK}theirs-{len(host.runs)}"

    return linked


def delete(path: str) -> Callable[[Host], None]:
    return lambda host: host.put(path, None)


def settings(host: Host) -> dict[str, object]:
    """What daemon.json says; nothing where it is a link that leads nowhere."""
    text = host.files.get(DAEMON, "{}")
    found: dict[str, object] = {} if text.startswith(LINK) else json.loads(text)
    return found


def gone(host: Host, change: Change) -> bool:
    """Whether something else stands there than the plan saw, as RESTORE looks at it."""
    return change.kind == "file" and value(host.files.get(change.name)) != change.now


def take_back(host: Host, cut: str = "", between: Callable[[Host], None] | None = None) -> None:
    """The newest run, as `sparkrig undo` does it; each promise is checked.

    cut: where the power goes; between: what another one does while the plan is shown.
    """
    found = host.journal()
    target = undo_target.target({"a": found}, None)
    if target is None:
        return
    plan = undo.plan(found, target, everything=False)
    plan = undo_merge.merged(plan, host.texts(undo_merge.texts_of(plan)))
    before = dict(host.files)
    if between:
        between(host)
        before = dict(host.files)
    writes = written(host, plan)
    plan = undo_outcome.left(plan, "".join(f"changed {each.name}\n" for each in plan.pending if gone(host, each)))
    host.run(writes, undoes=target, cut=cut)
    for each in () if cut else plan.pending:
        if each.kind == "hold":
            host.holds = set() if each.act == "release" else {each.name}
    for each in plan.changes:
        was = before.get(each.name)
        if each.act == "foreign" and each.kind == "file":
            assert host.files.get(each.name) == was, "it is left alone"
            assert each.why, "and why"
            assert between or each.diff or was is None or was.startswith(LINK), "and shown"
    left = [each.item for each in undo_outcome.left_behind(plan)]
    assert left == [each.item for each in plan.changes if each.act == "foreign"], "and named"
    if not cut:
        after = undo_outcome.verified(plan, host.journal(), host.runs[-1].id)
        assert undo_outcome.left_behind(after) == undo_outcome.left_behind(plan), "all else is as it should be"


def written(host: Host, plan: Plan) -> dict[str, str | None]:
    writes: dict[str, str | None] = {}
    for each in plan.pending:
        if gone(host, each):
            continue
        if each.act == "merge":
            assert hashlib.sha256(host.files[each.name].encode()).hexdigest() == each.sum
            writes[each.name] = each.text
        elif each.act == "put back":
            writes[each.name] = host.kept[f"{lock.RUNS}/{plan.run}/before/files{each.name}"]
        elif each.act == "remove":
            writes[each.name] = None
    return writes


EVENTS: dict[str, Callable[[Host], None]] = {
    "deploy": deploy,
    "cut before": lambda host: deploy(host, "before"),
    "cut after": lambda host: deploy(host, "after"),
    "edit daemon.json": edit_daemon,
    "edit nccl.conf": edit_nccl,
    "link nccl.conf": link(NCCL),
    "delete nccl.conf": delete(NCCL),
    "delete daemon.json": delete(DAEMON),
    "undo": take_back,
    "undo, an edit between": lambda host: take_back(host, between=edit_nccl),
    "undo, a link between": lambda host: take_back(host, between=link(NCCL)),
    "undo, a link of docker's between": lambda host: take_back(host, between=link(DAEMON)),
    "undo cut": lambda host: take_back(host, "after"),
}
OLD = [event for event in EVENTS if not re.match("link|delete|undo, ", event)]
OWN = {"deploy", "cut before", "cut after", "undo", "undo cut"}
FIRST: dict[str, Files] = {
    "nothing": {},
    "theirs": {DAEMON: dumped({"log-driver": "local", "runtimes": {"kata": {}}}), NCCL: "B=2\n"},
}


def histories(most: int, events: Iterable[str] = EVENTS) -> list[tuple[str, ...]]:
    return [each for length in range(1, most + 1) for each in itertools.product(events, repeat=length)]


def short() -> list[tuple[str, ...]]:
    """All of two, and of three what follows a deploy."""
    return [*histories(2), *(("deploy", *each) for each in itertools.product(EVENTS, repeat=2))]


def lived(first: Files, history: tuple[str, ...]) -> Host:
    host = Host(dict(first), at_first=first)
    for event in history:
        before, nccl = settings(host), host.files.get(NCCL, "")
        EVENTS[event](host)
        now, text = settings(host), host.files.get(NCCL, "")
        if event not in OVERWRITES:
            kept = {name for name in host.foreign if name in before}
            assert kept <= {*now}, (history, event, "another one's setting is never dropped")
        if event in ("undo", "undo cut", "undo, an edit between"):
            mine = {line for line in host.lines if line in nccl}
            assert all(line in text for line in mine), (history, event, "nor a line")
        if event in ("undo", "undo cut") and nccl.startswith(LINK):
            assert text == nccl, (history, event, "nor a link")
    return host


# what takes another one's away by its own name
OVERWRITES = ("delete daemon.json", "undo, a link of docker's between")


def test_what_another_one_did_outlives_every_short_history() -> None:
    for first, history in itertools.product(FIRST.values(), short()):
        lived(first, history)


@pytest.mark.slow  # many histories
def test_what_another_one_set_in_daemon_json_outlives_every_history() -> None:
    for first, history in itertools.product(FIRST.values(), [*histories(3), *histories(4, OLD)]):
        lived(first, history)


@pytest.mark.slow  # many histories
def test_without_another_one_every_run_goes_back_to_what_stood_there() -> None:
    """Power cuts and wrong clocks included; undone one after the other, nothing of ours is left."""
    for first, history in itertools.product(FIRST.values(), histories(4, OWN)):
        host = lived(first, history)
        for _ in history:
            take_back(host)
        assert (host.files, host.holds) == (first, set()), history
        assert undo_target.target({"a": host.journal()}, None) is None, history


def test_what_is_ours_goes_from_daemon_json_whatever_others_set() -> None:
    for first, history in itertools.product(FIRST.values(), short()):
        if {*history} & {*OVERWRITES}:
            continue
        host = lived(first, history)
        for _ in history:
            take_back(host)
        now = settings(host)
        assert {name: each for name, each in now.items() if not name.startswith("user-")} == json.loads(
            first.get(DAEMON, "{}")
        ), history


def test_a_clock_that_jumps_changes_nothing() -> None:
    """The same history under clocks that go forward comes to the same plan."""
    for history in short():
        host = lived(FIRST["theirs"], history)
        found = host.journal()
        straight = [
            replace(run, owner=replace(run.owner, since=1000 + number)) for number, run in enumerate(host.runs)
        ]
        other = replace(found, runs=tuple(reversed(straight)))
        assert undo_target.target({"a": found}, None) == undo_target.target({"a": other}, None), history
        for run in host.runs:
            assert undo.plan(found, run.id, everything=False) == undo.plan(other, run.id, everything=False)
