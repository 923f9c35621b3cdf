"""The cabling as a list: every state fits every width, and says the same without colour and in ASCII."""

from __future__ import annotations

from itertools import cycle

import pytest

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render.topology import joins
from tests.tables import each_row
from tests.unit import topologies
from tests.unit.clustered import ELSEWHERE, half, out, ring, shown, switch
from tests.unit.drawings import drawn
from tests.unit.topologies import C

STATES: dict[str, Topology] = {
    **topologies.states(),
    "ring": shown(3, "ring", ring()),
    "a cable out": shown(3, "ring", out()),
    "half plugged": shown(3, "ring", half()),
    "a loop": shown(3, "ring", ring((("spark-a", "p0"), ("spark-a", "p1")))),
    **{name: shown(3, "ring", ring(*cables)) for name, (cables, _) in ELSEWHERE.items()},
    "ring, one unread": shown(3, "ring", {**ring(), C: None}),
    "two on a switch": shown(2, "switch", switch(2)),
    "eight on a switch": shown(8, "switch", switch(8, apart=[C], short=["spark-d"], dark=["spark-e"])),
    "switch, one unread": shown(3, "switch", {**switch(), C: None}),
}
# each state narrow, and in another width and encoding
FITS = [(name, 36, "utf-8") for name in STATES]
FITS += [(name, width, "ascii") for name, width in zip(STATES, cycle((50, 80, 132)), strict=False)]


def test_each_state_fits_and_says_all_of_it() -> None:
    def holds(name: str, width: int, encoding: str) -> None:
        found, lines = STATES[name], drawn(STATES[name], width, encoding)
        commands = {finding.verdict.cure for finding in found.findings}
        assert all(len(line) <= width or line.strip() in commands for line in lines)
        assert not any(line[:1].isdigit() for line in lines), "an address stands below its netdev"
        words = " ".join(" ".join(lines).split())
        for finding in found.findings:
            assert finding.verdict.evidence in words and finding.verdict.cure in words
        for host in found.hosts:
            for twin in (twin for cage in host.cages for twin in cage.twins):
                rail = "" if twin.rail is None else f" rail {twin.rail} {twin.address}"
                assert f"{twin.netdev}{rail}" in words, twin
        line = {"utf-8": ("──", "╌╌"), "ascii": ("--", "..")}[encoding]
        for join in joins(found):
            assert f"{join.end} {line[not join.there]} {join.other} {join.word}".rstrip() in words, join

    each_row(FITS, holds)


LINES = {
    "straight": "✓ p0 of spark-a ── p0 of spark-b  heard both ways",
    "swapped": "✗ p0 of spark-a ── p1 of spark-b  cable-crossed",
    "crossed": "✗ p0 of spark-a ╌╌ p0 of spark-b  wanted, and not there",
    "cable out": "✗ p0 of spark-a ╌╌ p0 of spark-b  cable-out",
    "third spark": "✗ p0 of spark-a ── spark-c",
    "loop": "✗ p0 of spark-a ── p1 of spark-a  loop",
    "one rail missing": "    ✗ enP2p1s0f0np0  rail 1  192.168.101.12",
    "solo": "  p0  no netdev",
    "switch": "~ p0 of spark-a ── p1 of spark-b  switch",
    "ring": "✓ p1 of spark-a ── p0 of spark-c  heard both ways",
    "eight on a switch": "✗ p0 of spark-d ── switch  switch-mtu",
    "two on a switch": "✓ p0 of spark-a ── switch  reached",
    "switch, one unread": "? p0 of spark-c ╌╌ switch  unread",
}


@pytest.mark.parametrize(("name", "line"), LINES.items())
def test_a_line(name: str, line: str) -> None:
    assert line in drawn(STATES[name], 100)


def test_ascii_has_signs_and_lines_of_its_own() -> None:
    lines = drawn(STATES["crossed"], 80, "ascii")
    assert "x p0 of spark-a -- p1 of spark-b  cable-crossed" in lines
    assert "x p0 of spark-a .. p0 of spark-b  wanted, and not there" in lines
    assert "    ok enp1s0f0np0    rail 0  192.168.100.11" in lines
