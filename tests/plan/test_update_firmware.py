"""T1: firmware as the last part of `sparkrig update`, on a pair that is played; what is offered is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.conftest import A, B, well
from tests.plan.update_desk import Played

ALONE = ("--irreversible", "--only", "firmware")
HANDED_OVER = ["firmware", "step", "reboot", "step"]  # then the deploy, a row of it, and the end
WRITTEN = {"SoC": "on", "EC": "on", "USB-PD": "on"}


@pytest.fixture
def desk(tmp_path: Path) -> Played:
    return Played(tmp_path)


def firmware(desk: Played, name: str) -> dict[str, str]:
    found: dict[str, str] = desk.state["sparks"][name]["firmware"]
    return found


def test_it_is_handed_over_written_by_a_reboot_and_read(desk: Played) -> None:
    well(desk.begins(firmware={}).update(*ALONE))
    tasks = [task for name, task, *deploy in desk.state["order"] if name == A and not deploy]
    assert tasks == ["begin", *HANDED_OVER, "step", "close"]
    assert desk.state["order"].count([A, B, "cluster"]) == 2
    assert [firmware(desk, name) for name in (A, B)] == [WRITTEN, WRITTEN]


def test_it_comes_after_packages_that_are_proven(desk: Played) -> None:
    well(desk.begins(firmware={}).update("--irreversible"))
    tasks = desk.order(A)
    assert tasks.index("prove") < tasks.index("firmware") and tasks.count("reboot") == 2
    assert [firmware(desk, name) for name in (A, B)] == [WRITTEN, WRITTEN]


def test_it_is_asked_for_by_its_name(desk: Played) -> None:
    done = desk.begins(firmware={}).update("--only", "firmware")
    said = " ".join(done.said.split())
    assert done.code == 1 and "this cannot be undone: " in said and "the firmware of SoC, EC and USB-PD" in said
    assert "--irreversible" in said and desk.order() == []


@pytest.mark.parametrize("task", ["begin", "firmware", "step", "reboot", "close"])
@pytest.mark.parametrize("how", ["killed", "killed before"])
def test_a_controller_that_is_killed_is_followed_by_the_same_command(desk: Played, task: str, how: str) -> None:
    desk.begins(firmware={})
    desk.trouble(**{f"A_{task}": how})
    assert desk.update(*ALONE).code == 137
    for _ in range(2):  # the records of both are kept before either begins
        well(desk.update(*ALONE))
    assert firmware(desk, A) == WRITTEN and not desk.state["sparks"][A]["plan"]


@pytest.mark.parametrize("task", ["firmware", "reboot"])
@pytest.mark.parametrize("how", ["lost", "cut"])
def test_a_lost_link_and_a_power_cut_are_waited_for(desk: Played, task: str, how: str) -> None:
    desk.begins(firmware={})
    desk.trouble(**{f"A_{task}": how})
    well(desk.update(*ALONE))
    assert [firmware(desk, name) for name in (A, B)] == [WRITTEN, WRITTEN]


def test_firmware_that_is_not_on_the_board_is_said_at_the_end(desk: Played) -> None:
    done = desk.begins(firmware={}, stubborn="EC").update(*ALONE)
    said = " ".join(done.said.split())
    assert done.code == 2 and "all else is done, and the firmware is not on the board" in said, done
    assert "pull its plug for 30 seconds, then sparkrig update" in said and "--only firmware" in said
    assert not desk.state["sparks"][A]["plan"], "the record is closed"


def test_other_firmware_than_was_agreed_to_is_not_written(desk: Played) -> None:
    """The maker published it between the question and the step; fwupd would take the newest."""
    done = desk.begins(firmware={}, other="EC").update("--irreversible")
    said = " ".join(done.said.split())
    assert done.code == 2 and "no firmware was written: fwupd has other versions than were agreed to" in said, done
    assert desk.order(A).count("reboot") == 1 and "firmware" not in desk.order(A)
    assert firmware(desk, A) == {} and not desk.state["sparks"][A]["plan"]
