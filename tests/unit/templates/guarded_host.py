"""A host in a folder for templates/guard.py as a module: its tools are Python, its clock moves by sleeping alone.

test_guard.py runs the program with tools that are processes. Here every command with its limit, every lock and
every sync with what is on the disk by then stands in one list.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.simulated import TEMPLATES, SimulatedHost, load

PROGRAM = TEMPLATES / "guard.py"
RUN = "20261121T031500Z-ab12"
PROFILES = "etc/NetworkManager/system-connections"
VOLATILE = "run/NetworkManager/system-connections"
NETPLAN = "etc/netplan"
UNITS = "etc/systemd/system"


def loaded(root: Path) -> Any:
    """The guard as a module, for the host in a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARKRIG_ROOT", str(root))
        return load(PROGRAM)


def link(**changes: Any) -> dict[str, Any]:
    """What nmcli and ip say of a netdev."""
    is_up = {"state": "connected", "profile": "ours", "mtu": 1500, "addresses": ["10.0.0.1/24"], "carrier": True}
    return {**is_up, **changes}


class Host(SimulatedHost):
    """What stands on it, what its tools answer, and what was done."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.program = loaded(root)
        self.acts = list[str]()
        self.links = {"cx": link(), "lan": link(profile="lan", addresses=["192.0.2.2/24"])}
        self.routes: list[dict[str, Any]] = [{"gateway": "192.0.2.1", "dev": "lan"}]
        self.checkpoints = list[str]()
        self.active = ["ours", "lan"]
        self.loaded = "sparkrig-guard.service loaded inactive dead sparkrig: take back"  # what systemd has read
        for place in (PROFILES, NETPLAN, UNITS, VOLATILE):
            (root / place).mkdir(parents=True)
        (root / PROFILES / "old").write_text("before")
        self.folder = root / "var/lib/sparkrig/runs" / RUN / "guard"
        self.folder.mkdir(parents=True)
        self.order()
        self.guard = self.program.Guard(self.folder)
        self.program.run = self.run
        self.program.time = self.times(clock_gettime=lambda _: self.now, CLOCK_BOOTTIME=None)
        self.program.os = SimpleNamespace(**{**vars(os), "fsync": self.fsync})
        self.program.fcntl = SimpleNamespace(flock=self.flock, LOCK_EX=fcntl.LOCK_EX)
        self.program.shutil = SimpleNamespace(**{**vars(shutil), "which": str})

    def order(self, **changes: Any) -> None:
        """What is to be changed; restore and discard as operations/guard.py sends them."""
        wanted = {"netdev": "cx", "mtu": 9000, "address": "10.0.0.1/24", "gid": "gid"}
        plain: dict[str, Any] = {
            "step": "links",
            "window": 90,
            "seconds": 20,
            "profiles": [{"uuid": "ours", "verb": "modify", "properties": {"802-3-ethernet.mtu": "9000"}}],
            "remove": [],
            "move": [],
            "links": [wanted],
            "restore": None,
            "discard": [],
        }
        (self.folder / "order.json").write_text(json.dumps({**plain, **changes}))

    # the clock and the disk

    def sleep(self, seconds: float) -> None:
        assert seconds > 0 and self.now < 1e5, "it waits for ever"
        super().sleep(seconds)
        self.note(f"{WAITS} {seconds}")

    def fsync(self, handle: int) -> None:
        """Notes what is on the disk from now on: a file with its size."""
        path = Path(f"/proc/self/fd/{handle}")
        size = f" {path.stat().st_size}" if path.is_file() else ""
        self.note(f"fsync {path.readlink()}{size}")
        os.fsync(handle)

    def flock(self, handle: Any, kind: int) -> None:
        assert kind == fcntl.LOCK_EX and not handle.closed
        self.note(f"lock {handle.name}")

    def note(self, line: str) -> None:
        """With short words in the place of those that are another's each time."""
        for long, short in {
            str(self.folder): "GUARD",
            f"{self.root}/": "/",
            str(self.root): "ROOT",
            sys.executable: "python3",
            RUN: "RUN",
            "org.freedesktop.NetworkManager": "NM",
            "/org/freedesktop/NetworkManager": "/NM",
        }.items():
            line = line.replace(long, short)
        self.acts.append(line)

    # the tools

    def run(self, command: list[str], seconds: float = 0) -> str:
        line = " ".join(command)
        self.note(line + (f" in {seconds:g} s" if seconds else ""))
        answer = self.effect(line)
        return self.answer(line) if answer is None else answer

    def answer(self, line: str) -> str:
        """Of a tool that does well."""
        if line.startswith("ip -j address"):
            return json.dumps([self.shown(name, each) for name, each in self.links.items()])
        if line.startswith("nmcli -t -f DEVICE"):
            rows = ((name.replace(":", "\\:"), each) for name, each in self.links.items())
            return "\n".join(f"{name}:{each['state']}:{each['profile']}" for name, each in rows)
        if line.endswith("apply"):
            self.program.apply(self.guard)
        return {
            "ip -4 -j": json.dumps(self.routes),
            "nmcli -t -f UUID": "\n".join(self.active),
            "busctl --json=short": json.dumps({"type": "ao", "data": self.checkpoints}),
            "busctl call": 'o "/a/path"',
            "systemctl list-units": self.loaded,
        }.get(next((words for words in WORDS if line.startswith(words)), ""), "")

    @staticmethod
    def shown(name: str, each: dict[str, Any]) -> dict[str, Any]:
        infos = (address.split("/") for address in each["addresses"])
        addresses = [{"family": "inet", "local": local, "prefixlen": int(length)} for local, length in infos]
        other = [{"family": "inet6", "local": "fe80::1", "prefixlen": 64}, {"family": "inet", "prefixlen": 0}]
        flags = ["UP", "LOWER_UP"] if each["carrier"] else ["NO-CARRIER", "UP"]
        return {"ifname": name, "mtu": each["mtu"], "flags": flags, "addr_info": [*addresses, *other]}

    def sets(self, netdev: str, **changes: Any) -> Callable[[], None]:
        """A command that makes that of a link."""
        return lambda: self.links[netdev].update(changes)

    # what a test asks

    def trouble(self, why: str = "no") -> Exception:
        found: Exception = self.program.Trouble(why)
        return found

    def since(self, *left_out: str) -> list[str]:
        """What was done since the last call, a look a line, without the lines that begin so.

        Looks again and again are one, with how long that went on.
        """
        did, self.acts = self.acts, []
        found = list[str]()
        waited = 0.0
        for line in did:
            if line.startswith(WAITS):
                waited += float(line.removeprefix(WAITS))
            elif line not in LOOK and waited:
                found.append(f"{WAITS} {waited:.1f} s")
                waited = 0.0
            if line.startswith((WAITS, LOOK[1])) or (line == LOOK[0] and waited):
                continue
            found.append("look" if line == LOOK[0] else line)
        return [line for line in found if not line.startswith(left_out)]

    def told(self) -> tuple[str, str]:
        told = self.guard.told()
        return told["state"], told["detail"]

    def steps(self) -> list[str]:
        return self.lines(str((self.folder.parent / "steps").relative_to(self.root)))

    def files(self, place: str = PROFILES) -> dict[str, str]:
        return {
            file.name: f"-> {file.readlink()}" if file.is_symlink() else file.read_text()
            for file in (self.root / place).iterdir()
        }

    def in_state(self, state: str) -> None:
        """With a snapshot and all room, but neither checkpoint nor deadline; what was done for it is forgotten."""
        shutil.rmtree(self.guard.before, ignore_errors=True)
        (self.folder / "state").unlink(missing_ok=True)
        self.program.snapshot(self.guard, {"cx"})
        self.program.write(self.program.BOOT_UNIT, self.program.boot_unit(self.guard))
        self.program.BOOT_LINK.parent.mkdir(exist_ok=True)
        if state != "none":
            self.guard.say(state)
        self.since()

    def applied(self) -> None:
        """Armed and applied, and what was done for it forgotten."""
        self.effects["connection up"] = self.sets("cx", mtu=9000)
        self.program.start(self.guard)
        assert self.told() == ("applied", "")
        self.since()


WORDS = ("ip -4 -j", "nmcli -t -f UUID", "busctl --json=short", "busctl call", "systemctl list-units")
LOOK = ("ip -j address show", "nmcli -t -f DEVICE,STATE,CON-UUID device")
WAITS = "looks again for"
