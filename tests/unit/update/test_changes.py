"""What an update has changed on a Spark, by what the Spark prints of it."""

from __future__ import annotations

import base64

import pytest

from sparkrig.bandwidth import records
from sparkrig.host import update_record
from sparkrig.host.update_record import Done, Firmware, Record, Standing
from sparkrig.host.upgrade import Move
from sparkrig.update.changes import Change, Changed, changed
from sparkrig.update.render import changes as drawn

RECORD = Record(
    id="20261126T000000Z",
    goal="OTA2607",
    typed="sparkrig update",
    kernel=Move("6.17.0-1", "6.17.0-2"),
    driver=Move("580.1", "580.1"),
    firmware={"a" * 40: Firmware("EC", "2")},
    had={"EC": "1"},
)
BOOT = "00000000-0000-4000-8000-000000000001"


def rails(gbps: float, at: str) -> str:
    each = records.Record("enp1s0f0np0", "10.0.0.1", "10.0.0.2", 9000, gbps, 4096, at)
    return base64.b64encode(records.dump([each]).encode()).decode()


def told(*printed: str, kernel: str = "6.17.0-2", steps: tuple[str, ...] = ()) -> Changed:
    standing = Standing(BOOT, kernel, RECORD, tuple(Done(name, 1, BOOT) for name in steps))
    return changed("spark-a", standing, printed, {"EC": "2"})


def test_what_was_agreed_to_has_the_firmware_before() -> None:
    rows = [f"boot {BOOT}", "kernel 6.17.0-1", *(f"plan {row}" for row in update_record.text(RECORD).splitlines())]
    assert update_record.parse(rows).record == RECORD


def test_each_thing_that_changed_is_there_once() -> None:
    found = told("was aa 1", "was gone 1", "now aa 2", "now new 1")
    assert found.changes == [
        Change("kernel", "kernel", "6.17.0-1", "6.17.0-2"),
        Change("firmware", "EC", "1", "2"),
        Change("package", "aa", "1", "2"),
        Change("package", "gone", "1", None),
        Change("package", "new", None, "1"),
    ]
    assert [*drawn.lines(found)] == [
        "packages 1 upgraded, 1 new, 1 removed: gone",
        "kernel 6.17.0-1 -> 6.17.0-2",
        "firmware EC 1 -> 2",
    ]
    assert told(kernel="6.17.0-1", steps=("unwritten",)).changes == []


PACES = {
    "rail, slower": (
        (f"rails-was {rails(100, 'x')}", f"rails-now {rails(95, 'y')}"),
        "rail enp1s0f0np0 to 10.0.0.2 100.0 -> 95.0 Gb/s, slower",
    ),
    "rail, noise": (
        (f"rails-was {rails(100, 'x')}", f"rails-now {rails(95.1, 'y')}"),
        "rail enp1s0f0np0 to 10.0.0.2 100.0 -> 95.1 Gb/s, as before",
    ),
    "rail, new": (
        (f"rails-now {rails(95, 'y')}",),
        "rail enp1s0f0np0 to 10.0.0.2 none -> 95.0 Gb/s, not measured",
    ),
    "server, faster": (
        ("rate-was embed 64 2000", "rate-now embed 64 1000"),
        "server embed 32.0 -> 64.0 tokens/s, faster",
    ),
    "server, gone": (("rate-was - 64 2000",), "server 32.0 -> none tokens/s, not measured"),
}


def test_a_figure_is_judged_beside_the_one_before() -> None:
    for name, (printed, said) in PACES.items():
        found = told(*printed)
        assert [*drawn.lines(found)][-2:] == [said, f"performance: {said.rpartition(', ')[2]}"], name
    same = rails(100, "x")
    assert told(f"rails-was {same}", f"rails-now {same}").of("rail") == [], "it was not measured anew"
    both = told(*PACES["rail, slower"][0], *PACES["server, faster"][0])
    assert both.pace == "slower"


def test_the_page_has_each_change_and_no_markup_of_a_host() -> None:
    page = drawn.html(told("was aa 1", "now aa 2", "rate-was <b> 64 2000"))
    assert (
        "<td>aa</td>" in page and "<h2>1 package</h2>" in page and page.index("server") < page.index("<td>aa</td>")
    )
    assert "&lt;b&gt;" in page and "<b>" not in page


@pytest.mark.parametrize("row", ["was aa", "was ../a 1", "now aa 1;x", "rate-was - x 1", "rails-now ~~"])
def test_a_row_that_makes_no_sense_is_refused(row: str) -> None:
    with pytest.raises(ValueError):
        told(row)
