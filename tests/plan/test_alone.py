"""T1: a Spark that runs alone, as a whole deploy has it. None of these resources has a file in deploys/."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparkrig.resources import oom
from tests.plan.conftest import Deploy, Host, converged, pair, well

USERS = "users root nvidia ann\n"


def hosts(section: str, rows: str, **data: Any) -> list[Host]:
    """A pair in spec, of which the first host says that in a section of the look. data: its settings."""
    seen, end = converged("a"), f"\n#sparkrig:end {section} 0"
    assert end in seen
    first, second = pair(seen.replace(end, f"{rows}{end}"), converged("b"))
    return [replace(first, data={**first.data, **data}), second]


def test_users_come_into_the_group_docker_in_one_step(deploy: Deploy) -> None:
    run = well(deploy(hosts("docker", f"members \n{USERS}", docker_users=["nvidia"]), "-y"))
    assert ["gpasswd" in text for _, text in run.changes] == [False, True]
    assert {*run.steps} == {("spark-a", "Docker group | users of docker")}
    settled = deploy(hosts("docker", f"members nvidia\n{USERS}", docker_users=["nvidia"]), "-y")
    assert settled.code == 0 and settled.changes == []


def test_the_plan_says_that_a_member_is_as_good_as_root(deploy: Deploy) -> None:
    run = deploy(hosts("docker", f"members eve\n{USERS}", docker_users=["nvidia"]), "--dry")
    assert "file /etc/group: docker:eve -> docker:eve,nvidia (as good as root)" in run.stderr
    assert "Docker group" not in deploy(hosts("docker", f"members eve\n{USERS}"), "--dry").stderr


SCREEN = "target graphical.target\ndisplay gdm.service\nbytes 734003200\n"


def test_the_desktop_goes_in_one_step_and_its_memory_is_told(deploy: Deploy) -> None:
    told = hosts("headless", SCREEN, headless=True)
    assert (
        "file /etc/systemd/system/default.target: graphical.target, with a login screen (gdm.service) that holds "
        "0.7 GiB -> multi-user.target, and that memory free at once"
    ) in deploy(told, "--dry").stderr
    run = well(deploy(told, "-y"))
    assert ["set-default" in text for _, text in run.changes] == [False, True]
    assert {*run.steps} == {("spark-a", "Headless | no desktop")}
    settled = deploy(hosts("headless", "target multi-user.target\n", headless=True), "-y")
    assert settled.code == 0 and settled.changes == []


IMG = "swap /swap.img file 16777212 0\navailable 900000\nroot ext4\n"


def test_swap_of_another_is_refused_until_adopt_has_a_word_for_it(deploy: Deploy) -> None:
    run = deploy(hosts("swap", IMG, swap_gib=0), "-y")
    assert run.code == 1 and run.changes == []
    assert "Refused: the host has swap of another already: /swap.img (16 GiB)" in run.stderr
    told = hosts("swap", IMG, swap_gib=0, adopt={"/swap.img": "set-aside"})
    assert "file /swap.img: 16 GiB of swap -> set aside" in deploy(told, "--dry").stderr
    run = well(deploy(told, "-y"))
    assert ["swapoff" in text for _, text in run.changes] == [False, True]
    kept = deploy(hosts("swap", IMG, swap_gib=16, adopt={"/swap.img": "adopt"}), "-y")
    assert kept.code == 0 and kept.changes == []


def test_earlyoom_is_installed_once_and_then_runs_as_declared(deploy: Deploy) -> None:
    told = hosts("oom", "", oom="earlyoom")
    plan = deploy(told, "--dry").stderr
    assert "package earlyoom: none -> the newest of its repository" in plan and f"file {oom.DROP_IN}" in plan
    run = well(deploy(told, "-y"))
    steps = ["Early end | earlyoom as declared", "Early end | install earlyoom", "Early end | let earlyoom run so"]
    assert list(dict.fromkeys(step for _, step in run.steps)) == steps
    assert any("install earlyoom" in text for _, text in run.changes)


def test_the_cap_of_the_gpus_clock_is_a_unit(deploy: Deploy) -> None:
    told = hosts("clock", "smi\n", gpu_clock_max=2400)
    assert (
        "file /etc/systemd/system/sparkrig-gpu-clock.service: none -> a new file" in deploy(told, "--dry").stderr
    )
    run = well(deploy(told, "-y"))
    assert {*run.steps} == {
        ("spark-a", f"GPU clock | {step}") for step in ("cap of the clock", "let systemd set it")
    }
