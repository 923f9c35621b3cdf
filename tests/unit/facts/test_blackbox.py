"""What the script of the black box prints of a host, read again."""

from __future__ import annotations

from pathlib import Path

from sparkrig.facts.blackbox import Blackbox
from sparkrig.host.blackbox import BlackBox
from sparkrig.watch.blackbox_rows import parse
from tests.unit.shells import sh

FOLDER = "/var/lib/sparkrig/blackbox"
SUMMER, WINTER = 1792888800, 1792906200  # 02:40 and 06:30 in Berlin on 25 October 2026: at 3 the clock went back
LONG_AGO = 1783000000  # 2 July


def seen(place: Path, zone: str) -> BlackBox:
    done = sh(Blackbox.script.replace(FOLDER, str(place)), env={"TZ": zone})
    assert done.returncode == 0 and done.stderr == ""
    return parse(done.stdout.splitlines())


def test_times_are_those_that_the_clock_showed_and_not_those_of_the_zone_today(tmp_path: Path) -> None:
    (tmp_path / "reset").write_text(
        f"7 step aaaaaaaa {SUMMER} {{}}\nbooted {WINTER} bbbbbbbb\n"  # lost in summer time, started after it
    )
    (tmp_path / "guard").write_text(f"{LONG_AGO} @5.0/cccccccc stopped the server: x\n")
    found = seen(tmp_path, "Europe/Berlin")
    reset = found.reset
    assert reset and reset.sentence.startswith("it was reset at 02:40 on 2026-10-25; ")
    assert reset.when(reset.booted).isoformat() == "2026-10-25T06:30:00+01:00"
    assert found.acts[0].when(found).isoformat() == "2026-07-02T15:46:40+02:00"


def test_files_that_no_black_box_wrote_are_no_times(tmp_path: Path) -> None:
    for text in ("", "\0" * 8192, "booted x\n", "booted -5 a\n7 step a $(id) {}\n", f"1 step a {'9' * 30} {{}}\n"):
        for name in ("reset", "guard"):
            (tmp_path / name).write_text(text)
        assert seen(tmp_path, "UTC").reset is None, text
