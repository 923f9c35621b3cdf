"""A real sshd on loopback, as whoever runs the tests, with a home folder of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
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


def free_ports(count: int) -> list[int]:
    """Ports of loopback where nobody listens."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]


def free_port() -> int:
    return free_ports(1)[0]


@contextmanager
def sshd(
    folder: Path,
    bin: Path | None = None,
    kinds: tuple[str, ...] = ("ed25519", "ecdsa"),
    *,
    lines: Iterable[str] = (),
) -> Iterator[Server]:
    """OpenSSH's own, which takes keys alone. bin: a folder that is first on PATH; lines: more of its settings."""
    server = Server(free_port(), folder / "home", folder / "etc")
    server.home.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        if not (server.etc / f"ssh_host_{kind}_key").exists():
            keygen(server.etc / f"ssh_host_{kind}_key", kind)
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
        *lines,
    ]
    config = folder / "sshd_config"
    config.write_text("\n".join(lines) + "\n")
    with listening(config, [server.port]):
        yield server


@contextmanager
def listening(config: Path, ports: Iterable[int]) -> Iterator[None]:
    """An sshd with that configuration, which listens on all those ports of loopback."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # root's sshd does not start without it
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE, text=True)
    try:
        for port in ports:
            _until_it_listens(port, process)
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)
        if process.stderr:  # not to its end, which comes with the last connection that a client keeps open
            process.stderr.close()


def _until_it_listens(port: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()[1]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"sshd does not listen on {port}")
