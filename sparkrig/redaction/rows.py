"""What redaction.yaml has: patterns of values by the words around them, and words that identify nobody."""

import re
from pathlib import Path

from sparkrig.parsing import safe_yaml
from sparkrig.redaction import sheet

_ROWS = safe_yaml.load(Path(__file__).with_name("redaction.yaml").read_text(encoding="utf-8"), safe_yaml.FAST)
_PART = re.compile(r"@\{(\w+)\}")


def words(table: str) -> frozenset[str]:
    """Those of a table."""
    return frozenset(_ROWS["words"][table].split())


def patterns(module: str, table: str, **parts: str) -> tuple[re.Pattern[str], ...]:
    """parts: what their names in braces stand for, beside the names of sheet.py."""
    known, rows = vars(sheet) | parts, _ROWS["patterns"][module][table]
    return tuple(re.compile(_PART.sub(lambda part: known[part[1]], row)) for row in rows)
