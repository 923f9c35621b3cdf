"""Whoever onboards Sparks out of the box; pyinfra's part in it is played by what it once left."""

from __future__ import annotations

import codecs
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests import warm
from tests.plan.conftest import converged
from tests.unit.factory import PASSWORD, ROOT, Spark
from tests.unit.sshd import fingerprint

# The command as it is, but for pyinfra: APPLIED is what its run leaves of each Spark, DIES where it is killed.
PLAYED = """
import os, shutil, signal, sys
from sparkrig.onboarding.io import first_upgrade, newcomer
from sparkrig.operations import onboard
from sparkrig.terminal import progress

first_upgrade.POLL_S = 0.01
progress.WORTH_S = 0

def applied(draft, asked, deploy, given):
    if deploy.name == "serve.py":
        if os.environ.get("DIES") == "serve":
            os.kill(os.getpid(), signal.SIGKILL)
        print("served", given, file=sys.stderr)
        return int(os.environ.get("SERVED", 0))
    for pair in filter(None, os.environ.get("APPLIED", "").split(",")):
        shutil.copy(*pair.split(">"))
    return int(os.environ.get("CODE", 0))

def mortal(step, act):
    def dies_or_acts(*words):
        if os.environ.get("DIES") == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*words)
    return dies_or_acts

onboard._apply = applied
for step in ("_let_in", "_write", "_apply", "_verified"):
    setattr(onboard, step, mortal(step, getattr(onboard, step)))
newcomer.know = mortal("know", newcomer.know)
"""
PROGRAM = f"""{PLAYED}
from sparkrig.cli.main import main
sys.argv[0] = "sparkrig"
main()
"""


@cache
def loaded() -> warm.Server:
    """The process of tests/warm.py, with pyinfra's part played."""
    return warm.Server(PLAYED)


SUDOERS = ["# Written by sparkrig onboard", "nvidia ALL=(ALL:ALL) NOPASSWD: ALL"]


@dataclass
class Desk:
    """Whoever onboards: a home folder with a key, an inventory's folder, and Sparks that were unpacked."""

    folder: Path
    sparks: Mapping[str, Spark]
    env: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "me"

    @property
    def file(self) -> Path:
        return self.folder / "inventories" / "mine.py"

    @property
    def known(self) -> list[str]:
        file = self.home / ".ssh" / "known_hosts"
        return file.read_text().splitlines() if file.exists() else []

    def words(self, name: str, *words: str) -> list[str]:
        port = self.sparks[name].port
        command = ["onboard", f"nvidia@127.0.0.1:{port}", "--inventory", str(self.file), *words]
        return [sys.executable, "-c", PROGRAM, *command]

    def environ(self, **more: str) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home), "TERM": "xterm", "COLUMNS": "80", **self.env, **more}

    def run(self, name: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        _, _, _, *command = self.words(name, *words)
        return self.command(*command, **env)

    def command(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return warm.run("sparkrig", *words, cwd=ROOT, env=self.environ(**env), timeout=90, server=loaded())

    def scripted(self, name: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """With nobody there: everything is given."""
        return self.run(name, "--yes", *self.trusted(name), *words, **env)

    def planned(self, name: str) -> subprocess.CompletedProcess[str]:
        """The plan alone, for a program."""
        return self.run(name, "--json", *self.trusted(name))

    def trusted(self, name: str) -> tuple[str, ...]:
        password = self.folder / "password"
        password.write_text(f"{PASSWORD}\n")
        password.chmod(0o600)
        return ("--fingerprint", fingerprint(self.sparks[name].public), "--password-file", str(password))


def finished(desk: Desk, made_of: Callable[[str], str] = converged) -> str:
    """What pyinfra's run leaves of both: what was recorded of the pair after a deploy."""
    pairs = []
    for name, spark in desk.sparks.items():
        made = desk.folder / f"converged-{name}"
        made.write_text(f"{made_of(name[-1]).rstrip()}\n\n#sparkrig:end nics 0\n")
        pairs.append(f"{made}>{spark.state / 'look'}")
    return ",".join(pairs)


class Terminal:
    """A command on a terminal of its own, and whoever sits at it."""

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self.seen, self.decoder = "", codecs.getincrementaldecoder("utf-8")()
        self.child, self.screen = pty.fork()
        if self.child == 0:
            os.chdir(ROOT)
            os.execve(words[0], words, env)

    def answer(self, question: str, answer: str) -> None:
        """Wait for a question, and type."""
        self.waits_for(question)
        self.types(answer)

    def types(self, answer: str) -> None:
        os.write(self.screen, f"{answer}\n".encode())

    def waits_for(self, question: str) -> None:
        end, mark = time.monotonic() + 60, len(self.seen)
        while question not in self.seen[mark:]:
            ready, _, _ = select.select([self.screen], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {question!r} in {self.seen[mark:]!r}"
            self.seen += self.decoder.decode(os.read(self.screen, 65536))

    def end(self) -> int:
        """The rest of what it says, and its exit code."""
        while True:
            try:
                self.seen += self.decoder.decode(os.read(self.screen, 65536))
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
