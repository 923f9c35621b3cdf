"""`sparkrig bandwidth` itself, with the measurement replaced: what is said, kept and returned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparkrig.refusal import Refusal
from sparkrig.verdict import Verdict
from tests.unit.bandwidth_calls import BAD, BOOT_ID, GONE, typed

GOOD = Verdict("healthy", evidence="111.90 Gb/s")


@pytest.mark.parametrize(
    ("left", "right", "code"),
    [(GOOD, GOOD, 0), (GOOD, BAD, 2), (GONE, GOOD, 3), (GONE, BAD, 3)],
    ids=["healthy", "one at fault", "one out of reach", "one out of reach, one at fault"],
)
def test_the_exit_code_of_two_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: Verdict | Refusal, right: Verdict, code: int
) -> None:
    done = typed(tmp_path, monkeypatch, left=left, right=right)
    assert done.exit_code == code, done.output
    assert left is not GONE or "[/etc/ssh] [Errno 111]" in done.output


@pytest.mark.parametrize(("right", "code"), [(GOOD, 1), (BAD, 2)])
def test_a_report_that_cannot_be_written_costs_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: Verdict, code: int
) -> None:
    page = str(tmp_path / "none" / "page.html")
    done = typed(tmp_path, monkeypatch, "--json", "--html", page, left=GOOD, right=right)
    assert done.exit_code == code
    assert [each["pair"] for each in json.loads(done.stdout)["pairs"]] == ["left", "right"]
    assert done.stderr.count("cannot be written") == 2
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 2


def test_a_boot_id_is_kept_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = typed(tmp_path, monkeypatch, "--json", left=GOOD, right=GOOD)
    assert BOOT_ID not in done.output and "6.17.0-1014-nvidia" in done.stdout
    assert BOOT_ID in (tmp_path / "history.jsonl").read_text()
