"""Every pattern of the product takes about twice the time for twice the text, whatever the text is.

tests/attacks/patterns.py finds them, and tests/attacks/growth.py measures each on texts that are made against it.
"""

from __future__ import annotations

from typing import Any, get_args

import pytest

from sparkrig import shapes, signatures
from sparkrig.explain import readers
from sparkrig.host import branches
from sparkrig.resources import kind
from sparkrig.serving import engines, parsers, startup
from sparkrig.update import update_judge
from tests.attacks import growth, patterns

# what `sparkrig explain` reads by rows: the patterns of each
ROWS = [*readers.ROWS.values()]
# Calls whose pattern is a variable: what has its patterns.
TABLES: dict[str, Any] = {
    "sparkrig/bandwidth/nccl.py re.findall(pattern, text)": [],
    "sparkrig/resources/kind.py re.fullmatch(pattern, id)": [*kind._STANDS_FOR.values()],
    "sparkrig/host/branches.py re.match(self.version, version)": [branches.later(580).version],
    "sparkrig/host/branches.py re.fullmatch(each, name)": [*branches.later(580).names, *branches.own(590).names],
    "sparkrig/parsing/grammar.py re.fullmatch(self.pattern, text, re.ASCII)": [],  # each Grammar is found
    "sparkrig/redaction/credentials.py re.compile(either)": [],  # escaped words, as the next one
    "sparkrig/redaction/ids.py re.compile('|'.join(made))": [],
    "sparkrig/redaction/rows.py re.compile(_PART.sub(lambda part: known[part[1]], row))": [],  # from a table
    "sparkrig/serving/engines.py re.compile('|'.join(row['images']), re.IGNORECASE)": [
        each.images.pattern for each in engines.OTHERS.values()
    ],
    "sparkrig/serving/parsers.py re.match(each.name, last)": [each.name for each in parsers.FAMILIES],
    "sparkrig/serving/startup.py re.search(sign, line.text)": [
        *startup._ENDS.values(),
        startup._JOINED,
        startup._FIGURES,
    ],
    "sparkrig/serving/startup.py re.search(_end_of(name), line)": [*startup._ENDS.values()],
    "sparkrig/explain/by_line.py re.finditer(row.pattern, text, re.MULTILINE)": [],  # those of signatures
    "sparkrig/explain/by_line.py re.search(of['named'], f'{piece.command}\\n{piece.text}', re.MULTILINE)": [
        row["named"] for row in ROWS if "named" in row
    ],
    "sparkrig/explain/readers.py re.compile(of['body'])": [],  # each Reader is found
    "sparkrig/explain/readers.py re.compile(of['command'])": [row["command"] for row in ROWS if "command" in row],
    "sparkrig/explain/explanation.py re.compile(f'\\\\A(?:x)', self.body.flags)": [],  # each Reader is found
    "sparkrig/explain/leftover.py re.compile(row.pattern, re.MULTILINE)": [],  # those of signatures
    "sparkrig/settings.py re.fullmatch(pattern, value)": [get_args(shapes.VariableName), get_args(shapes.Source)],
    "sparkrig/signatures.py re.search(self.pattern, text)": [
        each.pattern for tool in signatures.tools() for each in signatures.table(tool)
    ],
    "sparkrig/update/update_judge.py re.fullmatch(names, name)": [*update_judge._MISSED.values()],
    "templates/serving/watch.py re.findall(row, text, re.MULTILINE)": [],
}


@pytest.mark.slow  # some 800 patterns with 38,000 texts take half a minute
def test_no_pattern_takes_more_than_its_text_has() -> None:
    found, untold = patterns.uses(TABLES)
    assert untold == [], "a call whose pattern is a variable: name the table of it in TABLES"
    assert len(found) > 500
    slow = [
        f"{use.place} ({use.how}): {times:.0f} times for 4 times {before!r} {part!r}: {use.words.pattern}"
        for use in found
        for before, part in growth.hostile(use.words)
        if (times := growth.grows(use.run, before, part)) > growth.MOST
    ]
    assert slow == [], "\n".join(slow)
