"""The log of NCCL, and nccl-tests: what carries the data, and how fast."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sparkrig.bandwidth import nccl, nccl_tests
from sparkrig.bandwidth.bands import MOST_GBPS
from sparkrig.bandwidth.nccl_tests import Bus
from sparkrig.explain.explanation import CAGE, Around, Explained, Piece, size_of
from sparkrig.host.identity import GB10_NAME
from sparkrig.signatures import table
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

# Bytes; NCCL reached 18.5 GB/s at 32 MB where it reached 23.2 at 16 GB [@graham33].
LEAST_GATHERED = 2**28


def explained(piece: Piece, _: Around) -> Explained:
    log = nccl.parse(piece.text, 0)
    log = replace(log, version=log.version or _library(piece.text), transport=log.transport or _chosen(piece.text))
    bus = nccl_tests.parse(piece.text)
    if bus is None and log.busbw is not None:
        bus = Bus(log.busbw, log.size, log.wrong, "all_gather")
    typed = re.search(r"\b(\w+)_perf\b", piece.command)
    if bus is not None and not bus.collective and typed:
        bus = replace(bus, collective=typed.group(1))
    if bus is not None:
        read = f"{bus.busbw:.2f} GB/s bus bandwidth of {bus.collective or 'a collective'} at {size_of(bus.size)}"
        read = ", ".join(filter(None, (read, _way(log))))
        return Explained(
            piece.tool, read, (Finding("the pair", _plain(_bus(bus, log))),), tuple(_notes(piece.text))
        )
    if log.error not in ("", "no-result"):
        return Explained(piece.tool, _way(log), (Finding("NCCL", _failed(log, piece.text)),))
    if not log.transport and not log.devices:
        raise ValueError("this log of NCCL names neither transport nor figure")
    route = Finding("NCCL", _route(log, piece.text))
    return Explained(piece.tool, _way(log), (route,), tuple(_notes(piece.text)))


# Parts of the cures of `sparkrig bandwidth`, and what they are where no inventory is known.
_BY_HAND = {
    "measure the rails alone with sparkrig bandwidth": "measure each rail alone with ib_write_bw",
    "set nccl_image to one with": "take",
    " (run the deploy)": "",
}


def _plain(verdict: Verdict) -> Verdict:
    cure = str(verdict.cure)
    for part, by_hand in _BY_HAND.items():
        cure = cure.replace(part, by_hand)
    return replace(verdict, cure=cure)


def _failed(log: nccl.Nccl, text: str) -> Verdict:
    """Why it failed; of a transfer by the status of its completion, which perftest prints, too."""
    why = nccl.judge({"it": log}, {})
    why = replace(why, evidence=why.evidence.removeprefix("it: "))
    status = re.search(r"Got completion .{0,200}?(?:status=|with error )(\d{1,2})\b", text)
    rows = [row for row in table("perftest completion") if status and int(status[1]) in row.statuses]
    if why.cause != "rdma-completion" or not rows:
        return why
    said = f"{rows[0].meaning}: {why.evidence}"
    return replace(why, evidence=said, cure=f"{rows[0].cure}; take a bond on the rails apart")


def _library(text: str) -> str:
    """The release that nccl-tests names as one number, as NCCL_VERSION_CODE has it: 22809."""
    code = re.search(r"nccl-library=(\d{5})\b", text)
    return f"{int(code[1]) // 10000}.{int(code[1]) // 100 % 100}.{int(code[1]) % 100}" if code else ""


def _chosen(text: str) -> str:
    """The transport by the network that NCCL began to use, where its log ends before the channels."""
    begun = {name for name, _ in _USING.findall(text)}
    return "IB" if "IB" in begun else "Socket" if "Socket" in begun else ""


_USING = re.compile(r"\bNET/(IB|Socket)\w{0,12} ?: Using (?:\[\d+\])?([A-Za-z][\w.-]{0,30})")


def _notes(text: str) -> Iterator[str]:
    index = re.search(r"NCCL_IB_GID_INDEX set by environment to (\d+)", text)
    if index:
        yield (
            f"NCCL_IB_GID_INDEX is pinned to {index[1]}: the index moves when a port flaps, and may differ on "
            "each host; without it NCCL looks for itself"
        )
    if moved := sorted({*re.findall(r"Subnet-aware routing: overriding dev (\d+) with", text)}):
        yield (
            f"NCCL moved channels of dev {listed(moved)} to a device in the peer's subnet: one that is always "
            "moved carries nothing, as port_xmit_data shows"
        )


def _way(log: nccl.Nccl) -> str:
    """The way that NCCL took, as far as its log shows."""
    network = "NET/" if log.transport in ("IB", "Socket") else ""
    parts = [
        f"NCCL {log.version}" if log.version else "",
        f"over {network}{log.transport}" if log.transport else "",
        f"devices {listed(log.devices)}" if log.devices else "",
        f"GID index {listed(map(str, log.gid_indexes))}" if log.gid_indexes else "",
    ]
    return ", ".join(part for part in parts if part)


def _route(log: nccl.Nccl, text: str) -> Verdict:
    """The verdict on a log without a figure."""
    if log.transport == "Socket":
        netdev = next((name for kind, name in _USING.findall(text) if kind == "Socket"), "")
        over = f", on {netdev}, which is no cage" if netdev and not CAGE.fullmatch(netdev) else ""
        why = f"NCCL goes over NET/Socket, which is TCP{over}{f'; {log.why_socket}' if log.why_socket else ''}"
        cages = "start it with --env-file /etc/sparkrig/container.env and --device /dev/infiniband"
        cure = nccl.socket_cure(log.why_socket, cages)
        return Verdict("fault", "nccl-socket", why, cure)
    if log.transport not in ("IB", ""):
        why = f"the ranks talk over {log.transport}, which stays inside one host"
        return Verdict("unknown", "one-host", why, "start one rank on each host")
    if len(log.devices) == 1 and CAGE.fullmatch(log.devices[0]):
        why = f"NCCL uses {log.devices[0]} alone, and its twin would carry as much again"
        return Verdict("degraded", "one-hca", why, "name both twins in NCCL_IB_HCA (rdma link shows them)")
    return Verdict(
        "healthy", evidence=f"NET/IB carries the data{f' over {listed(log.devices)}' if log.devices else ''}"
    )


def _bus(bus: Bus, log: nccl.Nccl) -> Verdict:
    """The verdict on a bus bandwidth; counters, which only sparkrig bandwidth reads, are left out."""
    said = f"{bus.busbw:.2f} GB/s at {size_of(bus.size)}"
    again = "all_gather_perf -b 4G -e 4G, one rank on each of two Sparks"
    if bus.wrong:
        return nccl.judge({"the ranks": replace(log, busbw=bus.busbw, size=bus.size, wrong=bus.wrong)}, {})
    if bus.runs > 1:
        why = (
            f"{bus.runs} runs of one rank each ran side by side, not one run of {bus.runs} ranks: no rail was used"
        )
        return Verdict("unknown", "not-joined", why, "build nccl-tests again with MPI: make MPI=1")
    other = next((name for name in bus.gpus if GB10_NAME not in name), "")
    if other:
        return Verdict("unknown", "not-gb10", f"{said} between {other}, which no Spark has", again)
    alone = len({*bus.hosts}) == 1 or bus.busbw > MOST_GBPS * 2 / 8  # more than the PCIe links of both twins carry
    if alone or log.transport not in ("", "IB", "Socket") or not bus.busbw:
        return Verdict("unknown", "one-host", f"{said}, but all ranks ran on one host, so no rail was used", again)
    if len({*bus.hosts}) > 2 or bus.collective not in ("", "all_gather", "all_reduce"):
        why = f"{said}, but what is known is two Sparks' all_gather and all_reduce"
        return Verdict("unknown", "not-comparable", why, again)
    if log.transport == "Socket":
        return nccl.judge({"the ranks": replace(log, busbw=bus.busbw, size=bus.size)}, {})
    band = nccl.band_of(bus.busbw, log.version, measured=False)
    if band.level == "healthy":
        return Verdict("healthy", evidence=said)
    if bus.size < LEAST_GATHERED:
        return Verdict(
            "unknown", "small-messages", f"{said}, and such a small message does not fill the links", again
        )
    return nccl.slow(band, f"{said}: {band.meaning}", log.version, measured=False)
