"""What of one Spark fails apart from GPU and fabric: RJ45, Wi-Fi, NVMe, and what kernel and systemd say of it.

Sources: [@siderolabs-r8127] for the driver of the RJ45, [@forum-354764] for its EEE, [@nvme-spec] for the NVMe,
[@graham33-hotplug] for hot-plug. A bound without one is our own reasoning, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sparkrig.cure import on_host, quoted
from sparkrig.parsing import grammar
from sparkrig.signatures import Signature, table
from sparkrig.text import listed, plain
from sparkrig.value import Value
from sparkrig.verdict import Verdict

RTL8127 = "0x10ec0x8127"  # vendor and device of the RJ45's controller [@siderolabs-r8127]
SLOW_BELOW_MBPS = 1000  # our own: the RJ45 has 10,000, and what negotiates 100 is a cable with a broken pair
LOST_LINKS = 5  # our own: a switch that is restarted now and then stays below it
WEAK_BELOW_DBM = -75  # our own: below it Wi-Fi falls to its slowest rates
WORN_FROM_PERCENT = 90  # our own: at 100 the maker's estimate of the endurance is used up [@nvme-spec]
SWAPPED_ABOVE_GIB = 4  # our own: a model's pages that were swapped out come back one at a time
CRASH_DAYS = 14  # our own: older records are of what was mended, or comes back
_SEVERITY = {"fault": 0, "degraded": 1}


@dataclass(frozen=True)
class Port:
    """A netdev that is none of the fabric's.

    pci: vendor and device; speed: in Mb/s, negative where it has no link; lost: how often it lost its link
    since it came up; eee, power_save: as ethtool and iw say it, signal: in dBm; empty or None if
    unknown.
    """

    name: str
    wireless: bool
    driver: str
    pci: str
    up: bool
    speed: int
    lost: int
    eee: str = ""
    power_save: str = ""
    signal: int | None = None


@dataclass(frozen=True)
class Disk:
    """An NVMe: its name, the kernel's word for its state, and what nvme smart-log says of it, if it was read."""

    name: str
    state: str
    smart: Mapping[str, int]


@dataclass(frozen=True)
class Board(Value):
    """One Spark's board.

    routes: netdevs with a default route; root: how / is mounted (rw, ro); swap_total_kb, swap_free_kb: as in
    /proc/meminfo; crashes: times of the kernel's crash records, in seconds; now: the host's clock; mellanox:
    functions of the ConnectX-7 on the PCI bus; failed: units; secure_boot: whether firmware demands signatures;
    modules: DKMS' row of each module for this kernel; log: the kernel's warnings since it booted, the last 400.
    """

    ports: tuple[Port, ...] = ()
    routes: tuple[str, ...] = ()
    disks: tuple[Disk, ...] = ()
    root: str = ""
    swap_total_kb: int | None = None
    swap_free_kb: int | None = None
    crashes: tuple[int, ...] = ()
    now: int = 0
    hotplug: bool = False
    mellanox: int | None = None
    failed: tuple[str, ...] = ()
    secure_boot: bool | None = None
    modules: tuple[str, ...] = ()
    kernel: str = ""
    log: tuple[str, ...] = ()


