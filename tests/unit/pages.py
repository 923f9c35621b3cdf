"""What every page that we make for a browser has to be."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Whole(HTMLParser):
    """Every tag closed where it belongs, every attribute that could load something, every id."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "data", "action", "poster", "srcset"):
                self.references.append(value or "")
            assert not name.startswith("on")


def is_whole_and_loads_nothing(text: str) -> None:
    """Asserts it."""
    found = Whole(text)
    assert len(found.ids) == len(set(found.ids))
    assert found.tags.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "base", "form"})
    assert all(reference.startswith("#") and reference[1:] in found.ids for reference in found.references)
    assert set(re.findall(r"url\(#?([^)]*)\)", text)) <= set(found.ids)
    # what is left of the net are the names of XML namespaces
    assert {*re.findall(r'(\S*)="https?://', text)} <= {"xmlns", "xmlns:xlink"}
    assert "@import" not in text
