"""T1: `sparkrig update` on a pair that is played: the order of its steps, and what breaks off."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.plan.conftest import A, B, well
from tests.plan.desk import NOTED, Done, commands
from tests.plan.update_desk import Played
from tests.plan.update_story import DRIVERS, NEW, OLD

ONE = ["step", "install", "boot", "reboot", "prove"]  # of a host, on the host itself; a step is a row of its own


@pytest.fixture
def desk(tmp_path: Path) -> Played:
    return Played(tmp_path)


def test_one_after_the_other_the_half_that_serves_last(desk: Played) -> None:
    well(desk.begins(serves=A).update())
    steps = desk.state["order"]
    assert sorted(steps[:2]) == [[A, "begin"], [B, "begin"]]
    one = [[B, task] for task in ONE] + [[A, B, "cluster"], [B, "step"], [B, "close"]]
    other = [[A, "drain"], [A, "step"], *([A, task] for task in ONE[1:])]
    other += [[A, B, "cluster"], [A, "step"], [A, B, "serve"], [A, "step"], [A, "close"]]
    assert steps[2:] == one + other
    assert desk.kernels() == [NEW, NEW]
    assert {each["default"] for each in desk.state["sparks"].values()} == {NEW}


def test_what_changed_is_said_and_kept_as_json_and_as_a_page(desk: Played) -> None:
    """Also where the controller is killed before the record is closed."""
    rows = ["was curl 8.5.0-2", "was libold 1", "now curl 8.5.0-3", "rate-was - 64 1000", "rate-now - 64 2000"]
    desk.begins(changed=rows)
    desk.trouble(A_close="killed before")
    assert desk.update().code == 137
    done = well(desk.update())
    assert f"{A}: kernel {OLD} -> {NEW}" in done.out and "packages 1 upgraded, 1 removed: libold" in done.out
    assert f"{A}: server 64.0 -> 32.0 tokens/s, slower" in done.out and "performance: slower" in done.out
    folder = desk.folder / "state" / "sparkrig" / "updates"
    kept = sorted(file for file in folder.iterdir() if file.name.startswith("spark-a"))
    assert [file.suffix for file in kept] == [".html", ".json"]
    told = json.loads(kept[1].read_text())
    assert told["pace"] == "slower" and "libold" in kept[0].read_text()


def test_what_changed_is_no_reason_to_stop(desk: Played) -> None:
    desk.begins(changed=["was ../x 1"])
    desk.trouble(B_changed="failed: away")
    done = desk.update()
    assert done.code == 0 and desk.kernels() == [NEW, NEW], done
    assert f"{A}: what changed could not be read: " in done.said and f"{B}: what changed" in done.said


def test_never_both_halves_at_once(desk: Played) -> None:
    """Between the first step of the second host and the first host's last, nothing is open."""
    desk.begins()
    desk.update()
    assert [name for name, task, *_ in desk.state["order"] if task in ("install", "reboot", "close")] == 3 * [
        A
    ] + 3 * [B]


@pytest.mark.parametrize("task", ["begin", "install", "boot", "reboot", "prove", "step", "close"])
@pytest.mark.parametrize("how", ["killed", "killed before"])
def test_a_controller_that_is_killed_is_followed_by_the_same_command(desk: Played, task: str, how: str) -> None:
    desk.begins()
    desk.trouble(**{f"A_{task}": how})
    assert desk.update().code == 137
    for _ in range(2):  # the records of both are kept before either begins: one of two is an update of one
        well(desk.update())
    assert desk.kernels() == [NEW, NEW]
    assert not any(each["plan"] for each in desk.state["sparks"].values())


@pytest.mark.parametrize("task", ["install", "boot", "reboot", "prove", "close"])
@pytest.mark.parametrize("how", ["lost", "cut"])
def test_a_lost_link_and_a_power_cut_are_waited_for(desk: Played, task: str, how: str) -> None:
    desk.begins()
    desk.trouble(**{f"A_{task}": how})
    done = well(desk.update())
    assert desk.kernels() == [NEW, NEW]
    assert "it goes on once the Spark is back" in done.said


def test_a_kernel_that_does_not_come_up_leaves_the_earlier_one_and_the_other_half_alone(desk: Played) -> None:
    done = desk.begins(dead=True).update()
    said = " ".join(done.said.split())
    assert done.code == 2 and f"kernel {NEW} did not come up or was not proven in time, and {OLD} runs" in said, (
        done
    )
    assert f"--back --limit {A}" in said
    assert desk.kernels() == [OLD, OLD]
    assert desk.order(B) == ["begin"]


