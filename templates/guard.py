"""Changes what can strand a host under guard: whatever happens meanwhile, the host finds its way back by itself.

An order is about the network, or about files that a service reads: those of the ssh server, or of a firewall.

Runs on the host as root, with the standard library only, from one file: at boot nothing else of ours is there.
operations/guard.py sends it with an order to a folder `guard*` in that of a run, and imports it there for each
verb, so that Python keeps it compiled; what has to work after a power cut runs the file itself:

    start     snapshot, arm the ways back, apply in a detached unit, wait for its end
    wait      wait for that end (after a lost connection)
    apply     what the detached unit runs
    commit    give up the ways back, and make the change permanent
    rollback  put everything back as the snapshot has it; the dead-man's timer runs this too
    revert    the same after a commit, because the other half of the pair could not commit
    recover   the same at boot, before NetworkManager and the services that read the files run

The ways back: NetworkManager's own checkpoint (fast, but a restart of NetworkManager drops it), a systemd timer
(needs neither NetworkManager's memory nor whoever started this), and a unit at boot. An order of files has the
last two, and programs that come with it: `test` reads the files before anything follows them, `live` makes the
running service follow them, also once they went back, and `verify` proves that it does. Each answer is one JSON
object.
Sources: [@nm-checkpoint]; what a checkpoint does and does not restore was seen with NetworkManager 1.46 and 1.52.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:  # its import would be a tenth of what each verb costs
    from typing import Any

ROOT = Path(os.environ.get("SPARKRIG_ROOT", "/"))  # another one in tests
NETPLAN = "etc/netplan"
PERSISTENT = ("etc/NetworkManager/system-connections", NETPLAN)
VOLATILE = "run/NetworkManager/system-connections"
BOOT_UNIT = ROOT / "etc/systemd/system/sparkrig-guard.service"
BOOT_LINK = ROOT / "etc/systemd/system/multi-user.target.wants/sparkrig-guard.service"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

NM = "org.freedesktop.NetworkManager"
MANAGER = (NM, "/org/freedesktop/NetworkManager", NM)
SETTINGS = (NM, "/org/freedesktop/NetworkManager/Settings", f"{NM}.Settings")
# DELETE_NEW_CONNECTIONS | DISCONNECT_NEW_DEVICES; the second only works for all devices at once
CHECKPOINT_FLAGS = 0x06
GRACE_S = 5  # between NetworkManager's deadline and the dead-man's
SETTLE_S = 5  # for NetworkManager to finish a rollback of its own
RETURN_S = 20  # for files and links to be as before, once told to

# The longest that each step may take; each is multiplied by the order's patience.
ASK_S = 10  # one question to, or command of, ip, nmcli, busctl or systemctl
LOOK_S = 2 * ASK_S  # links()
ANSWERS_S = ASK_S + LOOK_S  # nm_answers()
ROLLBACK_S = 30  # NetworkManager's own
RESTART_S = 100  # systemd kills a NetworkManager that does not stop after 90 s, its default
AWAKE_S = 30  # for NetworkManager to answer after that
NETPLAN_S = 30
UP_S = 30  # one activation
PROGRAM_S = 60  # a program of an order of files
FILES_S = 10  # reading and writing files, and the pauses between looks
RELOAD_S = NETPLAN_S + ASK_S
LINKS_S = LOOK_S + UP_S + 2 * ASK_S  # all links at once: each is activated and gets its MTU
ROUND_S = RESTART_S + AWAKE_S + ANSWERS_S + RELOAD_S + LINKS_S + RETURN_S + LOOK_S  # of put_back()
# all of back(), each step at its slowest; sparkrig/network/guard.py has the sum
BACK_S = ROLLBACK_S + SETTLE_S + LOOK_S + ANSWERS_S + 2 * ROUND_S + LOOK_S + 3 * ASK_S + FILES_S

FOLLOWED = "followed"  # a file of the guard: from then on the new files may be followed
LIVE = ("armed", "applied")  # states in which a way back is still needed
NOT_RESTORED = "not as before: "
STAYS = " stays as another one left it"
ROOM_B = 16384  # for a state with its detail
CAUSE_MAX = 1000  # characters of why it went back: what is not as before comes after it
# The states to come, each with the detail that counts where there is not even the room to write another one
RESERVED = {
    "applied": "",
    "committed": "",
    "rolled-back": f"the reason could not be written down; {NOT_RESTORED}unknown, as the disk was full",
}


class Trouble(Exception):
    """Why it cannot go on, in one sentence."""


# what a tool says that cannot be understood is a failure like any other
FAULTS = (Trouble, OSError, ValueError, LookupError)


def main(arguments: list[str]) -> int:
    verb, *rest = arguments
    verbs: dict[str, Callable[..., None]] = {
        "start": start,
        "wait": wait,
        "apply": apply,
        "commit": commit,
        "rollback": rollback,
        "revert": revert,
        "recover": recover,
    }
    guard = Guard(Path(__file__).resolve().parent)
    try_to(guard.heed_patience)
    verbs[verb](guard, *rest)
    print(json.dumps(guard.unsaid or guard.told()))
    return 0


class Limits:
    """How slow this host may be: the factor on every limit, which the order has."""

    patience: float = 1


class Guard:
    """The folder of one guarded change, and what stands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = folder / "before"
        self.run = folder.parent.name
        part = folder.name.removeprefix("guard")
        self.deadman = f"sparkrig-deadman-{self.run}{part}"
        self.applying = f"sparkrig-apply-{self.run}{part}"
        self.lock = folder / "lock"
        self.room = folder / "room"
        self.changes = folder / ".changed"  # room for `changed`, as for a state
        self.unsaid: dict[str, Any] = {}  # what the disk had no room for

    @property
    def order(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text(self.folder / "order.json"))
        return found

    @property
    def files(self) -> list[dict[str, Any]]:
        """Those that the order is about; none where it is about the network, or a disk spoiled it."""
        return list(self.known("files"))

    def known(self, key: str) -> Any:
        """What the order has by a key; nothing where it cannot be read, which stops no way back."""
        try:
            return self.order.get(key, ())
        except (OSError, ValueError):
            return ()

    @property
    def state(self) -> str:
        return str(self.told()["state"])

    def told(self) -> dict[str, Any]:
        """State, what there is to say of it, and the seconds until NetworkManager would roll back.

        A state of bytes that are no UTF-8 counts as armed: nothing says that it was confirmed.
        """
        file = self.folder / "state"
        word, _, detail = text(file).partition("\n") if file.is_file() else ("none", "", "")
        word = "armed" if "\ufffd" in word else word
        return {"state": word, "detail": detail.strip(), "left": self.left if word in LIVE else 0}

    @property
    def left(self) -> float:
        """Seconds until NetworkManager would roll back: by the time since the boot, which nobody sets."""
        end, _, boot = content(self.folder / "deadline").partition(" ")
        try:
            return max(0, round(float(end) - uptime(), 1)) if boot == content(BOOT_ID) else 0
        except ValueError:
            return 0

    def reserve(self) -> None:
        """Take the room that a way back needs before there is anything to take back: the disk may be full then.

        A state is written to a file of its own, which is renamed when it is reached: that needs no room. A lock
        that exists needs none either. What `room` takes is given back for the files that are put back; it serves
        them where /etc and /var are one file system.
        """
        for state, detail in RESERVED.items():
            write(self.reserved(state), f"{state}\n{detail}\n".ljust(ROOM_B))
        write(self.changes, "".ljust(ROOM_B))
        self.lock.touch()
        kept = [file.stat().st_size for file in self.before.rglob("*") if file.is_file()]
        blocks = 4096 * 2 * (len(kept) + 1)  # the last of each file is not full, and a folder may need one more
        with self.room.open("wb") as room:
            os.posix_fallocate(room.fileno(), 0, sum(kept) + blocks)

    def heed_patience(self) -> None:
        Limits.patience = float(self.order.get("patience", 1))

    def release(self) -> None:
        """Give back the room that was taken; a file system may keep it until the folder is synced."""
        if self.room.exists():
            self.room.unlink()
            fsync(self.folder)

    def reserved(self, state: str) -> Path:
        return self.folder / f".state.{state}"

    def say(self, state: str, detail: str = "") -> None:
        """Note the state, so that a power cut leaves the old or the new one, and a full disk the new one."""
        text, file = f"{state}\n{detail}\n", self.folder / "state"
        if self.reserved(state).is_file():
            try_to(overwrite, self.reserved(state), text)
            self.reserved(state).replace(file)
            try_to(fsync, self.folder)
        else:
            write(file, text)

    def journal(self, what: str) -> None:
        """A line for the run's steps: the host keeps them itself, for it may go on without a controller."""
        with (self.folder.parent / "steps").open("a", encoding="utf-8", errors="replace") as steps:
            steps.write(f"{int(time.time())} {what} {self.order['step']}\n")
            steps.flush()
            os.fsync(steps.fileno())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One at a time: the dead-man may wake up while the controller commits or rolls back."""
        with self.lock.open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


# the verbs


def start(guard: Guard) -> None:
    order = guard.order
    try:
        guard.journal("begun")
        require_no_other_guard(guard)
        if guard.files:
            snapshot_files(guard)
        else:
            require_free_checkpoint()
            snapshot(guard, {link["netdev"] for link in order["links"]})
        arm(guard, order["window"])
    except FAULTS as trouble:
        disarm(guard)
        guard.unsaid = {"state": "rolled-back", "detail": f"{trouble}; nothing was changed", "left": 0}
        try_to(guard.say, "rolled-back", guard.unsaid["detail"])
        try_to(guard.journal, "ended 1")
        return
    limit = f"--property=RuntimeMaxSec={order['window']}"
    unit = ["systemd-run", "--quiet", "--collect", f"--unit={guard.applying}", limit]
    try:
        run([*unit, sys.executable, "-I", "-S", "-c", BY_IMPORT, str(guard.folder), "apply"])
    except Trouble as trouble:
        rollback(guard, str(trouble))
    wait(guard)


def wait(guard: Guard) -> None:
    """Also for a way back that the dead-man took: one that was not confirmed is not left before it ended."""
    until(lambda: guard.state != "armed", guard.order["window"] + GRACE_S + slow(ASK_S + BACK_S), pause=0.1)


def apply(guard: Guard) -> None:
    order = guard.order
    try:
        left = change_files(guard) if guard.files else change_network(guard, order)
        with guard.alone():
            if guard.state == "armed":
                guard.say("applied", "; ".join(left))
    except FAULTS as trouble:
        give_up(guard, str(trouble))


def change_network(guard: Guard, order: dict[str, Any]) -> list[str]:
    """What of an earlier state could not be put back, in words."""
    left: list[str] = []
    if order["restore"]:
        wanted, theirs = without(guard, ROOT / order["restore"].lstrip("/"))
        left = [*put_back(wanted), *(f"{path}{STAYS}" for path in theirs)]
    for profile in order["profiles"]:
        define(profile)
    side_by_side(lambda profile: activate(profile["uuid"], order["seconds"]), order["profiles"])
    for uuid in order["remove"]:
        deactivate(uuid)
    verify(guard, order)
    return left


def commit(guard: Guard) -> None:
    order = guard.order
    with guard.alone():
        if guard.state != "applied":
            return
        try:
            if guard.files:
                verify_files(guard)
                sync_files(guard)
                note_files(guard)
            else:
                destroy_checkpoint(text(guard.folder / "checkpoint"))
                make_permanent(order)
                verify(guard, order)
                sync(*PERSISTENT)
                note_changes(guard)
            guard.say("committed", guard.told()["detail"])  # from here on a power cut keeps the change
        except FAULTS as trouble:
            back(guard, str(trouble))
            return
        for kept, here in discarded(guard):
            if here.is_file():
                try_to(here.replace, kept)
        disarm(guard)
        try_to(guard.journal, "ended 0")


def rollback(guard: Guard, why: str) -> None:
    halt(guard)
    give_up(guard, why)


def revert(guard: Guard, why: str) -> None:
    halt(guard)
    with guard.alone():
        if guard.state in (*LIVE, "committed"):
            back(guard, why)


def recover(guard: Guard) -> None:
    """No service runs yet, and what was in memory is gone: only the files are left to put back."""
    if guard.state in LIVE:
        try_to(guard.release)
        if guard.files:
            left = restored_files(guard)
        else:
            # systemd had netplan render its files as they were before this
            try_to(render, restore_files(guard.before))
            try_to(sync, *PERSISTENT)
            left = [f"{file} differs" for file in stale_files(guard.before)]
        why = "the host was rebooted before the change was confirmed"
        try_to(guard.say, "rolled-back", ended(why, left))
        try_to(guard.journal, "ended 1")
    disarm(guard)


# arming


def require_free_checkpoint() -> None:
    """Somebody else's checkpoint covers our devices, and its rollback would take our change with it."""
    found = run(["busctl", "--json=short", "get-property", *MANAGER, "Checkpoints"])
    if paths := json.loads(found)["data"]:
        raise Trouble(
            f"another tool holds a NetworkManager checkpoint ({paths[0]}), which has to be confirmed or to run out"
        )


