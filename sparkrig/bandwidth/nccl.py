"""The NCCL check: an all_gather of two ranks, what their logs mean, and whether the figure is good enough.

No MPI and no ssh between the hosts: both run a container of one image, which must have PyTorch and be there
already, with templates/all_gather.py on its standard input. In order (sparkrig/bandwidth/io/nccl_run.py does it):

1. Run PREFLIGHT (nccl_preflight) with preflight_words() on both hosts; parse_preflight() each. What obstacle()
   returns is the verdict, and nothing is started. size = message_size() of both, port = the one that rank 0's host
   found.
2. Read port_xmit_data of every RDMA device on both hosts.
3. Run RANK with rank_words() on both hosts at once, the script on standard input. A line
   `sparkrig-nccl stage NAME` shows which stage a rank has reached.
4. When a rank ends with another status than 0, end the other one too, and give None as its status: PyTorch
   takes minutes to notice. In any case run END with container() on both hosts at the end.
5. Read the counters again; moved(); parse() what ended() makes of each rank; judge().

Sources: [@nvidia-nccl, @playbooks-102, @epappas, @graham33] for figures, [@nccl-docs] for variables; log
lines: NCCL's own source from v2.18.3 to v2.30.7, and tests/fixtures/nccl, recorded with NCCL 2.28.9
and PyTorch 2.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from textwrap import shorten

from sparkrig import programs
from sparkrig.bandwidth.nccl_preflight import GIB
from sparkrig.cure import on_host
from sparkrig.host.nic import Nic
from sparkrig.network.environment import CONTAINER_ENV
from sparkrig.parsing import bounds
from sparkrig.signatures import of, table
from sparkrig.text import listed
from sparkrig.verdict import Level, Verdict

LIMIT_S = 180  # of a rank, from its container's start; an all_gather of 8 GiB takes 0.2 s on a healthy pair

PASS_GBPS = 21.875  # NVIDIA's pass line, GB/s [@nvidia-nccl]
WORKING = ("2.28.9", "2.30.7")  # NCCL releases [@nvidia-nccl, @sparknet]
SLOW = ("2.27.7",)  # gave 1.5 to 3 GB/s, as builds from the development branch did [@playbooks-102]


@dataclass(frozen=True)
class BusBand:
    """The verdict on a bus bandwidth from `least` GB/s up."""

    least: float
    level: Level
    cause: str
    meaning: str
    cure: str


_BUILD = "set nccl_image to one with NCCL 2.28.9 or 2.30.7, and libibverbs"
_RAILS_ALONE = "measure the rails alone with sparkrig bandwidth"

# Published for 16 GB; the bus bandwidth is level from far smaller messages on (18.5 GB/s at 32 MB of 23.2).
BANDS = (
    BusBand(PASS_GBPS, "healthy", "", "", ""),  # expect 22 to 24
    # MTU 1500 gave 18.94 to 20.95 [@playbooks-25]
    BusBand(
        14.0,
        "degraded",
        "below-pass",
        f"below the pass line of {PASS_GBPS} GB/s",
        "check MTU 9000 on both, then repeat while idle",
    ),
    # one HCA gives about 11
    BusBand(8.0, "degraded", "one-hca", "what one HCA carries", "name both twins in NCCL_IB_HCA (run the deploy)"),
    # about 3, and 1.5 to 3 with releases that are known to be slow; _SLOW_STARTED is in this band, too
    BusBand(1.5, "fault", "nccl-build", "what a bad NCCL build or a missing libibverbs gives", _BUILD),
    # TCP gives 1 to 1.5 at most
    BusBand(0.0, "fault", "tcp-speed", "no more than TCP carries", _RAILS_ALONE),
)


# Two twins of 13 Gb/s, 3.3 GB/s raw, gave 2.8 to 3 with releases that work [@playbooks-108, @forum-363461].
_SLOW_TWINS = (2.6, 3.5)
_SLOW_STARTED = BusBand(
    1.5,
    "fault",
    "slow-start",
    "what two twins of 13 Gb/s carry, whatever the library (slow-start): 2.8 to 3 GB/s",
    f"{_RAILS_ALONE}; at 13 Gb/s reboot both Sparks with the cable attached",
)


@dataclass(frozen=True)
class Nccl:
    """What one rank printed.

    busbw: bus bandwidth in GB/s (10^9), as nccl-tests has it, None without a result; size: of the gathered
    message, in bytes; sent: what this rank must have sent in all, in bytes; wrong: elements with a wrong value;
    version: NCCL release; transport: IB (any plugin of that family), Socket, P2P, SHM, another plugin's name,
    or empty; plugin: the name of the network that NCCL chose; devices: RDMA devices that it found;
    gid_indexes: those in use; why_socket: why it did without RDMA; stage: the last that was reached;
    error: the cause of an error, empty with a result; detail: the line that shows it.
    """

    busbw: float | None = None
    size: int = 0
    sent: int = 0
    wrong: int = 0
    version: str = ""
    transport: str = ""
    plugin: str = ""
    devices: tuple[str, ...] = ()
    gid_indexes: tuple[int, ...] = ()
    why_socket: str = ""
    stage: str = ""
    error: str = ""
    detail: str = ""


# What stands before the words of a line of NCCL or of PyTorch.
_PREFIX = re.compile(r"^.*NCCL (?:WARN|INFO) |^(?:\[rank\d+\]: ?)?(?:\[[EW]\d+ [^]]*\] ?)?(?:\[c10d\] )?")
RANK = programs.text("bandwidth/nccl_rank.sh")

END = programs.text("bandwidth/nccl_end.sh")


def container(run: str) -> str:
    """The container's name on both hosts; `run` is the run's id, of letters, digits, `_`, `.` and `-`."""
    return f"sparkrig-nccl-{run}"


def limit(patience: float) -> int:
    """Seconds after which a rank has ended itself."""
    return int(LIMIT_S * patience)


def rank_words(
    run: str, image: str, rank: int, address: str, port: int, size: int, patience: float = 1.0
) -> list[str]:
    """The words of RANK; the script comes on its standard input.

    address, port: where rank 0 is met; size: bytes to gather. The rank ends itself after limit(patience) seconds,
    whatever becomes of the connection; the host ends it half a minute later.
    """
    own = limit(patience)
    return [
        *("timeout", "-k", "10", str(own + 30)),
        # --init, because a first process of a container would ignore the alarm that ends it
        *("docker", "run", "--rm", "-i", "--init", "--pull", "never", "--name", container(run)),
        *("--gpus", "all", "--network", "host", "--ipc", "host", "--device", "/dev/infiniband"),
        *("--ulimit", "memlock=-1", "--cap-add", "IPC_LOCK", "--env-file", CONTAINER_ENV),
        *("-e", "NCCL_DEBUG=INFO", "-e", "NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET"),
        # unbuffered, so that a rank that is killed leaves its log
        *("-e", "NCCL_DEBUG_FILE=/dev/stderr"),
        *("--entrypoint", "python3", image, "-", "--rank", str(rank), "--address", address),
        *("--port", str(port), "--bytes", str(size), "--limit", str(own)),
    ]


def ended(printed: str) -> tuple[str, int | None]:
    """What a rank printed and its exit status, of what RANK printed; None where it did not come to that."""
    log, mark, status = printed.rpartition("\nsparkrig-nccl exit ")
    return (log, int(status)) if mark and status.strip().isdecimal() else (printed, None)


def moved(before: Mapping[str, Nic], after: Mapping[str, Nic], netdevs: Iterable[str]) -> dict[str, int]:
    """Bytes that each RDMA device of those netdevs sent between two looks, where it counts them."""
    found = {}
    for netdev in netdevs:
        first, last = before.get(netdev), after.get(netdev)
        if first and last and first.sent_bytes is not None and last.sent_bytes is not None:
            grown = last.sent_bytes - first.sent_bytes
            found[last.device] = grown if grown >= 0 else last.sent_bytes  # it started anew
    return found


def parse(log: str, status: int | None = 0) -> Nccl:
    """Read what one rank printed.

    status: its exit status, None where it was ended on purpose or is not known. Raises ValueError where its
    result makes no sense.
    """
    measured = _result(log)
    error, detail = ("", "") if measured else _error(log, status)
    nccl = measured or Nccl(version=_last(r"NCCL version (\d+\.\d+\.\d+)", log))
    plugin = _last(r"Using network ([^\r\n]+)", log).strip()
    return replace(
        nccl,
        transport=_transport(log, plugin),
        plugin=plugin,
        devices=_devices(log),
        gid_indexes=tuple(
            sorted({int(each) for each in re.findall(r"(?m)^(?>.*?NET/IB\b).*\bGID (\d+) \(", log)})
        ),
        why_socket=next(
            (signature.meaning for signature in table("nccl over sockets") if signature.search(log)), ""
        ),
        stage=_last(r"sparkrig-nccl stage (\S+)", log),
        error=error,
        detail=detail,
    )


def _result(log: str) -> Nccl | None:
    """The figures that templates/all_gather.py printed; the log of another thread may share their line."""
    printed = _last(r"sparkrig-nccl (\{[^{}\r\n]*\})", log)
    if not printed:
        return None
    try:
        figures = bounds.loads(printed)
        busbw, size = float(figures["busbw"]), int(figures["bytes"])
        if not 0 < busbw < float("inf"):
            raise ValueError(f"a bus bandwidth of {busbw}")
        return Nccl(
            busbw=busbw,
            size=size,
            sent=size // 2 * int(figures["rounds"]),
            wrong=int(figures["wrong"]),
            version=str(figures["nccl"]),
        )
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"the rank's result cannot be read ({error!r})") from None


def _transport(log: str, plugin: str) -> str:
    """What carried the data: by the channels; where the log ends before them, by NCCL's choice of network."""
    channels = set(re.findall(r"\bvia NET/([^/\r\n]+)/", log)) | set(re.findall(r"\bvia (P2P|SHM)\b", log))
    names = {"IB" if name.startswith("IB") else name for name in channels or {plugin}}
    return "Socket" if "Socket" in names else "+".join(sorted(names))


