"""A Spark out of the box, as far as a login can tell: an ssh server on loopback, and what one once printed.

The server is paramiko's, for OpenSSH's takes no password but that of a real account. It knows a password, reads
authorized_keys from a home folder of its own, and runs what it is told as the user of the tests. There is a sudo
on its path that asks for the password until its sudoers file says otherwise. As root nothing is run: a look prints
what was recorded on the virtual pair, the one script that writes that file is given another path, and a question
about NVIDIA's first upgrade is answered by one file of a folder after the other; CUT is a connection that is lost.
The neighbour probe prints what the Spark hears.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_SUCCEEDED

from tests.looks import whole
from tests.unit.sshd import keygen

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "fixtures" / "spark"
PASSWORD = "correct horse"
CUT = "the connection is lost here\n"

_SUDO = r"""#!/bin/sh
state=%(state)s
how=ask
while :; do
  case $1 in -k | -H | -S) shift ;; -n) how=never; shift ;; -p) shift 2 ;; --) shift; break ;; *) break ;; esac
done
if ! grep -qs NOPASSWD $state/sudoers.d/sparkrig; then
  if [ $how = never ]; then echo 'sudo: a password is required' >&2; exit 1; fi
  read -r said
  if [ "$said" != "$(cat $state/password)" ]; then
    printf 'Sorry, try again.\nsudo: no password was provided\nsudo: 1 incorrect password attempt\n' >&2; exit 1
  fi
  if [ -e $state/no-sudoer ]; then echo "nvidia is not in the sudoers file." >&2; exit 1; fi
fi
case "$*" in
  'sh -c : sparkrig') ;;
  *'#sparkrig:end identity'*) sed "s/^clock .*/clock $(date +%%s)/" $state/look ;;
  *'#sparkrig:end network'*) cat $state/look ;;
  *'first-upgrade boot'*)
    for each in $state/upgrade/*; do
      if [ -e "$each" ]; then cat "$each"; rm "$each"; exit; fi
    done ;;
  *SPARKRIG_PROBE*) cat $state/heard ;;
  *visudo*) exec sh -c "$3" sparkrig "$state/sudoers.d/sparkrig" "$6" ;;
  *) echo "a stand-in runs nothing else as root" >&2; exit 97 ;;
esac
"""


def look(name: str, cables: str = "") -> str:
    """What a look at a new Spark prints: a recorded one (fresh-a), and its NICs. cables: rows of those.

    It has the name of the inventory (spark-a) by itself, as where its owner chose it at the first boot.
    """
    recording = whole((RECORDED / f"{name}.txt").read_text())
    text = re.sub("(?m)^hostname=.*$", f"hostname=spark-{name[-1]}", recording)
    return f"{text.rstrip()}\n{cables}\n#sparkrig:end nics 0\n"


@dataclass(frozen=True)
class Spark:
    """The machine: its port, its home folder, and what else there is of it.

    state: its host key, its password, what a look prints, sudo's files, and every command that it was given.
    """

    port: int
    home: Path
    state: Path

    @property
    def public(self) -> Path:
        return self.state / "host_key.pub"

    @property
    def commands(self) -> str:
        file = self.state / "commands"
        return file.read_text() if file.exists() else ""

    @property
    def sudoers(self) -> list[str]:
        file = self.state / "sudoers.d" / "sparkrig"
        return file.read_text().splitlines() if file.exists() else []

    def becomes(self, recorded: str) -> None:
        """From now on a look prints something else."""
        (self.state / "look").write_text(recorded)

    def hears(self, *rows: str) -> None:
        """From now on the neighbour probe prints these."""
        (self.state / "heard").write_text("".join(f"{row}\n" for row in rows))

    def upgrades(self, *answers: str) -> None:
        """From now on NVIDIA's first upgrade is at these, one for each time that it is asked about."""
        folder = self.state / "upgrade"
        folder.mkdir()
        for number, each in enumerate(answers):
            (folder / f"{number:02}").write_text(each)

    @property
    def authorized(self) -> list[str]:
        file = self.home / ".ssh" / "authorized_keys"
        return file.read_text().splitlines() if file.exists() else []


class _Session(paramiko.ServerInterface):
    def __init__(self, spark: Spark) -> None:
        self.spark = spark

    def get_allowed_auths(self, username: str) -> str:
        return "publickey,password"

    def check_auth_password(self, username: str, password: str) -> int:
        right = (self.spark.state / "password").read_text().strip()
        return AUTH_SUCCESSFUL if (username, password) == ("nvidia", right) else AUTH_FAILED

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        lines = [line.split()[1] for line in self.spark.authorized if line and not line.startswith("#")]
        return AUTH_SUCCESSFUL if key.get_base64() in lines else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._run, args=(channel, command.decode()), daemon=True).start()
        return True

    def _run(self, channel: paramiko.Channel, command: str) -> None:
        with (self.spark.state / "commands").open("a") as log:
            log.write(f"{command}\n")
        path = f"{self.spark.state}/bin:{os.environ['PATH']}:/usr/sbin"
        stdin = channel.makefile("rb").read() if "sudo" in command else b""
        done = subprocess.run(
            ["sh", "-c", command],
            env={"HOME": str(self.spark.home), "PATH": path},
            input=stdin,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if done.stdout == CUT.encode():
            channel.get_transport().close()
            return
        channel.sendall(done.stdout)
        channel.sendall_stderr(done.stderr)
        channel.send_exit_status(done.returncode)
        channel.close()


@contextmanager
def out_of_the_box(folder: Path, recorded: str, port: int = 0) -> Iterator[Spark]:
    """A Spark that listens. recorded: what a look at it prints (`look`)."""
    state = folder / "state"
    for each in (folder / "home", state / "bin", state / "sudoers.d"):
        each.mkdir(parents=True, exist_ok=True)
    (state / "password").write_text(f"{PASSWORD}\n")
    (state / "look").write_text(recorded)
    sudo = state / "bin" / "sudo"
    sudo.write_text(_SUDO % {"state": state})
    sudo.chmod(0o755)
    if not (state / "host_key").exists():
        keygen(state / "host_key")
    listening = socket.create_server(("127.0.0.1", port))
    spark = Spark(listening.getsockname()[1], folder / "home", state)
    serving = threading.Thread(target=_serve, args=(listening, spark), daemon=True)
    serving.start()
    try:
        yield spark
    finally:
        listening.shutdown(socket.SHUT_RDWR)  # wakes who waits on it; closed, its number would be another's soon
        serving.join()
        listening.close()


def _serve(listening: socket.socket, spark: Spark) -> None:
    key = paramiko.Ed25519Key.from_private_key_file(str(spark.state / "host_key"))
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        transport = paramiko.Transport(client)
        transport.add_server_key(key)
        try:
            transport.start_server(server=_Session(spark))
        except (paramiko.SSHException, EOFError, OSError):  # whoever only looked at the key is gone again
            transport.close()
