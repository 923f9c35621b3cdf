"""docs/doctor.svg, the picture of the README: what the doctor prints of a recorded Spark whose GPU is clamped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Group
from rich.text import Text

from sparkrig import cure
from sparkrig.doctor.doctor import report
from sparkrig.doctor.render.doctor import lines
from sparkrig.render.picture import svg
from tests.unit import doctored

PICTURE = Path(__file__).resolve().parent / "doctor.svg"
_SPARK, _INVENTORY, _COLUMNS = "spark-a", "inventories/solo.py", 80
_CLAMPED = {"utilization": 96.0, "sm_mhz": 700.0, "power_w": 14.0, "reasons": ()}  # as published [@throttle-check]
_DAY = datetime(2026, 11, 29, tzinfo=UTC)


def picture() -> str:
    """The text of docs/doctor.svg."""
    gpu = replace(doctored.EXAMINED[_SPARK].gpu, **_CLAMPED)
    fleet, before = doctored.fleet(alone=True), cure.TYPED[0]
    cure.TYPED[0] = _INVENTORY
    try:
        found = doctored.checks_of(doctored.state(gpu=gpu), at=_SPARK, fleet=fleet, hosts=(_SPARK,))
        around = {"asked": (), "roots": {}, "notes": {}, "inventory": _INVENTORY, "version": ""}
        made = report(found, [_SPARK], fleet, **around, started=_DAY, seconds=6)
        shown = [*lines(made, everything=False, ascii_only=False, width=_COLUMNS)]
    finally:
        cure.TYPED[0] = before
    typed = Text.assemble(("$ ", "dim"), (f"sparkrig doctor {_INVENTORY}", "bold"))
    return svg(Group(typed, *shown), "sparkrig doctor: one Spark with one fault", _COLUMNS)
