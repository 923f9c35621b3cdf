"""A ring and a switch, drawn: they fit every width, name each cable or port, and say the same in ASCII."""

from __future__ import annotations

import re

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render import cages
from tests.tables import each_row
from tests.unit.clustered import ELSEWHERE, half, out, ring, shown, switch
from tests.unit.drawings import drawn
from tests.unit.topologies import C

STATES: dict[str, Topology] = {
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
WIDTHS = (132, 100, 80, 60, 40)


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_each_state_fits_each_width_and_says_all_of_it() -> None:
    def holds(name: str, width: int, encoding: str) -> None:
        found, lines = STATES[name], drawn(STATES[name], width, encoding)
        assert max(map(len, lines)) <= width
        told = words(lines)
        for finding in found.findings:
            assert finding.verdict.evidence in told and finding.verdict.cure in told
        for host in found.hosts:
            for twin in (twin for cage in host.cages for twin in cage.twins if twin.rail is not None):
                assert twin.netdev in told and twin.address in told and f"rail {twin.rail}" in told
        for cable in () if found.form == "switch" else found.cables:
            assert re.search(rf"{cable.one} \S\S {cable.other}", told), cable
        for end in cages.ports(found):
            assert f"{end} {'──' if encoding == 'utf-8' else '--'} switch: {cages.port(found, end)[1]}" in told

    each_row([(name, width, "utf-8") for name in STATES for width in WIDTHS], holds)
    each_row([(name, 80, "ascii") for name in STATES], holds)


def test_a_ring_in_100_columns() -> None:
    lines = drawn(STATES["ring"], 100)
    assert lines[1] == "│ p0  200 Gb/s                        ├─ ✓ ─╮"
    assert lines[5].endswith("├─ ✓ ─┼───╮") and lines[10].endswith("├─ ✓ ─┼───┼───╮")
    assert lines[14].endswith("├─────╯   │   │"), "p1 of spark-b ends the cable of p0 of spark-a"
    assert lines[19].endswith("├─────────╯   │") and lines[23].endswith("├─────────────╯")


def test_a_port_of_a_switch_has_its_sign_and_leads_to_it() -> None:
    lines = drawn(STATES["eight on a switch"], 100)
    plugs = [line[line.index("├") :].rstrip() for line in lines if "├" in line]
    signs = {0: "✓", 2: "✗", 3: "✗", 4: "✗"}
    assert len(plugs) == 8 and all(plugs[place][6] == sign for place, sign in signs.items())
    assert plugs[4].count("╌") > 5, "without a carrier"
    assert any(line.rstrip().endswith("switch") for line in lines)
