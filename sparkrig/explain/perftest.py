"""ib_write_bw and its like: a table, a JSON report, or an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from sparkrig.bandwidth import bands, perftest, perftest_errors
from sparkrig.bandwidth.bands import Expected, Figure
from sparkrig.bandwidth.perftest import Bandwidth
from sparkrig.cure import on_host, quoted
from sparkrig.explain.cages import MTU, Netdev
from sparkrig.explain.explanation import (
    CAGE,
    LEAST_MESSAGE,
    PATH_MTU,
    Around,
    Explained,
    Piece,
    size_of,
)
from sparkrig.verdict import Finding, Verdict

_PERFTEST = "perftest"
MOST_FOR_LATENCY = 256  # bytes; the latency of larger messages is their transfer
AS_WHOLE = "run it again as: ib_write_bw -d DEVICE -x GID_INDEX -F --report_gbits ADDRESS, and paste all of it"


def explained(piece: Piece, around: Around) -> Explained:
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
    """The text without what was put before each line of the table, and without thousands separators."""
    header = re.search(r"^([ \t]*[#|+*;]+[ \t]*)#bytes", text, re.M)
    if header:
        text = re.sub(rf"^[ \t]*{re.escape(header.group(1).strip())}", "", text, flags=re.M)
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)


def _test_name(piece: Piece, text: str) -> str:
    title = re.search(r"\b(?:RDMA_)?(Write|Read|Send|Atomic)\w{0,20}[ _][\w ]{0,60}?(BW|Latency)[_ ]", text)
    if title:
        return f"ib_{title[1].lower()}_{'bw' if title[2] == 'BW' else 'lat'}"
    typed = re.search(r"\bib_\w+_(?:bw|lat)\b", piece.command) or re.search(r"\bib_\w+_(?:bw|lat)\b", text)
    return typed.group() if typed else _PERFTEST


def _device(piece: Piece, text: str) -> str:
    found = re.search(r"\bDevice\"?[ \t]*:[ \t]*\"?([\w.-]+)", text) or re.search(
        r"(?:^|\s)(?:-d|--ib-dev)[ =]?([\w.-]+)", piece.command
    )
    return found.group(1) if found else "the rail"


def _without_figure(text: str, why: str) -> Verdict:
    failed = perftest_errors.failure(text)
    if failed:
        return failed
    if "Waiting for client" in text and "local address" not in text and "#bytes" not in text:
        return Verdict(
            "unknown",
            "no-client",
            "the server waits, and no client came",
            "run the same with its address behind it",
        )
    if "no result row" in why:
        cure = "take the index for -x from show_gids: that of the rail's own IPv4 address with RoCE v2"
        return Verdict("unknown", "no-result", why, cure)
    return Verdict("unknown", "no-result", why, AS_WHOLE)


def _read_bandwidth(piece: Piece, text: str) -> Bandwidth:
    """The figure. Raises ValueError, in words, where there is none, or its unit is unknown."""
    if "#bytes" not in text:
        rows = re.findall(
            r"^[^\w\n]*(\d+)[ \t]+(\d+)[ \t]+\d+\.\d+[ \t]+(\d+\.\d+)[ \t]+(\d+\.\d+)[ \t]*$", text, re.M
        )
        lone = re.search(r"^[ \t]*(\d+\.\d+)[ \t]*$", text, re.M)  # --output=bandwidth
        if rows:
            return _from_row(*max(rows, key=lambda row: int(row[0])))
        if lone and "--output" in piece.command:
            unit = "Gb/sec" if "--report_gbit" in piece.command else "MiB/sec"
            return perftest.parse_bandwidth(f"#bytes #iterations BW average[{unit}]\n65536 1 {lone.group(1)}\n")
    return perftest.parse_bandwidth(text)


def _from_row(size: str, iterations: str, average: str, rate: str) -> Bandwidth:
    """A row whose header is lost: the message rate shows the unit, as it does in a JSON report."""
    figures = {"MsgSize": int(size), "n_iterations": int(iterations), "BW_average": float(average)}
    try:
        return perftest.parse_bandwidth("", json.dumps({"results": {**figures, "MsgRate": float(rate)}}))
    except ValueError:
        raise ValueError(
            f"the unit of {average} stands in the table's header, which is missing, and the message rate fits none"
        ) from None


def _bandwidth(tool: str, subject: str, read: Bandwidth, text: str, around: Around) -> Explained:
    failed = perftest_errors.failure(text, measured=True)
    one_way = read.gbps / 2 if read.bidirectional else read.gbps
    verdict = failed or judged(replace(read, gbps=one_way), subject, around)
    return Explained(
        tool, _shown(read), (Finding(subject, verdict),), tuple(_notes(tool, read, verdict, broken=bool(failed)))
    )


def judged(read: Bandwidth, device: str, around: Around) -> Verdict:
    """The verdict of `sparkrig bandwidth` on one direction, or why there can be none."""
    said = f"{read.gbps:.2f} Gb/s"
    if other := _other_hardware(read, device, around):
        why = f"{said} on {other}, which is no port of a Spark, so it cannot be judged by what a Spark reaches"
        cure = "ibdev2netdev names a Spark's devices (rocep1s0f0, ...); paste its output, too"
        return Verdict("unknown", "other-hardware", why, cure)
    figure = Figure(read.gbps, read.path_mtu, read.queue_pairs or 1, together=bool(read.bidirectional))
    verdict = bands.judge(figure, Expected(path_mtu=PATH_MTU), around.suspects)
    if verdict.healthy:
        return replace(verdict, evidence=f"{said}, {bands.BANDS[0].meaning}")
    if verdict.cause == "path-mtu":
        netdev = Netdev(device).netdev if CAGE.fullmatch(device) else "NETDEV"
        cure = on_host(
            f"sudo ip link set {quoted(netdev)} mtu {MTU}", ", on both ends, and in netplan or the profile"
        )
        return replace(verdict, cure=cure)
    if read.message_size >= LEAST_MESSAGE:
        return verdict
    why = f"{said} with messages of {size_of(read.message_size)}, and only 64 KiB and more fill a link"
    return Verdict("unknown", "small-messages", why, "ib_write_bw -s 65536 --report_gbits")


def _other_hardware(read: Bandwidth, device: str, around: Around) -> str:
    """What was measured where it is no port of a Spark, else empty.

    The device shows it. Where it has no name the link type does, which --force-link can set to IB on any port.
    """
    infiniband = "an InfiniBand link" if read.link_type == "IB" else ""
    if device == "the rail" or CAGE.fullmatch(device) or device in around.devices:
        return infiniband if device == "the rail" else ""
    return infiniband or device


def _shown(read: Bandwidth) -> str:
    figure = f"{read.gbps:.2f} Gb/s"
    if read.unit != "Gb/sec":
        figure = f"{read.printed:.2f} {read.unit} = {figure}"
    parts = [figure + (" in both directions together" if read.bidirectional else "")]
    parts.append(f"messages of {size_of(read.message_size)}")
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
    if read.link_type == "IB" and verdict.cause != "other-hardware":
        yield "the link type IB is what --force-link set; the port of a Spark is Ethernet, and is judged as that"
    if read.unit != "Gb/sec":
        yield _unit_note(read)
    if read.bidirectional:
        again = "" if verdict.healthy else ", and a measurement without -b is the better proof"
        yield f"with -b the figure is the sum of both directions; judged is half of it{again}"
    if read.path_mtu and read.path_mtu < PATH_MTU and verdict.cause != "path-mtu":
        yield f"the path MTU is {read.path_mtu}, {PATH_MTU} expected: the MTU of one end is too small for it"
    if tool.startswith(("ib_read", "ib_send")) and not verdict.healthy and not broken:
        yield "what a healthy rail reaches is known of ib_write_bw; measure with that to be sure"


def _unit_note(read: Bandwidth) -> str:
    said = "printed in MiB/s, because --report_gbits was not given"
    if read.unit == "MB/sec":
        said += " (perftest's MB is 2^20 bytes)"
    if read.gbps >= bands.BANDS[0].low:
        said += f"; {read.printed / 1000:.2f} Gb/s would be a fault, and this is {read.gbps:.2f} Gb/s"
    return said


def _latency(tool: str, subject: str, text: str) -> Explained:
    read = perftest.parse_latency(text)
    typical = read.average_us if read.typical_us is None else read.typical_us
    failed = perftest_errors.failure(text, measured=True)
    verdict = failed or bands.judge_latency(typical, Expected())
    if not failed and not verdict.healthy and read.message_size > MOST_FOR_LATENCY:
        why = f"{typical:.2f} us with messages of {size_of(read.message_size)}: their transfer is part of it"
        verdict = Verdict("unknown", "large-messages", why, "ib_write_lat -s 2")
    kind = "on average" if read.typical_us is None else "typical"
    shown = f"{typical:.2f} us {kind}, messages of {size_of(read.message_size)}"
    return Explained(tool, shown, (Finding(subject, verdict),))
