"""The files of drift on this machine: the last report of each inventory, and what was accepted beside it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from sparkrig.drift import Acceptance, Report
from sparkrig.refusal import Refusal

_HEAD = "# Drift that was accepted for a while: sparkrig accept INVENTORY ID --until DATE --why TEXT\n"


def last(inventory: Path) -> Path:
    """Where the last report of an inventory lies, in the user's state folder."""
    from platformdirs import user_state_path

    whole = str(inventory.resolve())
    return (
        user_state_path("sparkrig")
        / "drift"
        / f"{inventory.stem}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}.json"
    )


def read(file: Path) -> Report:
    """An earlier report. Raises Refusal where it cannot be read, or is none."""
    try:
        return Report.model_validate_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refusal(
            f"the report {file} cannot be read: {(error.strerror or str(error)).lower()}", f"ls -l {file}"
        ) from None
    except (ValidationError, UnicodeDecodeError):
        raise Refusal(
            f"{file} is no report that sparkrig drift --json wrote", f"head -c 200 {file}; rm {file} starts anew"
        ) from None


def write(file: Path, text: str, mode: int = 0o600) -> None:
    """A file replaced as a whole: whoever reads it sees the old or the new one. Raises Refusal."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, new = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fchmod(stream.fileno(), mode)
                os.fsync(stream.fileno())
            Path(new).replace(file)
        except BaseException:
            Path(new).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refusal(
            f"{file} cannot be written: {(error.strerror or str(error)).lower()}", f"ls -ld {file.parent}"
        ) from None


def accepted_file(inventory: Path) -> Path:
    """What was accepted for the hosts of an inventory: beside it, so that it goes into git."""
    return inventory.with_name(f"{inventory.stem}.accepted.yaml")


def accepted(inventory: Path) -> list[Acceptance]:
    """Every acceptance, expired ones too. Raises Refusal where the file cannot stand."""
    file = accepted_file(inventory)
    try:
        rows = yaml.safe_load(file.read_text(encoding="utf-8")) or []
        if not isinstance(rows, list):
            raise Refusal(f"{file} is no list", f"write each as: - id: ..., in {file}")
        return [Acceptance.model_validate(row) for row in rows]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Refusal(
            f"{file} cannot be read: {(error.strerror or str(error)).lower()}", f"ls -l {file}"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Refusal(f"{file} is no YAML ({' '.join(str(error).split())})", f"git diff {file}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise Refusal(f"{file}: {field or 'an entry'}: {first['msg']}", f"git diff {file}") from None


def accept(inventory: Path, entries: Sequence[Acceptance]) -> Path:
    """Add acceptances; what stands in the file stays as it is, comments too. Raises Refusal."""
    file = accepted_file(inventory)
    accepted(inventory)
    text = file.read_text(encoding="utf-8") if file.exists() else _HEAD
    rows = [entry.model_dump(exclude_none=True, exclude_defaults=True) for entry in entries]
    more = yaml.safe_dump(rows, sort_keys=False, allow_unicode=True)
    write(file, text.rstrip("\n") + "\n" + more, 0o644)
    return file
