"""The words that prose does without are found in pages and texts, and not in code."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import prose

PAGE = """\
Plans are made.
It is read `via` a [link](via.md), and here
is more.

```
via a command
```
Likewise here.
"""


def test_a_word_is_found_with_its_line_and_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    page, program = tmp_path / "page.md", tmp_path / "verb.py"
    page.write_text(PAGE)
    program.write_text('via = 1  # via\n\nraise E(f"{via} simply ends")\n')
    assert [*prose.faults(page)] == ['page.md:8: "Likewise"; write: also']
    assert [*prose.faults(program)] == ['verb.py:3: "simply"; write: nothing']
