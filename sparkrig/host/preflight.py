"""Whether a host is fit to be changed at all: room, mounts, dpkg, clock, reboots to come, NetworkManager.

Source: our own reasoning; each obstacle is made on the virtual pair (docs/faults.md, rows 2, 7, 8, 9, 29).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from sparkrig.cure import as_root, deploy, on_host, quoted_path, started, verb
from sparkrig.host import armed, first_upgrade, targets, update_record
from sparkrig.host.apt import Holder
from sparkrig.host.apt import parse as parse_holders
from sparkrig.host.armed import Armed
from sparkrig.host.first_upgrade import FirstUpgrade
from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.value import Value

ROOM_MB = 50  # what files, journal and backups of a run may take, many times over
INSTALL_MB = 500  # package lists, archives and the unpacked toolkit
SKEW_WARN_S = 60
SKEW_MAX_S = 300  # apt refuses lists that are not valid yet, TLS certificates; seen from minutes on
SET_CLOCK = on_host("timedatectl; sudo systemctl restart systemd-timesyncd")
SHUTDOWN_S = 1800  # the longest that a deploy is expected to take
OLDEST_MANAGER = (1, 40)  # checkpoints as they are used here
UNFINISHED = ("half-installed", "unpacked", "half-configured")


@dataclass(frozen=True)
class Shutdown(Value):
    """A shutdown that was scheduled: poweroff, reboot, ..., and in how many seconds."""

    mode: str
    in_s: float


@dataclass(frozen=True)
class Manager(Value):
    """NetworkManager: its unit's load and active state; its version and its checkpoints where it runs."""

    load: str = ""
    active: str = ""
    version: str = ""
    checkpoints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preflight(Value):
    """What must be known of a host before its first change.

    room_mb: free space by path (/, /var, /etc; /boot, /usr and /var/cache where they are mounts of their own);
    read_only: those of them that cannot be written; unfinished: packages that dpkg left in the middle, in dpkg's
    order; journal: files of a dpkg run that broke off; skew_s: how far the host's clock is ahead of the
    controller's; apt: who holds a lock of apt's; upgrade: NVIDIA's own at the first start; barred: files of ours
    that cannot be put in their places; open_run: whether the newest run of the journal has no end, because it
    broke off or is still at work; update: an update that is open (`sparkrig update`), in words, empty for none;
    armed: network changes that are not confirmed; lost: whether the journal is gone, although a run ended here.
    """

    room_mb: dict[str, int]
    skew_s: float
    read_only: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    journal: int = 0
    shutdown: Shutdown | None = None
    apt: tuple[Holder, ...] = ()
    manager: Manager = field(default_factory=Manager)
    upgrade: FirstUpgrade = field(default_factory=FirstUpgrade)
    barred: tuple[targets.Barred, ...] = ()
    open_run: bool = False
    update: str = ""
    armed: tuple[Armed, ...] = ()
    lost: bool = False


def parse(lines: Iterable[str], now: float) -> Preflight:
    """Read the preflight fact. now: the controller's clock when the host's row `clock` arrived, in seconds.

    Raises ValueError or LookupError where a row is absent or makes no sense.
    """
    rows = [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]
    first = dict(reversed(rows))
    unit = dict(rest.split("=", 1) for word, rest in rows if word in ("unit", "shutdown"))
    clock = bounds.finite(first["clock"])
    return Preflight(
        room_mb={path: int(free) for word, rest in rows if word == "room" for free, path in [rest.split()]},
        skew_s=clock - now,
        read_only=_all(rows, "read-only"),
        unfinished=tuple(
            name
            for status, flag, name in (row.split(" ", 2) for row in _all(rows, "package"))
            if status in UNFINISHED or flag == "reinstreq"
        ),
        journal=len(_all(rows, "journal")),
        shutdown=Shutdown(unit["MODE"], int(unit["USEC"]) / 1e6 - clock) if "USEC" in unit else None,
        apt=parse_holders(f"{word} {rest}" for word, rest in rows),
        manager=Manager(
            unit.get("LoadState", ""),
            unit.get("ActiveState", ""),
            next((row[1:-1] for row in _quoted(rows, "s ")), ""),
            tuple(path for row in _quoted(rows, "ao ") for path in re.findall(r'"([^"]*)"', row)),
        ),
        upgrade=first_upgrade.parse(f"{word} {rest}" for word, rest in rows),
        barred=targets.parse(_all(rows, "barred")),
        open_run="open" in first,
        update=update_record.opened(first.get("update", "")),
        armed=tuple(map(armed.parse, _all(rows, "armed"))),
        lost="lost" in first,
    )


