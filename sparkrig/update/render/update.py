"""What an update would do, on a screen: for each Spark what refuses, what warns, what moves, and what is fine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console

from sparkrig.cure import from_here
from sparkrig.drift.plan import roughly
from sparkrig.drift.render.plan import Sheet
from sparkrig.host.upgrade import Move
from sparkrig.runs.render.journal import ago
from sparkrig.text import listed, size, some
from sparkrig.update.firmware import Part
from sparkrig.update.report import Prospect
from sparkrig.update.update import Plan

_NAMED = 6
_OLD_S = 86_400 * 7
_AT = 12  # the column of what stands beside a label

_FIRMWARE = {
    "offered": "{board}; {offered} is offered{short}",
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
    """What refuses, what warns, what moves, and in one line what is fine."""
    sheet.put(name, "bold")
    if found.unread:
        sheet.put(f"not read: {found.unread.what}", "yellow", 2, 4)
        sheet.cure(found.unread.cure, indent=4)
        return
    for refusal in found.refusals:
        sheet.put(f"would not begin: {refusal.what}", "red", 2, 4)
        sheet.cure(from_here(refusal.cure, name), indent=4)
    for warning in found.warnings:
        sheet.put(f"note: {warning}", "yellow", 2, 4)
    rows = [*_rows(found)]
    for style in ("yellow", ""):
        for row in rows:
            if row.style == style:
                sheet.put(f"{row.label:<{_AT - 2}}{row.text}", style, 2, _AT)
    for number, step in enumerate(found.steps, 1):
        sheet.put(f"{number}. {step.what} ({roughly(step.seconds)})", "", 2, 5)
    if fine := [row.text for row in rows if row.style is None]:
        sheet.put(f"{'fine':<{_AT - 2}}{' · '.join(fine)}", "", 2, _AT)


@dataclass(frozen=True)
class _Line:
    """What is said of a part. style: of its line; None where it is fine, and needs none of its own."""

    label: str
    text: str
    style: Literal["yellow", ""] | None = ""


def _fine(text: str) -> _Line:
    return _Line("", text, None)


def _rows(prospect: Prospect) -> Iterator[_Line]:
    yield _release(prospect)
    if prospect.left_out:
        left = (f"{file} left out: {why}" for file, why in sorted(prospect.left_out.items()))
        yield _Line("recipes", "; ".join(left), "yellow")
    if prospect.plan:
        driver = prospect.plan.driver
        yield _Line("driver", _moved(driver)) if driver.moves else _fine(f"driver {driver.before or 'none'}")
        yield _kernel(prospect.plan)
    if prospect.waits:
        yield _Line("reboot", f"due: {prospect.waits}")
    if prospect.plan:
        yield from _packages(prospect.plan, prospect.lists_s)
        yield from _amiss(prospect)
        yield from _way_back(prospect.plan)
    yield from _firmware(prospect.parts)
    if prospect.notes:
        yield _Line("open", "; ".join(prospect.notes))


def _release(found: Prospect) -> _Line:
    dgx_os = f"DGX OS {found.identity.dgx_os}" if found.identity and found.identity.dgx_os else ""
    if not found.standing:
        return _Line("release", " · ".join(filter(None, (dgx_os, "it knows of no release of NVIDIA's"))))
    has, ahead = found.standing.has, found.standing.ahead
    what = f"has {has.shown}" if has else "has no release as a whole"
    if not ahead:
        return _fine(f"{what}, the newest that it knows of")
    return _Line("release", " · ".join(filter(None, (dgx_os, what, f"{len(ahead)} behind {ahead[-1].shown}"))))


def _moved(move: Move) -> str:
    before, after = move.before or "none", move.after or "none"
    return f"{before} -> {after}" if move.moves else f"{before}, stays"


def _kernel(plan: Plan) -> _Line:
    if plan.unknown:
        before = f"{plan.kernel.before or 'unknown'} -> " if plan.core else ""
        return _Line("kernel", f"{before}unknown: {plan.unknown}", "yellow")
    if plan.amiss or plan.kernel.moves or not plan.boot.kernel:
        return _Line("kernel", f"{_moved(plan.kernel)} · {_modules(plan)}", "yellow" if plan.amiss else "")
    return _fine(f"kernel {plan.kernel.before}, {_modules(plan)}")


def _modules(plan: Plan) -> str:
    if plan.amiss:
        return f"without {plan.amiss}"
    if plan.boot.dkms and not plan.boot.modules:
        return f"its nvidia.ko is built by {plan.boot.dkms}"
    if not plan.boot.kernel:
        return "no package has it, nor its nvidia.ko"
    return "with its nvidia.ko" if plan.reboots else "its nvidia.ko is there"


def _packages(plan: Plan, lists_s: int | None) -> Iterator[_Line]:
    if plan.idle:
        yield _fine("nothing to install")
    else:
        counts = [(plan.upgraded, "to upgrade"), (plan.new, "new"), (plan.removed, "to remove")]
        said = ", ".join(f"{len(names)} {what}" for names, what in counts if names)
        yield _Line("packages", f"{said} · {size(plan.bytes)} to download")
    if lists_s is None:
        yield _Line("lists", "no package lists: run sudo apt-get update there", "yellow")
    elif lists_s > _OLD_S:
        yield _Line("lists", f"fetched {ago(lists_s)}: run sudo apt-get update there first", "yellow")
    else:
        yield _fine(f"lists fetched {ago(lists_s)}")


def _amiss(prospect: Prospect) -> Iterator[_Line]:
    """What is not as a user may expect it."""
    if prospect.plan and prospect.plan.removed:
        yield _Line("remove", _some(prospect.plan.removed), "yellow")
    if prospect.plan and prospect.plan.kept:
        yield _Line("kept back", _some(prospect.plan.kept), "yellow")
    if prospect.absent:
        yield _Line("no offer", f"{_some(prospect.absent)}, of the release", "yellow")
    if prospect.held:
        yield _Line("held", f"{_some(prospect.held)}, by others, and stays")
    if prospect.behind and prospect.behind.removed:
        yield _fine(f"without {_some(prospect.behind.removed)}, which its owner removed")


def _way_back(plan: Plan) -> Iterator[_Line]:
    """What leads back; nothing where nothing changes."""
    before = plan.kernel.before
    if plan.lost:
        yield _Line("way back", f"closed: {_lost(plan.lost)} cannot be had again", "yellow")
    elif plan.core and (before in plan.bare or not plan.kernel.moves):
        alone = f"; {before} alone would have no nvidia.ko of the driver" if before in plan.bare else ""
        yield _Line("way back", f"driver, modules and kernel go back as one set{alone}")
    elif plan.core:
        yield _Line("way back", f"{before} stays the default until the new one is proven, with its nvidia.ko")
    elif not plan.idle:
        yield _Line("way back", "nothing of driver and kernel changes")


def _lost(versions: Sequence[str]) -> str:
    return some((name.partition("=")[0] for name in versions), 2)


def _firmware(parts: Sequence[Part]) -> Iterator[_Line]:
    """A row for each part, but for those that are as released: their names in one."""
    released = [part.which for part in parts if part.state in ("as-released", "already-on")]
    if released:
        yield _fine(f"{listed(released)} as released")
    for part in parts:
        if part.state == "newer":
            yield _fine(f"{part.which} {part.board}, newer than released")
        elif part.which not in released:
            yield _Line(part.which, _of_part(part), "yellow" if part.state == "failed" else "")


def _of_part(part: Part) -> str:
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
