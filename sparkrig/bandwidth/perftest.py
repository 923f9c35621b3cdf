"""What perftest prints: the figures of its table and its JSON report, and why it failed.

Columns are found by the table's header, because their number and unit depend on version and options. Sources:
[@capetron] for a run on Sparks; perftest's src/perftest_parameters.{c,h}, perftest_communication.c and
perftest_resources.{c,h} at v4.4-0.37, 24.01.0-0.38, 25.01.0-0.80 and of July 2026; runs of 25.01 on soft-RoCE.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sparkrig.cure import on_host
from sparkrig.parsing import bounds
from sparkrig.signatures import Signature, first
from sparkrig.verdict import Verdict

# Gb/s in one of each. perftest's "MB" is 2^20 bytes; later than 24.01 it says so.
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
_COLUMN = re.compile(r"#\w+|tps average|[^\s\[\]#][^\[\]#]*\[[^\]]*\]")
_NUMBER = re.compile(r"\s*(-?(?:\d+(?:\.\d+)?|nan|inf))")
_INFO = re.compile(r"\b(Number of qps|Mtu|Link type|GID index)[ \t]*:[ \t]*(\S+)")
# With -b --report-both each direction follows in a table of its own, after that of their sum.
_LOCAL = re.compile(r"^[ \t]*Local results:", re.M)
_BANDWIDTH_TITLE = re.compile(r"(Bidirectional[ _])?(?:Post[ _]List[ _])?BW[ _][\w ]*Test")


@dataclass(frozen=True)
class Bandwidth:
    """One measurement of bandwidth; None where the output does not tell.

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
    """One measurement of latency, one way, in microseconds; None where the output does not tell.

    typical_us: the median; with -D perftest knows none, nor any of the others, but the average.
    message_size, path_mtu: bytes; iterations: round trips.
    """

    average_us: float
    message_size: int
    iterations: int
    typical_us: float | None = None
    minimum_us: float | None = None
    maximum_us: float | None = None
    p99_us: float | None = None
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
    """Read what a latency test printed, and its JSON report; the rules are those of parse_bandwidth, but that of
    several rows the smallest message counts: the latency of a large one is its transfer.

    Raises ValueError, in words, where nothing was measured. Ask failure() first, for it knows the cause.
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
        minimum_us=row.figures.get("t_min"),
        maximum_us=row.figures.get("t_max"),
        p99_us=row.figures.get("99% percentile"),
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
    """What is said of the test itself, by the table's names; the report wins."""
    reported = document.get("test_info")
    named = reported.items() if isinstance(reported, dict) else ()
    return dict(_INFO.findall(text)) | {name.replace("_", " "): value for name, value in named}


def _whole(value: object) -> int | None:
    digits = re.match(r"\d+", str(value))
    return int(digits.group()) if digits else None