def at_boot() -> Path | None:
    """The folder of the guard that the next boot calls."""
    for line in content(BOOT_UNIT).splitlines():
        key, _, folder = line.partition("=")
        if key == "RequiresMountsFor":
            return Path(folder)
    return None


def require_no_other_guard(guard: Guard) -> None:
    """There is one unit at boot, and it belongs to the change that is not confirmed yet."""
    other = at_boot()
    if other and other != guard.folder and Guard(other).state in LIVE:
        raise Trouble(f"run {Guard(other).run} has a change here that is neither confirmed nor taken back")


def snapshot(guard: Guard, ordered: set[str]) -> None:
    """Keep the files that define connections, and what the links are now.

    One that is not ordered and just comes up or goes down is left to itself: a way back would cut it off.
    """
    into = guard.before
    into.mkdir(mode=0o700)
    for place in (*PERSISTENT, VOLATILE):
        if (ROOT / place).is_dir():
            shutil.copytree(ROOT / place, into / place, ignore=no_files, copy_function=copy_owned)
    ours = {
        name: link
        for name, link in links().items()
        if not link["external"] and (name in ordered or not link["passing"])
    }
    write(into / "links.json", json.dumps({"links": ours, "default": default_routes()}))
    guard.reserve()
    sync_all(guard.folder)


