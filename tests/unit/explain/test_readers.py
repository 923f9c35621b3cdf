"""The readers of links, memory, containers, firmware, launches: what owners pasted, and each form of an output.

tests/fixtures/paste/readers.yaml has records of real Sparks with their public source; test_readers.yaml beside it
has the forms that the tools' own sources give.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sparkrig.explain import cages
from sparkrig.explain.readers import ROWS
from sparkrig.explain.tools import explain
from sparkrig.settings import Settings
from tests.tables import data, each_row
from tests.unit.pastes import FIXTURES, run

RECORDS: Mapping[str, Any] = data(FIXTURES / "paste" / "readers.yaml")
FORMS: Mapping[str, Any] = data(__file__)


def holds(row: Mapping[str, Any]) -> None:
    told = explain(row["text"])
    verdicts = [
        f"{one.tool}: {finding.verdict.level} {finding.verdict.cause}".strip()
        for one in told
        for finding in one.findings
    ]
    notes = [note for one in told for note in one.notes]
    assert told and verdicts == row["verdicts"]
    assert [begin for begin in row.get("notes", []) if not any(note.startswith(begin) for note in notes)] == []


def test_each_reader_has_code_or_a_table() -> None:
    """What a row names is looked up for the first output of its tool."""

    def holds(of: Mapping[str, Any]) -> None:
        module, _, function = of.get("read", "by_line.explained").partition(".")
        assert ("read" in of) != ("table" in of)
        assert callable(getattr(import_module(f"sparkrig.explain.{module}"), function))

    each_row({name: (row,) for name, row in ROWS.items()}, holds)


def test_what_owners_pasted() -> None:
    each_row({name: (row,) for name, row in RECORDS.items()}, holds)


def test_each_form_of_a_tools_output() -> None:
    each_row({name: (row,) for name, row in FORMS.items()}, holds)


def test_the_forms_with_the_line_ends_of_windows() -> None:
    each_row({name: ({**row, "text": row["text"].replace("\n", "\r\n")},) for name, row in FORMS.items()}, holds)


def test_no_mac_address_and_no_serial_number_is_shown() -> None:
    shown = "".join(
        run(*option, text=row["text"]).output for row in FORMS.values() for option in ((), ("--json",))
    )
    assert "spark-b" in shown and "02:00:00:00:00" not in shown and "MT2402XZ0AB" not in shown


def test_the_mtu_is_that_of_the_setting() -> None:
    assert Settings.model_fields["mtu"].default == cages.MTU
