"""Launches as people write them, and their one reading."""

from __future__ import annotations

import json
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "launches"

# [@forum-365083], step 6, with the empty lines and the quotation marks of the page
INJECTED = (FIXTURES / "injected.txt").read_text()

# [@forum-365083-thread], a reader's question
ASKED = (FIXTURES / "asked.txt").read_text()

# [@docai-122b], Anatomy of a cold start
LARGE = (FIXTURES / "large.txt").read_text()

COMPOSED = (FIXTURES / "composed.txt").read_text()

INSPECTED = json.loads((FIXTURES / "inspected.json").read_text())