def arm(guard: Guard, window: int) -> None:
    """Every way back stands before the first change."""
    write(BOOT_UNIT, boot_unit(guard))
    BOOT_LINK.parent.mkdir(exist_ok=True)
    BOOT_LINK.unlink(missing_ok=True)
    BOOT_LINK.symlink_to(f"../{BOOT_UNIT.name}")
    fsync(BOOT_LINK.parent)
    fsync(BOOT_UNIT.parent)  # the folder of links may be new
    wait_s = window + GRACE_S
    timer = [f"--unit={guard.deadman}", f"--on-active={wait_s}", "--timer-property=AccuracySec=1s"]
    deadman = ["systemd-run", "--quiet", "--collect", *timer]
    python("rollback", guard, deadman, f"it was not confirmed within {window} s")
    if guard.files:
        write_deadline(guard, window)
        guard.say("armed")
        return
    made = run(["busctl", "call", *MANAGER, "CheckpointCreate", "aouu", "0", str(window), str(CHECKPOINT_FLAGS)])
    checkpoint = made.split('"')[1]
    try:
        write(guard.folder / "checkpoint", checkpoint)
        write_deadline(guard, window)
        guard.say("armed")
    except FAULTS:  # a full disk: nobody would know it, and it would refuse every change until it runs out
        attempt(["busctl", "call", *MANAGER, "CheckpointDestroy", "o", checkpoint])
        raise


