"""What may be shown of a text from outside."""

from __future__ import annotations

from tests.plan.desk import Done

CLEAN = "now 1795348900"


def clean(done: Done) -> None:
    for text in (done.out, done.said):
        assert "Traceback" not in text and "\x1b" not in text and "\x07" not in text
