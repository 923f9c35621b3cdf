"""What an update would do, on a screen: for each Spark its release, its parts, the steps, and what leads back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from sparkrig.drift.plan import roughly
from sparkrig.drift.render.plan import Sheet
from sparkrig.host.upgrade import Move
from sparkrig.runs.render.journal import ago
from sparkrig.text import size, some
from sparkrig.update.firmware import Part
from sparkrig.update.report import Prospect
from sparkrig.update.update import Plan

_NAMED = 6
_OLD_S = 86_400 * 7
_AT = 12  # the column of what stands beside a label

_FIRMWARE = {
    "as-released": "{board}, as released",
    "newer": "{board}, newer than the release's {wanted}",
    "offered": "{board}; {offered} is offered{short}",
    "already-on": "{board}, as released; fwupd offers what the board has",
    "waits": "{board}; the release has {wanted}, and its maker does not offer it yet",
    "pending": "{board}; a new one is staged, and waits for a reboot",
    "failed": "{board}; {why}",
    "unknown": "unknown: {why}",
}


def show(console: Console, made: Mapping[str, Prospect], order: Sequence[str], mixed: Sequence[str] = ()) -> None:
    """All hosts in the order of the update, and what it comes to. mixed: what leaves hosts of a cluster apart."""
    sheet = Sheet(console)
    for name in order:
        _host(sheet, name, made[name])
        sheet.blank()
    due = [name for name in order if made[name].due]
    if len(due) > 1:
        sheet.put(f"One after the other: {', then '.join(due)}; the next one only when the last is proven.")
    for why in mixed:
        sheet.put(f"{why}.", "yellow")
    if due:
        sheet.put(
            f"{len(due)} of {len(order)} to update, {roughly(sum(made[name].seconds for name in due))}", "bold"
        )
    elif all(prospect.exit == 0 for prospect in made.values()):
        sheet.put("Nothing to update", "bold")


def _host(sheet: Sheet, name: str, found: Prospect) -> None:
    sheet.put(name, "bold")
    if found.unread:
        sheet.put(f"not read: {found.unread.what}", "yellow", 2, 4)
        sheet.cure(found.unread.cure, indent=4)
        return
    for label, text in _rows(found):
        sheet.put(f"{label:<{_AT - 2}}{text}", "", 2, _AT)
    for refusal in found.refusals:
        sheet.put(f"would not begin: {refusal.what}", "red", 2, 4)
        sheet.cure(refusal.cure, indent=4)
    for number, step in enumerate(found.steps, 1):
        sheet.put(f"{number}. {step.what} ({roughly(step.seconds)})", "", 2, 5)


def _rows(prospect: Prospect) -> Iterator[tuple[str, str]]:
    yield "release", " · ".join(_release(prospect))
    if prospect.left_out:
        yield "recipes", "; ".join(f"{file} left out: {why}" for file, why in sorted(prospect.left_out.items()))
    if prospect.plan:
        yield "driver", _moved(prospect.plan.driver)
        yield "kernel", _kernel(prospect.plan)
    if prospect.waits:
        yield "reboot", f"due: {prospect.waits}"
    if prospect.plan:
        yield "packages", f"{_packages(prospect.plan)} · {_lists(prospect.lists_s)}"
        yield from _amiss(prospect)
        yield "way back", _way_back(prospect.plan)
    for part in prospect.parts:
        yield part.which, _firmware(part)


def _release(found: Prospect) -> Iterator[str]:
    if found.identity and found.identity.dgx_os:
        yield f"DGX OS {found.identity.dgx_os}"
    if not found.standing:
        yield "it knows of no release of NVIDIA's"
        return
    has, ahead = found.standing.has, found.standing.ahead
    yield f"has {has.shown}" if has else "has no release as a whole"
    yield f"{len(ahead)} behind {ahead[-1].shown}" if ahead else "the newest that it knows of"


def _moved(move: Move) -> str:
    before, after = move.before or "none", move.after or "none"
    return f"{before} -> {after}" if move.moves else f"{before}, stays"


def _kernel(plan: Plan) -> str:
    if plan.unknown:
        before = f"{plan.kernel.before or 'unknown'} -> " if plan.core else ""
        return f"{before}unknown: {plan.unknown}"
    return f"{_moved(plan.kernel)} · {_modules(plan)}"


def _modules(plan: Plan) -> str:
    if plan.amiss:
        return f"without {plan.amiss}"
    if plan.boot.dkms and not plan.boot.modules:
        return f"its nvidia.ko is built by {plan.boot.dkms}"
    if not plan.boot.kernel:
        return "no package has it, nor its nvidia.ko"
    return "with its nvidia.ko" if plan.reboots else "its nvidia.ko is there"


def _packages(plan: Plan) -> str:
    if plan.idle:
        return "nothing to install"
    counts = [(plan.upgraded, "to upgrade"), (plan.new, "new"), (plan.removed, "to remove")]
    said = ", ".join(f"{len(names)} {what}" for names, what in counts if names)
    return f"{said} · {size(plan.bytes)} to download"


def _lists(seconds: int | None) -> str:
    if seconds is None:
        return "no package lists: run sudo apt-get update there"
    old = ": run sudo apt-get update there first" if seconds > _OLD_S else ""
    return f"lists fetched {ago(seconds)}{old}"


def _amiss(prospect: Prospect) -> Iterator[tuple[str, str]]:
    """What is not as a user may expect it."""
    if prospect.plan and prospect.plan.removed:
        yield "remove", _some(prospect.plan.removed)
    if prospect.plan and prospect.plan.kept:
        yield "kept back", _some(prospect.plan.kept)
    if prospect.absent:
        yield "no offer", f"{_some(prospect.absent)}, of the release"
    if prospect.held:
        yield "held", f"{_some(prospect.held)}, by others, and stays"
    if prospect.behind and prospect.behind.removed:
        yield "left out", f"{_some(prospect.behind.removed)}, which its owner removed"


def _way_back(plan: Plan) -> str:
    if plan.idle:
        return "nothing changes that would have to go back"
    if plan.lost:
        return f"closed: {_some(plan.lost)} cannot be had again"
    if not plan.core:
        return "nothing of driver and kernel changes"
    before = plan.kernel.before
    if before in plan.bare or not plan.kernel.moves:
        alone = f"; {before} alone would have no nvidia.ko of the driver" if before in plan.bare else ""
        return f"driver, modules and kernel go back as one set{alone}"
    return f"{before} stays the default until the new one is proven, and has an nvidia.ko of the driver"


def _firmware(part: Part) -> str:
    short = f", less than the release's {part.wanted}" if part.falls_short else ""
    short = f", more than the release's {part.wanted}" if part.goes_beyond else short
    return _FIRMWARE[part.state].format(
        board=part.board or part.fwupd or "not read",
        wanted=part.wanted,
        offered=part.offered,
        why=part.why,
        short=short,
    )


def _some(names: Sequence[str]) -> str:
    return some(names, _NAMED)