def write_deadline(guard: Guard, window: int) -> None:
    write(guard.folder / "deadline", f"{uptime() + window:.2f} {content(BOOT_ID)}")


def boot_unit(guard: Guard) -> str:
    readers = " ".join(["NetworkManager.service", "network-pre.target", *guard.known("units")])
    return f"""[Unit]
Description=sparkrig: take back a change that was not confirmed before the reboot
DefaultDependencies=no
RequiresMountsFor={guard.folder}
After=local-fs.target
Before={readers}

[Service]
Type=oneshot
ExecStart={sys.executable} {guard.folder}/guard.py recover

[Install]
WantedBy=multi-user.target
"""


def disarm(guard: Guard) -> None:
    attempt(["systemctl", "stop", f"{guard.deadman}.timer"])
    if at_boot() == guard.folder:  # another guard's is its only way back from a power cut
        try_to(BOOT_LINK.unlink, True)
        try_to(BOOT_UNIT.unlink, True)
        try_to(fsync, BOOT_LINK.parent)
        try_to(fsync, BOOT_UNIT.parent)
    try_to(guard.release)
    if knows_boot_unit():
        attempt(["systemctl", "--no-block", "daemon-reload"])


def knows_boot_unit() -> bool:
    """Whether systemd has read it meanwhile: at boot, or because somebody reloaded it, as `netplan generate` does.

    It is forgotten by a reload alone, which runs every generator and keeps a slow host busy for seconds.
    """
    try:
        return BOOT_UNIT.name in run(
            ["systemctl", "list-units", "--all", "--plain", "--no-legend", BOOT_UNIT.name]
        )
    except FAULTS:
        return True


# changing


def define(profile: dict[str, Any]) -> None:
    """In memory only: a reboot forgets it."""
    uuid = profile["uuid"]
    properties = [word for pair in profile["properties"].items() for word in pair]
    if profile["verb"] == "add":
        run(["nmcli", "connection", "add", "save", "no", "type", "ethernet", "connection.uuid", uuid, *properties])
    elif profile["verb"] == "modify":
        run(["nmcli", "connection", "modify", "--temporary", uuid, *properties])


def activate(uuid: str, seconds: int) -> None:
    run(["nmcli", "--wait", str(seconds), "connection", "up", uuid], seconds + slow(ASK_S))


def deactivate(uuid: str) -> None:
    """Its profile stays until the commit."""
    if uuid in run(["nmcli", "-t", "-f", "UUID", "connection", "show", "--active"]).split():
        run(["nmcli", "connection", "down", uuid])


def destroy_checkpoint(path: str) -> None:
    """The one moment that decides: a checkpoint that is gone has rolled back, or NetworkManager was restarted."""
    try:
        run(["busctl", "call", *MANAGER, "CheckpointDestroy", "o", path])
    except Trouble:
        raise Trouble(
            "NetworkManager no longer had the checkpoint (it ran out, or NetworkManager was restarted)"
        ) from None


def make_permanent(order: dict[str, Any]) -> None:
    for profile in order["profiles"]:
        found = run(["busctl", "call", *SETTINGS, "GetConnectionByUuid", "s", profile["uuid"]])
        run(["busctl", "call", NM, found.split('"')[1], f"{NM}.Settings.Connection", "Save"])
    for uuid in order["remove"]:
        run(["nmcli", "connection", "delete", uuid])
    for path in order["move"]:
        (ROOT / path.lstrip("/")).unlink(missing_ok=True)  # netplan's backend deletes an emptied file itself
    if order["move"]:
        reload_definitions()


def reload_definitions() -> None:
    """Never `netplan apply`: it restarts NetworkManager, which drops every checkpoint."""
    generate()
    run(["nmcli", "connection", "reload"])


def render(paths: list[str]) -> None:
    """For files that went back; systemd then reads every unit anew, so only where one of them is netplan's."""
    if any(path.startswith(NETPLAN) for path in paths):
        generate()


def generate() -> None:
    if (ROOT / NETPLAN).is_dir() and shutil.which("netplan"):
        run(["netplan", "generate"], slow(NETPLAN_S))


# files that a service reads

REFUSED = {
    "test": "the new files are refused",
    "live": "the files could not be applied",
    "verify": "the new files have no effect",
}


def snapshot_files(guard: Guard) -> None:
    """Keep each ordered file, where there is one. Raises Trouble for what is no file: a copy would not be it."""
    guard.before.mkdir(mode=0o700)
    for path in paths(guard):
        here, kept = ROOT / path, guard.before / path
        if here.is_symlink() or (here.exists() and not here.is_file()):
            raise Trouble(f"/{path} is no plain file")
        if here.is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            copy_owned(here, kept)
    guard.reserve()
    sync_all(guard.folder)


def paths(guard: Guard) -> list[str]:
    """Of the ordered files, below ROOT."""
    return [file["path"].lstrip("/") for file in guard.files]


def change_files(guard: Guard) -> list[str]:
    """All are in place and tested before the first is followed. Nothing is left that should have gone back."""
    for file in guard.files:
        place(file)
    heed(guard, "test")
    write(guard.folder / FOLLOWED, "")
    heed(guard, "live")
    verify_files(guard)
    return []


