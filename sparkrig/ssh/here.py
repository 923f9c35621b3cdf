"""The machine that runs sparkrig as a host of an inventory: "@here/spark-a", pyinfra's @local with a name.

pyinfra 3.10 calls such a host "@local" and gives it no other name. So a Spark that is deployed from itself would
be another host than the one that a laptop deployed, in every record, file and report. Besides, commands are begun
as sshd begins them, each in a session of its own and in the home folder: Ctrl-C at this terminal is for sparkrig,
not for the dpkg that it has started, and no module of a project hides one of Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

from gevent import getcurrent, killall, spawn, wait
from gevent.os import nb_read
from gevent.subprocess import PIPE, Popen
from pyinfra.api import StringCommand
from pyinfra.api.exceptions import ConnectError, InventoryError
from pyinfra.api.output import echo, format_text
from pyinfra.connectors.local import LocalConnector
from pyinfra.connectors.util import (
    CommandOutput,
    OutputLine,
    execute_command_with_sudo_retry,
    make_unix_command_for_host,
    read_buffer,
    write_stdin,
)

from sparkrig import login
from sparkrig.parsing import bounds
from sparkrig.settings import SettingsError
from sparkrig.ssh import controller, output

if TYPE_CHECKING:
    from typing import IO


class HereConnector(LocalConnector):
    """Commands on this machine, with the output that one has over ssh (sparkrig.ssh.stream)."""

    @staticmethod
    def make_names_data(name: str | None = None) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """The host by its bare name; pyinfra gives what stands behind `@here/`."""
        try:
            bare, data = login.named(f"@here/{name or ''}", controller.user())
        except SettingsError as error:
            raise InventoryError(str(error)) from None
        yield bare, data, []

    def connect(self) -> None:
        """There is nothing to connect to. Raises ConnectError where this process cannot set the machine up."""
        if controller.contained():
            raise ConnectError(str(login.IN_CONTAINER))
        # who only looks sets nothing up for a user
        if controller.under_sudo() and not self.host.data.get(login.UNLISTED):
            raise ConnectError(str(login.UNDER_SUDO))

    def run_shell_command(
        self, command: StringCommand, print_output: bool = False, print_input: bool = False, **arguments: Any
    ) -> tuple[bool, CommandOutput]:
        """As pyinfra's. Raises TimeoutError; the command then goes on until its own end, as it would over ssh."""
        arguments.pop("_get_pty", False)
        timeout, stdin = arguments.pop("_timeout", None), arguments.pop("_stdin", None)
        good = arguments.pop("_success_exit_codes", None) or [0]

        def execute() -> tuple[int, CommandOutput]:
            made = make_unix_command_for_host(self.state, self.host, command, **arguments)
            if print_input:
                echo(f"{self.host.print_prefix}>>> {made}", err=True)
            prefix = self.host.print_prefix
            return _run(made.get_raw_value(), stdin, timeout, prefix if print_output else None)

        code, command_output = execute_command_with_sudo_retry(self.host, arguments, execute)  # type: ignore[arg-type]
        return code in good, command_output


def _run(command: str, stdin: Any, timeout: float | None, prefix: str | None) -> tuple[int, CommandOutput]:
    """A command's exit code and output. prefix: before each row that is shown, None where none is."""
    home = Path.home()
    process = Popen(
        ["/bin/sh", "-c", command],
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        cwd=home if home.is_dir() else "/",
    )
    reading, feeding = _Reading(process, prefix), spawn(_feed, process.stdin, stdin)
    try:
        command_output = reading.to_its_end(timeout)
        return (1 if reading.cut_off else process.wait()), command_output
    finally:
        feeding.kill()
        # also where the wait was given up: what still writes learns that nothing reads, as where a connection ends
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):  # what it did not read was still to be written
                pipe.close()


def _feed(pipe: IO[bytes], stdin: Any) -> None:
    """Write what a command reads, while its output is read; one that ends early is judged by how it ended."""
    with suppress(BrokenPipeError):
        if stdin:
            write_stdin(stdin, pipe)
        pipe.close()


class _Reading:
    """Both streams of a command, each at most bounds.STREAM_BYTES and STREAM_ROWS; more ends both."""

    def __init__(self, process: Popen, prefix: str | None) -> None:
        self._rows: Queue[OutputLine] = Queue()
        self.cut_off = False
        how = {"print_output": prefix is not None}
        self._readers = [
            spawn(read_buffer, name, _Stream(pipe, self._cut), self._rows, print_func=shown, **how)
            for name, pipe, shown in (
                ("stdout", process.stdout, lambda line: f"{prefix}{line}"),
                ("stderr", process.stderr, lambda line: f"{prefix}{format_text(line, 'red')}"),
            )
        ]

    def to_its_end(self, timeout: float | None) -> CommandOutput:
        """All that was printed. Raises TimeoutError."""
        try:
            ended = wait(self._readers, timeout)
        finally:
            killall(self._readers)
        if len(ended) < len(self._readers) and not self.cut_off:
            raise TimeoutError("timed out")
        excess = [OutputLine("stderr", output.excess())] if self.cut_off else []
        return CommandOutput([*self._rows.queue, *excess])

    def _cut(self) -> None:
        self.cut_off = True
        killall([reader for reader in self._readers if reader is not getcurrent()], block=False)


class _Stream:
    def __init__(self, pipe: IO[bytes], cut: Callable[[], None]) -> None:
        self._pipe, self._cut = pipe, cut
        self._taken, self._over = 0, False

    def __iter__(self) -> Iterator[str]:
        return output.rows(self._read, self._end)

    def _read(self, size: int) -> bytes:
        data = b"" if self._over else nb_read(self._pipe.fileno(), size)
        self._taken += len(data)
        if self._taken <= bounds.STREAM_BYTES:
            return data
        self._end()
        return b""

    def _end(self) -> None:
        self._over = True
        self._cut()
