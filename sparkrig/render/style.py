"""The colours of all pages and drawings, by day and by night; each can be read on `page` and on `card`."""

from __future__ import annotations

LIGHT = {
    "page": "#f6f7f9", "card": "#ffffff", "text": "#1c2128", "muted": "#57606a", "line": "#d5dae1",
    "healthy": "#1a7f37", "degraded": "#7d4e00", "fault": "#cf222e", "unknown": "#57606a",
}  # fmt: skip
DARK = {
    "page": "#0e1116", "card": "#171b22", "text": "#e4e8ee", "muted": "#98a2b0", "line": "#333b47",
    "healthy": "#45b95b", "degraded": "#d9a02b", "fault": "#ff7b72", "unknown": "#98a2b0",
}  # fmt: skip
