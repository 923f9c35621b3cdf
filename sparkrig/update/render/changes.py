"""What an update has changed, as lines and as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.host.update_record import agreed
from sparkrig.render.templates import template
from sparkrig.text import some
from sparkrig.update.changes import UNITS, Change, Changed

_NAMED = 6


def lines(changed: Changed) -> Iterator[str]:
    """Each thing that changed; of packages how many, and the names of those that are gone."""
    packages = changed.of("package")
    counts = {
        "upgraded": [each.name for each in packages if each.before and each.after],
        "new": [each.name for each in packages if not each.before],
        "removed": [each.name for each in packages if not each.after],
    }
    if said := [f"{len(names)} {what}" for what, names in counts.items() if names]:
        gone = f": {some(counts['removed'], _NAMED)}" if counts["removed"] else ""
        yield f"packages {', '.join(said)}{gone}"
    for each in changed.system:
        yield f"{_subject(each)} {said_of(each)}"
    if changed.of("rail", "server"):
        yield f"performance: {changed.pace}"


def html(changed: Changed) -> str:
    """The page: what is no package first, then each package in a row of its own."""
    return template("updated.html.j2").render(
        changed=changed, when=agreed(changed.id) or changed.id, subject=_subject, unit=UNITS
    )


def _subject(change: Change) -> str:
    if change.kind == "server":
        return "server" if change.name == "-" else f"server {change.name}"
    return change.name if change.kind in ("kernel", "driver", "package") else f"{change.kind} {change.name}"


def said_of(change: Change) -> str:
    unit = f" {UNITS[change.kind]}" if change.kind in UNITS else ""
    moved = f"{change.before or 'none'} -> {change.after or 'none'}{unit}"
    return f"{moved}, {change.pace}" if change.pace else moved
