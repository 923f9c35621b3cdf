"""A terminal's picture as SVG: whole, within its edges, with the same words; what is from outside stays text."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

from rich.text import Text

from sparkrig.fabric.render.topology import Listing
from sparkrig.render.picture import NARROW, WIDE, svg
from sparkrig.render.style import DARK, LIGHT
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


def test_each_colour_can_be_read_by_day_and_by_night() -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1 for text, with its relative luminance."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    def holds(name: str, behind: str, of: dict[str, str]) -> None:
        light, dark = sorted((luminance(of[name]), luminance(of[behind])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5

    assert LIGHT.keys() == DARK.keys()
    texts = LIGHT.keys() - {"page", "card", "line"}
    each_row([*product(sorted(texts), ("page", "card"), (LIGHT, DARK))], holds)