def parse(lines: Iterable[str]) -> Board:
    """Read the `KEY VALUE` rows of the board fact. Raises ValueError where one makes no sense."""
    rows: dict[str, list[str]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        rows.setdefault(word, []).append(rest.strip())

    def number(word: str) -> int | None:
        return int(rows[word][0].removesuffix("kB")) if word in rows else None

    smart = [row.split() for row in rows.get("smart", ())]
    return Board(
        ports=tuple(_port(row.split(), rows) for row in rows.get("netdev", ())),
        routes=tuple(rows.get("route", ())),
        disks=tuple(
            Disk(name, state, {key: _figure(figure) for disk, key, figure in smart if disk == name})
            for name, state in (row.split() for row in rows.get("nvme", ()))
        ),
        root=rows.get("root", [""])[0],
        swap_total_kb=number("SwapTotal:"),
        swap_free_kb=number("SwapFree:"),
        crashes=tuple(map(int, rows.get("crash", ()))),
        now=number("now") or 0,
        hotplug=rows.get("hotplug") == ["on"],
        mellanox=number("mellanox"),
        failed=tuple(rows.get("failed", ())),
        secure_boot=rows["secure_boot"][0] == "1" if "secure_boot" in rows else None,
        modules=tuple(rows.get("dkms", ())),
        kernel=rows.get("kernel", [""])[0],
        log=tuple(rows.get("log", ())),
    )


def _port(row: list[str], rows: Mapping[str, list[str]]) -> Port:
    name, kind, driver, pci, state, speed, lost = row

    def of(word: str) -> str:
        """What a row of another word says of this netdev."""
        return next(
            (rest for other, _, rest in (each.partition(" ") for each in rows.get(word, ())) if other == name), ""
        )

    return Port(
        grammar.NETDEV.held(name),
        kind == "wireless",
        driver,
        pci,
        state == "up",
        int(speed),
        int(lost),
        of("eee"),
        of("power_save"),
        int(of("signal")) if of("signal") else None,
    )


def _figure(word: str) -> int:
    """A figure of nvme-cli: newer releases print some in hexadecimal, and thousands with commas."""
    return int(word, 16) if word.startswith("0x") else int(word.replace(",", ""))


# --- verdicts; one that is healthy without evidence found nothing that it could judge


def rj45(board: Board) -> Verdict:
    """Whether the RJ45 has its own driver, a speed, and keeps its link."""
    wired = [port for port in board.ports if not port.wireless]
    ports = [port for port in wired if port.up and (port.pci == RTL8127 or port.name in board.routes)]
    for port in ports:
        if port.pci == RTL8127 and port.driver == "r8169":
            return Verdict(
                "degraded",
                "rj45-driver",
                f"{port.name} is driven by r8169, after which the RJ45 can stay away from a reboot on",
                "install the driver r8127 that DGX OS brings (apt list '*r8127*'), and reboot",
            )
        if 0 < port.speed < SLOW_BELOW_MBPS:
            evidence = f"{port.name} has a link of {port.speed} Mb/s"
            return Verdict("degraded", "rj45-slow", evidence, "take another cable, or another port of the switch")
        if port.lost >= LOST_LINKS:
            return _unsteady(port)
    return Verdict("healthy", evidence=listed([_linked(port) for port in ports if port.speed > 0]))


def _unsteady(port: Port) -> Verdict:
    evidence = f"{port.name} lost its link {port.lost} times since it came up"
    if not port.eee.startswith("enabled"):
        return Verdict("degraded", "rj45-unsteady", evidence, "take another cable, or another port of the switch")
    cure = on_host(f"sudo ethtool --set-eee {quoted(port.name)} eee off", ", which lasts until the next boot")
    return Verdict("degraded", "rj45-unsteady", f"{evidence}, with EEE {plain(port.eee)}", cure)


def _linked(port: Port) -> str:
    return f"{port.name} has {port.speed} Mb/s by {plain(port.driver)}"


def wifi(board: Board) -> Verdict:
    """Whether Wi-Fi that is in use hears its access point well."""
    for port in board.ports:
        if not (port.wireless and port.up) or port.signal is None:
            continue
        saves = f", power save {port.power_save}" if port.power_save else ""
        evidence = f"{port.name} hears its access point at {port.signal} dBm{saves}"
        if port.signal < WEAK_BELOW_DBM:
            return Verdict("degraded", "wifi-weak", evidence, "use the RJ45, or bring the access point nearer")
        return Verdict("healthy", evidence=evidence)
    return Verdict("healthy")


def nvme(board: Board) -> Verdict:
    """Whether each NVMe answers, is writable, and calls itself sound."""
    if board.root == "ro":
        cure = on_host("sudo dmesg | grep -iE 'nvme|ext4|remount'", "; save what you need before a reboot")
        return Verdict("fault", "root-read-only", "/ is mounted read-only", cure)
    if not board.disks:
        return Verdict("healthy")
    return next((verdict for disk in board.disks if (verdict := _failing(disk))), None) or _sound(board.disks)


def _failing(disk: Disk) -> Verdict | None:
    """What is wrong with an NVMe, by what it says of itself."""
    name, smart = plain(disk.name), disk.smart
    if disk.state != "live":
        cure = "shut down, unplug the power for a minute, and start again"
        return Verdict("fault", "nvme-away", f"{name} is {plain(disk.state)}", cure)
    warning, errors = smart.get("critical_warning", 0), smart.get("media_errors", 0)
    spare, worn = smart.get("available_spare", 100), smart.get("percentage_used", 0)
    reasons = {
        f"{name} warns of itself (critical_warning {warning})": warning,
        f"{name} has {errors} media errors": errors,
        f"{name} has {spare} % of its spare blocks left": spare < smart.get("available_spare_threshold", 0),
    }
    cure = on_host(
        f"sudo nvme smart-log {quoted(f'/dev/{disk.name}')}", "; save what you need, and have it replaced"
    )
    for evidence, holds in reasons.items():
        if holds:
            return Verdict("fault", "nvme-failing", evidence, cure)
    if worn >= WORN_FROM_PERCENT:
        return Verdict("degraded", "nvme-worn", f"{name} is worn by {worn} %", cure)
    return None


def _sound(disks: Iterable[Disk]) -> Verdict:
    silent = [disk.name for disk in disks if not disk.smart]
    if silent:
        evidence = f"{listed(map(plain, silent))} says nothing of its wear"
        return Verdict("unknown", "nvme-unread", evidence, on_host("sudo apt install nvme-cli"))
    worn = [f"{plain(disk.name)} is worn by {disk.smart.get('percentage_used', 0)} %" for disk in disks]
    return Verdict("healthy", evidence=f"{listed(worn)}, without a media error")


def log(board: Board) -> Verdict:
    """What the kernel warned of since the boot, by models/errors.yaml; the worst of it.

    What proves nothing there (its level is unknown) is no finding here: a healthy boot logs some of it.
    """
    seen: dict[Signature, list[str]] = {}
    for line in board.log:
        for row in table("kernel"):
            if words := row.search(line):
                seen.setdefault(row, []).append(words.group())
                break
    told = sorted((row for row in seen if row.level in _SEVERITY), key=lambda row: _SEVERITY[row.level])
    if not told:
        evidence = f"no sign of trouble in what the kernel warned of since the boot (lines: {len(board.log)})"
        return Verdict("healthy", evidence=evidence if board.log else "")
    worst = told[0]
    times = f" ({len(seen[worst])} times)" if len(seen[worst]) > 1 else ""
    others = f"; and {len(told) - 1} more" if len(told) > 1 else ""
    evidence = f"{worst.meaning}{times}: {plain(seen[worst][0][:120])}{others}"
    return Verdict(worst.level, worst.cause, evidence, worst.cure)


def crash(board: Board) -> Verdict:
    """Whether the kernel left a record of a crash (pstore) of late."""
    late = [when for when in board.crashes if when > board.now - CRASH_DAYS * 86_400]
    if not late:
        return Verdict("healthy", evidence=f"no crash record of the last {CRASH_DAYS} days" if board.now else "")
    day = datetime.fromtimestamp(max(late), UTC).date()
    evidence = f"the kernel left {len(late)} crash records, the last on {day}"
    cure = on_host("sudo ls -l /var/lib/systemd/pstore", "; keep them for NVIDIA's support, then move them away")
    return Verdict("degraded", "kernel-crash", evidence, cure)


def hotplug(board: Board) -> Verdict:
    """Whether the ConnectX-7 is on the bus, or away for a reason."""
    if board.mellanox:
        state = "on" if board.hotplug else "off"
        return Verdict("healthy", evidence=f"the ConnectX-7 is there, its hot-plug is {state}")
    if board.hotplug:
        return Verdict(
            "healthy", evidence="the ConnectX-7 is off the bus, as without a cable where hot-plug is on"
        )
    return Verdict("healthy")


def swap(board: Board) -> Verdict:
    """Whether much memory was swapped out."""
    if board.swap_total_kb is None or board.swap_free_kb is None:
        return Verdict("healthy")
    used, total = ((board.swap_total_kb - board.swap_free_kb) / 2**20, board.swap_total_kb / 2**20)
    if used > SWAPPED_ABOVE_GIB:
        evidence = f"{used:.1f} GiB of memory are swapped out, of {total:.1f} GiB of swap"
        cure = "give the model server less memory (--gpu-memory-utilization), and start it again"
        return Verdict("degraded", "swapped", evidence, cure)
    return Verdict("healthy", evidence=f"{used:.1f} GiB of {total:.1f} GiB swap are used" if total else "no swap")


def units(board: Board) -> Verdict:
    """Whether systemd calls a unit failed."""
    if not board.now:
        return Verdict("healthy")
    if not board.failed:
        return Verdict("healthy", evidence="no unit has failed")
    names = [plain(name) for name in board.failed]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    failed = f"{listed(names[:4])}{more} failed"
    return Verdict("degraded", "unit-failed", failed, on_host(f"systemctl status {quoted(board.failed[0])}"))


def modules(board: Board) -> Verdict:
    """Whether DKMS built its modules for the running kernel."""
    absent = [row for row in board.modules if not re.search(r": installed\b", row)]
    signed = {True: "Secure Boot is on", False: "Secure Boot is off", None: ""}[board.secure_boot]
    if absent:
        names = listed([plain(row.partition(",")[0].partition(":")[0]) for row in absent])
        evidence = f"DKMS has not built {names} for kernel {plain(board.kernel)}"
        cure = on_host(
            "sudo dkms autoinstall", f"; {signed}, so that its key must be enrolled" * bool(board.secure_boot)
        )
        return Verdict("degraded", "dkms-absent", evidence, cure)
    built = f"DKMS built {len(board.modules)} for kernel {plain(board.kernel)}" if board.modules else ""
    return Verdict("healthy", evidence=", ".join(filter(None, (signed, built))))


VERDICTS = {
    "health.rj45": rj45,
    "health.wifi": wifi,
    "health.nvme": nvme,
    "health.log": log,
    "health.crash": crash,
    "health.hotplug": hotplug,
    "health.swap": swap,
    "health.units": units,
    "health.modules": modules,
}
