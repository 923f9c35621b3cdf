"""The user's own files: an inventory that is read, a report that is written, one sentence where that fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sparkrig.settings import Fleet


def inventory(file: Path, **overrides: Any) -> tuple[Fleet, dict[str, dict[str, Any]]]:
    """The fleet of an inventory file and its hosts' data; exit code 1 where it cannot stand."""
    from sparkrig import inventory, settings

    try:
        return inventory.fleet(file, **overrides)
    except settings.SettingsError as error:
        raise click.ClickException(str(error)) from None


def write(file: Path, text: str) -> None:
    """Put a whole text into a file; exit code 1 where it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise click.ClickException(f"cannot write {file}: {reason}. Try: ls -ld {file.parent}") from None


def one_of(file: Path, name: str, count: int) -> Path:
    """The file itself where there is one text to write; else one that is named after what it is about."""
    return file if count == 1 else file.with_stem(f"{file.stem}-{name.replace('/', '-')}")
