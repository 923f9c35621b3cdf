"""Whether the black box is there and runs, where one is declared; and the last reset that it saw."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.cure import on_host, verb
from sparkrig.host import watch
from sparkrig.host.blackbox import BlackBox
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.kind import Kind
from sparkrig.text import listed

_CALM = on_host("sudo systemctl start sparkrig-serve", "; sudo nvidia-smi -rgc lifts a cap")
_PAGE = "docs/watching.md#the-black-box"
KINDS = (
    Kind(
        "watch.files",
        "health",
        "the unit and the program of the black box are as declared",
        "they were edited or removed by hand, or the inventory changed since the last deploy",
        _PAGE,
    ),
    Kind(
        "watch.running",
        "health",
        "the black box runs, and starts with the host",
        "it was stopped by hand, or the disk takes no row: it has no room for its 34 MiB, or is read-only",
        _PAGE,
    ),
    Kind(
        "watch.metrics",
        "health",
        "the node exporter of its metrics is installed and runs",
        "it was removed or stopped by hand, or another program has its port 9100",
        "docs/watching.md#metrics",
    ),
    Kind(
        "watch.reset",
        "health",
        "the host was not reset in the last 24 hours without being asked to",
        "its memory ran out, it became too hot, or the power was cut",
        "docs/watching.md#what-preceded-a-reset",
    ),
    Kind(
        "watch.guard",
        "health",
        "the guard of the black box had nothing to do in the last 24 hours",
        "a model takes more memory than there is, or the host gets too little air",
        "docs/watching.md#the-guard",
    ),
)


def due(subject: Subject) -> Iterator[str]:
    """The files that a deploy would write or remove."""
    plan = _plan(subject)
    yield from (*(file.path for file in plan.write), *plan.remove)


def checks(subject: Subject) -> Iterator[Check]:
    """Nothing is declared of a host without the setting, unless one is there."""
    plan, on = _plan(subject), subject.settings.watch
    if not on and not plan:
        return
    odd = [f"{file.path} is to be written" for file in plan.write]
    odd += [f"{path} is not declared" for path in plan.remove]
    want = "a black box" if on else "no black box"
    yield check("watch.files", not odd, want, listed(odd) or want, subject.apply)
    if not odd:
        yield check("watch.running", not plan.lack, want, plan.lack or want, subject.apply)
    if subject.settings.watch_metrics:
        runs = f"{watch.EXPORTER} runs"
        said = f"{watch.EXPORTER} {plan.exporter}" if plan.exporter else runs
        yield check("watch.metrics", not plan.exporter, runs, said, subject.apply)


def guarded(found: BlackBox) -> Iterator[Check]:
    """What the guard did, while it is news; nothing of a host where it never acted."""
    if found.acts:
        want, acts = "nothing to do for the guard", found.recent_acts
        said = f"it {acts[-1].sentence(found)}" if acts else want
        yield check("watch.guard", not acts, want, said, _CALM, environment=True)


def reset(subject: Subject, found: BlackBox) -> Iterator[Check]:
    """The last end that was not asked for, while it is news; nothing of a host that keeps no black box."""
    last, want = found.recent, "no reset in the last 24 hours"
    if last or found.runs:
        cure = verb("blackbox", inventory=subject.inventory)
        yield check("watch.reset", last is None, want, last.sentence if last else want, cure, environment=True)


def _plan(subject: Subject) -> watch.Plan:
    mine = subject.settings
    return watch.plan(subject.found.files, on=mine.watch, guard=mine.watch_guard, metrics=mine.watch_metrics)
