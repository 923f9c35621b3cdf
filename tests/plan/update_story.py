"""Two Sparks that are updated, played from memory: each program of an update changes what the next one sees.

An inventory of fake hosts calls `play`; the state is in a file, so that a second command finds what the first one
left. `trouble` says what goes wrong, once, by host and task: `lost` and `killed` after it was done, `killed
before`, `cut` (the power, before it was done), `failed: WORDS`; of a deploy, by its name, what it refuses. `dead`:
NEW does not come up. `firmware`: by part, `pending`, `on` or `failed`; what is not there is as it was recorded.
"""

from __future__ import annotations

import json
import os
import shlex
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pyinfra.connectors.fake import FakeConnector
from pyinfra.connectors.util import CommandOutput, OutputLine

from tests.unit import updates

OLD, NEW = "6.17.0-1029-nvidia", "6.17.0-1032-nvidia"
DRIVERS = {OLD: "580.173.02", NEW: "580.178.04"}
# a piece of each program that no other one of an update has; none has an apostrophe, which a shell's quotes change
PIECES = {
    "look": "ready %s %s",
    "begin": "the plan came in part",
    "back": "no update is open here",
    "drain": "does not stop",
    "install": "and nothing is installed",
    "boot": "OnBootSec=",
    "reboot": "--on-active=1",
    "prove": "free_default && note proven",
    "firmware": "did not take the firmware",
    "close": "$here.last",
    "rate": "sync -f $here/rates",
    "changed": "rates now",
    "step": "sync -f $here/steps",
}
# of the recorded ASUS "sparky": by part its row in the board's table, and the same with the firmware on offer
BOARD = {
    "SoC": ("SBP:R:2.148.24", "SBP:R:2.152.15"),
    "EC": ("version 2.78.24", "version 3.3.2"),
    "USB-PD": ("FW1: 5.7,", "FW1: 5.22,"),
}
DEVICES = {"1df564c6": "SoC", "79839778": "EC", "7fd0410f": "USB-PD"}  # how fwupd's ids begin
STATES = {"pending": 4, "failed": 3, "on": 2}  # FwupdUpdateState
FIELDS = 13  # of what is asked of nvidia-smi


class Spark:
    """What one of them has; see `play`."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found

    def __getattr__(self, name: str) -> Any:
        return self.found[name]

    def note(self, name: str) -> None:
        self.found["steps"].append(f"{name} 1795600000 {self.boot}")

    @property
    def back(self) -> bool:
        return any(step.startswith("back ") for step in self.steps)

    def restart(self) -> None:
        """A reboot, or a power cut: what GRUB boots once comes first, and is used up."""
        once, self.found["once"] = self.found["once"], ""
        kernel = once or self.default
        if kernel == NEW and self.dead:
            kernel = self.default
        self.found |= {"kernel": kernel, "boot": str(uuid.uuid4())}
        for part, state in self.firmware.items():
            if state == "pending":
                self.firmware[part] = "failed" if part == self.found.get("stubborn") else "on"

    def rows(self) -> list[str]:
        """What facts/update_record.sh prints."""
        rows = [f"boot {self.boot}", f"kernel {self.kernel}"]
        if not self.plan:
            return rows
        kernel = OLD if self.back else next(row.split()[2] for row in self.plan if row.startswith("kernel "))
        module = DRIVERS[kernel] if self.installed == DRIVERS[kernel] else ""
        return [
            *rows,
            *(f"plan {row}" for row in self.plan),
            *(f"step {row}" for row in self.steps),
            f"ready initrd {module or '-'}",
            "unfinished 0",
        ]

    def board(self) -> list[str]:
        """What facts/firmware.sh prints."""
        devices, rows = updates.fwupd("sparky"), "\n".join(updates.board("sparky"))
        for device in devices["Devices"]:
            part = DEVICES.get(device["DeviceId"][:8], "")
            device["UpdateState"] = STATES.get(self.firmware.get(part, ""), 2)
            if part == self.found.get("other"):  # its maker published another one since
                device["Releases"][0]["Version"] = "0x02000007"
        for part, (before, after) in BOARD.items():
            if self.firmware.get(part) == "on":
                rows = rows.replace(before, after)
        return [*(row for row in rows.splitlines() if not row.startswith("fwupd ")), updates.listing(devices)]

    def driver(self) -> list[str]:
        """What facts/driver.sh prints, as far as it matters here."""
        return [
            f"dpkg install installed nvidia-driver-580-open {self.installed}-0ubuntu0.24.04.1",
            *(f"dpkg install installed linux-image-{kernel} 1" for kernel in (OLD, NEW)),
            f"module {DRIVERS[self.kernel]}",
            *self.grub(),
            "simulated 0",
        ]

    def grub(self) -> list[str]:
        """What facts/grub.sh prints."""
        return [
            "grub",
            "/boot/grub/grub.cfg",
            f"grub set default='gnulinux-{self.once or self.default}'",
            *(f"grub {row}" for kernel in (NEW, OLD) for row in _entry(kernel)),
            "grub-whole",
        ]


def _entry(kernel: str) -> list[str]:
    return [f"menuentry '{kernel}' --id gnulinux-{kernel} {{", f"linux /boot/vmlinuz-{kernel}", "}"]


def play(folder: Path) -> None:
    """Let each fake host of this process be one of the story's, and a deploy be one that was asked for."""
    from sparkrig.operations import applying, updating
    from sparkrig.runs.applied import Applied

    usual = FakeConnector.run_shell_command

    def run(self: Any, command: Any, *words: Any, **more: Any) -> Any:
        with _State(folder) as state:
            answer = _answer(state, self.host.name, str(command), str(more.get("_stdin") or ""))
        if answer == "killed":
            os._exit(137)
        if answer == "lost":
            raise TimeoutError("timed out")
        if isinstance(answer, str):
            return False, CommandOutput([OutputLine("stderr", answer)])
        if answer is None:
            return usual(self, command, *words, **more)
        return True, CommandOutput([OutputLine("stdout", row) for row in answer])

    def deployed(words: Sequence[str], hosts: Collection[str], *_: object, **__: object) -> tuple[int, Applied]:
        with _State(folder) as state:
            deploy = next(Path(word).stem for word in words if Path(word).parent.name == "deploys")
            state["order"].append([*hosts, deploy, *(word for word in words if word.startswith("serve_name="))])
            trouble = state["trouble"].pop(deploy, "")
            done = Applied(sentences={next(iter(hosts)): [trouble]} if trouble else {})
        return (1 if trouble else 0), done

    FakeConnector.run_shell_command = run  # type: ignore[method-assign]
    applying.run = deployed
    updating._POLL_S = 0


