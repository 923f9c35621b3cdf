"""A connection that notices when nobody answers any more: paramiko's own server behind a cable that can be cut."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import paramiko
import pytest
from paramiko import common

from sparkrig import ssh
from sparkrig.ssh import heartbeat, stream

KEY = paramiko.ECDSAKey.generate()


class Server(paramiko.ServerInterface):
    """Lets everybody in, and never answers a command."""

    def __init__(self) -> None:
        self.beats = 0

    def check_auth_none(self, username: str) -> int:
        return int(common.AUTH_SUCCESSFUL)

    def get_allowed_auths(self, username: str) -> str:
        return "none"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return int(common.OPEN_SUCCEEDED)

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        return True

    def check_global_request(self, kind: str, msg: paramiko.Message) -> bool:
        self.beats += kind == "keepalive@openssh.com"
        return False  # as OpenSSH says to what it does not know


@dataclass
class Cable:
    """Carries bytes from one socket to the other until it is cut; both ends stay open all the while."""

    one: socket.socket
    other: socket.socket
    whole: threading.Event = field(default_factory=threading.Event)

    def lay(self) -> None:
        self.whole.set()
        for source, sink in ((self.one, self.other), (self.other, self.one)):
            threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if self.whole.is_set():
                    sink.sendall(data)
        except OSError:  # an end was closed: the test is over
            return


@dataclass
class Link:
    client: paramiko.Transport
    server: Server
    cable: Cable


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[Link]:
    monkeypatch.setattr(heartbeat, "EVERY_S", 0.1)
    monkeypatch.setattr(heartbeat, "DEAD_S", 0.5)
    here, near = socket.socketpair()
    far, there = socket.socketpair()
    cable = Cable(near, far)
    cable.lay()
    server, ears = paramiko.Transport(there), Server()
    server.add_server_key(KEY)
    server.start_server(event=threading.Event(), server=ears)
    client = heartbeat.WatchedTransport(here)
    client.start_client(timeout=10)
    client.auth_none("nvidia")
    yield Link(client, ears, cable)
    for end in (client, server):
        end.close()
    for sock in (here, near, far, there):
        sock.close()


def test_a_command_on_a_lost_link_ends_without_a_status(link: Link) -> None:
    channel = link.client.open_session()
    channel.exec_command("sleep 1000")
    link.cable.whole.clear()
    began = time.monotonic()
    channel.settimeout(10)
    assert channel.recv(1) == b""
    assert channel.recv_exit_status() == -1
    assert time.monotonic() - began < 5
    assert not link.client.is_active()
    with pytest.raises(paramiko.SSHException):
        link.client.open_session()


@pytest.mark.slow  # waits for silence
def test_a_quiet_command_on_a_good_link_is_left_alone(link: Link) -> None:
    channel = link.client.open_session()
    channel.exec_command("sleep 1000")
    channel.settimeout(1.5)  # three times as long as a lost link would last
    with pytest.raises(TimeoutError):
        channel.recv(1)
    assert link.client.is_active()
    assert link.server.beats >= 3


def test_nothing_is_left_behind(link: Link) -> None:
    before = {thread for thread in threading.enumerate() if thread.name.endswith("(_watch)")}
    assert before
    link.client.close()
    for thread in before:
        thread.join(5)
    assert not [thread for thread in before if thread.is_alive()]
    # one that is cancelled is a thread for a moment longer
    timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    assert not [timer for timer in timers if not timer.finished.is_set()]


def test_nobody_is_asked_before_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """A global request before that would break the protocol."""
    monkeypatch.setattr(heartbeat, "EVERY_S", 0.05)
    here, there = socket.socketpair()
    server = paramiko.Transport(there)
    server.add_server_key(KEY)
    server.start_server(event=threading.Event(), server=Server())
    client = heartbeat.WatchedTransport(here)
    asked = threading.Event()
    monkeypatch.setattr(client, "global_request", lambda _: asked.set())
    client.start_client(timeout=10)
    assert not asked.wait(0.5) and client.is_active()
    client.auth_none("nvidia")
    assert asked.wait(5)
    for end in (client, server):
        end.close()


def test_every_inventory_gets_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sock:
        made = ssh.transport(sock)
        assert isinstance(made, heartbeat.WatchedTransport) and isinstance(made, stream.TextTransport)
    assert heartbeat.EVERY_S + heartbeat.DEAD_S <= 45