# In order of weight: a text that says several things says the consequences too. What tells nothing of the link
# itself is "unknown". The sentences are perftest's own (see the top), with both of its spellings.
_CAUSES = (
    Signature(
        "perftest-missing",
        r"\S*ib_\w+\W*:? (?:command )?not found|Failed to find executable \S*ib_\w+|"
        r"failed to run command .*ib_\w+\W*: No such file",
        "perftest is not installed",
        on_host("sudo apt-get install perftest"),
        level="unknown",
    ),
    Signature(
        "versions-differ",
        r"Current implementation is not compatible with versions.*|Couldn't parse line|"
        r"Failed to exchange negotiation parameters.*|Failed to exchange (?:Page|Cache Line) Size.*",
        "the two ends do not understand each other's perftest",
        "ib_write_bw --version on both hosts; install the same package on both",
        level="unknown",
    ),
    Signature(
        "ends-differ",
        r"\w+ mismatch: local=.*|Failed to negotiate parameters",
        "the two ends were started with different options",
        "run the same command on both, the client with the server's address behind it",
        level="unknown",
    ),
    Signature(
        "gid-empty",
        r"Gid index (?:should be|argument).*",
        "there is no such GID index",
        "show_gids: take the index of the rail's own IPv4 address with RoCE v2",
    ),
    Signature(
        "bad-arguments",
        r"Duplicated argument:.*|Invalid Command or flag.*|Parser function exited with Error|"
        r"\S*ib_\w+: (?:unrecognized|invalid|unknown) option.*|Invalid MTU - \d+|\w[\w ]* should be between .*",
        "perftest refused its command line",
        "compare it with ib_write_bw --help of this version",
        level="unknown",
    ),
    Signature(
        "device-missing",
        r"IB device .* not found|No IB devices found|Did not detect devices|Unable to find the Infiniband/RoCE"
        r" device|Failed to get IB devices list.*",
        "the RDMA device is not there",
        on_host(
            "rdma link", "; without a cable a ConnectX-7 leaves the PCI bus, so plug the cable in on both ends"
        ),
    ),
    Signature(
        "link-down",
        r"Port number \d+ state is .*|Link layer on port \d+ is Unknown",
        "the port of the RDMA device is not active",
        on_host("rdma link; ip link show", "; then look at the cable's plugs on both ends"),
    ),
    Signature(
        "port-busy",
        r"Couldn't listen to port \d+|Address already in use|rdma_bind_addr failed|rdma_listen failed",
        "another process listens where perftest should",
        on_host("sudo ss -ltnp", " shows who has the port"),
        level="unknown",
    ),
    Signature(
        "address-unknown",
        r"\S.* for ai_family: .*|Problem in resolving basic address and port",
        "the peer's name or address is not one",
        "give the peer's IPv4 address on this rail",
        level="unknown",
    ),
    Signature(
        "no-listener",
        r"Couldn't connect to \S+|Unable to connect \(retries.*|rdma_resolve_(?:addr|route) failed|"
        r"Received \d+ times ADDR_ERROR",
        "no server answered",
        "start the server first, and see that it listens: ss -ltn on the peer",
        level="unknown",
    ),
    Signature(
        "memory-refused",
        r"(?i:Couldn't allocate MR.*|failed to create mr\b.*)|ibv_reg_mr.*(?:failed|Cannot allocate memory).*",
        "the kernel refused to register memory for RDMA",
        on_host(
            "dmesg | grep NV_ERR_NO_MEMORY", ": if it finds any, power both Sparks off and on; else see ulimit -l"
        ),
    ),
    Signature(
        "resources-refused",
        r"Requested QP size might be too big.*|Unable to create QP.*|Couldn't create (?:CQ|rdma \w+ QP|SRQ).*|"
        r"Couldn't allocate PD|Failed to modify QP to INIT.*",
        "the RDMA device refused a queue",
        "run it again with fewer queue pairs and a smaller TX depth; rdma resource show tells who has them",
    ),
    Signature(
        "gid-type",
        r"Found Incompatibility issue with GID types.*",
        "the GIDs of the two ends are not of one kind, so an index is wrong or empty",
        "show_gids on both: take the index of the rail's own IPv4 address with RoCE v2",
    ),
    Signature(
        "gid-empty",
        r"Failed to modify QP \S+ to RT[RS]|Unable to set up socket connection|Failed to create AH\b.*|"
        r"Unable to Connect the HCA's through the link",
        "the RDMA device found no way to the peer: an empty GID slot, or no neighbour",
        "show_gids on both, then ping the peer over this rail",
    ),
)

_MEMLOCK = re.compile(r"RLIMIT_MEMLOCK is \d+ bytes")
_RAISE_MEMLOCK = "raise memlock to unlimited, in /etc/security/limits.d or in the unit"

# IBV_WC_* of libibverbs, in words. perftest up to 25.01 prints the number alone.
_STATUS = re.compile(
    r"Failed status[ -](?:.* \()?(?P<status>\d+)\)?:(?:.*syndrome? (?P<syndrome>0x[0-9a-fA-F]+))?|"
    r"Bad wc status (?:-- )?(?P<other>\d+)"
)
_COMPLETIONS = {
    1: ("local-length", "a message did not fit its buffer", "run the same perftest with the same options on both"),
    4: (
        "local-protection",
        "the RDMA device may not touch our memory",
        on_host("dmesg | grep -E 'mlx5|IOMMU|SMMU'"),
    ),
    5: (
        "flushed",
        "the queue pair broke off in mid-test, as it does when the link or its address goes",
        on_host("ip -4 addr; cat /sys/class/net/*/carrier_down_count", "; then measure again"),
    ),
    9: ("remote-access", "the peer refused the request", "run the same perftest with the same options on both"),
    10: ("remote-access", "the peer refused the access", "run the same perftest with the same options on both"),
    11: (
        "remote-operation",
        "the peer's RDMA device failed",
        on_host("dmesg | grep mlx5", " on the peer; compare both MTUs"),
    ),
    12: (
        "retry-exceeded",
        "the peer's RDMA device did not acknowledge",
        "ping the peer over this rail, compare both GID indexes, then measure again",
    ),
    13: ("rnr-exceeded", "the peer had no receive buffer ready", "measure again while the peer is idle"),
}

