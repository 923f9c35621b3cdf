"""The lab's own ssh: its key, its known hosts, its configuration, and commands on guests."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab import USER
from lab.commands import run
from lab.nodes import ALL, ssh_port
from lab.paths import home

# OpenSSH's own exit code for "no connection".
NO_CONNECTION = 255


@dataclass(frozen=True)
class Result:
    """What a command on a guest did."""

    rc: int
    stdout: str
    stderr: str


def config() -> Path:
    """The file for `ssh -F`."""
    return home() / "ssh_config"


def known_hosts() -> Path:
    """The host keys of the guests, known before they first start."""
    return home() / "known_hosts"


def public_key() -> str:
    """The lab's public key; its pair is made when it is first asked for."""
    private = home() / "id_ed25519"
    if not private.is_file():
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "sparkrig-lab", "-f", str(private)]
        run(make, attempt="sparkrig lab up")
    return private.with_suffix(".pub").read_text()


def trust(image: Path) -> None:
    """Writes known_hosts and ssh_config for the guests of `image`, so that the first contact is already strict."""
    lines = [f"[127.0.0.1]:{ssh_port(node)} {(image / f'{node}.pub').read_text().strip()}\n" for node in ALL]
    known_hosts().write_text("".join(lines))
    config().write_text("".join(host_block(node, home()) for node in ALL))


def host_block(node: str, folder: Path) -> str:
    """How ssh reaches one node."""
    options = {
        "HostName": "127.0.0.1",
        "Port": str(ssh_port(node)),
        "User": USER,
        "IdentityFile": f'"{folder / "id_ed25519"}"',
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": f'"{folder / "known_hosts"}"',
        "GlobalKnownHostsFile": "none",
        "StrictHostKeyChecking": "yes",
        "BatchMode": "yes",
        "ConnectTimeout": "5",
        "ControlMaster": "auto",
        "ControlPath": f'"{folder / node / "ssh"}"',
        "ControlPersist": "60",
        "LogLevel": "ERROR",
        "KexAlgorithms": "curve25519-sha256",  # a post-quantum one costs an emulated processor 0.2 s
    }
    return f"Host {node}\n" + "".join(f"    {name} {value}\n" for name, value in options.items())


def command(node: str, *words: str) -> list[str]:
    """The ssh command line that runs `words` (joined by the guest's shell) on `node`."""
    return ["ssh", "-F", str(config()), node, *words]


def execute(node: str, line: str, timeout: float = 60) -> Result:
    """Runs a shell line on `node`. Raises subprocess.TimeoutExpired after `timeout` seconds."""
    done = subprocess.run(
        command(node, line),
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def hang_up(node: str) -> None:
    """Ends the shared connection, which would not survive a snapshot or a reset."""
    if (home() / node / "ssh").exists():
        subprocess.run([*command(node), "-O", "exit"], capture_output=True, timeout=10, check=False)
