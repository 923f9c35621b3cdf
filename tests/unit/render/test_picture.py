"""A terminal's picture as SVG: whole, within its edges, with the same words; what is from outside stays text."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from rich.text import Text

from sparkrig.fabric.render.topology import Listing
from sparkrig.render.picture import NARROW, WIDE, svg
from tests.tables import each_row
from tests.unit.drawings import drawn
from tests.unit.topologies import states

SVG = "{http://www.w3.org/2000/svg}"
STATES = states()


def test_it_has_the_words_of_the_terminal_within_its_edges_and_loads_nothing() -> None:
    def holds(name: str, columns: int) -> None:
        text = svg(Listing(STATES[name]), "Cabling", columns)
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg" and root.findtext(f"{SVG}title") == "Cabling"
        assert not {"script", "image", "use"} & {element.tag.removeprefix(SVG) for element in root.iter()}
        assert "href" not in text and "url(" not in text and "c0ffee" not in text
        width, height = float(root.get("width", "0")), float(root.get("height", "0"))
        shown = []
        for element in root.iter(f"{SVG}text"):
            x, y = float(element.get("x", "-1")), float(element.get("y", "-1"))
            assert x >= 0 and x + float(element.get("textLength", "0")) <= width and 0 <= y <= height
            shown.append(element.text or "")
        assert "".join("".join(shown).split()) == "".join("".join(drawn(STATES[name], columns)).split())

    each_row(
        [(name, columns) for name in ("straight", "crossed", "switch", "solo") for columns in (WIDE, NARROW)],
        holds,
    )


def test_a_style_is_a_class() -> None:
    text = svg(Text.assemble(("x", "bold red"), ("y", "dim")), "Styles")
    assert '<text class="bold red" x=' in text and '<text class="dim" x=' in text


def test_what_hosts_are_called_is_text() -> None:
    shown = STATES["solo"]
    odd = replace(shown, hosts=(replace(shown.hosts[0], name="<b>&\x1b[2J"),))
    text = svg(Listing(odd), "<b>&\x1b")
    root = ElementTree.fromstring(text)
    assert root.findtext(f"{SVG}title", "").startswith("<b>&") and "<b>&" in "".join(root.itertext())
    assert "\x1b" not in text
