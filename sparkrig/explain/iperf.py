"""iperf3, as text or JSON: what TCP carries, which is no figure of RDMA. Source: iperf3 (src/iperf_locale.c)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sparkrig.bandwidth import bands
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.parsing import bounds
from sparkrig.verdict import Finding, Verdict

_ROW = re.compile(
    r"^\[(?P<id>SUM|[ \d]{1,4})\](?:\[\w{2}-\w\])?[ \t]+\d{1,6}\.\d{1,4}-\d{1,6}\.\d{1,4}[ \t]+sec[ \t]+"
    r"[\d.]{1,12} \w{1,6}[ \t]+(?P<figure>\d{1,9}(?:\.\d{1,3})?) (?P<unit>[KMGT]?)bits/sec(?P<rest>[^\n]*)$",
    re.M,
)
_GBPS = {"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}
_MEASURE = "ib_write_bw -d DEVICE -x GID_INDEX -F --report_gbits ADDRESS measures the rail itself"
# Gb/s of TCP over the RJ45 port of 10 Gb/s, and over one of 1 Gb/s
_RJ45, _GIGABIT = (8.5, 10.0), (0.85, 1.0)
_SLOW_START = (11.5, 14.0)  # 12.74 to 13.95, the same over TCP (bandwidth/bands.py)


@dataclass(frozen=True)
class Tcp:
    """A figure of iperf3. gbps: what the receiver counted; streams: at once; retransmits: None if untold."""

    gbps: float
    streams: int = 1
    retransmits: int | None = None


def explained(piece: Piece, _: Around) -> Explained:
    if error := re.search(r"iperf3: error - ([^\n]{1,120})", piece.text):
        cure = "start iperf3 -s on the peer, and take the peer's address of this rail"
        return Explained(
            piece.tool, "no figure", (Finding("iperf3", Verdict("unknown", "no-answer", error[1], cure)),)
        )
    tcp = _json(piece.text) if re.match(r"\s*\{", piece.text) else _text(piece.text)
    streams = "1 stream" if tcp.streams == 1 else f"{tcp.streams} streams"
    read = f"{tcp.gbps:.2f} Gb/s over TCP, {streams}"
    return Explained(piece.tool, read, (Finding("TCP", _verdict(tcp)),), tuple(_notes(tcp)))


def _text(text: str) -> Tcp:
    rows = [row for row in _ROW.finditer(text) if "omitted" not in row["rest"]]
    if not rows:
        raise ValueError("iperf3 printed no row with a bandwidth")
    streams = len({row["id"].strip() for row in rows if row["id"] != "SUM"}) or 2
    ends = [row for row in rows if re.search(r"sender|receiver", row["rest"])] or rows
    sums = [row for row in ends if row["id"] == "SUM"] or ends
    last = next((row for row in reversed(sums) if "receiver" in row["rest"]), sums[-1])
    sent = next((found for row in sums if (found := re.match(r"[ \t]+(\d{1,9})[ \t]+sender", row["rest"]))), None)
    return Tcp(float(last["figure"]) * _GBPS[last["unit"]], streams, int(sent[1]) if sent else None)


def _json(text: str) -> Tcp:
    """Raises ValueError where the report has no figure."""
    try:
        report = bounds.first(text, text.index("{"))[0]
        end = report["end"]
        received = end.get("sum_received") or end["sum"]
        sent = end.get("sum_sent", {}).get("retransmits")
        streams = len(end.get("streams", [])) or 1
        return Tcp(float(received["bits_per_second"]) / 1e9, streams, None if sent is None else int(sent))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"iperf3's report has no figure ({type(error).__name__})") from None


def _verdict(tcp: Tcp) -> Verdict:
    said = f"{tcp.gbps:.2f} Gb/s over TCP"
    if tcp.gbps >= bands.BANDS[0].low:
        return Verdict("healthy", evidence=f"{said}, as much as a healthy rail carries")
    means = next((meaning for (low, high), meaning in _KNOWN if low <= tcp.gbps <= high), "")
    if means:
        return Verdict("unknown", "tcp-figure", f"{said}: {means}", _MEASURE)
    if tcp.streams == 1:
        why = f"{said} by a single stream, which one core limits: it is no figure of RDMA, and proves no fault"
        return Verdict("unknown", "tcp-figure", why, _MEASURE)
    return Verdict("unknown", "tcp-figure", f"{said}, which processors limit before a rail does", _MEASURE)


_KNOWN = (
    (_RJ45, "about what the RJ45 port carries, so perhaps not the cage: ip route get PEER tells the netdev"),
    (_GIGABIT, "a link of 1 Gb/s, so not the cage: ip route get PEER tells the netdev"),
    (_SLOW_START, "about what a ConnectX-7 carries after a bad start (slow-start), over TCP as by RDMA"),
)


def _notes(tcp: Tcp) -> Iterator[str]:
    if tcp.retransmits and tcp.retransmits > 1000:
        yield f"{tcp.retransmits} segments were sent again: look at the MTU of both ends and at the cable"
