"""What is kept of a measurement on its hosts, and when it still counts."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from sparkrig import records
from sparkrig.bandwidth import Expected
from sparkrig.measurement import End, Measurement, Rail, Run
from sparkrig.records import Record
from sparkrig.verdict import Verdict

CABLE = Expected(path_mtu=4096)
RECORD = Record("enp1s0f0np0", "192.168.100.11", "192.168.100.12", 9000, 111.86, 4096, "2026-11-20T10:00:00+00:00")


def complaint(record: Record | None) -> str | None:
    return records.complaint(record, IPv4Address("192.168.100.11"), IPv4Address("192.168.100.12"), 9000, CABLE)


def test_a_record_of_this_rail_stands() -> None:
    assert complaint(RECORD) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"address": "192.168.100.21"}, "not as declared"),
        ({"peer": "192.168.100.22"}, "not as declared"),
        ({"mtu": 1500}, "at MTU 1500, not as declared"),
        ({"gbps": 13.35}, "13.35 Gb/s"),
        ({"path_mtu": 1024}, "path MTU 1024"),
        ({"path_mtu": 0}, "path MTU 0"),
    ],
)
def test_a_record_of_another_rail_or_a_bad_one_does_not(change: dict[str, Any], words: str) -> None:
    assert words in (complaint(replace(RECORD, **change)) or "")


def test_no_record_is_no_proof() -> None:
    assert complaint(None) == "not measured"


def test_what_is_kept_of_a_run_is_the_least_that_each_rail_reached_alone() -> None:
    def measured(rail: int, gbps: float, queue_pairs: int = 4, *, together: bool = False) -> Measurement:
        healthy = Verdict("healthy")
        return Measurement("ib_write_bw", rail, "a", "b", queue_pairs, together, healthy, gbps, path_mtu=4096)

    ends = {"a": End("dev0", 3, "neta", "192.0.2.1"), "b": End("dev1", 3, "netb", "192.0.2.2")}
    rails = tuple(Rail(number, ends if number == 0 else {}, Verdict("healthy")) for number in (0, 1))
    figures = (measured(0, 111.864), measured(0, 111.7), measured(0, 98.0, 1), measured(0, 92.0, together=True))
    run = Run("r1", "2026-11-20T10:00:00+00:00", "p", 9000, {}, rails, figures, ())
    assert records.of(run, "a", "b") == (
        {"neta": Record("neta", "192.0.2.1", "192.0.2.2", 9000, 111.7, 4096, run.started_at)},
        {"netb": Record("netb", "192.0.2.2", "192.0.2.1", 9000, 111.7, 4096, run.started_at)},
    )


def test_records_survive_the_file() -> None:
    text = records.dump({RECORD.netdev: RECORD})
    assert records.load(text) == {RECORD.netdev: RECORD} and text.endswith("\n")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"rails": null}',
        '{"rails": {"a": 1}}',
        '{"rails": [{"netdev": "a"}]}',
        '{"rails": [{"address": "a"}]}',
        '{"rails": [1]}',
    ],
)
def test_a_file_that_is_not_ours_holds_no_record(text: str | None) -> None:
    assert records.load(text) == {}
