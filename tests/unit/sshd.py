"""A real sshd on loopback, as whoever runs the tests, with a home folder of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SSHD = next((path for path in ("/usr/sbin/sshd", "/usr/local/sbin/sshd") if Path(path).exists()), "sshd")


def keygen(file: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    """A key pair; gives the private half."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    words = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(file)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return file


def fingerprint(public: Path) -> str:
    """What `ssh-keygen -lf` says of a public key."""
    done = subprocess.run(["ssh-keygen", "-lf", public], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


@dataclass(frozen=True)
class Server:
    """A host that listens: its port, its home folder, the folder of its host keys."""

    port: int
    home: Path
    etc: Path

    @property
    def public(self) -> Path:
        return self.etc / "ssh_host_ed25519_key.pub"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def sshd(folder: Path, bin: Path | None = None, kinds: tuple[str, ...] = ("ed25519", "ecdsa")) -> Iterator[Server]:
    """OpenSSH's own, which takes keys alone. bin: a folder that goes before all others on PATH."""
    server = Server(free_port(), folder / "home", folder / "etc")
    server.home.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        if not (server.etc / f"ssh_host_{kind}_key").exists():
            keygen(server.etc / f"ssh_host_{kind}_key", kind)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # root's sshd does not start without it
    path = f"{bin}:{os.environ['PATH']}" if bin else os.environ["PATH"]
    lines = [
        f"ListenAddress 127.0.0.1:{server.port}",
        *(f"HostKey {server.etc}/ssh_host_{kind}_key" for kind in kinds),
        f"AuthorizedKeysFile {server.home}/.ssh/authorized_keys",
        "PidFile none",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "StrictModes no",  # whoever may write in /tmp could change the folder
        "PermitRootLogin yes",
        "UsePAM no",
        f"SetEnv HOME={server.home} PATH={path}",
    ]
    config = folder / "sshd_config"
    config.write_text("\n".join(lines) + "\n")
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE, text=True)
    try:
        _until_it_answers(server.port, process)
        yield server
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _until_it_answers(port: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()[1]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("sshd does not listen")
