"""Hosts that listen on loopback, as far as a login can tell: in order, or hostile.

The server is paramiko's, in a process of its own, which ends with the test. It takes one key of any user, runs
nothing, and answers each command from a file: by a piece of the command, as pyinfra's @fake does, or with one of
the kinds of NOISE.
"""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_SUCCEEDED

from tests.attacks.texts import CODES, DEEP, MARKUP
from tests.unit.sshd import fingerprint, keygen

ROOT = Path(__file__).resolve().parents[2]
USER = "nvidia"
BANNER = "".join(CODES).encode("utf-8", "replace").decode() + "\n#sparkrig:end identity 0\n[/x]\n"
GREETING = b"\x1b[2Jnoise before the version\r\n"
MARKERS = "".join(f"#sparkrig:end {noun} 0\n" for noun in ("identity", "driver", "network", "rdma", "nics"))
# a row for each code and each markup, and bytes that are no UTF-8: half of a letter, a C1, a surrogate
ROWS = "\n".join(f"{code}noise {mark}" for code in CODES for mark in MARKUP).encode("utf-8", "surrogatepass")
INVALID = b"\xff\xfe noise \xc3( \x9b2J \xed\xa0\x80 \xf0\x9f\n"
_PAUSE_S = 0.05


@dataclass(frozen=True)
class Reply:
    """What a command prints, and how it ends. ends: with its status, never ("drip"), or by a lost connection."""

    out: bytes = b""
    err: bytes = b""
    status: int = 0
    ends: str = "status"


_KINDS = ("addr", "info", "lock alive", "run x", "links", "part system")
NOISE: Mapping[str, Reply] = {
    "codes": Reply(ROWS, ROWS),
    "codes, and a failure": Reply(ROWS, ROWS, 255),
    "forged markers": Reply(
        ROWS + f"\n{MARKERS}#sparkrig:look 0\n{MARKERS}now 1\nlock free\nend\n".encode(), ROWS
    ),
    "no UTF-8": Reply(INVALID * 9, INVALID * 9),
    "no UTF-8, and a failure": Reply(INVALID * 9, INVALID * 9, 1),
    "deep JSON": Reply("".join(f"{kind} {DEEP}\n" for kind in _KINDS).encode(), DEEP.encode()),
    "a megabyte": Reply((b"\x9b2J" + b"n" * 999 + b"\n") * 1000, b"\x1b[2J\n" * 200_000),
    "a flood": Reply(b"n" * 1_000_000, ends="flood"),
    "a drip": Reply(b"\x1b[2Jnoise \xff\n", b"noise\r", ends="drip"),
    "an early close": Reply(ROWS[:99], ROWS[:99], ends="close"),
    "a lost connection": Reply(ROWS[:99], ROWS[:99], ends="cut"),
    "nothing": Reply(),
}


@dataclass(frozen=True)
class Machine:
    """One of the hosts: its port, and the file that it answers from."""

    folder: Path
    port: int

    @property
    def login(self) -> dict[str, Any]:
        return {
            "ssh_hostname": "127.0.0.1",
            "ssh_port": self.port,
            "ssh_user": USER,
            "ssh_key": str(self.folder / "user"),
            "ssh_known_hosts_file": str(self.folder / "known"),
        }

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.folder / "host.pub")

    def answers(self, responses: Mapping[str, Any], noise: str = "nothing", greeting: bytes = GREETING) -> None:
        """From now on it answers these, as @fake would, and all else with a kind of NOISE.

        greeting: what it sends before the version of its protocol.
        """
        made = [[piece, *_lines(answer)] for piece, answer in responses.items()]
        document = {"answers": made, "noise": noise, "greeting": greeting.decode("latin-1")}
        (self.folder / str(self.port)).write_text(json.dumps(document))


