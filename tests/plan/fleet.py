"""Fleets of pairs that are settled: on pyinfra's @fake connector, and as light sshd hosts on loopback."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.plan.conftest import MEASUREMENT, RUNS, Host, converged, fabric
from tests.unit.sshd import free_ports, keygen, listening

_PORTS = 16  # as many one sshd listens on, at most (MAX_LISTEN_SOCKS in its source)
# what a host answers whatever it is asked: what a Spark was recorded to print, with the clock of now
_ANSWER = """port=${SSH_CONNECTION##* }
cd "$(dirname "$0")" && echo >>"$port.asked" && exec sed "s/^clock .*/clock $(date +%s.%N)/" "$port"
"""


def names(count: int) -> list[tuple[str, int, str]]:
    """Each host's name, the number of its pair, and its letter."""
    return [(f"spark-{number:02}{letter}", number, letter) for number in range(count // 2) for letter in "ab"]


def settings(number: int, letter: str) -> dict[str, Any]:
    return {"pair": f"pair-{number:02}", "fabric": fabric(letter, number), "bandwidth_floor": 0.01}


def faked(count: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Inventory entries by name, without what only a measurement asks: that would be half of each one's memory."""
    entries = {}
    for name, number, letter in names(count):
        host = Host(f"@fake/{name}", converged(letter, name, number), data=settings(number, letter))
        at, data = host.entry()
        answers = {piece: rows for piece, rows in data["fake_responses"].items() if piece not in MEASUREMENT}
        entries[name] = at, {**data, "fake_responses": answers}
    return entries


@contextmanager
def served(folder: Path, count: int) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Inventory entries of hosts that OpenSSH's sshd answers for, as whoever runs the tests.

    `asked` tells how many commands each was sent.
    """
    folder.mkdir()
    (folder / "answer").write_text(_ANSWER)
    with listening_on_loopback(folder, count, f"ForceCommand /bin/sh {folder}/answer") as logins:
        entries = []
        for (name, number, letter), login in zip(names(count), logins, strict=True):
            look = f"now 1795230000\n\n{RUNS} 0\n{converged(letter, name, number)}"  # of any verb
            (folder / str(login["ssh_port"])).write_text(look)
            entries.append((name, {**settings(number, letter), **login, "_sudo": True}))
        yield entries


def asked(folder: Path) -> list[int]:
    """How many commands each host of `served` was sent since the last time, hosts without any left out."""
    files = list(folder.glob("*.asked"))
    counts = [len(file.read_text()) for file in files]
    for file in files:
        file.unlink()
    return counts


@contextmanager
def listening_on_loopback(folder: Path, count: int, *lines: str) -> Iterator[list[dict[str, Any]]]:
    """How to log in to each of so many hosts, which OpenSSH's sshd answers for, as whoever runs this.

    folder: holds keys and configurations; lines: more for sshd_config.
    """
    for key in ("host", "user"):
        keygen(folder / key)
    ports = free_ports(count)
    public = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known").write_text("".join(f"[127.0.0.1]:{port} {public}\n" for port in ports))
    login = {
        "ssh_hostname": "127.0.0.1",
        "ssh_user": getpass.getuser(),
        "ssh_key": str(folder / "user"),
        "ssh_known_hosts_file": str(folder / "known"),
        "ssh_strict_host_key_checking": "yes",
    }
    with ExitStack() as stack:
        for first in range(0, count, _PORTS):
            lent = ports[first : first + _PORTS]
            stack.enter_context(listening(_configured(folder, lent, lines), lent))
        yield [{**login, "ssh_port": port} for port in ports]


def _configured(folder: Path, ports: Sequence[int], more: Sequence[str]) -> Path:
    """The configuration of an sshd that lends those ports to as many hosts."""
    lines = [
        *(f"ListenAddress 127.0.0.1:{port}" for port in ports),
        f"HostKey {folder}/host",
        f"AuthorizedKeysFile {folder}/user.pub",
        "PidFile none",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "MaxStartups 200",
        "StrictModes no",  # whoever may write in /tmp could change the folder
        "PermitRootLogin yes",
        "UsePAM no",
        *more,
    ]
    config = folder / f"sshd_config-{ports[0]}"
    config.write_text("\n".join(lines) + "\n")
    return config
