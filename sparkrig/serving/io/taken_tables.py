"""The tables that `sparkrig models update` took: where they lie, and which of them are used.

They are the user's, in the folder for data. Each set is a folder, named by its digest. One file names the set in
use and the one before it, so that the rename of this file is the whole swap.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from sparkrig.cure import quoted_path
from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from sparkrig.text import reason

_RECORD = "used.json"
BACK = "sparkrig models update --back"


class Set(BaseModel):
    """One set of tables. digest: its folder; day: the newest in it; source: as it was typed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    day: date
    source: str

    @property
    def folder(self) -> Path:
        return home() / self.digest


class TakenRecord(BaseModel):
    """The set in use and the one before it; None: those that sparkrig carries."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    used: Set | None = None
    before: Set | None = None


def home() -> Path:
    from platformdirs import user_data_path

    return user_data_path("sparkrig") / "tables"


def file() -> Path:
    return home() / _RECORD


def state() -> int:
    """Changes with each swap; 0 before the first."""
    return file().stat().st_ino if file().exists() else 0


def record() -> TakenRecord:
    """What is used; all of it None where nothing was taken. Raises Refusal."""
    try:
        return TakenRecord.model_validate(bounds.loads(file().read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return TakenRecord()
    except OSError as error:
        raise Refusal(f"{file()} cannot be read: {reason(error)}", f"ls -l {quoted_path(file().parent)}") from None
    except (ValueError, ValidationError):
        raise Refusal(f"{file()} does not name the tables in use", BACK) from None
