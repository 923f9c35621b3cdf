"""What of one Spark fails apart from GPU and fabric: RJ45, Wi-Fi, NVMe, and what kernel and systemd say of it.

Sources: [@siderolabs-r8127] for the driver of the RJ45, [@forum-354764] for its EEE, [@nvme-spec] for the NVMe,
[@graham33-hotplug] for hot-plug. A bound without one is our own reasoning, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from sparkrig.cure import on_host, quoted, verb
from sparkrig.host import firmware_table
from sparkrig.host.firmware_table import Table
from sparkrig.parsing import grammar
from sparkrig.signatures import by_line, table
from sparkrig.text import listed, plain, some
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
_SIGNALS = range(-120, 0)  # dBm; a driver that knows none prints 0 or -256
_UNIT = re.compile(r"[A-Za-z0-9@:._\\-]{1,255}\.[a-z]+")  # systemd.unit(5)
_MODULE = re.compile(r"[^ :,]+[/,].{0,200}: [a-z]")  # a row of `dkms status`
_NAMED, _SHOWN, _DIGITS = 4, 60, 20

T = TypeVar("T")


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
    modules: DKMS' row of each module for this kernel; firmware: what the board tells of it; log: the kernel's
    warnings since it booted, the last 400; odd: by what it is about, a row that makes no sense.
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
    odd: Mapping[str, str] = field(default_factory=dict)
    firmware: Table = field(default_factory=Table)


def parse(lines: Iterable[str]) -> Board:
    """Read the `KEY VALUE` rows of the board fact.

    One that makes no sense is kept as odd: hardware that nobody foresaw must not hide the rest of a host.
    """
    rows, told = _Rows(), [*lines]
    for line in told:
        word, _, rest = line.partition(" ")
        rows.setdefault(word, []).append(rest.strip())
    return Board(
        ports=rows.each("netdev", lambda row: _port(row, rows)),
        routes=tuple(rows.get("route", ())),
        disks=rows.each("nvme", lambda row: _disk(row, rows)),
        root=rows.first("root"),
        swap_total_kb=rows.number("SwapTotal:"),
        swap_free_kb=rows.number("SwapFree:"),
        crashes=rows.each("crash", _number),
        now=rows.number("now") or 0,
        hotplug=rows.get("hotplug") == ["on"],
        mellanox=rows.number("mellanox"),
        failed=tuple(row for row in rows.get("failed", ()) if _UNIT.fullmatch(row)),
        secure_boot={"0": False, "1": True}.get(rows.first("secure_boot")),
        modules=tuple(row for row in rows.get("dkms", ()) if _MODULE.match(row)),
        kernel=rows.first("kernel"),
        log=tuple(rows.get("log", ())),
        odd=rows.odd,
        firmware=firmware_table.parse(told),
    )


class _Rows(dict[str, list[str]]):
    """The rows by their first word; odd: by that word the first that makes no sense."""

    def __init__(self) -> None:
        self.odd: dict[str, str] = {}

    def first(self, word: str) -> str:
        return self.get(word, [""])[0]

    def each(self, word: str, make: Callable[[str], T]) -> tuple[T, ...]:
        """What each row of a word means."""
        made: list[T] = []
        for row in self.get(word, ()):
            try:
                made.append(make(row))
            except ValueError:
                self.odd.setdefault(word, row[:_SHOWN])
        return tuple(made)

    def number(self, word: str) -> int | None:
        return next(iter(self.each(word, _number)), None)


def _number(text: str) -> int:
    """A whole number, in whatever form a tool prints it: hexadecimal, with commas between thousands, in kB."""
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text)} characters")
    return int(text, 16) if text.startswith("0x") else int(text.replace(",", "").removesuffix("kB"))


def _port(row: str, rows: _Rows) -> Port:
    name, kind, driver, pci, state, speed, lost = row.split()
    own = {
        word: rest
        for word in ("eee", "power_save", "signal")
        for other, _, rest in (each.partition(" ") for each in rows.get(word, ()))
        if other == name
    }
    signal = _number(own["signal"]) if "signal" in own else None
    return Port(
        grammar.NETDEV.held(name),
        kind == "wireless",
        driver,
        pci,
        state == "up",
        _number(speed),
        _number(lost),
        own.get("eee", ""),
        own.get("power_save", ""),
        signal if signal in _SIGNALS else None,
    )


def _disk(row: str, rows: _Rows) -> Disk:
    """A state may have blanks: `deleting (no IO)`."""
    name, _, state = row.partition(" ")

    def figure(line: str) -> tuple[str, str, int]:
        disk, key, value = line.split()
        return disk, key, _number(value)

    smart = {key: value for disk, key, value in rows.each("smart", figure) if disk == name}
    return Disk(name, state or "in no state that it tells", smart)


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
    linked = [f"{port.name} has {port.speed} Mb/s by {plain(port.driver)}" for port in ports if port.speed > 0]
    return Verdict("healthy", evidence=listed(linked))


def _unsteady(port: Port) -> Verdict:
    evidence = f"{port.name} lost its link {port.lost} times since it came up"
    if not port.eee.startswith("enabled"):
        return Verdict("degraded", "rj45-unsteady", evidence, "take another cable, or another port of the switch")
    cure = on_host(f"sudo ethtool --set-eee {quoted(port.name)} eee off", ", which lasts until the next boot")
    return Verdict("degraded", "rj45-unsteady", f"{evidence}, with EEE {plain(port.eee)}", cure)


def wifi(board: Board) -> Verdict:
    """Whether Wi-Fi that is in use hears its access point well."""
    for port in board.ports:
        if not (port.wireless and port.up) or port.signal is None:
            continue
        saves = f", power save {plain(port.power_save)}" if port.power_save else ""
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
    seen = by_line(table("kernel"), board.log)
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
    late = [when for when in board.crashes if board.now - CRASH_DAYS * 86_400 < when <= board.now]
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
    failed = f"{some(board.failed, _NAMED)} failed"
    return Verdict("degraded", "unit-failed", failed, on_host(f"systemctl status -- {quoted(board.failed[0])}"))


def modules(board: Board) -> Verdict:
    """Whether DKMS built its modules for the running kernel."""
    absent = [row for row in board.modules if not re.search(r": installed\b", row)]
    signed = {True: "Secure Boot is on", False: "Secure Boot is off", None: ""}[board.secure_boot]
    if absent:
        names = some([plain(row.partition(",")[0].partition(":")[0]) for row in absent], _NAMED)
        evidence = f"DKMS has not built {names} for kernel {plain(board.kernel)}"
        cure = on_host(
            "sudo dkms autoinstall", f"; {signed}, so that its key must be enrolled" * bool(board.secure_boot)
        )
        return Verdict("degraded", "dkms-absent", evidence, cure)
    built = f"DKMS built {len(board.modules)} for kernel {plain(board.kernel)}" if board.modules else ""
    return Verdict("healthy", evidence=", ".join(filter(None, (signed, built))))


def firmware(board: Board) -> Verdict:
    """Whether a release closes what is open in the firmware."""
    return firmware_table.verdict(board.firmware)


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
    "health.firmware": firmware,
}
_ABOUT = {
    **{"netdev": "health.rj45", "nvme": "health.nvme", "smart": "health.nvme", "mellanox": "health.hotplug"},
    **{"crash": "health.crash", "now": "health.crash", "SwapTotal:": "health.swap", "SwapFree:": "health.swap"},
}


def verdicts(board: Board) -> dict[str, Verdict]:
    """Every verdict by the id of its check; unknown where nothing is wrong by what could be understood."""
    found = {id: judge(board) for id, judge in VERDICTS.items()}
    for word, row in board.odd.items():
        if found[_ABOUT[word]].healthy:
            evidence = f"what the host says of it makes no sense: {plain(row) or 'nothing'}"
            found[_ABOUT[word]] = Verdict("unknown", "board-odd", evidence, verb("support"))
    return found
