"""What is public about updates of a Spark, and no host tells of itself: models/updates.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from sparkrig.parsing import safe_yaml

_FILE = Path(__file__).parents[1] / "models" / "updates.yaml"


@dataclass(frozen=True)
class Floor:
    """The versions of a part's firmware that close vulnerabilities; the file says what each field means."""

    part: str
    fixed: tuple[str, ...]
    cves: tuple[str, ...]
    bulletin: str
    day: date
    needs: str
    release: str
    source: str


@dataclass(frozen=True)
class Next:
    """The release upgrade that is to come. dgx_os: its major number; known: what is, in words, on that day."""

    dgx_os: int
    ubuntu: str
    known: str
    day: date
    source: str

    @property
    def shown(self) -> str:
        """What is known of it, as a part of a sentence."""
        return f"DGX OS {self.dgx_os} on Ubuntu {self.ubuntu}: {self.known} (as of {self.day})"


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST)
    return found


@cache
def floors() -> tuple[Floor, ...]:
    """Every floor, the newest bulletin first."""
    return tuple(
        Floor(**{**row, "fixed": tuple(row["fixed"]), "cves": tuple(row["cves"])}) for row in _file()["floors"]
    )


@cache
def to_come() -> Next:
    """The next release upgrade."""
    return Next(**_file()["next"])


def ubuntu() -> dict[str, str]:
    """The number of each of Ubuntu's releases by its codename."""
    found: dict[str, str] = _file()["ubuntu"]
    return found


def boot_packages() -> dict[str, str]:
    """What packages change of each kernel's boot, by their names."""
    found: dict[str, str] = _file()["boot_packages"]
    return found
