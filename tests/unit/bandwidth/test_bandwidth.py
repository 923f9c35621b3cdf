"""The table of `sparkrig bandwidth` while it fills, and the verdicts under it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from sparkrig.bandwidth.measurement import Case, Edge, Host, Measurement, Run
from sparkrig.bandwidth.render import bandwidth
from sparkrig.verdict import Finding, Verdict

A, B = "spark-a", "spark-b"
CASES = [
    Case("ib_write_bw", (0,), A, B),
    Case("ib_write_bw", (1,), A, B),
    Case("ib_write_bw", (0, 1), A, B),
    Case("ib_write_lat", (0,), B, A),
]
LOW = Verdict("fault", "path-mtu", "22.00 Gb/s at path MTU 1024, 4096 expected", "run the deploy")


def measured(case: Case, rail: int, verdict: Verdict, **figures: Any) -> Measurement:
    return Measurement(
        case.test, rail, case.sender, case.receiver, case.queue_pairs, case.together, verdict, **figures
    )


def shown(renderable: Any) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_a_cell_is_a_figure_or_at_work_or_still_to_come() -> None:
    done = [
        measured(CASES[0], 0, Verdict("healthy", evidence="111.86 Gb/s"), gbps=111.86),
        measured(CASES[1], 1, LOW, gbps=22.0),
        measured(CASES[3], 0, Verdict("healthy"), latency_us=1.6),
    ]
    assert shown(bandwidth.table(CASES, done, CASES[2], ascii_only=True)) == [
        ["rail", "direction", "1", "QP", "all", "at", "once", "latency"],
        ["0", A, "to", B, "111.86", "Gb/s", "ok", "..."],
        ["0", B, "to", A, "1.60", "us", "ok"],
        ["1", A, "to", B, "22.00", "Gb/s", "x", "..."],
    ]
    assert shown(bandwidth.table(CASES, [], ascii_only=True))[1:] == [
        ["0", A, "to", B, ".", "."],
        ["0", B, "to", A, "."],
        ["1", A, "to", B, ".", "."],
    ]


def test_rails_with_one_verdict_share_a_line_and_nothing_is_repeated() -> None:
    of_a_host = Finding(A, Verdict("degraded", "hot", "95 C", "let it cool"))
    run = Run(
        id="1",
        started_at="2026-11-23T00:00:00Z",
        pair="pair",
        mtu=9000,
        hosts={A: Host(), B: Host()},
        rails=tuple(Edge(number, {}, LOW, hosts=(A, B), netdevs=("", "")) for number in (0, 1)),
        measurements=(),
        findings=(Finding("the pair", Verdict("healthy", evidence="cabled")),),
        health=(of_a_host,),
    )
    words = " ".join(" ".join(line) for line in shown(bandwidth.verdicts(run)))
    assert words.count("path MTU 1024") == 1 and "rails 0 and 1" in words
    assert "95 C" in words and "cabled" not in words
    named = replace(
        run,
        rails=tuple(replace(rail, because="the pair") for rail in run.rails),
        findings=(Finding("the pair", LOW),),
    )
    words = " ".join(" ".join(line) for line in shown(bandwidth.verdicts(named)))
    assert words.count("path MTU 1024") == 1 and "the pair: path-mtu" in words and "rails 0 and 1" not in words