def note_files(guard: Guard) -> None:
    """In the run's folder what it wrote, for an undo, as templates/programs/runs/journal_keeps.sh notes it."""
    wrote = guard.folder.parent / "wrote"
    rows = []
    for path in paths(guard):
        here = ROOT / path
        if here.is_file():
            (wrote / "files" / path).parent.mkdir(parents=True, exist_ok=True)
            copy_owned(here, wrote / "files" / path)
            found = here.stat()
            owner = f"{here.owner()}:{here.group()}" if found.st_uid or found.st_gid else "root:root"
            rows.append(f"file /{path} {found.st_mode & 0o7777:o} {owner} {digest(here)}\n")
        else:
            rows.append(f"file /{path} absent\n")
    with (wrote / "state").open("a", encoding="utf-8", errors="replace") as state:
        state.writelines(rows)
        state.flush()
        os.fsync(state.fileno())


def place(file: dict[str, Any]) -> None:
    """A file as ordered: a text, the copy of an earlier file with its mode and owner, or none."""
    here = ROOT / file["path"].lstrip("/")
    if file["kept"]:
        restore_file(ROOT / file["kept"].lstrip("/"), here)
    elif file["text"] is None:
        here.unlink(missing_ok=True)
    else:
        here.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        new = here.with_name(f".{here.name}.sparkrig")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, NEW_FILE, 0o600), "wb") as target:
            target.write(file["text"].encode())
            os.fchmod(target.fileno(), int(file["mode"], 8))
            target.flush()
            os.fsync(target.fileno())
        new.replace(here)


