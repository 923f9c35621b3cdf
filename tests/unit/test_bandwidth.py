"""What perftest printed, and whether it is good enough. Exit 0 is no evidence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig import bandwidth
from sparkrig.bandwidth import End, Measurement, Record, complaint, parse, stands

TABLE = (Path(__file__).resolve().parent.parent / "fixtures" / "bandwidth" / "ib_write_bw.txt").read_text()
REPORT = json.dumps({"test_info": {"test": "RDMA_Write BW Test", "Mtu": 4096}, "results": {"MsgSize": 65536}})
ROW = " 65536      640000           0.00               111.86             0.213358\n"


def table(header: str, row: str, mtu: str = " Mtu             : 4096[B]\n") -> str:
    return f"{mtu} #bytes     #iterations    BW peak[{header}]    BW average[{header}]   MsgRate[Mpps]\n{row}"


def test_a_whole_table() -> None:
    measured = parse(TABLE, REPORT)
    assert measured == Measurement(gbps=111.86, path_mtu=4096, message_size=65536, iterations=1024102)


@pytest.mark.parametrize(
    ("header", "average", "gbps"),
    [
        ("Gb/sec", "111.86", 111.86),
        ("MB/sec", "13334.70", 111.86),  # perftest 24.01 without --report_gbits
        ("MiB/sec", "13334.70", 111.86),  # later ones; its MB was 2^20 bytes too
        ("Gb/sec", "13.35", 13.35),  # the same digits as 13334.7, a factor of eight apart
        ("Gb/sec", "0.123456", 0.123456),  # soft-RoCE prints six decimals
        ("Gb/sec", "0.00", 0.0),
    ],
)
def test_the_unit_is_taken_from_the_header(header: str, average: str, gbps: float) -> None:
    row = f" 65536      1000             0.00               {average} \t\t   0.013335\n"
    assert parse(table(header, row), REPORT).gbps == pytest.approx(gbps, rel=1e-4)


def test_average_not_peak() -> None:
    row = " 65536      1000             112.40             95.01              0.2\n"
    assert parse(table("Gb/sec", row), REPORT).gbps == 95.01


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no result header"),
        ("Couldn't connect to 192.168.100.12:18515\n", "no result header"),
        (ROW, "no result header"),
        (table("Gb/sec", ""), "header and no result row"),
        (table("Gb/sec", "-----------------\n"), "header and no result row"),
        (table("Gb/sec", " Failed to complete run_iter_bw function successfully\n"), "no result row"),
        (table("Gb/sec", " 65536      640000           0.00\n"), "no result row"),
        (ROW + table("Gb/sec", ""), "no result row"),  # a row before the header is none
        (table("Tb/sec", ROW), "unknown unit, Tb/sec"),
    ],
)
def test_what_proves_nothing_is_an_error_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(text, REPORT)


@pytest.mark.parametrize(
    ("report", "mtu"),
    [
        (json.dumps({"test_info": {"Mtu": 1024}}), 1024),  # the report wins
        (None, 4096),
        ("", 4096),
        ('{"test_info": {"Mtu": ', 4096),  # cut off
        ("[]", 4096),
        ("{}", 4096),
        ('{"test_info": null}', 4096),
        ('{"test_info": {}}', 4096),
    ],
)
def test_path_mtu_from_the_report_or_else_from_the_table(report: str | None, mtu: int) -> None:
    assert parse(table("Gb/sec", ROW), report).path_mtu == mtu


def test_an_unknown_path_mtu_is_not_good_enough() -> None:
    measured = parse(table("Gb/sec", ROW, mtu=""), None)
    assert measured.path_mtu == 0 and complaint(measured, 90, 1024) is not None


@pytest.mark.parametrize(
    ("gbps", "path_mtu", "floor", "words"),
    [
        (111.86, 4096, 90.0, None),
        (90.0, 4096, 90.0, None),
        (89.99, 4096, 90.0, "89.99 Gb/s, at least 90 expected"),
        (13.35, 4096, 90.0, "13.35 Gb/s"),
        (0.0, 4096, 0.01, "0.00 Gb/s, at least 0.01 expected"),
        (0.123456, 4096, 0.01, None),
        (111.86, 1024, 90.0, "path MTU 1024, 4096 expected"),
        (0.0, 1024, 90.0, "path MTU 1024"),  # the cause before the effect
    ],
)
def test_complaint(gbps: float, path_mtu: int, floor: float, words: str | None) -> None:
    said = complaint(Measurement(gbps, path_mtu, 65536, 1), floor, 4096)
    assert said is None if words is None else said is not None and words in said


# --- the commands

NEAR = End("rocep1s0f0", 3, "enp1s0f0np0", "192.168.100.11")
FAR = End("rocep1s0f1", 5, "enp1s0f1np1", "192.168.100.12")


def test_the_commands_to_the_word() -> None:
    perftest = "-D 5 -q 4 -s 65536 -F --report_gbits"
    assert " ".join(bandwidth.server_words(FAR, 5, 1.0)) == (
        f"35 15 18515 18614 ib_write_bw -d rocep1s0f1 -x 5 {perftest}"
    )
    assert " ".join(bandwidth.client_words(NEAR, FAR, 18520, 5, 1.0)) == (
        f"enp1s0f0np0 192.168.100.12 5 20 ib_write_bw -d rocep1s0f0 -x 3 {perftest} -p 18520"
    )


@pytest.mark.parametrize("patience", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("seconds", [2, 60])
def test_the_server_outlives_its_client(seconds: int, patience: float) -> None:
    life = int(bandwidth.server_words(FAR, seconds, patience)[0])
    limit = int(bandwidth.client_words(NEAR, FAR, 1, seconds, patience)[3])
    assert seconds < limit < life


def test_message_size_stays_at_what_gb10_carries() -> None:
    assert bandwidth.MESSAGE_SIZE <= 65536


def test_word_is_the_last_of_its_key() -> None:
    printed = "port 1\nreport x\nport 18515\nportal 7\n report y"
    assert bandwidth.word(printed, "port") == "18515"
    assert bandwidth.word(printed, "report") == "x"
    assert bandwidth.word(printed, "absent") == ""


# --- what was measured last

RECORD = Record("enp1s0f0np0", "192.168.100.11", "192.168.100.12", 9000, 111.86, 4096, "2026-11-20T10:00:00+00:00")


def good(record: Record | None) -> bool:
    return stands(record, "192.168.100.11", "192.168.100.12", 9000, floor=90, path_mtu=4096)


def test_a_record_of_this_rail_stands() -> None:
    assert good(RECORD)


@pytest.mark.parametrize(
    "change",
    [
        {"address": "192.168.100.21"},
        {"peer": "192.168.100.22"},
        {"mtu": 1500},
        {"gbps": 13.35},
        {"path_mtu": 1024},
    ],
)
def test_a_record_of_another_rail_or_a_bad_one_does_not(change: dict[str, str]) -> None:
    assert not good(replace(RECORD, **change))  # type: ignore[arg-type]
    assert not good(None)


def test_records_survive_the_file() -> None:
    text = bandwidth.dump_records({RECORD.netdev: RECORD})
    assert bandwidth.load_records(text) == {RECORD.netdev: RECORD} and text.endswith("\n")


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
    assert bandwidth.load_records(text) == {}
