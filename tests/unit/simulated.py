"""One simulated host: a folder in the place of its root, programs by pattern, a clock, and what was done there.

What else a test needs of a host (a NetworkManager, a black box, a docker) is a class that adds just that.
A fault is an effect: an exception, or whatever else happens when a program is asked.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from tests.unit.shells import sh, tool, well

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates"
Effect = str | Exception | Callable[[], object]


def load(file: Path, name: str = "") -> Any:
    """A program of ours as a module of its own."""
    spec = importlib.util.spec_from_file_location(name or f"{file.stem}_program", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class SimulatedHost:
    """A host below a folder."""

    own = r"/(?:etc|var/lib|usr/local/lib|run/sparkrig)\b"  # paths of a script that are meant below the folder
    environment: ClassVar[Mapping[str, str]] = {}  # of what is run

    def __init__(self, root: Path, name: str = "spark-a") -> None:
        self.root, self.bin, self.name, self.now = root, root / "bin", name, 1000.0
        root.mkdir(parents=True, exist_ok=True)
        self.effects: dict[str, Effect] = {}
        self.logged: list[str] = []

    # files

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def has(self, path: str, text: str) -> None:
        self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).write_text(text)

    def lines(self, path: str) -> list[str]:
        return self.at(path).read_text().splitlines() if self.at(path).exists() else []

    # programs

    def tool(self, name: str, text: str = "") -> None:
        tool(self.bin, name, text)

    def noting(self, *names: str) -> None:
        """Stand-ins for programs that note how they are called."""
        for name in names:
            self.tool(name, f'echo "{name} $*" >>{self.root}/did')

    @property
    def did(self) -> list[str]:
        """What was noted since this was asked last."""
        noted = self.lines("did")
        self.has("did", "")
        return noted

    def here(self, text: str) -> str:
        """A script as it is meant on this host: nothing outside of its folder is written."""
        places = rf"(?<!{re.escape(str(self.root))})(?:{self.own})"
        return re.sub(places, lambda path: f"{self.root}{path[0]}", text)

    def sh(self, script: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        words = tuple(map(self.here, words))
        return sh(self.here(script), *words, path=self.bin, env=self.environment, stdin=self.here(stdin))

    def prints(self, script: str, *words: str, stdin: str = "") -> str:
        """What a script prints that has to end well."""
        done = well(self.sh(script, *words, stdin=stdin))
        return done.stdout

    # what is asked within the process of the test

    def effect(self, line: str) -> str | None:
        """What the first effect does whose text is in the line; None where it answers nothing itself."""
        effect = next((effect for text, effect in self.effects.items() if text in line), None)
        if isinstance(effect, Exception):
            raise effect
        answer = effect() if callable(effect) else effect
        return answer if isinstance(answer, str) else None

    def log_styled(self, message: str, **_: Any) -> None:
        self.logged.append(message)

    # the clock

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def times(self, **more: Any) -> SimpleNamespace:
        """In place of the module `time` of a program: it moves by sleeping alone."""
        return SimpleNamespace(**{"monotonic": self.clock, "time": self.clock, "sleep": self.sleep, **more})
