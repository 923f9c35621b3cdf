"""What redaction.yaml has: patterns of values by the words around them, and words by what they tell of a value."""

import re
from collections.abc import Mapping
from pathlib import Path

from sparkrig.parsing import safe_yaml
from sparkrig.redaction import sheet

_ROWS = safe_yaml.load(Path(__file__).with_name("redaction.yaml").read_text(encoding="utf-8"), safe_yaml.FAST)
_PART = re.compile(r"@\{(\w+)\}")


def table(name: str) -> Mapping[str, str]:
    """A table of words by their names."""
    rows: Mapping[str, str] = _ROWS[name]
    return rows


def words(name: str) -> frozenset[str]:
    """Those that identify nobody."""
    return frozenset(table("words")[name].split())


def patterns(module: str, name: str, **parts: str) -> tuple[re.Pattern[str], ...]:
    """parts: what their names in braces stand for, beside the names of sheet.py."""
    known, rows = vars(sheet) | parts, _ROWS["patterns"][module][name]
    return tuple(re.compile(_PART.sub(lambda part: known[part[1]], row)) for row in rows)
