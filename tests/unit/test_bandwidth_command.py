"""`sparkrig bandwidth` itself, with the measurement replaced: what is said, kept and returned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sparkrig.bandwidth.measurement import Host, Measurement, Rail, Run
from sparkrig.cli import bandwidth, files
from sparkrig.refusal import Refusal
from sparkrig.verdict import Verdict

INVENTORY = """
sparks = [
    (f"{pair}-{half}", {"pair": pair, "fabric": {"enp1s0f0np0": f"192.168.{net}.{last}/24"}})
    for net, pair in ((1, "left"), (2, "right")) for last, half in ((1, "a"), (2, "b"))
]
"""


BOOT_ID = "0a1b2c3d-1234-5678-9abc-0a1b2c3d4e5f"


def measured(pair: str, verdict: Verdict) -> Run:
    one, other = f"{pair}-a", f"{pair}-b"
    share = Measurement(
        "ib_write_bw", 0, one, other, 4, together=False, verdict=verdict, gbps=111.9, path_mtu=4096
    )
    hosts = {one: Host(boot_id=BOOT_ID, kernel="6.17.0-1014-nvidia"), other: Host()}
    return Run(pair, "2026-11-21T10:00:00+00:00", pair, 9000, hosts, (Rail(0, {}, verdict),), (share,), ())


def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str, **found: Verdict | Refusal) -> Any:
    def measure(_: object, data: dict[str, object], *__: object, **___: object) -> tuple[Run, Any]:
        pair = next(iter(data)).removesuffix("-a")
        outcome = found[pair]
        if isinstance(outcome, Refusal):
            raise outcome
        return measured(pair, outcome), None

    def report(file: Path, *_: object) -> None:
        files.write(file, "report")

    monkeypatch.setattr(bandwidth, "_measure", measure)
    monkeypatch.setattr(bandwidth, "_report", report)
    (tmp_path / "pairs.py").write_text(INVENTORY)
    history = str(tmp_path / "history.jsonl")
    return CliRunner().invoke(bandwidth.bandwidth, [str(tmp_path / "pairs.py"), "--history", history, *words])


GOOD = Verdict("healthy", evidence="111.90 Gb/s")
BAD = Verdict("fault", "slow-start", "13.35 Gb/s", "reboot")
GONE = Refusal("left-b cannot be reached: [/etc/ssh] [Errno 111]", "ssh left-b true")


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