def _all(rows: Iterable[tuple[str, str]], wanted: str) -> tuple[str, ...]:
    return tuple(rest for word, rest in rows if word == wanted)


def _quoted(rows: Iterable[tuple[str, str]], kind: str) -> list[str]:
    """What busctl printed of a property of that D-Bus type."""
    return [rest.removeprefix(kind) for rest in _all(rows, "nm") if rest.startswith(kind)]


def judge(
    found: Preflight,
    *,
    fabric: bool,
    running: bool,
    installs: bool,
    due: Collection[str] = (),
    kept: bool | None = None,
    more_mb: int = 0,
    within_s: float = SHUTDOWN_S,
) -> list[Refusal]:
    """Every reason not to begin; the read-only mount alone where there is one, for it explains the rest.

    fabric: whether a fabric is declared; running: whether NetworkManager answers; installs: whether packages are
    to be installed; due: the files that are to be written; kept: whether a service reports that it keeps the
    clock, None where there is none; more_mb: what the packages need beyond the usual; within_s: how long it lasts.
    """
    if found.read_only:
        return mounts(found)
    upgrades = first_upgrade.refusals(found.upgrade)
    fit = [*room(found, installs=installs, more_mb=more_mb), *dpkg(found), *clock(found, kept)]
    fit += shutdown(found, within_s)
    network = manager(found.manager, running=running) if fabric else []
    return [*upgrades, *armed.refusals(found.armed), *fit, *network, *targets.refusals(found.barred, due)]


def mounts(preflight: Preflight) -> list[Refusal]:
    """Why nothing can be written."""
    paths = preflight.read_only
    if not paths:
        return []
    return [
        Refusal(
            f"{listed(paths)} {'is' if len(paths) == 1 else 'are'} mounted read-only, so nothing can be written; "
            "a file system with errors is, too",
            on_host(f"sudo dmesg | grep -i -e remount -e error; sudo mount -o remount,rw {quoted_path(paths[0])}"),
        )
    ]


def room(found: Preflight, *, installs: bool, more_mb: int = 0) -> list[Refusal]:
    """Why a run has not room enough. installs, more_mb: as judge() has them."""
    needed = {"/etc": ROOM_MB, "/var": (INSTALL_MB if installs else ROOM_MB) + more_mb}
    if more_mb:  # what is unpacked lies in /usr, and the archives may have a mount of their own
        own = (path for path in found.room_mb if path == "/usr" or path.startswith("/var/cache"))
        needed |= dict.fromkeys(("/", *own), needed["/var"])
    small = [path for path, least in needed.items() if found.room_mb.get(path, least) < least]
    if not small:
        return []
    least, free = max(needed[path] for path in small), min(found.room_mb[path] for path in small)
    have = "has" if len(small) == 1 else "have"
    return [
        Refusal(
            f"{listed(small)} {have} {free} MB of room, and {least} MB are expected",
            on_host(f"sudo apt-get clean; sudo du -xh {quoted_path(small[-1])} | sort -h | tail"),
        )
    ]


def dpkg(found: Preflight) -> list[Refusal]:
    """Why dpkg has to be finished first."""
    at_work = found.apt or found.upgrade.under_way  # then it is no wreck
    if at_work or not (found.unfinished or found.journal):
        return []
    names = f" ({listed(found.unfinished)} unfinished)" if found.unfinished else ""
    return [Refusal(f"dpkg was interrupted{names}", on_host("sudo dpkg --configure -a"))]


