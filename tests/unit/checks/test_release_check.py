"""Whether a Spark has the newest release that it knows of."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from sparkrig.host import driver
from sparkrig.host.releases import Releases
from sparkrig.resources.check import Check
from sparkrig.resources.releases import RELEASES
from tests.plan import recordings
from tests.unit import updates


def checked(kernel: str = updates.KERNEL, known: Releases | None = None, branch: int = 580) -> Check:
    rows = [f"dpkg hold installed {name} {version}" for name, version in recordings.packages("sparketa").items()]
    found: Any = SimpleNamespace(
        identity=SimpleNamespace(kernel=kernel),
        driver=driver.parse([*rows, "simulated 0"]),
        releases=updates.known("sparketa") if known is None else known,
    )
    subject: Any = SimpleNamespace(found=found, settings=SimpleNamespace(driver_branch=branch))
    (check,) = RELEASES.checks(subject)
    return check


def test_a_recorded_spark_has_the_newest() -> None:
    check = checked()
    assert (check.id, check.status, check.cure) == ("release.newest", "ok", "")
    assert check.found == check.want == "OTA2607 (July 2026, DGX OS 7.5.0)"


def test_one_that_is_behind_says_by_how_many_and_what_shows_more() -> None:
    check = checked("6.17.0-1014-nvidia")
    assert check.wrong and check.environment
    assert check.found == "OTA2604.Computex (May 2026, DGX OS 7.5.0), 1 behind"
    assert check.cure == "sparkrig update pair.py --check"
    assert checked("5.0.0-1-nvidia").found == "none as a whole, 10 behind"


def test_without_recipes_it_does_not_apply() -> None:
    assert checked(known=Releases()).status == "skipped"
    known = replace(updates.known("sparketa"), recipes=())
    assert checked(known=known).status == "skipped"


def test_a_release_with_a_later_branch_of_the_driver_counts_once_that_is_declared() -> None:
    known = updates.known("sparketa")
    later = replace(known.recipes[-1], name="OTA2701", date="2027-01-15", driver="590.48.01")
    known = replace(known, recipes=(*known.recipes, later))
    assert checked(known=known).status == "ok"
    assert checked(known=known, branch=590).found == "OTA2607 (July 2026, DGX OS 7.5.0), 1 behind"
    assert checked(known=replace(known, recipes=(later,))).status == "skipped"