def test_the_way_back_puts_the_packages_back_and_boots_them(desk: Played) -> None:
    desk.begins(dead=True).update()
    well(desk.update("--back", "--limit", A))
    assert desk.order(A)[:5] == ["back", "install", "boot", "reboot", "prove"]
    assert desk.order(A)[-1] == "close"
    assert desk.state["sparks"][A]["installed"] == DRIVERS[OLD]
    assert desk.kernels() == [OLD, OLD]
    assert desk.order(B) == ["close"]  # of which nothing was begun


def test_what_fails_names_where_it_stands_and_the_command(desk: Played) -> None:
    desk.begins()
    desk.trouble(A_install="failed: the packages cannot be downloaded, and nothing is installed")
    done = desk.update()
    said = " ".join(done.said.split())
    assert (
        done.code == 2
        and "nothing is installed; the update to what apt offers is open (last: began; next: install)" in said
    )
    assert f"Try: sparkrig update {desk.inventory}" in said
    assert "close" not in desk.order() and "reboot" not in desk.order()


def test_a_deploy_that_is_refused_stops_before_the_other_half(desk: Played) -> None:
    desk.begins()
    desk.trouble(cluster="the fabric is not what it was")
    done = desk.update()
    said = " ".join(done.said.split())
    assert done.code == 2 and "deploys/cluster.py failed: " in said and "the fabric is not what it was" in said, (
        done
    )
    assert desk.order().count("install") == 1
    assert desk.update().code == 0


def test_nothing_begins_without_consent(desk: Played) -> None:
    desk.begins()
    done = desk.typed("update", "--to", "candidate")
    assert done.code == 1 and "no terminal to ask at" in done.said
    assert desk.state["order"] == []


def test_nothing_leads_back_where_nothing_is_open(desk: Played) -> None:
    done = desk.begins().update("--back")
    assert done.code == 1 and "no update is open" in done.said


def test_each_half_is_drained_of_its_own(desk: Played) -> None:
    """The first half is done and closed by then, and has no update open."""
    desk.begins(serves=B)
    well(desk.update())
    tasks = desk.state["order"]
    assert tasks.index([B, "drain"]) < tasks.index([B, "install"])
    assert [A, B, "serve"] in tasks


def test_a_kernel_that_dies_again_and_again_is_not_booted_for_ever(desk: Played) -> None:
    """It comes up, and falls before its proof: as by a power cut, and then no more."""
    desk.begins()
    desk.trouble(A_prove="cut, always")
    done = desk.update()
    assert done.code == 2 and "--back" in done.said, done
    assert desk.order(A).count("reboot") == 2


def test_the_way_back_of_what_was_never_installed_boots_nothing(desk: Played) -> None:
    desk.begins()
    desk.trouble(A_install="failed: the packages cannot be downloaded, and nothing is installed")
    desk.update()
    well(desk.update("--back"))
    assert [*dict.fromkeys(desk.order(A))] == ["back", "close"]
    assert desk.kernels() == [OLD, OLD]


def test_what_was_not_agreed_to_is_closed_and_planned_anew(desk: Played) -> None:
    desk.begins()
    desk.trouble(
        A_install="failed: nothing is installed, for apt would now do what was not agreed to (after a 2;)"
    )
    said = " ".join(desk.update().said.split())
    assert "--back --limit" in said and "which plans anew" in said
    assert desk.update("--back").code == 0
    assert desk.update().code == 0 and desk.kernels() == [NEW, NEW]


def test_of_a_pair_both_begin_or_none(desk: Played) -> None:
    desk.begins()
    desk.trouble(B_begin="failed: no space left on device")
    done = desk.update()
    assert done.code == 1 and "no space left" in done.said, done
    assert not any(each["plan"] for each in desk.state["sparks"].values())


def test_a_half_that_is_dead_does_not_stop_the_way_back_of_the_other(desk: Played) -> None:
    desk.begins(dead=True)
    desk.update()
    desk.keep({**desk.state, "gone": [B]})
    done = desk.update("--back")
    assert f"{B} cannot be read, and is left as it is" in done.said, done
    assert desk.state["sparks"][A]["installed"] == DRIVERS[OLD]


