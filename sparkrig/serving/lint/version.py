"""Versions of vLLM, for comparison."""

from __future__ import annotations

import re

Version = tuple[int, ...]


def version(text: str) -> Version | None:
    """`0.19.2rc1.dev154+g1c2c1eb8b` as (0, 19, 2); None where the text begins with no version."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(each or 0) for each in found.groups()) if found else None


def shown(version: Version | None) -> str:
    """`0.19.2`; empty for none."""
    return ".".join(map(str, version or ()))
