"""What a host's commands print, over paramiko's own server: any bytes are text, and there is an end of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import paramiko
import pytest
from paramiko import common

from sparkrig.parsing import bounds
from sparkrig.ssh import output, stream
from tests.tables import each_row

KEY = paramiko.ECDSAKey.generate()
# by the command, what is printed on both streams; "flood" does not end
PRINTED = {
    "bytes": b"a\xffb\xc3\n\n\x9b2J\r\nlast",
    "letter": ("x" + "é" * 70_000).encode(),  # each chunk ends in the middle of a letter
    "rows": b"x\n" * 1000,
    "flood": b"x" * 100_000,
    "short": b"x\n" * 100_000,
}


class Server(paramiko.ServerInterface):
    """Lets everybody in, and prints."""

    def check_auth_none(self, username: str) -> int:
        return int(common.AUTH_SUCCESSFUL)

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return int(common.OPEN_SUCCEEDED)

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self.answer, args=(channel, command.decode()), daemon=True).start()
        return True

    def answer(self, channel: paramiko.Channel, command: str) -> None:
        where, _, what = command.partition(" ")
        send: Callable[[bytes], None] = channel.sendall if where == "out" else channel.sendall_stderr
        with suppress(OSError, EOFError):
            channel.makefile("rb").read()
            send(PRINTED[what])
            while what in ("flood", "short"):
                send(PRINTED[what])
            channel.send_exit_status(0)
            channel.close()


@pytest.fixture
def client() -> Iterator[paramiko.Transport]:
    here, there = socket.socketpair()
    server, made = paramiko.Transport(there), stream.TextTransport(here)
    server.add_server_key(KEY)
    threading.Thread(target=server.start_server, kwargs={"server": Server()}, daemon=True).start()
    made.start_client(timeout=20)
    made.auth_none("anyone")
    yield made
    made.close()
    server.close()


def printed(client: paramiko.Transport, command: str) -> tuple[list[str], list[str], int]:
    """Lines of both streams, one after the other, and the exit status."""
    channel = client.open_session(timeout=20)
    channel.settimeout(20)
    channel.exec_command(command)
    channel.shutdown_write()
    first, second = channel.makefile("r", -1), channel.makefile_stderr("r", -1)
    if command.startswith("err"):  # what is read first must not wait for the other one's end
        errors = [*second]
        return [*first], errors, channel.recv_exit_status()
    return [*first], [*second], channel.recv_exit_status()


@pytest.mark.fault(52)
def test_whatever_is_printed_is_text(client: paramiko.Transport) -> None:
    text = ["a\ufffdb\ufffd\n", "\n", "\ufffd2J\r\n", "last"]
    assert printed(client, "out bytes") == (text, [], 0)
    assert printed(client, "err bytes") == ([], text, 0)
    assert printed(client, "out letter") == (["x" + "é" * 70_000], [], 0)


@pytest.mark.fault(52)
def test_what_is_printed_has_an_end(client: paramiko.Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "STREAM_BYTES", 3 << 20)
    monkeypatch.setattr(bounds, "STREAM_ROWS", 1000)
    why = "it printed more than the 3 MiB and 1000 rows expected"
    assert len(printed(client, "out rows")[0]) == 1000, "as many as are expected"

    def holds(command: str) -> None:
        out, errors, status = printed(client, command)
        assert (errors[-1], status) == (why, -1)
        assert sum(map(len, out + errors)) <= (3 << 20) + len(why) + 1
        assert len(out + errors) < 1000 + output.CHUNK

    each_row([f"{where} {what}" for where in ("out", "err") for what in ("flood", "short")], holds)


def test_what_is_read_as_bytes_has_an_end(client: paramiko.Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does `onboard` read."""
    monkeypatch.setattr(bounds, "STREAM_BYTES", 1 << 20)
    channel = client.open_session(timeout=20)
    channel.settimeout(20)
    channel.exec_command("out flood")
    channel.shutdown_write()
    assert len(channel.makefile("rb").read()) <= 1 << 20
    assert channel.makefile_stderr("rb").read().endswith(b"1 MiB and 300000 rows expected")
    assert channel.recv_exit_status() == -1
