"""The cabling, drawn: every state fits every width, and says the same without colour and in ASCII."""

from __future__ import annotations

from itertools import cycle

import pytest

from sparkrig.fabric.cabling import Cage, End, Host, Topology, Twin
from sparkrig.fabric.render.cages import loose_end
from tests.tables import each_row
from tests.unit import topologies as made
from tests.unit.drawings import drawn

STATES = made.states()
WIDTHS = (200, 100, 80, 50, 36)
# a drawing is no wider than 132, so 160 is like 200; ASCII has signs of its own widths and all else in common:
# the narrowest form of the drawing for each state, and each other width for some
FITS = [(name, width, "utf-8") for name in STATES for width in WIDTHS]
FITS += [(name, 50, "ascii") for name in STATES]
FITS += [(name, width, "ascii") for name, width in zip(STATES, cycle((200, 160, 100, 80, 36)), strict=False)]


@pytest.mark.slow  # each state at each width
def test_fits() -> None:
    each_row(FITS, fits)


def test_fits_a_window_of_100_columns() -> None:
    each_row([(name, 100, "utf-8") for name in STATES], fits)


def fits(name: str, width: int, encoding: str) -> None:
    lines = drawn(STATES[name], width, encoding)
    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).split())
    for finding in STATES[name].findings:
        assert finding.verdict.evidence in words
        assert finding.verdict.cure in words
    for host in STATES[name].hosts:
        for twin in (twin for cage in host.cages for twin in cage.twins):
            assert twin.address in words and (twin.rail is None or f"rail {twin.rail}" in words), twin
            assert twin.rail is None or twin.netdev in words


SWAPPED = """\
╭─ spark-a ───────────────╮                          ╭─ spark-b ───────────────╮
│ p0  200 Gb/s            ├──── ✗ ────   ────────────┤ p0  200 Gb/s            │
│ rail 0  enp1s0f0np0   ✓ │           ╲ ╱            │ rail 0  enp1s0f0np0   ✓ │
│ rail 1  enP2p1s0f0np0 ✓ │            ╳             │ rail 1  enP2p1s0f0np0 ✓ │
│                         │           ╱ ╲            │                         │
│ p1  200 Gb/s            ├──── ✗ ────   ────────────┤ p1  200 Gb/s            │
│ rail 2  enp1s0f1np1   ✓ │                          │ rail 2  enp1s0f1np1   ✓ │
│ rail 3  enP2p1s0f1np1 ✓ │                          │ rail 3  enP2p1s0f1np1 ✓ │
╰─────────────────────────╯                          ╰─────────────────────────╯
"""  # noqa: RUF001
CROSSED_ASCII = """\
+- spark-a --------+          +- spark-b --------+
| p0  200 Gb/s     +-x-.......+ p0  no carrier   |
| enp1s0f0np0   ok |   \\      | enp1s0f0np0    x |
| enP2p1s0f0np0 ok |    \\     | enP2p1s0f0np0  x |
|                  |     \\    |                  |
| p1  no carrier   |      ----+ p1  200 Gb/s     |
| enp1s0f1np1    - |          | enp1s0f1np1   ok |
| enP2p1s0f1np1  - |          | enP2p1s0f1np1 ok |
+------------------+          +------------------+
 ... wanted, and not there
"""
LINES = {
    "straight": "│ p0  200 Gb/s            ├─── ✓ heard both ways ────┤ p0  200 Gb/s            │",
    "cable out": "│ p0  no carrier          ├╌╌╌╌╌╌ ✗ cable-out ╌╌╌╌╌╌╌┤ p0  no carrier          │",
    "third spark": "│ p0  200 Gb/s            ├─── spark-c ╌╌╌╌╌╌╌╌╌╌╌╌╌╌┤ p0  no carrier          │",
    "loop": "│ rail 1  enP2p1s0f0np0 ✓ │   │ ✗ loop               │ rail 1  enP2p1s0f0np0 ✗ │",
    "one rail missing": "│ rail 1  enP2p1s0f0np0 ✓ │                          │ rail 1  enP2p1s0f0np0 ✗ │",
    "solo": "│ p0  no netdev │",
}


def test_swapped_cables_cross() -> None:
    assert drawn(STATES["swapped"], 80)[:9] == SWAPPED.splitlines()


def test_a_crossed_cable_narrow_and_in_ascii() -> None:
    assert drawn(STATES["crossed"], 50, "ascii")[:10] == CROSSED_ASCII.splitlines()


def test_lines() -> None:
    def holds(name: str, line: str) -> None:
        assert line in drawn(STATES[name], 80)

    each_row(LINES.items(), holds)


def test_where_there_is_no_room_the_cables_are_listed() -> None:
    assert drawn(STATES["swapped"], 36)[0] == " ✗ p0 of spark-a ── p1 of spark-b"
    assert drawn(STATES["solo, cabled"], 12)[0].rstrip() == " · p0 of"


def test_wide_names_the_addresses_and_narrow_names_them_below() -> None:
    (wide,) = [line for line in drawn(STATES["straight"], 100) if "192.168.101.12" in line]
    assert "rail 1" in wide
    for width, said in (
        (80, [" spark-b enP2p1s0f0np0 192.168.101.12"]),
        (50, [" spark-b enP2p1s0f0np0 rail 1 192.168.101.12"]),
        (40, [" spark-b            rail 1", " enP2p1s0f0np0      192.168.101.12"]),
    ):
        lines = [line.rstrip() for line in drawn(STATES["straight"], width)]
        at = lines.index(said[-1])
        assert lines[at + 1 - len(said) : at + 1] == said


def test_where_the_cables_are_listed_a_cage_without_one_is_too() -> None:
    assert " · p1 of spark-b: no carrier" in drawn(STATES["straight"], 40)


def test_a_lit_end_that_leads_to_nobody() -> None:
    def holds(rail: int | None, stranger: str, expected: tuple[str, str]) -> None:
        cage = Cage("p0", (Twin("enp1s0f0np0", "link", rail),), stranger)
        assert loose_end(Topology((Host("spark-a", (cage,)),), ()), End("spark-a", "p0")) == expected

    each_row(
        [
            (0, "spark-c", ("fault", "spark-c")),
            (None, "spark-c", ("degraded", "spark-c")),
            (
                None,
                "a machine that the inventory does not name (02:00:00:00:00:01)",
                ("degraded", "unknown machine"),
            ),
            (0, "", ("unknown", "")),
            (None, "", ("quiet", "?")),
        ],
        holds,
    )
