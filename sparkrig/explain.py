"""What the output of a tool means, which a person pasted: what was read, the verdict, and the cure.

The verdicts are those of the modules that judge a Spark itself. What they do not fit (other hardware, short
messages, a figure without a unit) is said to be unknown, for a wrong verdict is worse than none. Serial numbers and
UUIDs are dropped before anything is read (paste.plain).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sparkrig import bandwidth, gid, gid_table, gpu, nccl, nccl_tests, nic, paste, perftest
from sparkrig.bandwidth import Expected, Figure
from sparkrig.identity import GB10_NAME
from sparkrig.measurement import Finding
from sparkrig.nccl_tests import Bus
from sparkrig.paste import Piece
from sparkrig.perftest import Bandwidth
from sparkrig.verdict import Verdict, worst

READABLE = (
    "ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and their like: table, JSON report, or error",
    "show_gids; ibdev2netdev, also with -v",
    "ethtool NETDEV, ethtool -i, ethtool -m",
    "lspci -vv",
    "nvidia-smi, also with -q, -L, or --query-gpu=... --format=csv",
    "the log of NCCL (NCCL_DEBUG=INFO), and nccl-tests",
)

# The bands are of messages of 64 KiB. Half of that still fills a link; a message of a few bytes does not.
LEAST_MESSAGE = 32768
MOST_FOR_LATENCY = 256  # bytes; the latency of larger messages is their transfer
# Bytes; NCCL reached 18.5 GB/s at 32 MB where it reached 23.2 at 16 GB (peers.md section 3.2).
LEAST_GATHERED = 2**28
PATH_MTU = 4096
CAGE_MBPS = 200_000
CAGE_GBPS = 200.0

# The netdevs and RDMA devices of a Spark's cages (spark-domain.md section 1): the half, and the cage.
_CAGE = re.compile(r"(?:en|roce)(p1|P2p1)s0f([01])(?:np[01])?")
_CONNECTX = re.compile(r"0000:01:00\.[01]|0002:01:00\.[01]")


@dataclass(frozen=True)
class Explained:
    """What one tool printed, explained.

    read: what was read, with units, in one line; notes: what is worth knowing and no verdict, as sentences without
    a full stop.
    """

    tool: str
    read: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Around:
    """What the rest of the paste tells. suspects: verdicts on PCIe links; written: NCCL_IB_GID_INDEX."""

    suspects: tuple[Verdict, ...] = ()
    written: int | None = None


def explain(text: str) -> list[Explained]:
    """Each tool's output in a pasted text, in its order; empty where nothing in it can be read."""
    bare = paste.plain(text)
    told = paste.pieces(bare)
    if not told:
        return _lone_figure(bare)
    links = [_explained(piece, _Around()) for piece in told if piece.tool == paste.LSPCI]
    around = _Around(
        suspects=tuple(finding.verdict for each in links for finding in each.findings), written=_written(bare)
    )
    return [_explained(piece, around) for piece in told]


def exit_code(explained: Iterable[Explained]) -> int:
    """0 all healthy or merely informative, 2 something is degraded or at fault, 3 nothing worse than unknown."""
    verdicts = [finding.verdict for each in explained for finding in each.findings]
    return {"healthy": 0, "unknown": 3}.get(worst(verdicts).level, 2) if verdicts else 0


def _explained(piece: Piece, around: _Around) -> Explained:
    try:
        return _READERS[piece.tool](piece, around)
    except ValueError as error:
        cure = "paste it whole, from the command to the next prompt"
        return Explained(piece.tool, "", (Finding(piece.tool, Verdict("unknown", "unreadable", str(error), cure)),))


def _written(text: str) -> int | None:
    try:
        return gid_table.written_index(text)
    except ValueError:
        return None


# --- perftest

_AS_WHOLE = "run it again as: ib_write_bw -d DEVICE -x GID_INDEX -F --report_gbits ADDRESS, and paste all of it"


def _perftest(piece: Piece, around: _Around) -> Explained:
    text = _table(piece.text)
    tool = _test_name(piece, text)
    subject = _device(piece, text)
    try:
        if re.search(r"\bt_(?:avg|typical)\b", text):
            return _latency(tool, subject, text)
        return _bandwidth(tool, subject, _read_bandwidth(piece, text), text, around)
    except ValueError as error:
        return Explained(tool, "", (Finding(subject, _without_figure(text, str(error))),))