def _devices(log: str) -> tuple[str, ...]:
    """The RDMA devices of `NET/IB : Using [0]NAME:PORT/RoCE ... [RO]; OOB ...`, in NCCL's order."""
    listed = " ".join(re.findall(r"NET/IB\w* ?: Using([^;\r\n]*)", log))
    return tuple(dict.fromkeys(re.findall(r"(?<![\w.-])([A-Za-z][\w.-]*+):\d+/[A-Za-z]", listed)))


def _error(log: str, status: int | None) -> tuple[str, str]:
    """The cause why a rank has no result, and the line that shows it."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    causes = {error.cause: line for error in table("nccl") if (line := error.line(lines))}
    for error in table("nccl"):
        if status in error.statuses:
            causes.setdefault(error.cause, "")
    if not causes:
        causes = {"stopped" if status is None else "no-result": lines[-1] if lines else ""}
    cause = min(causes, key=_rank)
    return cause, shorten(_PREFIX.sub("", causes[cause]), 160, placeholder=" ...")


def _rank(cause: str) -> int:
    """How much an error explains: the less, the more."""
    return [error.cause for error in table("nccl")].index(cause)


def _last(pattern: str, text: str) -> str:
    """The first group of the last match, or nothing."""
    found = re.findall(pattern, text)
    return str(found[-1]) if found else ""


def judge(
    ranks: Mapping[str, Nccl], moved: Mapping[str, Mapping[str, int]], rails: Verdict | None = None
) -> Verdict:
    """The verdict on one run.

    ranks: what both ranks printed, by host, rank 0 first; moved: bytes by which port_xmit_data of each RDMA device
    grew meanwhile, by host and device; rails: the verdict on the rails alone, where they were measured, for a slow
    rail explains a slow figure.
    """
    failed = {name: rank for name, rank in ranks.items() if rank.busbw is None}
    if failed:
        return _failed(failed)
    wrong = {name: rank.wrong for name, rank in ranks.items() if rank.wrong}
    if wrong:
        counts = ", ".join(f"{count} on {name}" for name, count in wrong.items())
        cure = f"{_RAILS_ALONE}, and look for memory errors in dmesg"
        return Verdict("fault", "wrong-values", f"gathered values were wrong: {counts}", cure)
    return _carried(ranks, moved) or _figure(ranks, moved, rails) or _healthy(ranks, moved)


def _failed(failed: Mapping[str, Nccl]) -> Verdict:
    name, rank = min(failed.items(), key=lambda each: _rank(each[1].error))
    error = of("nccl", rank.error)
    where = f" in stage {rank.stage}" if rank.stage else ""
    detail = f" ({rank.detail.rstrip('. ')})" if rank.detail else ""
    return Verdict(error.level, error.cause, f"{name}: {error.meaning}{where}{detail}", error.cure)


def socket_cure(why: str, otherwise: str) -> str:
    """What to do where NCCL goes over sockets. why: the meaning of a row, or empty."""
    return next(
        (signature.cure for signature in table("nccl over sockets") if signature.meaning == why), otherwise
    )


def _carried(ranks: Mapping[str, Nccl], moved: Mapping[str, Mapping[str, int]]) -> Verdict | None:
    """What is wrong with the way that the data took; None where RDMA carried it, as far as is known."""
    for name, rank in ranks.items():
        if rank.transport == "Socket":
            why = f"; {rank.why_socket}" if rank.why_socket else ""
            cure = socket_cure(rank.why_socket, "look for NET/IB in the container's NCCL log")
            evidence = f"{name}: NCCL went over NET/Socket at {rank.busbw:.2f} GB/s{why}"
            return Verdict("fault", "nccl-socket", evidence, cure)
        if rank.transport != "IB":
            evidence = f"{name}: the log names {rank.transport or 'nothing'} as the transport, and not NET/IB"
            return Verdict("unknown", "nccl-transport", evidence, "repeat the check")
        counted = moved.get(name)
        if counted and sum(counted.values()) < rank.sent / 2:
            evidence = (
                f"{name}: NET/IB is claimed, and port_xmit_data moved by {sum(counted.values()) / 1e9:.2f} GB "
                f"of {rank.sent / 1e9:.2f}"
            )
            return Verdict("fault", "counters-still", evidence, "repeat the check, with nothing else in between")
    return None


def _figure(
    ranks: Mapping[str, Nccl], moved: Mapping[str, Mapping[str, int]], rails: Verdict | None
) -> Verdict | None:
    """What is wrong with the bus bandwidth, or None."""
    slowest = min(ranks.values(), key=_busbw)
    band = band_of(_busbw(slowest), slowest.version, measured=rails is not None)
    if band.level == "healthy":
        return None
    evidence = f"{_evidence(ranks)}, {band.meaning}"
    if rails and not rails.healthy:
        return Verdict(band.level, "rails-slow", f"{evidence}, and {rails.evidence}", rails.cure)
    idle = _idle(ranks, moved)
    if band.cause == "one-hca" and idle:
        evidence += f"; {idle}"
    return slow(band, evidence, slowest.version, measured=rails is not None)


def band_of(busbw: float, version: str, *, measured: bool) -> BusBand:
    """The band of a figure. Where the rails alone were not measured, a slow start explains 3 GB/s before a build.

    version, measured: as for slow().
    """
    least, most = _SLOW_TWINS
    if not measured and least <= busbw <= most and version not in SLOW:
        return _SLOW_STARTED
    return next(band for band in BANDS if busbw >= band.least)


def slow(band: BusBand, evidence: str, version: str, *, measured: bool) -> Verdict:
    """The verdict of a band. version: of NCCL, or empty; measured: whether the rails alone are healthy."""
    if band.cause not in ("nccl-build", "slow-start"):
        return Verdict(band.level, band.cause, evidence, band.cure)
    evidence = "; ".join(filter(None, (evidence, _release(version))))
    cure = band.cure if band.cause == "slow-start" else _RAILS_ALONE
    if version not in WORKING:
        cure = _BUILD if measured else f"{cure}; if they are healthy, {_BUILD}"
    return Verdict(band.level, band.cause, evidence, cure)


def _healthy(ranks: Mapping[str, Nccl], moved: Mapping[str, Mapping[str, int]]) -> Verdict:
    """A good figure over NET/IB is healthy where the counters agree, and not proven where they were not read.

    It has a cause, like every verdict that the screen shows: the user can see that the check ran.
    """
    unread = [name for name in ranks if not moved.get(name)]
    if unread:
        evidence = f"{_evidence(ranks)}, but port_xmit_data was not read on {listed(unread)}"
        return Verdict(
            "unknown", "counters-unread", evidence, on_host("ls /sys/class/infiniband/*/ports/1/counters")
        )
    return Verdict("healthy", "nccl", _evidence(ranks))


def _evidence(ranks: Mapping[str, Nccl]) -> str:
    slowest = min(ranks.values(), key=_busbw)
    over = f" over {listed(slowest.devices)}" if slowest.devices else ""
    return f"{_busbw(slowest):.2f} GB/s at {slowest.size / GIB:g} GiB by NCCL {slowest.version}{over}"


def _busbw(rank: Nccl) -> float:
    return rank.busbw or 0.0


def _idle(ranks: Mapping[str, Nccl], moved: Mapping[str, Mapping[str, int]]) -> str:
    """Which devices carried next to nothing (a tenth of an even share), in words."""
    rows = [
        f"{device} of {name} carried nothing"
        for name in ranks
        for device, count in moved.get(name, {}).items()
        if count < sum(moved[name].values()) / len(moved[name]) / 10
    ]
    return ", ".join(rows)


def _release(version: str) -> str:
    if version in WORKING:
        return f"NCCL {version} is known to work"
    if version in SLOW:
        return f"NCCL {version} is known to be slow"
    unknown = f"NCCL {version} is not among the releases that are known to work ({', '.join(WORKING)})"
    return unknown if version else ""