class _State:
    """The file of the story, read and written around each command."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "story.json"

    def __enter__(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.file.read_text())
        self.state = state
        return state

    def __exit__(self, *_: object) -> None:
        self.file.write_text(json.dumps(self.state))


def _answer(state: dict[str, Any], name: str, command: str, stdin: str) -> list[str] | str | None:
    """What a host prints: rows, one text for a failure, None for what the story does not know."""
    spark = Spark(state["sparks"][name])
    if "one_shot && keep_default" in command and "OnBootSec=" not in command:
        spark.found["default"] = spark.kernel
        return []
    if (seen := _seen(spark, command)) is not None:
        return seen
    task = next((task for task, piece in PIECES.items() if piece in command), "")
    if not task:
        return None
    if task not in ("look", "rate", "changed"):
        state["order"].append([name, task])
    if name in state.get("gone", ()):
        return "lost"
    trouble = str(state["trouble"].pop(f"{name} {task}", ""))
    if trouble.endswith(", always"):
        state["trouble"][f"{name} {task}"] = trouble
        trouble = trouble.removesuffix(", always")
    if trouble.startswith("failed: "):
        return trouble.removeprefix("failed: ")
    if trouble == "killed before":
        return "killed"
    if trouble == "cut":
        spark.restart()
        return "lost"
    rows = _done(spark, task, command, stdin)
    return trouble or rows


def _seen(spark: Spark, command: str) -> list[str] | None:
    """What a look at one noun prints; None of another command, and of a Spark without an update."""
    if not spark.plan or "#sparkrig:end" in command:
        return None
    if "of_driver" in command:
        return spark.driver()
    if "grub-whole" in command:
        return spark.grub()
    if "dmidecode -t 45" in command:
        return spark.board()
    if "clocks_event_reasons" in command:
        return ["csv NVIDIA GB10, 0000000F:01:00.0, " + DRIVERS[spark.kernel] + ", [N/A]" * (FIELDS - 3)]
    return None


def _done(spark: Spark, task: str, command: str, stdin: str) -> list[str]:
    """A program that ends well."""
    if task == "look":
        return spark.rows()
    if task in ("rate", "changed"):
        return spark.found.get("changed", []) if task == "changed" else []
    if task == "begin":
        spark.found |= {"plan": stdin.splitlines(), "steps": []}
    elif task == "drain":
        spark.found["serves"] = False
    elif task == "install":
        spark.found["installed"] = DRIVERS[OLD if spark.back else NEW]
        spark.note("installing")
        spark.note("installed")
    elif task == "boot":
        spark.note("armed")
        spark.found["default" if spark.back else "once"] = OLD if spark.back else NEW
    elif task == "reboot":
        spark.restart()
    elif task == "prove":
        spark.found["default"] = spark.kernel
        spark.note("proven")
    elif task == "close":
        only = shlex.split(command)[-1]
        if not only or f"id {only}" in spark.plan:
            spark.found |= {"plan": [], "default": spark.kernel}
    elif task == "firmware":
        spark.found["firmware"] = {part: "pending" for id, part in DEVICES.items() if id in command}
        spark.note("staged")
    else:
        spark.note({"back": "back"}.get(task, command.rsplit(maxsplit=1)[-1].strip("'\"")))
    return []