def _table(text: str) -> str:
    """The text without what somebody put before each line of the table, and without thousands separators."""
    header = re.search(r"^([ \t]*[#|+*;]+[ \t]*)#bytes", text, re.M)
    if header:
        text = re.sub(rf"^[ \t]*{re.escape(header.group(1).strip())}", "", text, flags=re.M)
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)


def _test_name(piece: Piece, text: str) -> str:
    title = re.search(r"\b(?:RDMA_)?(Write|Read|Send|Atomic)\w*[ _][\w ]*?(BW|Latency)[_ ]", text)
    if title:
        return f"ib_{title[1].lower()}_{'bw' if title[2] == 'BW' else 'lat'}"
    typed = re.search(r"\bib_\w+_(?:bw|lat)\b", piece.command) or re.search(r"\bib_\w+_(?:bw|lat)\b", text)
    return typed.group() if typed else paste.PERFTEST


def _device(piece: Piece, text: str) -> str:
    found = re.search(r"\bDevice\"?[ \t]*:[ \t]*\"?([\w.-]+)", text) or re.search(
        r"(?:^|\s)(?:-d|--ib-dev)[ =]?([\w.-]+)", piece.command
    )
    return found.group(1) if found else "the rail"


def _without_figure(text: str, why: str) -> Verdict:
    failed = perftest.failure(text)
    if failed:
        return failed
    if "Waiting for client" in text and "#bytes" not in text:
        return Verdict(
            "unknown", "no-client", "the server waits, and no client came", "run the same with its address behind it"
        )
    if "no result row" in why:
        cure = "take the index for -x from show_gids: that of the rail's own IPv4 address with RoCE v2"
        return Verdict("unknown", "no-result", why, cure)
    return Verdict("unknown", "no-result", why, _AS_WHOLE)


def _read_bandwidth(piece: Piece, text: str) -> Bandwidth:
    """The figure. Raises ValueError, in words, where there is none, or its unit cannot be told."""
    if "#bytes" not in text:
        rows = re.findall(r"^\W*(\d+)[ \t]+(\d+)[ \t]+\d+\.\d+[ \t]+(\d+\.\d+)[ \t]+(\d+\.\d+)[ \t]*$", text, re.M)
        lone = re.search(r"^[ \t]*(\d+\.\d+)[ \t]*$", text, re.M)  # --output=bandwidth
        if rows:
            return _from_row(*max(rows, key=lambda row: int(row[0])))
        if lone and "--output" in piece.command:
            unit = "Gb/sec" if "--report_gbit" in piece.command else "MiB/sec"
            return perftest.parse_bandwidth(f"#bytes #iterations BW average[{unit}]\n65536 1 {lone.group(1)}\n")
    return perftest.parse_bandwidth(text)


def _from_row(size: str, iterations: str, average: str, rate: str) -> Bandwidth:
    """A row whose header is lost: the message rate tells the unit, as it does in a JSON report."""
    figures = {"MsgSize": int(size), "n_iterations": int(iterations), "BW_average": float(average)}
    try:
        return perftest.parse_bandwidth("", json.dumps({"results": {**figures, "MsgRate": float(rate)}}))
    except ValueError:
        raise ValueError(
            f"the unit of {average} stands in the table's header, which is not here, and the message rate fits none"
        ) from None


def _bandwidth(tool: str, subject: str, read: Bandwidth, text: str, around: _Around) -> Explained:
    failed = perftest.failure(text, measured=True)
    one_way = read.gbps / 2 if read.bidirectional else read.gbps
    verdict = failed or _judged(replace(read, gbps=one_way), subject, around)
    return Explained(
        tool, _shown(read), (Finding(subject, verdict),), tuple(_notes(tool, read, verdict, broken=bool(failed)))
    )


def _judged(read: Bandwidth, device: str, around: _Around) -> Verdict:
    """The verdict of `sparkrig bandwidth` on one direction, or why there can be none."""
    said = f"{read.gbps:.2f} Gb/s"
    if read.link_type == "IB" or (device != "the rail" and not _CAGE.fullmatch(device)):
        where = "an InfiniBand link" if read.link_type == "IB" else device
        why = f"{said} on {where}, which is no port of a Spark, so it cannot be judged by what a Spark reaches"
        return Verdict("unknown", "other-hardware", why, "ibdev2netdev names a Spark's devices: rocep1s0f0, ...")
    figure = Figure(read.gbps, read.path_mtu, read.queue_pairs or 1, together=bool(read.bidirectional))
    verdict = bandwidth.judge(figure, Expected(path_mtu=PATH_MTU), around.suspects)
    if verdict.healthy or verdict.cause == "path-mtu" or read.message_size >= LEAST_MESSAGE:
        return verdict
    why = f"{said} with messages of {_bytes(read.message_size)}, and only 64 KiB and more fill a link"
    return Verdict("unknown", "small-messages", why, "ib_write_bw -s 65536 --report_gbits")


