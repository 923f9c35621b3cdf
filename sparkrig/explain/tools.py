"""What the output of a tool means, which a person pasted: what was read, the verdict, and the cure.

The verdicts are those of the modules that judge a Spark itself. What they do not fit (other hardware, short
messages, a figure without a unit) is said to be unknown, for a wrong verdict is worse than none. Serial numbers
and UUIDs are dropped before anything is read (paste.plain).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Interface
from itertools import takewhile

from sparkrig.bandwidth import bands, nccl, nccl_tests, perftest
from sparkrig.bandwidth.bands import Expected, Figure
from sparkrig.bandwidth.nccl_tests import Bus
from sparkrig.bandwidth.perftest import Bandwidth
from sparkrig.cure import quoted
from sparkrig.explain import package_list
from sparkrig.fabric.cabling import CAGE_SPEED_MBPS
from sparkrig.host import gpu, nic
from sparkrig.host.identity import GB10_NAME
from sparkrig.network.links import in_one_subnet
from sparkrig.parsing import section
from sparkrig.parsing.section import Piece
from sparkrig.rdma import gid, gid_table
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict, worst

READABLE = (
    "ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and their like: table, JSON report, or error",
    "show_gids; ibdev2netdev, also with -v",
    "ethtool NETDEV, ethtool -i, ethtool -m",
    "lspci -vv",
    "nvidia-smi, also with -q, -L, or --query-gpu=... --format=csv",
    "the log of NCCL (NCCL_DEBUG=INFO), and nccl-tests",
    "dpkg -l, dpkg-query -W, apt list --installed, or NAME,VERSION lines",
)

# The bands are of messages of 64 KiB. Half of that still fills a link; a message of a few bytes does not.
LEAST_MESSAGE = 32768
MOST_FOR_LATENCY = 256  # bytes; the latency of larger messages is their transfer
# Bytes; NCCL reached 18.5 GB/s at 32 MB where it reached 23.2 at 16 GB [@graham33].
LEAST_GATHERED = 2**28
PATH_MTU = 4096
CAGE_GBPS = CAGE_SPEED_MBPS / 1000

# The netdevs and RDMA devices of a Spark's cages [@nvidia-two-sparks]: the half, and the cage.
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
    """What the rest of the paste tells.

    suspects: verdicts on PCIe links; written: NCCL_IB_GID_INDEX; devices: RDMA devices that it shows on a cage's
    netdev, whatever they are called (mlx5_0); prefixes: the prefix length of each IPv4 address that has one.
    """

    suspects: tuple[Verdict, ...] = ()
    written: int | None = None
    devices: frozenset[str] = frozenset()
    prefixes: Mapping[str, str] = field(default_factory=dict)


def explain(text: str) -> list[Explained]:
    """Each tool's output in a pasted text, in its order; empty where nothing in it can be read."""
    bare = section.plain(text)
    told = section.pieces(bare)
    if not told:
        return _lone_figure(bare)
    links = [_explained(piece, _Around()) for piece in told if piece.tool == section.LSPCI]
    around = _Around(
        suspects=tuple(finding.verdict for each in links for finding in each.findings),
        written=_written(bare),
        devices=_on_cages(bare),
        prefixes=dict(re.findall(r"\b(\d{1,3}(?:\.\d{1,3}){3})/(\d|[12]\d|3[0-2])(?!\d)", bare)),
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
        return Explained(piece.tool, "", (Finding("the output", _unread(piece, str(error))),))


_INSTALL = {
    section.SHOW_GIDS: "sparkrig topology INVENTORY shows the GIDs without it",
    section.IBDEV2NETDEV: "sparkrig topology INVENTORY shows the devices without it",
    section.LSPCI: "sudo apt-get install pciutils",
}


def _unread(piece: Piece, why: str) -> Verdict:
    """Why a tool's output has no meaning: it is cut or mixed up, or the tool had no answer."""
    if piece.signs and "sudo" not in why:
        return Verdict("unknown", "unreadable", why, "paste it whole, from the command to the next prompt")
    if re.search(r"\bnot found\b", piece.text):
        cure = _INSTALL.get(piece.tool, "sudo apt-get install ethtool")
        return Verdict("unknown", "not-installed", f"{piece.tool.split()[0]} is not installed there", cure)
    return Verdict("unknown", "no-answer", why, "run it again with sudo")


def _written(text: str) -> int | None:
    try:
        return gid_table.written_index(text)
    except ValueError:
        return None


def _on_cages(text: str) -> frozenset[str]:
    """The devices called mlx5_N beside a cage's netdev, in a line of ibdev2netdev, show_gids or rdma."""
    lines = (re.findall(r"[\w.-]+", line) for line in text.splitlines() if "mlx5_" in line)
    return frozenset(
        word
        for words in lines
        if any(_CAGE.fullmatch(each) for each in words)
        for word in words
        if re.fullmatch(r"mlx5_\d+", word)
    )


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
    return typed.group() if typed else section.PERFTEST


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
            "unknown",
            "no-client",
            "the server waits, and no client came",
            "run the same with its address behind it",
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
            f"the unit of {average} stands in the table's header, which is missing, and the message rate fits none"
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
    if other := _other_hardware(read, device, around):
        why = f"{said} on {other}, which is no port of a Spark, so it cannot be judged by what a Spark reaches"
        cure = "ibdev2netdev names a Spark's devices (rocep1s0f0, ...); paste its output, too"
        return Verdict("unknown", "other-hardware", why, cure)
    figure = Figure(read.gbps, read.path_mtu, read.queue_pairs or 1, together=bool(read.bidirectional))
    verdict = bands.judge(figure, Expected(path_mtu=PATH_MTU), around.suspects)
    if verdict.healthy:
        return replace(verdict, evidence=f"{said}, {bands.BANDS[0].meaning}")
    if verdict.cause == "path-mtu" or read.message_size >= LEAST_MESSAGE:
        return verdict
    why = f"{said} with messages of {_bytes(read.message_size)}, and only 64 KiB and more fill a link"
    return Verdict("unknown", "small-messages", why, "ib_write_bw -s 65536 --report_gbits")


def _other_hardware(read: Bandwidth, device: str, around: _Around) -> str:
    """What was measured where it is no port of a Spark, else empty.

    The device tells. Where it has no name the link type does, which --force-link can set to IB on any port.
    """
    infiniband = "an InfiniBand link" if read.link_type == "IB" else ""
    if device == "the rail" or _CAGE.fullmatch(device) or device in around.devices:
        return infiniband if device == "the rail" else ""
    return infiniband or device


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
    failed = perftest.failure(text, measured=True)
    verdict = failed or bands.judge_latency(typical, Expected())
    if not failed and not verdict.healthy and read.message_size > MOST_FOR_LATENCY:
        why = f"{typical:.2f} us with messages of {_bytes(read.message_size)}: their transfer is part of it"
        verdict = Verdict("unknown", "large-messages", why, "ib_write_lat -s 2")
    kind = "on average" if read.typical_us is None else "typical"
    shown = f"{typical:.2f} us {kind}, messages of {_bytes(read.message_size)}"
    return Explained(tool, shown, (Finding(subject, verdict),))


# --- a figure by itself

_LONE = re.compile(
    r"(?:[A-Za-z][A-Za-z_ ]{0,30}[:=]?)?[~\s]*(?P<digits>\d[\d.,]*)\s*(?P<unit>[A-Za-z]+(?:/s(?:ec)?)?)?\.?"
)
# Gb/s in one of each unit that can be meant; MB/sec and MiB/sec are perftest's, and of 2^20 bytes.
_UNITS = {
    **dict.fromkeys(("Gb/s", "Gb/sec", "Gbps", "Gbit/s", "Gbits/sec", "Gbits/s", "gbps"), 1.0),
    **dict.fromkeys(("MB/sec", "MiB/sec", "MiB/s"), 2**20 * 8 / 1e9),
}
_UNSURE = {"MB/s": 8e-3, "MBps": 8e-3, "GB/s": 8.0, "GB/sec": 8.0, "GBps": 8.0, "": 1.0}


def _lone_figure(text: str) -> list[Explained]:
    """`13.35`, with or without a unit, and nothing else."""
    found = _LONE.fullmatch(text.strip())
    number = _number(found["digits"]) if found else None
    unit = (found["unit"] or "") if found else ""
    if number is None or unit not in {*_UNITS, *_UNSURE}:
        return []
    said = f"{number:g} {unit}".strip()
    if unit in _UNSURE:
        verdict = _ambiguous(number, unit)
    else:
        verdict = _judged(Bandwidth(number * _UNITS[unit], "Gb/sec", LEAST_MESSAGE, 1), "the rail", _Around())
        said += "" if _UNITS[unit] == 1.0 else f" = {number * _UNITS[unit]:.2f} Gb/s"
    return [Explained("a figure", said, (Finding("the rail", verdict),))]


def _number(digits: str) -> float | None:
    """13,334.70 and 13334.70 alike; None where a comma may be either."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+\.\d+|\d+(?:\.\d+)?", digits):
        return float(digits.replace(",", ""))
    return float(digits.replace(",", ".")) if re.fullmatch(r"\d+,\d\d?", digits) else None


def _ambiguous(number: float, unit: str) -> Verdict:
    """What a figure means in each unit that it may be in."""
    if unit:
        gbps = number * _UNSURE[unit]
        why = f"{number:g} {unit} is {gbps:.2f} Gb/s, but perftest never prints {unit}, so its origin is not clear"
        return Verdict("unknown", "unit-ambiguous", why, _AS_WHOLE)
    units = {"Gb/s": 1.0, "MiB/s": _UNITS["MiB/s"], "GB/s": 8.0}
    possible = {name: number * factor for name, factor in units.items() if number * factor <= CAGE_GBPS}
    meant = [
        f"as {name}{'' if name == 'Gb/s' else f' ({gbps:.2f} Gb/s)'} it is {_meaning(gbps)}"
        for name, gbps in possible.items()
    ]
    why = f"{number:g} has no unit: {'; '.join(meant) or f'no unit makes a figure of up to {CAGE_GBPS:g} Gb/s'}"
    return Verdict("unknown", "unit-ambiguous", why, _AS_WHOLE)


def _meaning(gbps: float) -> str:
    band = bands.band(gbps)
    return f"{'a ' if band.level == 'fault' else ''}{band.level}{f' ({band.cause})' if band.cause else ''}"


# --- names and indexes


def _show_gids(piece: Piece, around: _Around) -> Explained:
    if not piece.signs:
        raise ValueError("show_gids printed no table")
    table = gid_table.parse_show_gids("\n".join(line for line in piece.lines if _GID_LINE.match(line)))
    if not table:
        cure = "ibdev2netdev; a port without a cable or an address has no GID"
        return Explained(
            piece.tool,
            "no GID at all",
            (Finding("the host", Verdict("fault", "gid-missing", "no GID is in use", cure)),),
        )
    ports = {(row.device, row.port, row.netdev): None for row in table}
    own = {port: [row for row in table if (row.device, row.port, row.netdev) == port] for port in ports}
    usable = {
        port: rows for port, rows in own.items() if any(row.ipv4 and row.type == gid.ROCE_V2 for row in rows)
    }
    findings = [
        Finding(port[0], _gid(rows, around.written)) for port, rows in own.items() if port in usable or not usable
    ]
    without = sorted({port[0] for port in own if port not in usable}) if usable else []
    shared = [Finding("the fabric", verdict) for verdict in _subnets(table, around.prefixes)]
    read = f"{len(table)} GIDs of {listed(dict.fromkeys(port[0] for port in ports))}"
    return Explained(piece.tool, read, (*findings, *shared), tuple(_gid_notes(table, without)))


def _subnets(table: Iterable[gid.Gid], prefixes: Mapping[str, str]) -> list[Verdict]:
    """A verdict for each two of a Spark's netdevs in one subnet, by the judgement of the deploy's settings."""
    fabric = {
        row.netdev or row.device: IPv4Interface(f"{row.ipv4}/{prefixes.get(str(row.ipv4)) or _usual(row.ipv4)}")
        for row in table
        if row.ipv4 and (_CAGE.fullmatch(row.netdev) or _CAGE.fullmatch(row.device))
    }
    cure = (
        "give each twin its own subnet under fabric in the inventory, then: pyinfra INVENTORY deploys/network.py"
    )
    guessed = not {str(each.ip) for each in fabric.values()} <= prefixes.keys()
    how = " (the prefix length is the usual one, for show_gids prints none)" if guessed else ""
    return [Verdict("fault", "one-subnet", why + how, cure) for why in in_one_subnet(fabric)]


def _usual(address: IPv4Address) -> int:
    """The prefix length that an address of the fabric mostly has: that of RFC 3927, or of NVIDIA's playbooks."""
    return 16 if address.is_link_local else 24


_GID_LINE = re.compile(r"\s*(?:DEV\s+PORT\s+INDEX|[-\s]+$|n_gids_found|[\w.-]+\s+\d+\s+\d+\s+[0-9a-fA-F:]{4,})")


def _gid(rows: Sequence[gid.Gid], written: int | None) -> Verdict:
    """Which index of a device carries IPv4 over RoCE v2, and whether it is the written one."""
    netdev, device = rows[0].netdev, rows[0].device
    addresses = {row.ipv4 for row in rows if row.ipv4}
    found = {row.ipv4: row.index for row in rows if row.ipv4 and row.type == gid.ROCE_V2}
    if not addresses:
        show = f"ip -4 addr show {quoted(netdev)}" if netdev else "ip -4 addr show"
        return Verdict(
            "fault", "gid-missing", f"{device} has no IPv4 GID, only IPv6, so NCCL finds none to use", show
        )
    if written is not None or not found:
        verdicts = [gid_table.judge(rows, netdev, address, written) for address in sorted(found or addresses)]
        return next((each for each in verdicts if each.healthy), verdicts[0])
    said = [f"index {index} is {address} (RoCE v2)" for address, index in found.items()]
    return Verdict("healthy", evidence="; ".join(said))


def _gid_notes(table: Sequence[gid.Gid], without: Sequence[str]) -> Iterable[str]:
    first: dict[str, int] = {}
    for row in table:
        if row.ipv4 and row.type == gid.ROCE_V2:
            first.setdefault(row.device, row.index)
    if len({*first.values()}) > 1:
        yield (
            "the index differs by device, so no one NCCL_IB_GID_INDEX fits: leave it out, and set "
            "NCCL_IB_ROCE_VERSION_NUM=2 and NCCL_IB_ADDR_FAMILY=AF_INET"
        )
    for device in without:
        twin = next((other for other in first if _twins(device, other)), "")
        behind = f", though its twin {twin} has one: each needs its own, in a subnet of its own" if twin else ""
        yield f"{device} has no IPv4 address{behind}"


def _twins(one: str, other: str) -> bool:
    """Whether two names are the two halves of one cage."""
    here, there = _CAGE.fullmatch(one), _CAGE.fullmatch(other)
    return bool(here and there and here[2] == there[2] and here[1] != there[1])


def _ibdev2netdev(piece: Piece, _: _Around) -> Explained:
    ports = gid_table.parse_ibdev2netdev(piece.text)
    up = [port for port in ports if port.up]
    findings = [Finding(port.device, Verdict("healthy", evidence=f"{port.netdev}, up")) for port in up]
    for port in ports:
        twin = next((other for other in up if _twins(port.device, other.device)), None)
        if not port.up and twin:
            why = f"{port.netdev or 'it'} is down while its twin {twin.netdev} is up, so half of the cage is idle"
            cure = f"sudo ip link set {quoted(port.netdev)} up; then run the deploy"
            findings.append(Finding(port.device, Verdict("degraded", "twin-down", why, cure)))
    if not up:
        cure = "plug the cable in on both ends; on one Spark without a cable this is as it should be"
        findings.append(Finding("the host", Verdict("unknown", "no-carrier", "no port is up", cure)))
    told = [f"{port.device} = {port.netdev or 'no netdev'} ({'up' if port.up else 'down'})" for port in ports]
    return Explained(piece.tool, ", ".join(told), tuple(findings))


# --- the NIC


def _ethtool(piece: Piece, _: _Around) -> Explained:
    links = _named(nic.parse_ethtool(piece.text), piece.command)
    findings = [Finding(link.netdev or "the link", _link(link)) for link in links]
    return Explained(piece.tool, ", ".join(_link_shown(link) for link in links), tuple(findings))


def _named(links: Sequence[nic.Link], command: str) -> list[nic.Link]:
    """The links, with the netdevs of the command line where grep took ethtool's own line with the name away."""
    cages = [word for word in re.findall(r"[\w.-]+", command) if _CAGE.fullmatch(word)]  # of a loop over $IF
    typed = re.findall(r"\bethtool\s+['\"]?([A-Za-z][\w.-]*)", command) or cages
    names = iter(typed if len(typed) == sum(not link.netdev for link in links) else ())
    return [link if link.netdev else replace(link, netdev=next(names, "")) for link in links]


def _link_shown(link: nic.Link) -> str:
    speed = "speed unknown" if link.speed_mbps is None else f"{link.speed_mbps / 1000:g} Gb/s"
    state = "" if link.up is None else " up," if link.up else " down,"
    return f"{link.netdev or 'the link'}{state} {speed}"


def _link(link: nic.Link) -> Verdict:
    if link.up is False or (link.speed_mbps is None and link.up is None):
        cure = "plug the cable in on both ends; without one this is as it should be"
        return Verdict("unknown", "no-carrier", "has no link", cure)
    if link.speed_mbps is None:
        return Verdict("unknown", "speed-unknown", "is up, and ethtool does not tell its speed", "ethtool as root")
    said = f"{link.speed_mbps / 1000:g} Gb/s"
    if link.netdev and not _CAGE.fullmatch(link.netdev):
        return Verdict("healthy", evidence=f"{said}, and no QSFP cage by its name")
    if link.speed_mbps < CAGE_SPEED_MBPS and not link.netdev:
        why = f"{said} of a netdev without a name: on a QSFP cage {CAGE_GBPS:g} are expected"
        return Verdict("unknown", "device-unnamed", why, "ethtool NETDEV, with the command line or without grep")
    if link.speed_mbps < CAGE_SPEED_MBPS:
        why = f"{said}, {CAGE_GBPS:g} expected: the cable, its adapter or the switch behind it is made for less"
        return Verdict(
            "degraded", "speed-low", why, "try a cable for 200 Gb/s (QSFP56), without a switch in between"
        )
    return Verdict("healthy", evidence=f"{said}; the link speed does not show a slow start, ib_write_bw does")


def _ethtool_driver(piece: Piece, _: _Around) -> Explained:
    found = nic.parse_ethtool_driver(piece.text)
    parts = [
        found.driver,
        f"firmware {found.firmware or 'not told'}",
        f"at {found.address}" if found.address else "",
    ]
    return Explained(piece.tool, ", ".join(part for part in parts if part))


def _ethtool_module(piece: Piece, _: _Around) -> Explained:
    found = nic.parse_ethtool_module(piece.text)
    read = f"{found.vendor or 'vendor not told'}, {found.part or 'part not told'}"
    note = (
        f"it calls itself {found.kind}, as cables for {CAGE_GBPS:g} Gb/s do, too; ethtool NETDEV tells the speed"
    )
    return Explained(piece.tool, read, notes=(note,) if found.kind else ())


def _lspci(piece: Piece, _: _Around) -> Explained:
    links = nic.parse_lspci(piece.text)
    ours = [link for link in links if _connectx(link, piece.command)]
    if not ours:
        nameless = not any(link.address for link in links)
        read = f"{len(links)} {'links' if nameless else 'devices'}"
        return Explained(piece.tool, read, (Finding("ConnectX-7", _no_connectx(nameless=nameless)),))
    names = [link.address or f"link {number}" for number, link in enumerate(ours, 1)]
    findings = [Finding("ConnectX-7", _pcie(link, name)) for link, name in zip(ours, names, strict=True)]
    return Explained(piece.tool, f"PCIe link of {listed(names)}", tuple(findings))


def _pcie(link: nic.Pcie, name: str) -> Verdict:
    if link.address and not _CONNECTX.fullmatch(link.address):
        why = f"{name} is not where a Spark has its ConnectX-7, so its PCIe link cannot be judged by a Spark's"
        return Verdict(
            "unknown", "other-hardware", why, "lspci -D -d 15b3: names a Spark's: 0000:01:00.0, 0002:01:00.0"
        )
    return nic.pcie_link(link, name)


def _connectx(link: nic.Pcie, command: str) -> bool:
    if link.name:
        return bool(re.search(r"ConnectX-7|MT2910|15b3:1021", link.name))
    if link.address:
        return bool(_CONNECTX.fullmatch(link.address))
    return "15b3" in command


def _no_connectx(*, nameless: bool) -> Verdict:
    if nameless:
        why = "these links have no device: another one's width would pass for the NIC's"
        return Verdict("unknown", "device-unnamed", why, "sudo lspci -vv -d 15b3:, without grep")
    why = "no ConnectX-7 is among them: without a cable it leaves the PCI bus"
    return Verdict("unknown", "no-connectx", why, "plug the cable in on both ends, then: lspci -d 15b3:")


# --- nvidia-smi


def _smi(piece: Piece, _: _Around) -> Explained:
    found = _gpus(piece)
    findings = [
        each for index, one in enumerate(found) for each in _on_gpu(one, _gpu_name(one, index, len(found)))
    ]
    memory = piece.tool in (section.SMI, section.SMI_QUERY) or "memory." in piece.text + piece.command
    notes = dict.fromkeys(note for one in found for note in _gpu_notes(one, memory=memory))
    return Explained(piece.tool, "; ".join(filter(None, map(_gpu_shown, found))), tuple(findings), tuple(notes))


def _gpus(piece: Piece) -> tuple[gpu.Gpu, ...]:
    if piece.tool == section.SMI_CSV:
        rows = takewhile(str.strip, piece.lines)  # prose behind them has commas too
        asked = re.search(r"--query-gpu[= ]([\w.,]+)", piece.command)
        return gpu.parse_csv("\n".join(rows), asked.group(1).split(",") if asked else None)
    parse = {section.SMI_QUERY: gpu.parse_query, section.SMI_LIST: gpu.parse_list}.get(piece.tool, gpu.parse_table)
    return parse(piece.text)


def _gpu_name(one: gpu.Gpu, index: int, count: int) -> str:
    return (one.name or "the GPU") if count == 1 else f"GPU {index}"


def _gpu_shown(one: gpu.Gpu) -> str:
    if one.trouble:
        return ""
    parts = [
        one.name or "a GPU",
        one.driver and f"driver {one.driver}",
        None if one.utilization is None else f"{one.utilization:g} % busy",
        one.pstate,
        None if one.sm_mhz is None else f"SM {one.sm_mhz:g} MHz",
        None if one.power_w is None else f"{one.power_w:g} W",
        None if one.temperature_c is None else f"{one.temperature_c:g} C",
    ]
    return ", ".join(part for part in parts if part)


def _on_gpu(one: gpu.Gpu, name: str) -> list[Finding]:
    if one.trouble:
        return [Finding(name, gpu.answers(one))]
    judged = []
    if not one.foreign:
        clamp = gpu.power_clamp(one)
        judged += [] if clamp.cause == "inconclusive" else [clamp]
        judged += [gpu.temperature(one)] if one.temperature_c is not None else []
    if one.gsp is not None and one.driver is not None:
        judged.append(gpu.gsp(one))
    return [Finding(name, verdict) for verdict in judged or [gpu.answers(one)]]


def _gpu_notes(one: gpu.Gpu, *, memory: bool) -> Iterable[str]:
    if one.trouble:
        return
    if one.foreign:
        yield f"the clocks and the temperature of a GB10 are no measure for {one.name}"
        return
    if one.utilization is not None and one.utilization < gpu.LOADED_PERCENT:
        yield (
            f"the GPU is {one.utilization:g} % busy, and a power clamp shows only at {gpu.LOADED_PERCENT} % and "
            "more: look again while a model answers requests"
        )
    if memory and one.memory_total_mib is None:
        yield "memory is not told, as on every GB10, whose memory is the host's: free -h tells"


# --- NCCL


def _nccl(piece: Piece, _: _Around) -> Explained:
    log = nccl.parse(piece.text, 0)
    bus = nccl_tests.parse(piece.text)
    if bus is None and log.busbw is not None:
        bus = Bus(log.busbw, log.size, log.wrong, "all_gather")
    typed = re.search(r"(\w+)_perf\b", piece.command)
    if bus is not None and not bus.collective and typed:
        bus = replace(bus, collective=typed.group(1))
    if bus is not None:
        read = f"{bus.busbw:.2f} GB/s bus bandwidth of {bus.collective or 'a collective'} at {_bytes(bus.size)}"
        read = ", ".join(filter(None, (read, _way(log))))
        return Explained(piece.tool, read, (Finding("the pair", _bus(bus, log)),))
    if log.error not in ("", "no-result"):
        return Explained(piece.tool, _way(log), (Finding("NCCL", nccl.judge({"this rank": log}, {})),))
    if not log.transport and not log.devices:
        raise ValueError("this log of NCCL names neither transport nor figure")
    return Explained(piece.tool, _way(log), (Finding("NCCL", _route(log)),))


def _way(log: nccl.Nccl) -> str:
    """How NCCL went, as far as its log tells."""
    network = "NET/" if log.transport in ("IB", "Socket") else ""
    parts = [
        f"NCCL {log.version}" if log.version else "",
        f"over {network}{log.transport}" if log.transport else "",
        f"devices {listed(log.devices)}" if log.devices else "",
        f"GID index {listed(map(str, log.gid_indexes))}" if log.gid_indexes else "",
    ]
    return ", ".join(part for part in parts if part)


def _route(log: nccl.Nccl) -> Verdict:
    """The verdict on a log without a figure."""
    if log.transport == "Socket":
        why = f"NCCL goes over NET/Socket, which is TCP{f'; {log.why_socket}' if log.why_socket else ''}"
        variable = re.match(r"NCCL_\w+", log.why_socket)
        cure = (
            f"take {variable.group()} out of the environment" if variable else "compare NCCL_IB_HCA with rdma link"
        )
        return Verdict("fault", "nccl-socket", why, cure)
    if log.transport not in ("IB", ""):
        why = f"the ranks talk over {log.transport}, which stays inside one host"
        return Verdict("unknown", "one-host", why, "start one rank on each host")
    if len(log.devices) == 1 and _CAGE.fullmatch(log.devices[0]):
        why = f"NCCL uses {log.devices[0]} alone, and its twin would carry as much again"
        return Verdict("degraded", "one-hca", why, "name both twins in NCCL_IB_HCA (run the deploy)")
    if not log.transport:
        why = f"NCCL found {listed(log.devices)}; the log ends before it tells what carries the data"
        return Verdict("unknown", "nccl-transport", why, "paste the log with its lines of Channel ... via NET/...")
    return Verdict(
        "healthy", evidence=f"NET/IB carries the data{f' over {listed(log.devices)}' if log.devices else ''}"
    )


def _bus(bus: Bus, log: nccl.Nccl) -> Verdict:
    """The verdict on a bus bandwidth; counters, which only sparkrig bandwidth reads, are left out."""
    said = f"{bus.busbw:.2f} GB/s at {_bytes(bus.size)}"
    again = "all_gather_perf -b 4G -e 4G, one rank on each of two Sparks"
    if bus.wrong:
        return nccl.judge({"the ranks": replace(log, busbw=bus.busbw, size=bus.size, wrong=bus.wrong)}, {})
    other = next((name for name in bus.gpus if GB10_NAME not in name), "")
    if other:
        return Verdict("unknown", "not-gb10", f"{said} between {other}, which no Spark has", again)
    if len({*bus.hosts}) == 1 or log.transport not in ("", "IB", "Socket") or not bus.busbw:
        return Verdict("unknown", "one-host", f"{said}, but all ranks ran on one host, so no rail was used", again)
    if len({*bus.hosts}) > 2 or bus.collective not in ("", "all_gather", "all_reduce"):
        why = f"{said}, but what is known is two Sparks' all_gather and all_reduce"
        return Verdict("unknown", "not-comparable", why, again)
    if log.transport == "Socket":
        return nccl.judge({"the ranks": replace(log, busbw=bus.busbw, size=bus.size)}, {})
    band = next(band for band in nccl.BANDS if bus.busbw >= band.least)
    if band.level == "healthy":
        return Verdict("healthy", evidence=said)
    if bus.size < LEAST_GATHERED:
        return Verdict(
            "unknown", "small-messages", f"{said}, and such a small message does not fill the links", again
        )
    return Verdict(band.level, band.cause, f"{said}: {band.meaning}", band.cure)


# --- packages


def _packages(piece: Piece, _: _Around) -> Explained:
    packages = package_list.parse(piece.lines)
    findings = tuple(package_list.judge(packages))
    sound = all(finding.verdict.level in ("healthy", "unknown") for finding in findings)
    noted = tuple(package_list.notes(packages, sound=sound))
    return Explained(piece.tool, package_list.read(packages), findings, noted)


# --- words


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"


_READERS: dict[str, Callable[[Piece, _Around], Explained]] = {
    section.PERFTEST: _perftest,
    section.SHOW_GIDS: _show_gids,
    section.IBDEV2NETDEV: _ibdev2netdev,
    section.ETHTOOL: _ethtool,
    section.ETHTOOL_DRIVER: _ethtool_driver,
    section.ETHTOOL_MODULE: _ethtool_module,
    section.LSPCI: _lspci,
    **dict.fromkeys((section.SMI, section.SMI_QUERY, section.SMI_LIST, section.SMI_CSV), _smi),
    section.NCCL: _nccl,
    section.PACKAGES: _packages,
}
