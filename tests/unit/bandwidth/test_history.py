"""What was measured before: nothing is lost, and a figure is compared with its equals only."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.bandwidth import history
from sparkrig.bandwidth.history import Entry, History, compared, dumps, entry, lines, loads
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
ROW = entry(RUN)


def row(day: int, gbps: float | None = 111.8, level: Level = "healthy", **changed: Any) -> Entry:
    share = replace(BANDWIDTH, gbps=gbps, verdict=Verdict(level))
    made = replace(ROW, run=f"day-{day}", time=f"2026-10-{day:02}T12:00:00Z", measurements=(share,))
    return replace(made, **changed)


def now(gbps: float | None = 13.3, level: Level = "fault", **changed: Any) -> Run:
    share = replace(BANDWIDTH, gbps=gbps, verdict=Verdict(level))
    return replace(RUN, measurements=(share,), **changed)


def said(past: Sequence[Entry], run: Run) -> list[str]:
    return [*lines(compared(History(tuple(past)).before(run), run))]


SIX = [row(day, gbps) for day, gbps in enumerate((111.2, 111.5, 111.6, 111.8, 111.9, 112.1), start=1)]
LINE = dumps([ROW]).strip()


def test_lines_come_back_as_they_were() -> None:
    odd = replace(ROW, verdict=Verdict("fault", evidence='quotes "x", newline\n, ü and \u2028'))
    text = dumps([ROW, odd])
    assert text.count("\n") == 2
    assert loads(text) == loads(text.replace("\n", "\r\n\n")) == History((ROW, odd))
    assert "192.168" not in text and (ROW.hosts[B].boot_id, ROW.mtu) == ("boot-2", 9000)
    assert loads(LINE.replace("{", '{"humidity":40,', 1)) == History((ROW,)), "an added field is no hindrance"


def test_a_line_that_cannot_be_read_is_counted() -> None:
    def holds(line: str) -> None:
        found = loads(f"{LINE}\n{line}\n{LINE}\n")
        assert (found.entries, found.broken) == ((ROW, ROW), 1)
        assert found.remark == "history: lines that are left out, and stay in the file: 1 that cannot be read"

    each_row(
        {
            "torn": LINE[:80],
            "zeros after a power cut": "\0\0\0",
            "foreign": "[1, 2]",
            "no version": '{"hello": 1}',
            "no number": LINE.replace("111.86,", '"fast",'),
            "text for a number": LINE.replace("111.86,", '"111.86",'),
            "no time": LINE.replace("2026-11-20T", "yesterday "),
            "no level": LINE.replace('"level":"healthy"', '"level":"splendid"'),
            "deep": "[" * 5000,
        },
        holds,
    )
    assert History().remark == ""


def test_lines_of_an_earlier_version_are_counted_and_a_later_one_is_refused_with_the_way_out(
    tmp_path: Path,
) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(f'{LINE}\n{{"time": "2026-10-01T12:00:00Z", "version": 1}}\n')
    kept = history_file.read("p", file)
    assert len(kept.entries) == 1
    assert kept.remark == "history: lines that are left out, and stay in the file: 1 of an earlier sparkrig"
    file.write_text(f'{LINE}\n{{"time": "2026-10-01T12:00:00Z", "version": 3}}\n')
    with pytest.raises(Refusal, match="lines of version 3, and this sparkrig reads") as refused:
        history_file.read("p", file)
    assert refused.value.cure.startswith(f"mv {file} {file}.aside")


def test_what_moved_is_said_beside_the_earlier_figures() -> None:
    firmware = replace(HOST, boot_id="boot-2", firmware="28.47.1026")
    both = {A: replace(HOST, boot_id="boot-9"), B: replace(HOST, boot_id="boot-9")}
    way = "rail 0, spark-a to spark-b, 4 QPs"
    six = "111.20 to 112.10 in 6 healthy runs before"
    same = "since 2026-10-06: nothing that is recorded has changed"

    def holds(past: list[Entry], run: Run, *expected: str) -> None:
        assert said(past, run) == [*expected]

    each_row(
        [
            ([], now()),
            ([row(1, 13.3, "fault")], now()),
            (SIX[:2], now(111.9, "healthy")),
            (SIX, now(111.9, "healthy"), "1 figure is within 0.2 % of the median of the earlier ones"),
            (SIX, now(100.0, "healthy"), f"{way}: 100.00 Gb/s, {six}, 10 % below their median; {same}"),
            (SIX, now(), f"{way}: 13.30 Gb/s, {six}, 88 % below their median; {same}"),
            (
                [*SIX, row(7, 13.2, "fault", mtu=1500)],
                now(hosts={A: HOST, B: firmware}),
                f"{way}: 13.30 Gb/s, {six}, 88 % below their median; "
                "since 2026-10-06: firmware 28.45.4028 -> 28.47.1026 on spark-b",
            ),
            (
                SIX[:2],
                now(None, "unknown", mtu=1500, hosts=both),
                f"{way}: no figure, 111.20 to 111.50 in 2 healthy runs before; "
                "since 2026-10-02: MTU 9000 -> 1500, a reboot on spark-a and spark-b",
            ),
            (SIX, now(hosts={}), f"{way}: 13.30 Gb/s, {six}, 88 % below their median; {same}"),
            ([row(day, 0.0) for day in (1, 2, 3)], now(0.5, "healthy")),
        ],
        holds,
    )


def test_only_earlier_ones_of_its_kind_count() -> None:
    def holds(entry: dict[str, Any], share: dict[str, Any]) -> None:
        before = row(1, **entry)
        before = replace(before, measurements=(replace(before.measurements[0], **share),))
        assert said([before], now()) == []

    assert said([row(1)], now())
    each_row(
        [
            ({"pair": "q"}, {}),
            ({"run": RUN.id}, {}),
            ({"time": "2026-12-01T00:00:00Z"}, {}),
            ({}, {"rail": 1}),
            ({}, {"sender": B, "receiver": A}),
            ({}, {"test": "ib_write_lat"}),
            ({}, {"queue_pairs": 1}),
            ({}, {"together": True}),
        ],
        holds,
    )


def test_a_dead_rail_is_beside_its_earlier_figures_and_latency_is_in_microseconds() -> None:
    dead = replace(RUN, rails=(replace(RUN.rails[0], verdict=SLOW),), measurements=())
    (line,) = said(SIX, dead)
    assert line.startswith("rail 0, spark-a to spark-b, 4 QPs: no figure, 111.20 to 112.10")
    past = [replace(row(day), measurements=(LATENCY,)) for day in (1, 2, 3)]
    (only,) = compared(past, replace(RUN, measurements=(replace(LATENCY, latency_us=3.16),)))
    assert only.percent == pytest.approx(100)


def test_times_of_any_zone_are_put_in_order() -> None:
    late, early = row(1, time="2026-10-01T10:00:00+02:00"), row(2, time="2026-10-01T07:30:00")
    assert loads(dumps([late, early])).entries == (early, late)


def test_the_figure_that_stands_for_a_rail() -> None:
    one, beside = replace(BANDWIDTH, queue_pairs=1), replace(BANDWIDTH, together=True, queue_pairs=8)
    found = replace(RUN, measurements=(one, BANDWIDTH, beside, LATENCY))
    past = [replace(row(day), measurements=found.measurements) for day in (1, 2, 3)]
    slow = replace(found, measurements=tuple(replace(each, gbps=50.0) for each in found.measurements))
    (line,) = said(past, slow)
    assert line.startswith("rail 0, spark-a to spark-b, 4 QPs: 50.00 Gb/s")


# the file


def test_the_file_is_private_and_only_grows(tmp_path: Path) -> None:
    file = tmp_path / "state" / "bandwidth" / "p.jsonl"
    assert history_file.read("p", file) == History()
    history_file.append(RUN, file)
    before = file.read_bytes()
    history_file.append(replace(RUN, id="run-2"), file)
    assert file.read_bytes().startswith(before)
    assert [each.run for each in history_file.read("p", file).entries] == ["run-1", "run-2"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_torn_line_stays_one_line(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_bytes(b'{"time":"2026\xff')
    history_file.append(RUN, file)
    found = history_file.read("p", file)
    assert (found.entries, found.broken) == ((ROW,), 1)
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
    assert history.loads(file.read_text()).entries == (ROW,)


# --- more than two hosts


def test_each_edge_of_a_cluster_is_compared_with_its_own_and_the_worst_of_many_are_listed() -> None:
    """On a switch all edges of a subnet have one number: hosts and direction tell them apart."""
    slow = clusters_measured.run(clusters_measured.slow_port("spark-b"))
    past = [
        replace(entry(clusters_measured.run()), run=f"day-{day}", time=f"2026-10-{day:02}T10:00:00Z")
        for day in (1, 2, 3)
    ]
    found = said(past, slow)
    assert len(found) == 10 and all("spark-b" in line for line in found[:8])
    assert found[8:] == [
        "4 more figures moved; the report has all of them",
        "12 figures are each within 0.5 % of the median of the earlier ones",
    ]


def test_an_edge_that_could_not_be_measured_is_in_the_history_between_its_hosts() -> None:
    made = clusters_measured.run(count=3, missing={"spark-c": "spark-c was lost"}, both_ways=False)
    rows = [each for each in entry(made).measurements if each.gbps is None]
    lost = [(each.rail, each.sender, each.receiver) for each in rows]
    assert lost == [(0, A, "spark-c"), (1, A, "spark-c"), (0, B, "spark-c"), (1, B, "spark-c")]
