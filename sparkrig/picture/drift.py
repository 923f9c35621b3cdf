"""The drift report on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from sparkrig.drift import Report


def screen(report: Report, *, everything: bool = False) -> RenderableType:
    """What does not hold, host by host; everything: what holds, too."""
    lines: list[RenderableType] = []
    for host in report.hosts:
        lines.append(Text(host.name, style="bold"))
        if host.unread:
            lines.append(Text(f"  ? {host.unread}", style="red"))
        for row in host.rows:
            if row.wrong or row.status == "unknown" or everything:
                lines.append(Text(f"  {row.status} {row.id}: {row.found} (want {row.want}) {row.moved or ''}"))
                if row.cure:
                    lines.append(Text(f"      try: {row.cure}"))
    return Group(*lines)
