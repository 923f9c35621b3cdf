"""The declared branch beside the one that a host has, and how long a cluster may have two."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from sparkrig.checks.consistency import judged
from sparkrig.drift import drift
from sparkrig.files import Found
from sparkrig.host import branches
from sparkrig.host.driver import Package
from sparkrig.host.releases import Recipe, Releases
from sparkrig.resources.check import Check
from sparkrig.resources.state import State
from tests.unit.states import A, B, found

WRITTEN = datetime(2027, 1, 20, 12, tzinfo=UTC)
BOUND = "2027-01-27"  # seven days later


def knows(state: State) -> State:
    """A Spark that knows of a release with driver 590."""
    ahead = Recipe("OTA2701", "January 2027", "2027-01-15", state.identity.kernel, "590.48.01")
    return replace(state, releases=Releases((ahead,)))


def moved(state: State) -> State:
    """The same once an update has moved it."""
    rows = [row for row in state.driver.rows if "nvidia" not in row.name]
    rows.append(Package("nvidia-driver-open", "hold", "installed", "590.48.01-1"))
    pin = branches.pin_file(590)
    files = {**state.files, pin.path: Found(pin.content, "0644", "root:root", at=int(WRITTEN.timestamp()))}
    return replace(knows(state), driver=replace(state.driver, rows=tuple(rows)), files=files)


def back(state: State) -> State:
    """A Spark that came back to 580."""
    pin = branches.pin_file(580)
    file = Found(pin.content, "0644", "root:root", at=int(WRITTEN.timestamp()))
    return replace(knows(state), files={**state.files, pin.path: file})


def of_driver(checks: list[Check]) -> dict[str, Check]:
    return {each.id: each for each in checks if each.noun == "driver"}


def test_a_branch_that_no_recipe_has_is_refused_in_one_sentence() -> None:
    check = of_driver(found(driver_branch=590))["driver.branch"]
    assert check.status == "drift" and "no recipe of NVIDIA's on this Spark has a driver 590" in check.found


def test_until_an_update_moves_it_a_host_is_held_on_its_own_branch() -> None:
    checks = of_driver(found(knows, knows, driver_branch=590))
    assert (checks["driver.branch"].want, checks["driver.branch"].cure) == (
        "branch 590",
        "sparkrig update pair.py",
    )
    assert checks["driver.branch"].until == "", "none has moved, so nothing explains it"
    assert {id for id, check in checks.items() if check.wrong} == {"driver.branch"}


def test_a_moved_host_is_as_declared_and_its_pin_is_that_of_its_branch() -> None:
    checks = of_driver(found(moved, moved, driver_branch=590))
    assert {id for id, check in checks.items() if check.wrong} == set()
    checks = of_driver(found(moved, moved))
    assert {id for id, check in checks.items() if check.wrong} == {"driver.branch"}, "held until it goes back"
    assert (checks["driver.branch"].want, checks["driver.branch"].cure) == (
        "branch 580",
        "sparkrig update pair.py",
    )
    by_hand = of_driver(found(lambda state: replace(moved(state), releases=Releases()), moved))
    assert by_hand["driver.branch"].status == "extra"
    check = next(each for each in found(moved, back) if each.id == "driver.branch")
    assert check.until == BOUND, "on the way back as on the way there"


def test_two_branches_in_a_cluster_are_shown_for_a_week_and_then_fail() -> None:
    behind = found(knows, moved, driver_branch=590)
    assert of_driver(behind)["driver.branch"].until == BOUND
    version = replace(of_driver(behind)["driver.version"], found="590.48.01-1")
    alike = judged({A: behind, B: [version]}, lambda _: "")
    assert {each.until for each in alike[A] if each.id == "driver.version"} == {BOUND}, (
        "so is what follows from it"
    )
    for day, code in ((20, 0), (27, 0), (28, 2)):
        at = datetime(2027, 1, day, 12, tzinfo=UTC)
        report = drift.report(
            {A: [*of_driver(behind).values()]}, {}, None, [], inventory="i", version="0", started=at, seconds=0
        )
        rows = [row for row in report.hosts[0].rows if row.id == "driver.branch"]
        assert (report.exit, rows[0].wrong, rows[0].counts) == (code, True, bool(code))
