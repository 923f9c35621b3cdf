"""The alerts of templates/watch/rules.yml for the table of docs/watching.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).resolve().parent.parent / "templates" / "watch"
# both are edited by hand; the dashboard may also be saved by a Grafana
RULES = _FOLDER / "rules.yml"
DASHBOARD = _FOLDER / "dashboard.json"
JOB, SERVERS = "sparks", "spark-servers"  # of the scrape configuration of docs/watching.md


def groups() -> dict[str, list[dict[str, Any]]]:
    """The rules of each group."""
    text = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return {group["name"]: group["rules"] for group in text["groups"]}


def rules() -> dict[str, dict[str, Any]]:
    """Each rule by the name of its alert."""
    return {rule["alert"]: rule for group in groups().values() for rule in group}


def table() -> Iterator[tuple[str, ...]]:
    """The rows of the page: alert, for how long it must last, check or page."""
    for name, rule in rules().items():
        notes = rule["annotations"]
        about = f"`{notes['check']}`" if "check" in notes else notes["runbook"]
        yield f"`{name}`", "after " + rule["for"].replace("s", " s") if "for" in rule else "at once", about