def _shown(read: Bandwidth) -> str:
    figure = f"{read.gbps:.2f} Gb/s"
    if read.unit != "Gb/sec":
        figure = f"{read.printed:.2f} {read.unit} = {figure}"
    parts = [figure + (" in both directions together" if read.bidirectional else "")]
    parts.append(f"messages of {_bytes(read.message_size)}")
    if read.queue_pairs:
        parts.append(f"{read.queue_pairs} queue pair{'s' if read.queue_pairs > 1 else ''}")
    if read.path_mtu:
        parts.append(f"path MTU {read.path_mtu}")
    if read.gid_index is not None:
        parts.append(f"GID index {read.gid_index}")
    return ", ".join(parts)


def _notes(tool: str, read: Bandwidth, verdict: Verdict, *, broken: bool) -> Iterable[str]:
    if broken:
        yield "the test broke off, so its figure proves nothing"
    if read.unit != "Gb/sec":
        yield _unit_note(read)
    if read.bidirectional:
        yield f"with -b the figure is the sum of both directions, so half of it is judged: {read.gbps / 2:.2f} Gb/s"
    if read.path_mtu and read.path_mtu < PATH_MTU and verdict.cause != "path-mtu":
        yield f"the path MTU is {read.path_mtu}, {PATH_MTU} expected: the MTU of one end is too small for it"
    if tool.startswith(("ib_read", "ib_send")) and not verdict.healthy and not broken:
        yield "what a healthy rail reaches is known of ib_write_bw; measure with that to be sure"


def _unit_note(read: Bandwidth) -> str:
    said = "printed in MiB/s, because --report_gbits was not given"
    if read.unit == "MB/sec":
        said += " (perftest's MB is 2^20 bytes)"
    if read.gbps >= bandwidth.BANDS[0].low:
        said += f"; {read.printed / 1000:.2f} Gb/s would be a fault, and this is {read.gbps:.2f} Gb/s"
    return said


def _latency(tool: str, subject: str, text: str) -> Explained:
    read = perftest.parse_latency(text)
    typical = read.average_us if read.typical_us is None else read.typical_us
    failed = perftest.failure(text, measured=True)
    verdict = failed or bandwidth.judge_latency(typical, Expected())
    if not failed and not verdict.healthy and read.message_size > MOST_FOR_LATENCY:
        why = f"{typical:.2f} us with messages of {_bytes(read.message_size)}: their transfer is part of it"
        verdict = Verdict("unknown", "large-messages", why, "ib_write_lat -s 2")
    kind = "on average" if read.typical_us is None else "typical"
    shown = f"{typical:.2f} us {kind}, messages of {_bytes(read.message_size)}"
    return Explained(tool, shown, (Finding(subject, verdict),))


# --- a figure by itself

_LONE = re.compile(r"(?:[A-Za-z][A-Za-z_ ]{0,30}[:=]?)?[~\s]*(?P<digits>\d[\d.,]*)\s*(?P<unit>[A-Za-z]+(?:/s(?:ec)?)?)?\.?")
_GBITS = re.compile(r"gb/s(?:ec)?|gbps|gbits?/s(?:ec)?")  # of a casefolded unit that began with a small b
_MIBS = re.compile(r"MB/sec|MiB/s(?:ec)?")


def _lone_figure(text: str) -> list[Explained]:
    """`13.35`, with or without a unit, and nothing else."""
    found = _LONE.fullmatch(text.strip())
    number = _number(found["digits"]) if found else None
    if found is None or number is None:
        return []
    unit = found["unit"] or ""
    if unit and "B" not in unit and _GBITS.fullmatch(unit.casefold()):
        read = Bandwidth(number, "Gb/sec", bandwidth_size, 1)
    elif _MIBS.fullmatch(unit):
        read = Bandwidth(number * 2**20 * 8 / 1e9, "MiB/sec", bandwidth_size, 1)
    elif unit and unit not in ("MB/s", "GB/s", "GB/sec", "MBps", "GBps"):
        return []
    else:
        return [Explained("a figure", f"{number:g} {unit}".strip(), (Finding("the figure", _ambiguous(number, unit)),))]
    return []
