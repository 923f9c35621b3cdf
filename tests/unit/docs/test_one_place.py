"""Each promise of the pages about safety stands on one page, and on no other."""

from __future__ import annotations

from pathlib import Path

from tests.tables import data, each_row

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = {file.stem: " ".join(file.read_text(encoding="utf-8").split()) for file in DOCS.glob("*.md")}
PROMISES: dict[str, list[str]] = data(__file__)


def test_each_promise_has_one_place() -> None:
    def holds(page: str, phrase: str) -> None:
        assert [name for name, text in PAGES.items() if phrase in text] == [page]

    each_row([(page, phrase) for page, phrases in PROMISES.items() for phrase in phrases], holds)
