"""What a host's commands print, as text with an end: any bytes are text, and no command prints for ever.

paramiko decodes strictly, in a greenlet of pyinfra's: one byte that is no UTF-8 ends the output there, with a
traceback on the screen and the command's own exit code. Nor does either bound what it keeps until the command ends
(seen with pyinfra 3.10 and paramiko 4.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paramiko import Channel, ChannelFile

from sparkrig.parsing import bounds
from sparkrig.ssh import output
from sparkrig.ssh.heartbeat import WatchedTransport


class TextTransport(WatchedTransport):
    """A transport whose channels are read as `TextChannel` reads them."""

    def open_channel(self, *words: Any, **more: Any) -> Channel:
        """As paramiko's, which has no other place to name a class of channels."""
        channel = super().open_channel(*words, **more)
        channel.__class__ = TextChannel
        return channel


class TextChannel(Channel):
    """A channel whose output is at most bounds.STREAM_BYTES and STREAM_ROWS, on each of its streams.

    Where a command prints more the channel is closed: the command has no exit code then, so that it counts as
    failed, and the last line of its errors states why.
    """

    excess = ""

    def makefile(self, *how: Any) -> ChannelFile:
        return _Output(self, *how)

    def makefile_stderr(self, *how: Any) -> ChannelFile:  # type: ignore[override]
        return _Errors(self, *how)

    def cut(self) -> None:
        """Take no more of what is printed."""
        self.excess = output.excess()
        self.close()


class _Output(ChannelFile):
    """Standard output. Its lines are text, with U+FFFD in place of what is no UTF-8."""

    channel: TextChannel
    taken = 0

    def _read(self, size: int) -> bytes:
        data = b"" if self.channel.excess else self._received(size)
        self.taken += len(data)
        if self.taken <= bounds.STREAM_BYTES:
            return data
        self.channel.cut()
        return b""

    def _received(self, size: int) -> bytes:
        return self.channel.recv(size)

    def __iter__(self) -> Iterator[str]:  # type: ignore[override] # so pyinfra reads; a row may be long, and is joined once
        return output.rows(self._read, self.channel.cut)


class _Errors(_Output):
    """Standard error, which ends with why the output was cut."""

    explained = False

    def _read(self, size: int) -> bytes:
        data = super()._read(size)
        if data or self.explained or not self.channel.excess:
            return data
        self.explained = True
        return f"\n{self.channel.excess}".encode()

    def _received(self, size: int) -> bytes:
        return self.channel.recv_stderr(size)
