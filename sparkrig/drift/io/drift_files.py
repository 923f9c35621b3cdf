"""The files of drift on this machine: the last report of each inventory, and what was accepted beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import yaml
from pydantic import ConfigDict, ValidationError

from sparkrig.cure import quoted_path
from sparkrig.drift.drift import Acceptance, Report, without
from sparkrig.parsing import safe_yaml
from sparkrig.refusal import Refusal
from sparkrig.terminal import atomic_write
from sparkrig.text import reason

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


def read(file: Path, cure: str = "") -> Report:
    """An earlier report. Raises Refusal where it cannot be read, or is none; cure: what to try then."""
    try:
        return Report.model_validate_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refusal(f"the report {file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    except (ValidationError, UnicodeDecodeError):
        raise Refusal(
            f"{file} is no report that sparkrig drift --json wrote", cure or f"head -c 200 {quoted_path(file)}"
        ) from None


def kept(inventory: Path) -> Report | None:
    """The last report of an inventory; None where there was none yet. Raises Refusal."""
    file = last(inventory)
    try:
        there = file.exists()
    except OSError as error:  # a folder that is another user's
        raise Refusal(
            f"the report {file} cannot be read: {reason(error)}", f"ls -ld {quoted_path(file.parent)}"
        ) from None
    return read(file, f"rm {quoted_path(file)}, which starts anew") if there else None


def keep(inventory: Path, report: Report) -> None:
    """Make a report the last one of an inventory. Raises Refusal."""
    file = last(inventory)
    atomic_write.folder(file)
    atomic_write.write(file, report.compact(), 0o600)


def forget(inventory: Path, host: str) -> None:
    """Take a host out of the last report of an inventory: its next one begins anew. Raises Refusal."""
    report = kept(inventory)
    if report and report.host(host):
        keep(inventory, without(report, host))


def accepted_file(inventory: Path) -> Path:
    """What was accepted for the hosts of an inventory: beside it, so that it goes into git."""
    return inventory.with_name(f"{inventory.stem}.accepted.yaml")


class _Entry(Acceptance):
    """An acceptance as a person writes it by hand: an unknown field is refused as misspelt."""

    model_config = ConfigDict(extra="forbid")


def accepted(inventory: Path) -> list[Acceptance]:
    """Every acceptance, expired ones too. Raises Refusal where the file is not valid."""
    file = accepted_file(inventory)
    try:
        return _entries(file, file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    except UnicodeDecodeError:
        raise Refusal(f"{file} is no text in UTF-8", f"file {quoted_path(file)}") from None


def _entries(file: Path, text: str) -> list[Acceptance]:
    try:
        rows = safe_yaml.load(text) or []
    except yaml.YAMLError as error:
        raise Refusal(
            f"{file} is no YAML: {' '.join(str(error).split())}", f"git diff {quoted_path(file)}"
        ) from None
    if not isinstance(rows, list):
        raise Refusal(f"{file} is no list of entries", f"write each as: - id: ..., in {file}")
    return [_entry(file, number, row) for number, row in enumerate(rows, 1)]


def _entry(file: Path, number: int, row: object) -> Acceptance:
    try:
        return Acceptance(**_Entry.model_validate(row).model_dump())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = f" {first['loc'][0]}:" if first["loc"] else ""
        raise Refusal(
            f"{file}, entry {number}:{field} {first['msg'].lower()}", f"git diff {quoted_path(file)}"
        ) from None


def accept(inventory: Path, entry: Acceptance) -> Path:
    """Add an acceptance; what stands in the file stays as it is, comments too. Raises Refusal."""
    file = accepted_file(inventory)
    before = accepted(inventory)
    text = file.read_text(encoding="utf-8") if file.exists() else _HEAD
    row = entry.model_dump(exclude_none=True, exclude_defaults=True)
    whole = text.rstrip("\n") + "\n" + yaml.safe_dump([row], sort_keys=False, allow_unicode=True)
    try:
        now = _entries(file, whole)
    except Refusal:
        now = []
    if now != [*before, entry]:
        raise Refusal(
            f"{file} is written in a way that nothing can be added at its end",
            f"begin each entry with '- id:' in {file}",
        )
    atomic_write.write(file, whole)
    return file
