"""From what `update --check` foresees to what a Spark is asked to do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sparkrig.host import driver, update_record
from sparkrig.host.upgrade import Move
from sparkrig.serving.served import Serving
from sparkrig.text import listed
from sparkrig.update.look import Foreseen
from sparkrig.update.report import Prospect

_UP = ("active", "activating", "reloading")  # one that loads a model is activating


def record(
    id: str,
    typed: str,
    to: str,
    parts: Collection[str],
    found: Foreseen,
    prospect: Prospect,
    served: Collection[str],
) -> update_record.Record:
    """What is agreed to, as the host keeps it.

    id: of the update; typed: the command; to, parts: its options; served: what stops for it.
    """
    plan, upgrade, kernel = prospect.plan, found.upgrade, found.seen.identity.kernel
    installs = upgrade.installs if upgrade else {}
    new = tuple(name for name, move in installs.items() if not move.before)
    return update_record.Record(
        id=id,
        goal=prospect.goal.shown if prospect.goal else "what apt offers",
        typed=typed,
        to=to,
        parts=tuple(part for part in update_record.PARTS if part in parts),
        kernel=Move(kernel, (plan.kernel.after if plan else "") or kernel),
        driver=plan.driver if plan else Move("", ""),
        release=found.asked.released,
        keep=found.asked.held,
        only=found.asked.alone,
        words=found.asked.words,
        before={name: move.before for name, move in installs.items() if move.before},
        after={name: move.after for name, move in installs.items()},
        gone=upgrade.removes if upgrade else (),
        new=new,
        drop=tuple(filter(driver.is_library, new))
        if found.asked.words
        else (),  # no other driver can be beside it
        served=tuple(served),
        firmware={
            part.device: update_record.Firmware(part.which, "" if part.state == "pending" else part.offered)
            for part in prospect.offered
            if part.device
        },
        had={part.which: part.board or part.fwupd for part in prospect.offered},
        reboots=bool(plan and (plan.reboots or prospect.waits)),
    )


def running(serving: Serving) -> Iterator[str]:
    """The servers that are up or about to be, `-` for the one without a name."""
    if serving.unit.get("ActiveState") in _UP:
        yield "-"
    for name, own in serving.named.items():
        if name and own.unit.get("ActiveState") in _UP:
            yield name


def served(mine: Serving, peers: Iterable[Serving]) -> tuple[str, ...]:
    """What stops for the update of a host: its servers, and those of a peer that it is a node of by Ray alone."""
    others = {name for peer in peers for name in running(peer)}
    there = {"-": mine, **mine.named}
    nodes = [name for name, own in there.items() if name and own.part and name in others]
    return (*running(mine), *nodes)


def irreversible(prospect: Prospect) -> str:
    """What of an update cannot be undone, in words; empty where all can."""
    said = []
    if prospect.offered:
        said.append(f"the firmware of {listed(part.which for part in prospect.offered)}")
    if prospect.plan and prospect.plan.lost:
        said.append(f"{listed(prospect.plan.lost)}, which cannot be had again")
    return " and ".join(said)