def on(desk: Played, name: str) -> None:
    """Let the machine that sparkrig runs on be a host, in its boot of now."""
    boot = desk.state["sparks"][name]["boot"]
    kept = desk.inventory.read_text().partition(AS_KERNEL)[0]
    desk.inventory.write_text(
        f"{kept}{AS_KERNEL}import sparkrig.ssh.controller\nsparkrig.ssh.controller.boot_id = lambda: {boot!r}\n"
    )


AS_KERNEL = "# as the kernel says it\n"


def test_the_spark_that_it_runs_on_is_the_last_one_and_goes_on_after_its_reboot(desk: Played) -> None:
    desk.begins()
    on(desk, A)
    done = desk.update()
    said = " ".join(done.said.split())
    assert done.code == 2, done
    assert f"{A} is the machine that this runs on, and comes last" in done.out
    assert f"{A}: it is the machine that this runs on: its reboot has begun, and ends this command" in said
    assert "has 15 min for its proof" in said and "once it is back, which goes on from there" in said
    assert desk.order(B)[-1] == "close", "the other one is done"
    assert desk.order(A)[-1] == "reboot" and "prove" not in desk.order(A)
    on(desk, A)
    done = well(desk.update())
    assert desk.order(A)[0] == "prove" and desk.order(A)[-1] == "close"
    assert desk.kernels() == [NEW, NEW]


@pytest.mark.parametrize(
    "words", [("--only", "firmware"), ("--only", "os"), ("--to", "OTA2607"), ("--to", "nonsense")], ids=" ".join
)
def test_another_command_than_the_open_one_moves_nothing_and_names_it(
    desk: Played, words: tuple[str, ...]
) -> None:
    desk.begins()
    desk.trouble(A_prove="killed")
    assert desk.update().code == 137
    done, said = refused(desk, *words)
    command = f"sparkrig update {desk.inventory}"
    assert "is open (last: proven; next: hold, pin and check), by another command than this one" in said, done
    assert f"Try: {command} --to candidate, which goes on; or {command} --back, which gives it up" in said
    assert desk.update().code == 0 and desk.kernels() == [NEW, NEW]


def refused(desk: Played, *words: str) -> tuple[Done, str]:
    """What is said of a command that moves nothing."""
    done = desk.update(*words)
    assert (done.code, desk.order()) == (1, []), done
    return done, " ".join(done.said.split())


def test_an_update_of_a_part_goes_on_by_its_own_command_alone(desk: Played) -> None:
    desk.begins()
    desk.trouble(A_install="killed")
    assert desk.update("--only", "os", "--only", "driver").code == 137
    _, said = refused(desk)
    assert f"Try: sparkrig update {desk.inventory} --to candidate --only driver --only os, which goes on" in said
    assert desk.update("--only", "driver", "--only", "os", "--limit", A).code == 0, "--limit only chooses hosts"


def test_on_the_way_back_only_the_way_back_goes_on(desk: Played) -> None:
    desk.begins(dead=True).update()
    desk.trouble(A_install="killed before")
    assert desk.update("--back").code == 137
    done, said = refused(desk)
    assert "the way back from what apt offers is open" in said, done
    assert f"Try: sparkrig update {desk.inventory} --back" in said and "goes on" not in said
    desk.trouble(A_install="failed: no")
    stopped = " ".join(desk.update("--back").said.split())
    assert f"Try: sparkrig update {desk.inventory} --back, once that is mended" in stopped
    assert desk.update("--back", "--only", "firmware").code == 0, "with --back nothing is compared"


def test_what_is_half_done_is_shown_and_asked_for(desk: Played) -> None:
    desk.begins()
    desk.trouble(A_install="killed")
    assert desk.update().code == 137
    done = desk.asks(answer=False)
    shown = " ".join(done.out.split())
    assert (done.code, desk.order()) == (1, []), done
    assert re.search(r"next: reboot\), since \d{4}-\d\d-\d\d \d\d:\d\d UTC", shown), done
    assert "Go on with it?" in shown and "Declined; nothing was changed." in shown
    assert desk.asks(answer=True).code == 0 and desk.kernels() == [NEW, NEW]


def test_a_release_that_nobody_knows_is_refused_before_anything_is_fetched(desk: Played) -> None:
    desk.begins()
    desk.inventory.write_text(NOTED.format(file=str(desk.folder / "commands")) + desk.inventory.read_text())
    done = desk.update("--to", "nonsense")
    assert done.code == 1 and "no release 'nonsense'" in " ".join(done.out.split()), done
    fetches = "apt-get update"
    assert not any(fetches in each for each in commands(desk))
    desk.update()
    assert any(fetches in each for each in commands(desk)), "it is seen where it is fetched"
