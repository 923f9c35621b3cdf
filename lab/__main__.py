"""`python -m lab`: the lab's verbs without the rest of sparkrig."""

from __future__ import annotations

from lab.cli import lab

lab(prog_name="lab")
