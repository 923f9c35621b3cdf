"""Commands on the hosts of a benchmark, apart from what is measured."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ssh:
    """OpenSSH's client with a configuration of its own."""

    config: Path

    def output(self, host: str, line: str) -> str:
        """What a shell line prints on a host. Raises subprocess.CalledProcessError."""
        done = subprocess.run(
            ["ssh", "-F", str(self.config), host, line], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        return done.stdout.decode()
