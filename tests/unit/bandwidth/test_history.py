"""What was measured before: nothing is lost, and a figure is compared with its equals only."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.bandwidth import history
from sparkrig.bandwidth.history import Entry, History, dumps, entries, loads
from sparkrig.bandwidth.history_trend import changes, leading, marks, trend
from sparkrig.bandwidth.io import history_file
from sparkrig.bandwidth.measurement import Edge, End, Host, Measurement, Run
from sparkrig.refusal import Refusal
from sparkrig.verdict import Level, Verdict
from tests.tables import each_row
from tests.unit import clusters_measured

A, B = "spark-a", "spark-b"
HEALTHY = Verdict("healthy", evidence="111.86 Gb/s")
SLOW = Verdict("fault", "slow-start", "13.34 Gb/s", "reboot both Sparks")
ENDS = {
    A: End("rocep1s0f0", 3, "enp1s0f0np0", "192.168.100.11"),
    B: End("rocep1s0f0", 5, "enp1s0f0np0", "192.168.100.12"),
}
HOST = Host("boot-1", "6.11.0-1016-nvidia", "580.95.05", "28.45.4028", "24.01.0")
BANDWIDTH = Measurement("ib_write_bw", 0, A, B, 4, False, HEALTHY, gbps=111.86, path_mtu=4096)
LATENCY = Measurement("ib_write_lat", 0, A, B, 1, False, HEALTHY, latency_us=1.58)
RUN = Run(
    id="run-1",
    started_at="2026-11-20T12:00:00+00:00",
    pair="p",
    mtu=9000,
    hosts={A: HOST, B: replace(HOST, boot_id="boot-2")},
    rails=(Edge(0, ENDS, HEALTHY, hosts=(A, B), netdevs=("enp1s0f0np0", "enp1s0f0np0")),),
    measurements=(BANDWIDTH, LATENCY),
    findings=(),
)
FIRST, LAT = entries(RUN)


def row(day: int, gbps: float | None = 111.8, level: Level = "healthy", **changed: Any) -> Entry:
    values: dict[str, Any] = {
        "run": f"day-{day}",
        "time": f"2026-10-{day:02}T12:00:00Z",
        "gbps": gbps,
        "level": level,
    }
    return replace(FIRST, **(values | changed))


SIX = [row(day, gbps) for day, gbps in enumerate((111.2, 111.5, 111.6, 111.8, 111.9, 112.1), start=1)]


def test_a_line_holds_what_a_figure_was_taken_on() -> None:
    assert (FIRST.sender_device, FIRST.sender_gid_index, FIRST.receiver_gid_index) == ("rocep1s0f0", 3, 5)
    assert (FIRST.sender_boot_id, FIRST.receiver_boot_id) == ("boot-1", "boot-2")
    assert (FIRST.gbps, FIRST.latency_us, LAT.gbps, LAT.latency_us) == (111.86, None, None, 1.58)
    assert (FIRST.mtu, FIRST.path_mtu, FIRST.receiver_perftest) == (9000, 4096, "24.01.0")
    assert all(not isinstance(value, dict | list) for value in json.loads(dumps([FIRST])).values())


def test_what_was_not_learnt_is_empty() -> None:
    bare = entries(replace(RUN, hosts={}, rails=()))[0]
    assert (bare.sender_kernel, bare.receiver_device, bare.sender_gid_index) == ("", "", None)


def test_a_rail_without_a_figure_leaves_a_line() -> None:
    dead = Verdict("fault", "no-carrier", "no carrier")
    found = entries(replace(RUN, rails=(*RUN.rails, replace(RUN.rails[0], number=1, ends={}, verdict=dead))))[-1]
    assert (found.rail, found.gbps, found.cause) == (1, None, "no-carrier")
    assert found.kind == replace(FIRST, rail=1).kind  # so that it stands in the trend of its rail


def test_lines_come_back_as_they_were() -> None:
    text = dumps([FIRST, replace(LAT, evidence='quotes "x", newline\n, ü and \u2028')])
    assert text.count("\n") == len(text.splitlines()) == 2
    assert loads(text).entries == (FIRST, replace(LAT, evidence='quotes "x", newline\n, ü and \u2028'))
    assert loads(text.replace("\n", "\r\n\n")).entries == loads(text).entries


LINE = dumps([FIRST]).strip()


def test_a_line_that_cannot_be_read_is_counted() -> None:
    def holds(line: str, broken: int, newer: int) -> None:
        found = loads(f"{LINE}\n{line}\n{LINE}\n")
        assert (found.entries, found.broken, found.newer) == ((FIRST, FIRST), broken, newer)
        assert found.remark.endswith("stay in the file")

    each_row(
        {
            "torn": (LINE[:80], 1, 0),
            "zeros after a power cut": ("\0\0\0", 1, 0),
            "foreign": ("[1, 2]", 1, 0),
            "no version": ('{"hello": 1}', 1, 0),
            "newer": (LINE.replace('"version":1', '"version":2'), 0, 1),
            "newer and other": ('{"version": 7, "shape": "new"}', 0, 1),
            "older than the first": (LINE.replace('"version":1', '"version":0'), 1, 0),
            "no number": (LINE.replace("111.86,", "NaN,"), 1, 0),
            "text for a number": (LINE.replace("111.86,", '"111.86",'), 1, 0),
            "no time": (LINE.replace("2026-11-20T", "yesterday "), 1, 0),
            "no level": (LINE.replace('"level":"healthy"', '"level":"splendid"'), 1, 0),
            "deep": ("[" * 5000, 1, 0),
        },
        holds,
    )


def test_an_added_field_is_no_hindrance() -> None:
    assert loads(LINE.replace("{", '{"humidity":40,', 1)) == History((FIRST,))
    assert History().remark == ""


def test_a_figure_beside_the_earlier_ones() -> None:
    def holds(past: list[Entry], entry: Entry, said: str) -> None:
        assert trend(past, entry).sentence == said

    each_row(
        [
            ([], FIRST, "111.86 Gb/s, the first of its kind"),
            (SIX, FIRST, "111.86 Gb/s, 0.1 % above the median of 6 healthy runs (111.20 to 112.10)"),
            (
                SIX,
                replace(FIRST, gbps=111.7),
                "111.70 Gb/s, level with the median of 6 healthy runs (111.20 to 112.10)",
            ),
            (SIX[:2], FIRST, "111.86 Gb/s, too few healthy runs to compare with (111.20 and 111.50)"),
            ([row(1, 13.3, "fault")], FIRST, "111.86 Gb/s, the only earlier run was not healthy"),
            (
                [row(1, None, "unknown"), row(2, 9, "fault")],
                FIRST,
                "111.86 Gb/s, none of 2 earlier runs was healthy",
            ),
            (
                [*SIX, row(7, 13.3, "fault")],
                FIRST,
                "111.86 Gb/s, 0.1 % above the median of 6 healthy runs (111.20 to 112.10)",
            ),
            (
                SIX,
                replace(FIRST, gbps=13.3, level="fault"),
                "13.30 Gb/s, 88 % below the median of 6 healthy runs (111.20 to 112.10); "
                "since the last healthy run (2026-10-06): nothing that is recorded has changed",
            ),
            (
                [row(1), row(2), row(3), row(4, 13.2, "fault", sender_boot_id="boot-8")],
                replace(FIRST, gbps=13.3, level="fault", sender_boot_id="boot-8", receiver_firmware="28.47.1026"),
                "13.30 Gb/s, 88 % below the median of 3 healthy runs (111.80 to 111.80); since the last healthy "
                "run (2026-10-03): spark-a rebooted, firmware 28.45.4028 -> 28.47.1026 on spark-b",
            ),
            (
                SIX,
                replace(FIRST, gbps=None, level="unknown", mtu=1500),
                "not measured, against the median of 6 healthy runs (111.20 to 112.10); "
                "since the last healthy run (2026-10-06): MTU 9000 -> 1500",
            ),
            ([replace(LAT, run="run-0")], LAT, "1.58 us, too few healthy runs to compare with (1.58)"),
            (
                [row(day, 0.0) for day in (1, 2, 3)],
                replace(FIRST, gbps=0.5),
                "0.50 Gb/s, against the median of 3 healthy runs (0.00 to 0.00)",
            ),
        ],
        holds,
    )


def test_only_earlier_ones_of_its_kind_count() -> None:
    def holds(other: dict[str, Any]) -> None:
        assert trend([row(1, **other)], FIRST).earlier == ()

    each_row(
        [
            {"pair": "q"},
            {"rail": 1},
            {"sender": B, "receiver": A},
            {"test": "ib_write_lat"},
            {"queue_pairs": 1},
            {"together": True},
            {"run": FIRST.run},
            {"time": "2026-12-01T00:00:00Z"},
        ],
        holds,
    )


def test_times_of_any_zone_are_put_in_order() -> None:
    late, early = row(1, time="2026-10-01T10:00:00+02:00"), row(2, time="2026-10-01T07:30:00")
    assert loads(dumps([late, early])).entries == (early, late)


def test_what_else_changed() -> None:
    def holds(changed: dict[str, Any], said: list[str]) -> None:
        after = replace(FIRST, **changed)
        assert [str(each) for each in changes(FIRST, after)] == said
        assert not any("boot-" in each for each in said)  # a boot ID is a UUID

    each_row(
        [
            ({}, []),
            ({"sender_boot_id": "boot-9", "receiver_boot_id": "boot-8"}, ["both rebooted"]),
            ({"receiver_boot_id": "boot-8"}, ["spark-b rebooted"]),
            (
                {"sender_driver": "580.105.08", "receiver_driver": "580.105.08"},
                ["driver 580.95.05 -> 580.105.08 on both"],
            ),
            ({"sender_gid_index": 5}, ["GID index 3 -> 5 on spark-a"]),
            ({"mtu": 1500, "path_mtu": 1024}, ["MTU 9000 -> 1500", "path MTU 4096 -> 1024"]),
            ({"sender_kernel": "", "receiver_gid_index": None, "path_mtu": None}, []),  # not known is not changed
        ],
        holds,
    )


def test_marks_remember_across_a_run_that_learnt_nothing() -> None:
    blank = row(2, sender_firmware="", receiver_firmware="")
    later: dict[str, Any] = {
        "sender_firmware": "28.47.1026",
        "receiver_firmware": "28.47.1026",
        "sender_boot_id": "boot-9",
    }
    found = marks([row(1), blank, row(3, **later), row(4, **later)])
    assert [(mark.run, [*map(str, mark.changes)]) for mark in found] == [
        ("day-3", ["firmware 28.45.4028 -> 28.47.1026 on both"])
    ]


def test_the_figure_that_stands_for_a_rail() -> None:
    one, together = replace(FIRST, queue_pairs=1), replace(FIRST, together=True, queue_pairs=8)
    assert leading([one, FIRST, together, LAT]) == [FIRST.kind]
    assert leading([row(1, queue_pairs=16), FIRST]) == [FIRST.kind]  # what is measured now


# the file


def test_the_file_is_private_and_only_grows(tmp_path: Path) -> None:
    file = tmp_path / "state" / "bandwidth" / "p.jsonl"
    assert history_file.read("p", file) == History()
    history_file.append(RUN, file)
    before = file.read_bytes()
    history_file.append(replace(RUN, id="run-2"), file)
    assert file.read_bytes().startswith(before)
    assert [each.run for each in history_file.read("p", file).entries] == ["run-1", "run-1", "run-2", "run-2"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_torn_line_stays_one_line(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_bytes(b'{"time":"2026\xff')
    history_file.append(RUN, file)
    found = history_file.read("p", file)
    assert (found.entries, found.broken) == ((FIRST, LAT), 1)
    assert file.read_bytes().startswith(b'{"time":"2026\xff\n{')


@pytest.mark.parametrize(
    ("pair", "name"),
    [
        ("living-room", "living-room.jsonl"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.jsonl"),
        ("a b", "a%20b.jsonl"),
        (".", "%2E.jsonl"),
    ],
)
def test_any_pair_is_a_file_name(pair: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file.path(pair).name == name
    assert history_file.path(pair).parent.name == "bandwidth"


def test_long_names_stay_apart() -> None:
    one, other = history_file.path("ü" * 300), history_file.path("ü" * 301)
    assert one != other
    assert len(one.name) < 255


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "p.jsonl"
    history_file.append(RUN, file)
    before, write = file.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:10]))
    with pytest.raises(Refusal, match=rf"cannot write the history {file}: no space left") as refused:
        history_file.append(RUN, file)
    assert file.read_bytes() == before
    assert refused.value.cure == f"df -h {tmp_path}"


@pytest.mark.parametrize("action", ["read", "append"])
@pytest.mark.parametrize(
    ("block", "words"),
    [
        pytest.param(lambda file: file.mkdir(), "is a directory", id="folder"),
        pytest.param(lambda file: os.mkfifo(file), "not a regular file", id="pipe"),
        pytest.param(lambda file: file.symlink_to(file), "symbolic links", id="loop"),
    ],
)
def test_something_in_the_way(action: str, block, words: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "p.jsonl"
    block(file)
    with pytest.raises(Refusal, match=words) as refused:
        history_file.append(RUN, file) if action == "append" else history_file.read("p", file)
    assert refused.value.cure


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(Refusal, match="not a directory"):
        history_file.append(RUN, tmp_path / "x" / "p.jsonl")
    with pytest.raises(Refusal, match="not a directory"):
        history_file.read("p", tmp_path / "x" / "p.jsonl")


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EIO])
def test_whatever_the_system_says_is_one_sentence(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Refusal) as refused:
        history_file.append(RUN, tmp_path / "p.jsonl")
    assert refused.value.what.endswith(os.strerror(code).lower())
    assert str(tmp_path) in refused.value.cure


def test_one_run_waits_for_another_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "p.jsonl"
    monkeypatch.setattr(history_file, "_WAIT_SECONDS", 0.1)
    with file.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Refusal, match="held it locked"):
            history_file.append(RUN, file)
    assert history_file.append(RUN, file) == file
    assert history.loads(file.read_text()).entries == (FIRST, LAT)


# --- more than two hosts


def test_each_edge_of_a_cluster_has_a_history_of_its_own() -> None:
    """On a switch all edges of a subnet have one number: hosts and direction tell them apart."""
    made = clusters_measured.run(clusters_measured.slow_port("spark-b"))
    rows = entries(made)
    assert len({each.kind for each in rows}) == len(rows) == 24, "4 hosts, both ways, 2 rails"
    one = next(each for each in rows if (each.rail, each.sender, each.receiver) == (0, "spark-c", "spark-a"))
    assert (one.sender_netdev, one.sender_boot_id) == ("enp1s0f0np0", clusters_measured.boot("spark-c"))
    before = [replace(each, run="before", gbps=100.0, time="2026-11-25T10:00:00+00:00") for each in rows]
    assert [each.gbps for each in trend(before, one).earlier] == [100.0]


def test_an_edge_that_could_not_be_measured_is_in_the_history_between_its_hosts() -> None:
    made = clusters_measured.run(count=3, missing={"spark-c": "spark-c was lost"}, both_ways=False)
    lost = [(each.rail, each.sender, each.receiver) for each in entries(made) if each.figure is None]
    assert lost == [(0, A, "spark-c"), (1, A, "spark-c"), (0, B, "spark-c"), (1, B, "spark-c")]
