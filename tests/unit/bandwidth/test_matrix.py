"""The matrix of a cluster's edges: in each width, in ASCII, as SVG; and what is said under it and on the page."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from sparkrig.bandwidth import history, outcome
from sparkrig.bandwidth.measurement import Run
from sparkrig.bandwidth.render import bandwidth
from sparkrig.bandwidth.render.matrix import Matrix, grids
from sparkrig.fabric.render import report
from tests.tables import each_row
from tests.unit import clusters_measured
from tests.unit.clusters_measured import run, slow_port
from tests.unit.pages import is_whole_and_loads_nothing

A, B = "spark-a", "spark-b"
SLOW = run(lambda sender, receiver, twin: 13.36 if B in (sender, receiver) and not twin else 111.8)


def shown(what: Any, width: int = 80, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, color_system=None)
    console.print(what)
    file.seek(0)
    return [line.rstrip() for line in file.read().splitlines()]


def matrix(found: Run, width: int = 80, encoding: str = "utf-8") -> list[str]:
    return shown(Matrix([*found.hosts], grids(found.rails, found.measurements, found.ports)), width, encoding)


def test_a_row_sends_and_a_column_receives() -> None:
    lines = matrix(SLOW)
    assert lines[:6] == [
        "rail 0  Gb/s, row to column",
        "               1      2      3      4",
        "1 spark-a         13.4✗ 111.8✓ 111.8✓",
        "2 spark-b  13.4✗         13.4✗  13.4✗",
        "3 spark-c 111.8✓  13.4✗        111.8✓",
        "4 spark-d 111.8✓  13.4✗ 111.8✓",
    ]
    assert lines[6].startswith("rail 1") and "✗" not in "".join(lines[6:])


def test_one_way_that_was_measured_is_shown_and_the_other_is_not_guessed() -> None:
    (_, _, first, second, *_) = matrix(run(both_ways=False))
    assert first.split() == ["1", A, "111.8✓", "111.8✓", "111.8✓"]
    assert second.split() == ["2", B, "·", "111.8✓", "111.8✓"]


def test_a_lost_host_has_a_question_in_each_of_its_cells() -> None:
    lines = matrix(run(missing={"spark-d": "gone"}))
    assert lines[5].split() == ["4", "spark-d", "?", "?", "?"] and lines[2].endswith("?")


def test_it_fits_each_width_and_keeps_every_cell() -> None:
    eight = run(slow_port("spark-f", twins=(1,)), 8)

    def holds(width: int, first: str) -> None:
        lines = matrix(eight, width)
        assert max(map(len, lines)) <= width
        assert first in lines
        bad = [line for line in lines if line.count("✗") == 7]
        assert len(bad) == 1 and "".join(lines).count("✗") == 14

    each_row(
        {
            "80 columns": (80, "1 spark-a        111.3✓ 111.4✓ 111.5✓ 111.6✓ 111.7✓ 111.8✓ 111.2✓"),
            "60": (60, "1 spark-a      111✓ 111✓ 112✓ 112✓ 112✓ 112✓ 111✓"),
            "44, its hosts below": (44, "1      111✓ 111✓ 112✓ 112✓ 112✓ 112✓ 111✓"),
            "30, signs alone": (30, "1 spark-a   ✓ ✓ ✓ ✓ ✓ ✓ ✓"),
            "20, its hosts below": (20, "1   ✓ ✓ ✓ ✓ ✓ ✓ ✓"),
        },
        holds,
    )
    assert "6 spark-f" in " ".join(matrix(eight, 44)[-3:]), "what a number stands for"


def test_ascii_has_signs_of_its_own() -> None:
    text = "\n".join(matrix(SLOW, 80, "ascii"))
    assert "13.4 x" in text and "111.8 ok" in text and text.isascii()


def test_a_ring_has_the_twins_of_each_cable_in_two_grids() -> None:
    lines = matrix(run(slow_port("spark-c", 55.0, twins=(1,)), 3, "ring"))
    assert [line.split("  ")[0] for line in lines if "Gb/s" in line] == ["rails 0, 2 and 4", "rails 1, 3 and 5"]


def test_what_is_wrong_is_said_once() -> None:
    said = " ".join(" ".join(shown(bandwidth.verdicts(SLOW))).split())
    assert "cluster: 9 of 12 rails between 4 hosts are healthy, 111.80 Gb/s" in said
    assert said.count("port-slow") == 1 and said.count("slow-start") == 1
    assert "cluster: 12 of 12 rails" in " ".join(shown(bandwidth.verdicts(run())))


def past(found: Run, days: int = 5) -> history.History:
    runs = [replace(found, id=f"r{day}", started_at=f"2026-11-{day:02}T10:00:00Z") for day in range(1, days + 1)]
    return history.History(tuple(map(history.entry, runs)))


def test_the_page_is_whole_and_has_the_matrix_ports_and_past() -> None:
    now = replace(SLOW, id="now")
    page = report.html(now, past(run()))
    is_whole_and_loads_nothing(page)
    for words in (
        "4 Sparks on a switch",
        "spark-b enp1s0f0np0: all 3 edges are slow",
        "9 of 12 rails between 4 hosts are healthy",
        "2 of 3 edges healthy",
        "2026-11-05 10:00",
    ):
        assert words in page, words


def test_a_name_from_outside_stays_text() -> None:
    evil = "<script>alert(1)</script>"
    found = run()
    named = replace(
        found, pair=evil, hosts={(evil if name == A else name): host for name, host in found.hosts.items()}
    )
    page = report.html(named, history.History())
    is_whole_and_loads_nothing(page)
    assert "<script" not in page


def test_a_line_of_two_hosts_that_are_done() -> None:
    two = [edge for edge in SLOW.rails if edge.hosts == (A, B)]
    assert outcome.sentence(two) == (
        "spark-a and spark-b: rail 0 fault (slow-start), rail 1 111.80 to 111.80 Gb/s"
    )
    assert clusters_measured.NAMES[0] == A
