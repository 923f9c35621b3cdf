"""What the operations of a run would change, old to new, reported by each operation beside the commands it makes.

pyinfra asks each operation for its first command before it executes any, unless it was given -y; an operation
reports its changes before that first command, and pyinfra's own --dry prints them as lines of the host.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pyinfra import host
from pyinfra import state as run

from sparkrig.operations.of_run import of_run
from sparkrig.refusal import Refusal
from sparkrig.runs.change import Change, lines
from sparkrig.text import plain


@dataclass
class _Reports:
    """What the operations of a run reported: changes by host and by the hash of the operation; refusals by host.

    quiet: of a run of which the steps' names are enough.
    """

    changes: dict[str, dict[str, list[Change]]] = field(default_factory=dict)
    refusals: dict[str, list[Refusal]] = field(default_factory=dict)
    quiet: bool = False


def report(changes: Iterable[Change]) -> None:
    """Note what the operation at work changes on its host, and print it; once, also where it is executed after."""
    reports = of_run(_Reports)
    if reports.quiet:
        return
    known = reports.changes.setdefault(host.name, {})
    before = [each for told in known.values() for each in told]
    mine = known.setdefault(str(host.current_op_hash), [])
    new = [change for change in map(_cleaned, changes) if change not in before]
    mine += new
    for line in lines(new):
        host.log(line)


def refused(refusal: Refusal) -> None:
    """Note why the operation at work would do nothing on its host."""
    known = of_run(_Reports).refusals.setdefault(host.name, [])
    if not run.is_executing and refusal.told not in [each.told for each in known]:  # two steps may need one thing
        known.append(refusal)


def changes(name: str, operation: str) -> tuple[Change, ...]:
    """What an operation reported of a host. operation: its hash."""
    return tuple(of_run(_Reports).changes.get(name, {}).get(operation, ()))


def refusals(name: str) -> tuple[Refusal, ...]:
    """Why operations would do nothing on a host, once a plan was made of it."""
    return tuple(of_run(_Reports).refusals.get(name, ()))


def names_alone() -> None:
    """Let the run at work report nothing, as the steps' names are enough."""
    of_run(_Reports).quiet = True


def _cleaned(change: Change) -> Change:
    """What a host calls something is shown without control characters."""
    before, after = (None if each is None else plain(each) for each in (change.before, change.after))
    return replace(change, item=plain(change.item), before=before, after=after)
