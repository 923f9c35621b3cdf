"""What differs between systems: each answer of it, on this one and as the other one has it."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sparkrig.ssh import controller

LIMIT = """
import resource, sys
from sparkrig.ssh import controller
resource.setrlimit(resource.RLIMIT_NOFILE, (64, int(sys.argv[1])))
controller.make_room(200)
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("hard", "soft"), [(500, 200), (100, 100), (64, 64)])
def test_room_is_made_up_to_what_this_user_may_have(hard: int, soft: int) -> None:
    done = subprocess.run([sys.executable, "-c", LIMIT, str(hard)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(soft), str(hard)]


def test_room_that_is_there_stays() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    controller.make_room(3)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_a_system_without_the_option_keeps_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as sock:
        controller.end_unacknowledged(sock, 30)
        option = socket.TCP_USER_TIMEOUT
        assert sock.getsockopt(socket.IPPROTO_TCP, option) == 30_000
        monkeypatch.delattr(socket, "TCP_USER_TIMEOUT")
        controller.end_unacknowledged(sock, 60)
        assert sock.getsockopt(socket.IPPROTO_TCP, option) == 30_000


def test_a_cure_is_a_command_that_the_system_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (controller.attributes(Path("F")), controller.mounted(Path("D"))) == ("lsattr F", "findmnt --target D")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert (controller.attributes(Path("F")), controller.mounted(Path("D"))) == ("ls -ldO F", "df D; mount")
