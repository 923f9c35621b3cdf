"""Where what is kept of each Spark lies: in a folder beside the inventory, so that it goes into git with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sparkrig.cure import quoted_path
from sparkrig.onboarding import kept
from sparkrig.onboarding.kept import Kept
from sparkrig.refusal import Refusal
from sparkrig.terminal import atomic_write
from sparkrig.text import file_name


def path(inventory: Path, host: str) -> Path:
    """The file of a host; any name of one makes one safe file name."""
    return inventory.with_suffix(".kept") / f"{file_name(host)}.json"


def read(inventory: Path, host: str) -> Kept | None:
    """What is kept of a host; None where nothing is. Raises Refusal where that cannot be read."""
    file = path(inventory, host)
    if not file.exists():
        return None
    try:
        return kept.load(atomic_write.read(file))
    except ValueError:
        raise Refusal(
            f"{file} is not as sparkrig keeps a Spark",
            f"mv {quoted_path(file)} {quoted_path(file)}.aside, and the next deploy begins a new one",
        ) from None


def keep(inventory: Path, now: Kept) -> None:
    """Keep a host, unless the same is kept already. Raises Refusal where that cannot be written."""
    before = read(inventory, now.host)
    if before is None or replace(before, at=now.at) != now:
        file = path(inventory, now.host)
        atomic_write.folder(file, 0o755)
        atomic_write.write(file, kept.dump(now))
