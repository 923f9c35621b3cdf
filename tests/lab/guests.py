"""What a test holds in its hands: guests that run commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lab import ssh

LIMIT_S = 1500  # of a test: the first of all boots the pair and deploys it


@dataclass(frozen=True)
class Guest:
    """One virtual Spark, over ssh with strict host keys and one shared connection."""

    node: str

    def run(self, line: str, timeout: float = 120) -> ssh.Result:
        """Runs a shell line as the user `nvidia` (sudo asks for nothing); returns rc, stdout and stderr."""
        return ssh.execute(self.node, line, timeout)

    def output(self, line: str, timeout: float = 120) -> str:
        """What a line that must succeed prints, without surrounding blanks."""
        result = self.run(line, timeout)
        assert result.rc == 0, f"{self.node}: {line!r} gave {result.rc}: {result.stdout}{result.stderr}"
        return result.stdout.strip()


@dataclass(frozen=True)
class Pair:
    """The two guests."""

    a: Guest
    b: Guest

    def __iter__(self) -> Iterator[Guest]:
        return iter((self.a, self.b))
