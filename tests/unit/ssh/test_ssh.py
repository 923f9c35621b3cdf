"""Connections: the options of their sockets, and OpenSSH's own reading of the configuration that we write."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sparkrig import ssh


@pytest.fixture
def loopback() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
        with client, peer:
            yield client, peer


def test_nagle_is_off(loopback: tuple[socket.socket, socket.socket]) -> None:
    client, peer = loopback
    assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
    transport = ssh.transport(client, disabled_algorithms={"ciphers": ["3des-cbc"]})
    try:
        assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
        assert transport.sock is client
        assert transport.disabled_algorithms == {"ciphers": ["3des-cbc"]}
    finally:
        transport.close()


class Channel:
    """What a ProxyJump gives: no socket, and no options."""

    def settimeout(self, _: float) -> None: ...

    def close(self) -> None: ...


def test_a_channel_is_left_alone() -> None:
    channel = Channel()
    transport: Any = ssh.transport(channel)
    assert transport.sock is channel


def openssh(folder: Path, name: str, hosts: Mapping[str, Mapping[str, Any]], control: str) -> dict[str, str]:
    """OpenSSH's own reading: option -> value, of the host `name`."""
    file = folder / "client config"
    file.write_text(ssh.config(hosts, control))
    done = subprocess.run(["ssh", "-G", "-F", str(file), name], capture_output=True, text=True, check=True)
    read: dict[str, str] = {}
    for option, _, value in (line.partition(" ") for line in done.stdout.splitlines()):
        read.setdefault(option, value)
    return read


@pytest.fixture
def none(tmp_path: Path) -> dict[str, str]:
    """Host data that keeps the user's own ~/.ssh/config out of a test."""
    return {"ssh_config_file": str(tmp_path / "none")}


def strict(read: dict[str, str]) -> bool:
    return read["stricthostkeychecking"] in ("true", "yes") and read["batchmode"] == "yes"


@pytest.mark.parametrize("folder", ["plain", "with a space", "100%h"])
def test_full_host_data(tmp_path: Path, none: dict[str, str], folder: str) -> None:
    place = tmp_path / folder
    place.mkdir()
    data = {
        **none,
        "ssh_hostname": "10.0.0.7",
        "ssh_port": 2222,
        "ssh_user": "nvidia",
        "ssh_key": str(place / "id_ed25519"),
        "ssh_known_hosts_file": str(place / "known_hosts"),
        "ssh_strict_host_key_checking": "accept-new",
        "mtu": 9000,
    }
    read = openssh(place, "spark-a", {"spark-a": data, "spark-b": none}, str(place))
    assert strict(read)
    assert (read["hostname"], read["port"], read["user"]) == ("10.0.0.7", "2222", "nvidia")
    assert read["identityfile"].replace("%%", "%") == data["ssh_key"]  # -G shows this one before its expansion
    assert read["identitiesonly"] == "yes"
    assert read["userknownhostsfile"] == data["ssh_known_hosts_file"]
    assert read["controlmaster"] == "auto"
    assert read["controlpersist"] == "60"
    assert (read["connecttimeout"], read["serveraliveinterval"]) == ("10", "15")
    assert read["controlpath"] == str(place / "0")


def test_sparse_host_data(tmp_path: Path, none: dict[str, str]) -> None:
    read = openssh(tmp_path, "spark-b", {"spark-a": {**none, "ssh_port": 2222}, "spark-b": none}, "/tmp/c")
    assert strict(read)
    assert (read["hostname"], read["port"], read["identitiesonly"]) == ("spark-b", "22", "no")
    assert read["controlpath"].startswith("/tmp/c/")


def test_each_host_has_a_connection_of_its_own(tmp_path: Path, none: dict[str, str]) -> None:
    hosts = {"a": {**none, "ssh_port": 1}, "b": {**none, "ssh_port": 2}}
    paths = {openssh(tmp_path, name, hosts, "/tmp/c")["controlpath"] for name in hosts}
    assert len(paths) == 2


def test_a_link_local_address(tmp_path: Path, none: dict[str, str]) -> None:
    data = {**none, "ssh_hostname": "fe80::1%enP7s7"}
    assert openssh(tmp_path, "spark-a", {"spark-a": data}, "/tmp/c")["hostname"] == "fe80::1%enP7s7"


def test_the_users_own_configuration_fills_the_gaps_and_overrides_nothing(tmp_path: Path) -> None:
    own = tmp_path / "my config"
    own.write_text(
        "Host spark-a\n  HostName 10.1.1.1\n  User someone\n  Port 99\n  ProxyJump gate\n"
        "  StrictHostKeyChecking no\n  ControlPath /elsewhere\nHost spark-b\n  Port 98\n"
    )
    hosts: dict[str, dict[str, Any]] = {
        "spark-a": {"ssh_config_file": str(own), "ssh_user": "nvidia", "ssh_port": 2222},
        "spark-b": {"ssh_config_file": str(own)},
    }
    a, b = (openssh(tmp_path, name, hosts, "/tmp/c") for name in hosts)
    assert (a["hostname"], a["user"], a["port"], a["proxyjump"]) == ("10.1.1.1", "nvidia", "2222", "gate")
    assert strict(a)
    assert a["controlpath"].startswith("/tmp/c/")
    assert b["port"] == "98"
    assert "proxyjump" not in b


def test_the_text() -> None:
    assert ssh.config({"spark-a": {"ssh_hostname": "spark-a.local"}}, "/run/c") == (
        "Host spark-a\n"
        '    HostName "spark-a.local"\n'
        "    StrictHostKeyChecking yes\n"
        "    BatchMode yes\n"
        "    ConnectTimeout 10\n"
        "    ServerAliveInterval 15\n"
        "    ControlMaster auto\n"
        '    ControlPath "/run/c/0"\n'
        "    ControlPersist 60\n"
        '    Include "~/.ssh/config"\n'
    )
