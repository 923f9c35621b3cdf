"""A new Spark's answers to its first login."""

from __future__ import annotations

from pathlib import Path

from sparkrig.onboarding.io.newcomer import Asked
from sparkrig.onboarding.wishes import Wishes

SCRIPT = Asked(Path("inventories/mine.py"), None, None, None, False, True, False, Wishes())
