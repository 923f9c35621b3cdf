"""Long steps that outlive the connection they were begun over."""

from __future__ import annotations

from pyinfra.api import Host, StringCommand

from sparkrig import programs
from sparkrig.ssh import remote
from sparkrig.ssh.shell import script

_GRACE_S = 60  # for systemd to start the unit and to end it

RUN = programs.text("operations/unit_run.sh")


def run(name: str, *words: str, seconds: int, cure: str) -> StringCommand:
    """One exec of a long command as the unit `sparkrig-NAME`, ended by systemd after `seconds`.

    The unit goes on where the connection is lost; the next command of that name waits for it. What it prints is
    kept in the host's journal, and shown where it fails, with the cure: one command to try.
    """
    return script(RUN, f"sparkrig-{name}", str(seconds), cure, *words, seconds=seconds + _GRACE_S)


def carry_out(at: Host, name: str, *words: str, seconds: int, cure: str) -> None:
    """The same, done on a host outside of an operation. Raises Failed or Lost."""
    remote.execute(at, run(name, *words, seconds=seconds, cure=cure), seconds + 2 * _GRACE_S)