def _lines(answer: Any) -> tuple[str, str, int]:
    """Output, errors and exit status of a response of @fake's."""
    given = answer if isinstance(answer, Mapping) else {"stdout": answer}
    out, err = ("".join(f"{line}\n" for line in given.get(name, ())) for name in ("stdout", "stderr"))
    return out, err, 0 if given.get("success", True) else 1


@contextmanager
def listening(folder: Path, count: int) -> Iterator[list[Machine]]:
    """So many hosts. folder: holds their keys and their answers."""
    folder.mkdir()
    for key in ("host", "user"):
        keygen(folder / key)
    words = [sys.executable, "-m", "tests.plan.hostile_host", str(folder), str(count)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": ROOT, "text": True}
    with subprocess.Popen(words, **pipes) as process:
        try:
            ports = json.loads(process.stdout.readline())  # type: ignore[union-attr]
            public = " ".join((folder / "host.pub").read_text().split()[:2])
            (folder / "known").write_text("".join(f"[127.0.0.1]:{port} {public}\n" for port in ports))
            yield [Machine(folder, port) for port in ports]
        finally:
            process.kill()


# --- in the process of the server


class _Session(paramiko.ServerInterface):
    def __init__(self, folder: Path, port: int) -> None:
        self.known = (folder / "user.pub").read_text().split()[1]
        self.told: dict[str, Any] = json.loads((folder / str(port)).read_text())

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def get_banner(self) -> tuple[str, str]:
        return BANNER, "\x1b[2Ken"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return AUTH_SUCCESSFUL if key.get_base64() == self.known else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        reply = self._reply(unquoted(command.decode()))
        threading.Thread(target=_answer, args=(channel, reply), daemon=True).start()
        return True

    def _reply(self, command: str) -> Reply:
        for piece, out, err, status in self.told["answers"]:
            if piece in command:
                return Reply(out.encode(), err.encode(), status)
        return NOISE[self.told["noise"]]


def unquoted(command: str) -> str:
    """A command that was quoted as a word of another one, however often, nearly as it was."""
    while "'\"'\"'" in command:
        command = command.replace("'\"'\"'", "'")
    return command


def _answer(channel: paramiko.Channel, reply: Reply) -> None:
    with suppress(OSError, EOFError):  # the other side is gone
        channel.makefile("rb").read()  # its end comes after paramiko's word that the command was taken
        errors = threading.Thread(target=_said, args=(channel, reply), daemon=True)
        errors.start()
        channel.sendall(reply.out)
        while reply.ends in ("drip", "flood"):
            time.sleep(_PAUSE_S if reply.ends == "drip" else 0)
            channel.sendall(reply.out)
        errors.join()
        if reply.ends == "cut":
            channel.get_transport().close()
        elif reply.ends == "status":
            channel.send_exit_status(reply.status)
        channel.close()


def _said(channel: paramiko.Channel, reply: Reply) -> None:
    with suppress(OSError, EOFError):
        channel.sendall_stderr(reply.err)
        while reply.ends == "drip":
            time.sleep(_PAUSE_S)
            channel.sendall_stderr(reply.err)


def _serve(listener: socket.socket, folder: Path) -> None:
    key = paramiko.Ed25519Key.from_private_key_file(str(folder / "host"))
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(paramiko.SSHException, EOFError, OSError):
            session = _Session(folder, listener.getsockname()[1])
            client.sendall(session.told["greeting"].encode("latin-1"))
            transport = paramiko.Transport(client)
            transport.local_version = "SSH-2.0-noise_\x1b[2J\x9b2J"
            transport.add_server_key(key)
            transport.start_server(server=session)


def _main(folder: Path, count: int) -> None:
    logging.getLogger("paramiko").addHandler(logging.NullHandler())  # clients that are gone are no news
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    for listener in listeners:
        threading.Thread(target=_serve, args=(listener, folder), daemon=True).start()
    print(json.dumps([listener.getsockname()[1] for listener in listeners]), flush=True)
    sys.stdin.read()  # until the test is over, whatever became of it


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