def heed(guard: Guard, program: str) -> None:
    """Run a program of the order. Raises Trouble with what it said."""
    limit = slow(PROGRAM_S)
    try:
        done = subprocess.run(
            ["sh", "-c", guard.order[program]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=limit,
            env=ENGLISH,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Trouble(f"{REFUSED[program]}: no end within {limit:g} s") from None
    if done.returncode:
        raise Trouble(f"{REFUSED[program]}: {' '.join((done.stderr or done.stdout).split())}")


def verify_files(guard: Guard) -> None:
    """Each file is as ordered, and followed."""
    for file in guard.files:
        text, here = file["text"], ROOT / file["path"].lstrip("/")
        wanted = mode_and_bytes(ROOT / file["kept"].lstrip("/")) if file["kept"] else None
        if text is not None:
            wanted = (int(file["mode"], 8), text.encode())
        if mode_and_bytes(here) != wanted:
            raise Trouble(f"{file['path']} was changed by another one meanwhile")
    heed(guard, "verify")


def mode_and_bytes(file: Path) -> tuple[int, bytes] | None:
    return (file.stat().st_mode & 0o7777, file.read_bytes()) if file.is_file() else None


def files_back(guard: Guard) -> list[str]:
    """Put the files back and have them followed; what could not be, in words.

    Where the new ones were never followed, the old ones still are: nothing is run that could fail.
    """
    if not (guard.folder / FOLLOWED).exists():
        return restored_files(guard)
    left: list[str] = []

    def followed() -> bool:
        left[:] = restored_files(guard)
        try:
            heed(guard, "live")
        except FAULTS as trouble:
            left.append(str(trouble))
        return not left

    until(followed, slow(RETURN_S), pause=1)
    return left


def restored_files(guard: Guard) -> list[str]:
    """Put back what differs from the snapshot; what still does, in words."""
    for path in stale_paths(guard):
        try_to(restore_file, guard.before / path, ROOT / path)
    try_to(sync_files, guard)
    return [f"{path} differs" for path in stale_paths(guard)]


def stale_paths(guard: Guard) -> list[str]:
    return [path for path in paths(guard) if mode_and_bytes(guard.before / path) != mode_and_bytes(ROOT / path)]


def sync_files(guard: Guard) -> None:
    """Their names; what is in them was synced as it was written."""
    for folder in {(ROOT / path).parent for path in paths(guard)}:
        if folder.is_dir():
            fsync(folder)


# verifying


def verify(guard: Guard, order: dict[str, Any]) -> None:
    """What was ordered is live, and everything else is as it was."""
    snapshot_of = json.loads(text(guard.before / "links.json"))
    named = {link["netdev"] for link in order["links"]}

    def amiss() -> list[str]:
        found = links()
        wrong = [text for link in order["links"] if (text := unlike(link, found.get(link["netdev"])))]
        if order["restore"]:
            return wrong
        others = {
            name: was
            for name, was in snapshot_of["links"].items()
            # one that asks for an address in vain comes and goes
            if was["connected"] and name not in named and was["profile"] not in order["remove"]
        }
        wrong += [moved(name, was, found.get(name)) for name, was in others.items() if found.get(name) != was]
        if default_routes() != snapshot_of["default"]:
            wrong.append(f"the default route was {snapshot_of['default']} and is {default_routes()}")
        return wrong

    if not until(lambda: not amiss(), order["seconds"]):
        raise Trouble("; ".join(amiss()) or "the links settled too late")


def unlike(wanted: dict[str, Any], found: dict[str, Any] | None) -> str:
    """What a link is not, for what was ordered."""
    name = wanted["netdev"]
    if found is None or not found["carrier"]:
        return f"{name} has no carrier"
    if found["mtu"] != wanted["mtu"] or wanted["address"] not in found["addresses"]:
        there = ", ".join(found["addresses"]) or "no address"
        return f"{name} has MTU {found['mtu']} and {there}, {wanted['mtu']} and {wanted['address']} are expected"
    if not has_gid(name, wanted["gid"]):
        return f"{name} has no RoCE GID for {wanted['address']}"
    return ""


def has_gid(netdev: str, gid: str) -> bool:
    """Whether every RDMA device on the netdev has that GID; true where there is none."""
    for port in ROOT.glob("sys/class/infiniband/*/ports/*"):
        if content(port / "gid_attrs/ndevs/0") == netdev and gid not in map(content, slots(port)):
            return False
    return True


def slots(port: Path) -> list[Path]:
    """The slots of a port's GID table by index: those in use come first, of a thousand that each cost a read."""
    return sorted(port.glob("gids/*"), key=lambda slot: (len(slot.name), slot.name))


def text(file: Path) -> str:
    """Of a file of a guard, whatever bytes it has: a disk or a hand that spoiled it stops no way back."""
    return file.read_text(encoding="utf-8", errors="replace")


def content(file: Path) -> str:
    """Of a file; an empty slot of a GID table cannot be read, and a FIFO in place of a file has no end."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip() if file.is_file() else ""
    except OSError:
        return ""


def links() -> dict[str, dict[str, Any]]:
    """Every device that NetworkManager manages: its state and profile there, and what the kernel has.

    external: set up by somebody else: docker's bridge, and our links too after a restart of NetworkManager;
    passing: coming up or going down.
    """
    kernel = {entry.get("ifname"): entry for entry in json.loads(run(["ip", "-j", "address", "show"]))}
    found = {}
    for row in run(["nmcli", "-t", "-f", "DEVICE,STATE,CON-UUID", "device"]).splitlines():
        name, state, uuid = row.replace("\\:", "\0").split(":", 2)
        entry = kernel.get(name)
        if entry and state != "unmanaged":
            found[name] = {
                "connected": state == "connected",
                "external": "externally" in state,
                "passing": state.startswith(("connecting", "deactivating")),
                "profile": uuid if state == "connected" else "",
                "mtu": entry["mtu"],
                "carrier": "LOWER_UP" in entry["flags"],
                "addresses": sorted(
                    f"{info['local']}/{info['prefixlen']}"
                    for info in entry["addr_info"]
                    if info["family"] == "inet" and "local" in info
                ),
            }
    return found


def described(link: dict[str, Any] | None) -> str:
    if link is None:
        return "gone"
    state = f"connected by {link['profile']}" if link["connected"] else "not connected"
    return f"{state}, MTU {link['mtu']}, {', '.join(link['addresses']) or 'no address'}"


def moved(name: str, was: dict[str, Any], here: dict[str, Any] | None) -> str:
    return f"{name} was {described(was)} and is {described(here)}"


def default_routes() -> list[str]:
    routes = json.loads(run(["ip", "-4", "-j", "route", "show", "default"]))
    return sorted(f"{route.get('gateway', 'none')} over {route.get('dev', 'several links')}" for route in routes)


# going back


def halt(guard: Guard) -> None:
    """End what still applies, before anybody goes back: it would go on changing afterwards, and unguarded."""
    if guard.state == "armed":
        attempt(["systemctl", "stop", f"{guard.applying}.service"])


def give_up(guard: Guard, why: str) -> None:
    with guard.alone():
        if guard.state in LIVE:
            back(guard, why)


def back(guard: Guard, why: str) -> None:
    """Put back the files or the network, and say so."""
    try_to(guard.release)
    left = files_back(guard) if guard.files else network_back(guard)
    # each by itself: what the disk refuses holds up none of the others
    try_to(guard.say, "rolled-back", ended(why, left))
    try_to(guard.journal, "ended 1")
    disarm(guard)


def network_back(guard: Guard) -> list[str]:
    """Roll back by the checkpoint where there is one, then put back the rest; what is not as before."""
    checkpoint = guard.folder / "checkpoint"
    if checkpoint.is_file():
        words = ["busctl", "call", *MANAGER, "CheckpointRollback", "o", text(checkpoint)]
        attempt(words, slow(ROLLBACK_S))
    left = put_back(guard.before, slow(SETTLE_S))
    try_to(undiscard, guard)
    try_to(sync, *PERSISTENT)
    return left


def ended(why: str, left: list[str]) -> str:
    """The detail of a rollback. left: what is not as before, in words."""
    return f"{why[:CAUSE_MAX]}; {NOT_RESTORED}{'; '.join(left)}" if left else why[:CAUSE_MAX]


def undiscard(guard: Guard) -> None:
    for kept, here in discarded(guard):
        if kept.is_file():
            try_to(kept.replace, here)


def discarded(guard: Guard) -> list[tuple[Path, Path]]:
    """Where a commit keeps what it takes away, and where that stood: only what stays changed may discard it."""
    places = [ROOT / path.lstrip("/") for path in guard.order["discard"]]
    return [(guard.folder / f"discarded-{place.name}", place) for place in places]


class Origin:
    """What a change is about: its own order's, or that of the change which it takes back."""

    def __init__(self, folder: Path) -> None:
        order = json.loads(text(folder / "order.json"))
        while order["restore"]:
            order = json.loads(text((ROOT / order["restore"].lstrip("/")).with_name("order.json")))
        self.uuids = {*order["remove"], *(profile["uuid"] for profile in order["profiles"])}
        self.moved = {path.lstrip("/") for path in order["move"]}
        self.netdevs = {link["netdev"] for link in order["links"]}

    def files(self, was: Path, now: Path) -> list[str]:
        """The paths, below each of two folders, of the files that it is about."""
        found = []
        for place in PERSISTENT:
            then, today = contents(was / place), contents(now / place)
            for name in sorted({*then, *today}):
                text = then.get(name, b"") + today.get(name, b"")
                if f"{place}/{name}" in self.moved or any(uuid.encode() in text for uuid in self.uuids):
                    found.append(f"{place}/{name}")
        return found

    def concerns(self, name: str, link: dict[str, Any]) -> bool:
        return name in self.netdevs or link["profile"] in self.uuids


def without(guard: Guard, earlier: Path) -> tuple[Path, list[str]]:
    """The snapshot of now, but with what an earlier run changed as it was before that run.

    Whatever else was made or joined since is not that run's, and stays; so does a file of that run's that is not
    what the order knows of it, with the link that it makes. earlier: the snapshot that it made. The paths of such
    files come second.
    """
    origin, mine = Origin(earlier.parent), guard.order.get("mine")
    wanted, left, kept = guard.folder / "wanted", list[str](), set[str]()
    shutil.copytree(guard.before, wanted, copy_function=copy_owned)
    for path in origin.files(earlier, wanted):
        now = "link" if (ROOT / path).is_symlink() else digest(wanted / path)
        if mine is None or now in (mine.get(f"/{path}"), digest(earlier / path)):
            restore_file(earlier / path, wanted / path)
        else:
            left.append(f"/{path}")
            text = (wanted / path).read_bytes() if now != ABSENT and (wanted / path).is_file() else b""
            kept |= {uuid for uuid in origin.uuids if uuid.encode() in text}

    then, today = (json.loads((each / "links.json").read_bytes())["links"] for each in (earlier, guard.before))
    stay = {name for name, link in today.items() if link["profile"] in kept or not origin.concerns(name, link)}
    other = {name: link for name, link in today.items() if name in stay}
    theirs = {name: link for name, link in then.items() if origin.concerns(name, link) and name not in stay}
    write(wanted / "links.json", json.dumps({"links": {**other, **theirs}}))
    return wanted, left


def note_changes(guard: Guard) -> None:
    """What a commit made of which file: a row each of what it was, what it is, and its path.

    A way back long after knows by it what another one changed since. The room was taken before the first change.
    """
    rows = [
        f"{was} {now} /{path}\n"
        for path in Origin(guard.folder).files(guard.before, ROOT)
        if (was := digest(guard.before / path)) != (now := digest(ROOT / path)) and "\n" not in path
    ]
    overwrite(guard.changes, "".join(rows))
    guard.changes.replace(guard.folder / "changed")
    fsync(guard.folder)


ABSENT = "absent"


def digest(path: Path) -> str:
    import hashlib  # which most verbs do not need

    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ABSENT


def put_back(before: Path, settle: float = 0) -> list[str]:
    """Make files and links what a snapshot says; what could not be, in words.

    settle: seconds in which NetworkManager may finish a rollback of its own; 0 where there is none.
    """
    was = json.loads(text(before / "links.json"))["links"]
    if settle and until(lambda: not differences(before, was), settle):
        return []
    for restart in (False, True):
        if restart or not nm_answers():
            attempt(["systemctl", "restart", "NetworkManager"], slow(RESTART_S))
            until(nm_answers, slow(AWAKE_S))
        if restored := restore_files(before):
            try_to(render, restored)
            attempt(["nmcli", "connection", "reload"])
        restore_links(was)
        if until(lambda: not differences(before, was), slow(RETURN_S)):
            return []
    return differences(before, was)


def differences(before: Path, was: dict[str, dict[str, Any]]) -> list[str]:
    found = [f"{file} differs" for file in stale_files(before)]
    try:
        now = links()
    except FAULTS as trouble:
        return [*found, str(trouble)]
    for name, link in was.items():
        here = now.get(name)
        same = here and all(here[key] == link[key] for key in ("connected", "external", "profile", "mtu"))
        if not same or (link["connected"] and here and here["addresses"] != link["addresses"]):
            found.append(moved(name, link, here))
    return found


def stale_files(before: Path) -> list[str]:
    """Paths below ROOT that differ from the snapshot: our own in memory, and all that last."""
    found = []
    for place in PERSISTENT:
        kept, now = contents(before / place), contents(ROOT / place)
        found += [f"{place}/{name}" for name in sorted({*kept, *now}) if kept.get(name) != now.get(name)]
    kept, now = contents(before / VOLATILE), contents(ROOT / VOLATILE)
    found += [f"{VOLATILE}/{name}" for name in sorted({*now} - {*kept}) if name.startswith("sparkrig-")]
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*") if file.is_file()}


def restore_files(before: Path) -> list[str]:
    """Put back what differs; its paths. One that cannot be (a full disk) holds up nothing else."""
    stale = stale_files(before)
    for path in stale:
        try_to(restore_file, before / path, ROOT / path)
    return stale


def restore_file(kept: Path, here: Path) -> None:
    if kept.is_file():
        here.parent.mkdir(parents=True, exist_ok=True)
        copy_owned(kept, here.with_name(f".{here.name}.sparkrig"))
        here.with_name(f".{here.name}.sparkrig").replace(here)
    else:
        here.unlink(missing_ok=True)


def restore_links(was: dict[str, dict[str, Any]]) -> None:
    try:
        now = links()
    except FAULTS:
        return  # what is still amiss afterwards is said
    there = [(name, link, now[name]) for name, link in was.items() if name in now]
    side_by_side(lambda row: restore_link(*row), there)


def restore_link(name: str, link: dict[str, Any], here: dict[str, Any]) -> None:
    """Have NetworkManager connect or disconnect one link as it was, and give it its MTU. here: what it is now."""
    if link["connected"] and (here["profile"], here["addresses"]) != (link["profile"], link["addresses"]):
        up = ["nmcli", "--wait", str(round(slow(UP_S))), "connection", "up", link["profile"]]
        attempt(up, slow(UP_S + ASK_S))
    elif not link["connected"] and (here["connected"] or here["external"]):
        attempt(["nmcli", "device", "disconnect", name])
    if here["mtu"] != link["mtu"]:
        attempt(["ip", "link", "set", name, "mtu", str(link["mtu"])])


# small things


def uptime() -> float:
    """Seconds since this boot, as /proc/uptime has them: templates/programs/runs/armed.sh compares the two."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def python(verb: str, guard: Guard, head: list[str], *words: str) -> None:
    """This very program once more, by `head`: the file, which is there and whole after a power cut, too."""
    run([*head, sys.executable, str(guard.folder / "guard.py"), verb, *words])


# Runs a verb of this program, given its folder and the verb; as templates/programs/operations/guard_verb.sh does.
BY_IMPORT = "import sys; sys.path.insert(0, sys.argv.pop(1)); import guard; sys.exit(guard.main(sys.argv[1:]))"


def side_by_side(act: Callable[[Any], None], rows: list[Any]) -> None:
    """Do it for all rows at once: a slow one takes no time from the others. Raises a fault once all ended."""
    faults: list[Exception] = []

    def one(row: Any) -> None:
        try:
            act(row)
        except Exception as fault:  # a thread would print it, and end as if all was well
            faults.append(fault)

    threads = [threading.Thread(target=one, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def slow(seconds: float) -> float:
    """A limit, as this host needs it."""
    return seconds * Limits.patience


def run(command: list[str], seconds: float = 0) -> str:
    """Standard output; Trouble with what the command said. seconds: its limit, else that of one question."""
    seconds = seconds or slow(ASK_S)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            env=ENGLISH,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Trouble(f"{command[0]}: {error}") from None
    if done.returncode:
        raise Trouble(f"{' '.join(command[:4])} ...: {' '.join((done.stderr or done.stdout).split())}")
    return done.stdout


ENGLISH = {**os.environ, "LC_ALL": "C.UTF-8"}


def attempt(command: list[str], seconds: float = 0) -> None:
    """Where failing is no reason to stop: what is amiss afterwards is looked at and said."""
    try_to(run, command, seconds)


def try_to(act: Callable[..., object], *words: object) -> None:
    try:
        act(*words)
    except FAULTS as trouble:
        print(trouble, file=sys.stderr)


def until(true: Callable[[], bool], seconds: float, *, pause: float = 0.3) -> bool:
    """Whether it became true in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
    return True


def nm_answers() -> bool:
    try:
        run(["nmcli", "-t", "-f", "RUNNING", "general"])
        links()
    except FAULTS:
        return False
    return True


def no_files(folder: str, names: list[str]) -> list[str]:
    """What is no file: a mask, which is a link to /dev/null, is never ours, and a copy of it would be a file."""
    return [name for name in names if not Path(folder, name).is_file()]


def copy_owned(source: str | Path, target: str | Path) -> str:
    """A file with its mode, times and owner, on the disk; until it has them only root may read it."""
    Path(target).unlink(missing_ok=True)  # what a power cut left of an earlier one
    with Path(source).open("rb") as old, os.fdopen(os.open(target, NEW_FILE, 0o600), "wb") as new:
        shutil.copyfileobj(old, new)
        new.flush()
        kept = os.fstat(old.fileno())
        os.fchown(new.fileno(), kept.st_uid, kept.st_gid)
        shutil.copystat(source, target)
        os.fsync(new.fileno())
    return str(target)


NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def write(path: Path, text: str) -> None:
    """The old or the new content, never half of it."""
    new = path.with_name(f".{path.name}.new")
    with new.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    fsync(path.parent)


def overwrite(path: Path, text: str) -> None:
    """New content for a file that nothing reads yet, in the room that it has."""
    with path.open("r+b") as file:
        file.write(text.encode(errors="backslashreplace")[:ROOM_B].decode(errors="ignore").encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def sync(*places: str) -> None:
    """NetworkManager does not sync what it writes, and a power cut would leave its new files empty."""
    for place in places:
        folder = ROOT / place
        for entry in folder.glob("*"):
            if entry.is_file() and not entry.is_symlink():
                fsync(entry)
        if folder.is_dir():
            fsync(folder)


def sync_all(folder: Path) -> None:
    """A folder, all that is in it, and its name in each folder above.

    Nothing else: os.sync() waits for whatever any program wrote on any disk, and with the weights of a model that
    are just being fetched this takes minutes.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            fsync(Path(place, name))
        fsync(Path(place))
    for above in folder.parents:
        fsync(above)
        if above == ROOT:
            break


def fsync(path: Path) -> None:
    """A file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