# What the firmware of a ConnectX says where nobody quotes the status: 0x81, the acknowledgement that did not come.
_SYNDROME = re.compile(r"syndrome? (0x[0-9a-fA-F]+)")
_BY_SYNDROME = {"0x81": 12}

# What follows from something else, often from what happened on the other end.
_CONSEQUENCES = (
    Signature(
        "peer-died",
        r"(?:[a-z_]+: )?Couldn't (?:read|send) (?:remote address|local address|reports)|"
        r"Unable to (?:read|write) (?:from|to) socket/rdma_cm|Failed to exchange data between server and clients?|"
        r"Failed to sync between server and client.*|Failed to close connection between server and client|"
        r"client write: .*|Did not get Message for \d+ Seconds.*|Unexpected CM event.*",
        "the other end broke off",
        "read what perftest said on the other host, and measure again",
    ),
    Signature(
        "perftest-failed",
        r"(?<!Warning: )\b(?:Couldn't|Can't|Unable to|Failed to|Test exited with|Error:) ?\S.*",
        "perftest failed",
        "run it by hand on both hosts",
        level="unknown",
    ),
)


# What keeps perftest from sending a message at all, so that a figure beside such words has another origin.
_BEFORE_ANY_MESSAGE = frozenset(
    {
        *("perftest-missing", "bad-arguments", "device-missing", "link-down", "port-busy", "address-unknown"),
        *("no-listener", "memory-refused", "resources-refused", "gid-empty", "perftest-failed"),
    }
)


def failure(text: str, *, measured: bool = False) -> Verdict | None:
    """Why perftest failed, from the words of one end; None where it complains of nothing.

    measured: the text has a figure and may have other people's words too, so that only what can follow a figure
    counts. Warnings, as that of a CPU frequency that is not at its maximum, are no failure. A row may stand in the
    text all the same: a test that failed after it has measured nothing reliable. Level "unknown" means that the
    link itself is neither proved nor disproved.
    """
    causes, consequences = (
        [each for each in signatures if not (measured and each.cause in _BEFORE_ANY_MESSAGE)]
        for signatures in (_CAUSES, _CONSEQUENCES)
    )
    return _told(causes, text) or _completion(text) or _told(consequences, text)


def _told(signatures: Iterable[Signature], text: str) -> Verdict | None:
    found = first(signatures, text)
    if found is None:
        return None
    signature, words = found
    limit = _MEMLOCK.search(text) if signature.cause == "memory-refused" else None
    said, cure = (limit.group(), _RAISE_MEMLOCK) if limit else (_short(words), signature.cure)
    return Verdict(signature.level, signature.cause, f"{signature.meaning}: {said}", cure)


def _completion(text: str) -> Verdict | None:
    """What a message that did not arrive means; None where all did."""
    found = _STATUS.search(text)
    if not found and "ompletion with error" not in text:
        return None
    status = int(found["status"] or found["other"]) if found else _status_of_syndrome(text)
    otherwise = ("completion-error", "a message could not be completed", "measure again, and look at dmesg")
    cause, meaning, cure = _COMPLETIONS.get(status, otherwise)
    syndrome = f", syndrome {found['syndrome']}" if found and int(found["syndrome"] or "0", 16) else ""
    figures = f" (completion status {status}{syndrome})" if found else ""
    return Verdict("fault", cause, f"{meaning}{figures}", cure)


def _status_of_syndrome(text: str) -> int:
    found = _SYNDROME.search(text)
    return _BY_SYNDROME.get(found[1].lower(), 0) if found else 0


def _short(words: str) -> str:
    words = words.strip(" .")
    return words if len(words) <= 100 else f"{words[:99]}…"