def clock(found: Preflight, kept: bool | None) -> list[Refusal]:
    """Why the clock is too far off. kept: as judge() has it."""
    if abs(found.skew_s) <= SKEW_MAX_S:
        return []
    return [
        Refusal(
            f"{skew(found.skew_s, kept)}; apt and TLS fail with a wrong clock",
            SET_CLOCK,
        )
    ]


def skew(ahead_s: float, kept: bool | None = None) -> str:
    """How far a clock is off, in words. kept: as judge() has it."""
    way = "ahead of" if ahead_s > 0 else "behind"
    word = {None: "", True: " (synchronised, by its own word)", False: " (and is not synchronised)"}
    return f"the clock is {abs(ahead_s):.0f} s {way} this machine's{word[kept]}"


def shutdown(preflight: Preflight, within_s: float = SHUTDOWN_S) -> list[Refusal]:
    """Why a run of so many seconds might be cut short."""
    if preflight.shutdown is None or preflight.shutdown.in_s > within_s:
        return []
    return [Refusal(to_come(preflight.shutdown), on_host("sudo shutdown -c", ", or run again after it"))]


def to_come(shutdown: Shutdown) -> str:
    """A shutdown, in words."""
    return f"a {shutdown.mode} is scheduled in {max(0, shutdown.in_s) / 60:.0f} min"


def manager(found: Manager, *, running: bool) -> list[Refusal]:
    """Why the network cannot be changed: NetworkManager is off, or too old."""
    if found.load == "masked":
        return [
            Refusal(
                "NetworkManager is masked, and the fabric needs it",
                as_root(started("NetworkManager", "masked")),
            )
        ]
    if not running:
        state = f" ({found.active})" if found.active else ""
        return [
            Refusal(
                f"NetworkManager does not run{state}, and the fabric needs it",
                as_root(started("NetworkManager")),
            )
        ]
    version = tuple(map(int, re.findall(r"\d+", found.version)[:2]))
    if version and version < OLDEST_MANAGER:
        oldest = ".".join(map(str, OLDEST_MANAGER))
        return [
            Refusal(
                f"NetworkManager is {found.version}, and {oldest} or later is expected",
                on_host("sudo apt-get install network-manager"),
            )
        ]
    return []


def open_update(preflight: Preflight) -> list[Refusal]:
    """Why a Spark is between two releases: an update that broke off, or is at work."""
    cure = on_host(update_record.REMOVED) if preflight.update == update_record.ANOTHERS else verb("update")
    return [Refusal(preflight.update, cure)] if preflight.update else []


def journal_lost(preflight: Preflight) -> list[Refusal]:
    """Why nothing of what was done to the host can be undone, where there was something."""
    return [lost_journal()] if preflight.lost else []


def lost_journal() -> Refusal:
    """Of a host whose runs are not kept any more. No reason to leave it alone: a deploy begins a new journal."""
    return Refusal("the journal of the runs on this host is gone, so that none of them can be undone", deploy())


def warnings(found: Preflight, kept: bool | None, within_s: float = SHUTDOWN_S) -> list[str]:
    """What is worth a line, and keeps nothing from being done. kept, within_s: as judge() has it."""
    said = first_upgrade.warnings(found.upgrade)
    if SKEW_WARN_S < abs(found.skew_s) <= SKEW_MAX_S:
        said.append(f"{skew(found.skew_s, kept)}; try: timedatectl")
    if found.shutdown and found.shutdown.in_s > within_s:
        said.append(f"{to_come(found.shutdown)}; try: sudo shutdown -c")
    if found.room_mb.get("/boot", ROOM_MB) < ROOM_MB:
        said.append(f"/boot has {found.room_mb['/boot']} MB of room, too little for another kernel")
    return said
