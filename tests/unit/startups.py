"""What hosts say of a model on its way up: the recorded logs, up to a moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sparkrig.serving.startup import Seen, parse

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "startup"
BEGAN = 1795266000
IMAGE = "sha256:0123456789abcdef"


def rows(
    log: str = "",
    *,
    now: float = 1000,
    load: str = "loaded",
    active: str = "active",
    result: str = "success",
    status: int = 0,
    restarts: int = 0,
    image: str = IMAGE,
    available: int = 40,
    quiet: float | None = None,
    events: Sequence[str] = (),
) -> list[str]:
    """What facts/startup.py prints. now, quiet: seconds after the begin, and without a line; available: GiB."""
    logged = [line for line in log.split("\n") if line and float(line.split(" ")[0]) <= BEGAN + now]
    last = [f"last {BEGAN + now - quiet:.6f} spark-a docker[811]: something"] if quiet is not None else []
    return [
        f"now {BEGAN + now:.0f}",
        *(f"unit {word}" for word in (f"LoadState={load}", f"ActiveState={active}", f"Result={result}")),
        *(f"unit {word}" for word in (f"ExecMainStatus={status}", f"NRestarts={restarts}")),
        f"MemTotal {121 * 2**20}",
        f"MemAvailable {available * 2**20}",
        *([f"image {image}"] if image else []),
        *(f"event {event}" for event in events),
        *(f"log {line}" for line in logged),
        *(last or [f"last {line}" for line in logged[-1:]]),
    ]


def recorded(name: str) -> str:
    """A log as the fact leaves it: of a progress bar, the last state."""
    return re.sub(r"\]: .*\r", "]: ", (FOLDER / f"{name}.txt").read_bytes().decode())


def logged(*texts: str, at: float = 1) -> str:
    """Lines of a log, at one moment after the begin."""
    return "".join(f"{BEGAN + at:.6f} spark-a docker[811]: {text}\n" for text in texts)


def seen(log: str = "", **how: object) -> Seen:
    return parse(rows(log, **how))  # type: ignore[arg-type]
