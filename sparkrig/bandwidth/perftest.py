"""What perftest prints: the figures of its table and its JSON report (why it failed: perftest_errors.py).

Columns are found by the table's header, because their number and unit depend on version and options. Sources:
[@capetron] for a run on Sparks; perftest's src/perftest_parameters.{c,h}, perftest_communication.c and
perftest_resources.{c,h} at v4.4-0.37, 24.01.0-0.38, 25.01.0-0.80 and of July 2026; runs of 25.01 on soft-RoCE.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkrig.parsing import bounds

# Gb/s in one of each. perftest's "MB" is 2^20 bytes; releases after 24.01 print "MiB".
_GBPS = {"Gb/sec": 1.0, "MB/sec": 2**20 * 8 / 1e9, "MiB/sec": 2**20 * 8 / 1e9}

# The columns that we read, and their names in the JSON report.
_IN_JSON = {
    "#bytes": "MsgSize",
    "#iterations": "n_iterations",
    "BW average": "BW_average",
    "MsgRate": "MsgRate",
    "t_min": "t_min",
    "t_max": "t_max",
    "t_typical": "t_typical",
    "t_avg": "t_avg",
    "99% percentile": "percentile_99",
}
_COLUMN = re.compile(r"#\w+|tps average|[^\s\[\]#][^\[\]#]{0,40}\[[^\]]{0,40}\]")
_NUMBER = re.compile(r"\s*(-?(?:\d+(?:\.\d+)?|nan|inf))")
_INFO = re.compile(r"\b(Number of qps|Mtu|Link type|GID index)[ \t]*:[ \t]*(\S+)")
# With -b --report-both each direction follows in a table of its own, after that of their sum.
_LOCAL = re.compile(r"^[ \t]*Local results:", re.M)
_BANDWIDTH_TITLE = re.compile(r"(Bidirectional[ _])?(?:Post[ _]List[ _])?BW[ _][\w ]{0,60}Test")


@dataclass(frozen=True)
class Bandwidth:
    """One measurement of bandwidth; each None where the output does not have it.

    gbps: the average in Gb/s, of both directions together where bidirectional; unit: what perftest printed it
    in; message_size, path_mtu: bytes; iterations: messages; link_type: "Ethernet" or "IB".
    """

    gbps: float
    unit: str
    message_size: int
    iterations: int
    path_mtu: int | None = None
    queue_pairs: int | None = None
    gid_index: int | None = None
    link_type: str | None = None
    bidirectional: bool | None = None

    @property
    def printed(self) -> float:
        """The average as perftest printed it, in `unit`."""
        return self.gbps / _GBPS[self.unit]


@dataclass(frozen=True)
class Latency:
    """One measurement of latency, one way, in microseconds; each None where the output does not have it.

    typical_us: the median; with -D perftest prints only the average.
    message_size, path_mtu: bytes; iterations: round trips.
    """

    average_us: float
    message_size: int
    iterations: int
    typical_us: float | None = None
    path_mtu: int | None = None
    gid_index: int | None = None


@dataclass(frozen=True)
class _Row:
    """The result that counts: its figures and units by column."""

    figures: Mapping[str, float]
    units: Mapping[str, str]


def parse_bandwidth(table: str, report: str | None = None) -> Bandwidth:
    """Read what a bandwidth test printed, and its JSON report (`--out_json`).

    The table has the figure and its unit. Of several rows the largest message of `-a` counts, and the latest
    interval of `--run_infinitely`. The report adds what the table lacks, and one that cannot
    be read is passed over; it may also stand in the middle of the table's text. A report alone has no unit: it
    is taken from the message rate, which fits the average in one unit only.

    Raises ValueError, in words, where nothing was measured. Ask failure() first, for it knows the cause.
    """
    document = _document(report or table)
    rows = _rows(_LOCAL.split(table)[0], "BW average")
    row = max(reversed(rows), key=_size) if rows else _reported(document, "BW average")
    average = _measured(row, "BW average")
    unit = row.units.get("BW average") or _unit_by_rate(row, average)
    if unit not in _GBPS:
        raise ValueError(f"perftest printed an unknown unit, {unit}")
    info = _info(table, document)
    title = _BANDWIDTH_TITLE.search(f"{info.get('test', '')}\n{table}")
    return Bandwidth(
        gbps=average * _GBPS[unit],
        unit=unit,
        message_size=int(row.figures["#bytes"]),
        iterations=int(row.figures["#iterations"]),
        path_mtu=_whole(info.get("Mtu")),
        queue_pairs=_whole(info.get("Number of qps")),
        gid_index=_whole(info.get("GID index")),
        link_type=str(info["Link type"]) if "Link type" in info else None,
        bidirectional=bool(title.group(1)) if title else None,
    )


def parse_latency(text: str, report: str | None = None) -> Latency:
    """Read what a latency test printed, and its JSON report, by the rules of parse_bandwidth.

    Of several rows the smallest message counts: the latency of a large one is its transfer. Raises ValueError, in
    words, where nothing was measured. Ask perftest_errors.failure() first, for it knows the cause.
    """
    document = _document(report or text)
    rows = _rows(text, "t_avg")
    row = min(reversed(rows), key=_size) if rows else _reported(document, "t_avg")
    unit = row.units.get("t_avg", "usec")
    if unit != "usec":
        raise ValueError(f"perftest printed an unknown unit, {unit}")
    info = _info(text, document)
    return Latency(
        average_us=_measured(row, "t_avg"),
        message_size=int(row.figures["#bytes"]),
        iterations=int(row.figures["#iterations"]),
        typical_us=row.figures.get("t_typical"),
        path_mtu=_whole(info.get("Mtu")),
        gid_index=_whole(info.get("GID index")),
    )


def _rows(text: str, column: str) -> list[_Row]:
    """The whole rows under the last header with that column; none without a header.

    Messages of perftest are found glued to the end of a row, so what follows the last figure is ignored.
    """
    units: dict[str, str] = {}
    rows: list[_Row] = []
    for line in text.splitlines():
        if "#bytes" in line and column in line:
            titles = _COLUMN.findall(line)
            parts = [title.rstrip("]").partition("[") for title in titles]
            units, rows = {name.strip(): unit.strip() for name, _, unit in parts}, []
        elif units and len(figures := _figures(line, len(units))) == len(units):
            rows.append(_Row(dict(zip(units, figures, strict=True)), units))
    if units and not rows:
        raise ValueError("perftest printed a header and no result row (a wrong GID index does that)")
    return rows


def _size(row: _Row) -> float:
    return row.figures["#bytes"]


def _figures(line: str, count: int) -> list[float]:
    """The numbers that a line begins with, as many as there are columns."""
    figures: list[float] = []
    position = 0
    while len(figures) < count and (found := _NUMBER.match(line, position)):
        figures.append(float(found.group(1)))
        position = found.end()
    return figures


def _reported(document: Mapping[str, Any], column: str) -> _Row:
    """The result of a JSON report, which has no units."""
    results = document.get("results")
    found = results if isinstance(results, dict) else {}
    figures = {title: found[name] for title, name in _IN_JSON.items() if isinstance(found.get(name), (int, float))}
    if not {"#bytes", "#iterations", column} <= figures.keys():
        raise ValueError("perftest printed no result header, and no JSON report with a result")
    return _Row(figures, {})


def _measured(row: _Row, column: str) -> float:
    """The figure of a row. Raises ValueError for what perftest computes from no message at all."""
    figure = row.figures[column]
    if row.figures["#iterations"] < 1 or not math.isfinite(figure):
        raise ValueError("perftest completed no message, so it measured nothing")
    return figure


def _unit_by_rate(row: _Row, average: float) -> str:
    gbps = row.figures.get("MsgRate", 0) * row.figures["#bytes"] * 8 / 1000  # the rate is in millions per second
    for unit in ("Gb/sec", "MiB/sec"):
        if gbps and math.isclose(average * _GBPS[unit], gbps, rel_tol=0.1):
            return unit
    raise ValueError("perftest's JSON report names no unit, and its message rate does not tell it")


def _document(text: str) -> dict[str, Any]:
    """The last JSON report in a text; empty where there is none that can be read."""
    start = text.find("{")
    last: dict[str, Any] = {}
    while start >= 0:
        try:
            found, end = bounds.first(text, start)
        except ValueError:
            end = start + 1
        else:
            last = found if "results" in found or "test_info" in found else last
        start = text.find("{", end)
    return last


def _info(text: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """What the output states about the test itself, by the table's names; the report wins."""
    reported = document.get("test_info")
    named = reported.items() if isinstance(reported, dict) else ()
    return dict(_INFO.findall(text)) | {name.replace("_", " "): value for name, value in named}


def _whole(value: object) -> int | None:
    digits = re.match(r"\d+", str(value))
    return int(digits.group()) if digits else None
