"""A process of the lab that goes on after its command: found by its pid file, ended by its pid."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.paths import node_folder

STOP_S = 10


@dataclass(frozen=True)
class Process:
    """The process of one folder of the lab; the path of its pid file is a word of its command line."""

    node: str

    @property
    def folder(self) -> Path:
        return node_folder(self.node)

    def pid(self) -> int | None:
        """Its process id; None where none runs, whatever is in the pid file."""
        text = self._pid_file()
        if not text.isdigit():
            return None
        return int(text) if os.fsencode(self.folder / "pid") in command_line(int(text)) else None

    def words(self) -> list[bytes]:
        """Its command line; empty where it does not run."""
        pid = self.pid()
        return command_line(pid) if pid else []

    def stale_pid(self) -> str | None:
        """The content of a pid file whose process is gone or another one."""
        return (self._pid_file() or None) if self.pid() is None else None

    def _pid_file(self) -> str:
        """What it holds; nothing where there is none. A process that ends removes it, at any moment."""
        try:
            return (self.folder / "pid").read_text().strip()
        except FileNotFoundError:
            return ""

    def end(self) -> None:
        """Ends it, and returns when it has ended. LabError if it does not."""
        pid = self.pid()
        if pid is None:
            return
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            self._end(process)
        finally:
            os.close(process)

    def _end(self, process: int) -> None:
        """Waits for the process, not for its pid file: qemu removes that first, and still holds its disk."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, number)
            if select.select([process], [], [], STOP_S)[0]:
                return
        raise LabError(
            f"the process of {self.node} does not end",
            expected=f"within {2 * STOP_S} s",
            attempt="sparkrig lab down",
        )


def command_line(pid: int) -> list[bytes]:
    """The words of a process's command line; none where there is no such process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
