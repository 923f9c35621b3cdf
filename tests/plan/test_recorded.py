"""A real Spark is accepted and judged right: package lists that owners published go through the whole deploy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.conftest import A, B, Deploy, pair, sections, well
from tests.plan.desk import Desk
from tests.plan.examined import doctor, entries, examined, hosts
from tests.plan.recordings import DRIVER, UNITS, acer, condition, deployed, fresh, hold_set, packages

HOLD = "Driver | hold the installed 580 set"
unit = pytest.mark.parametrize("unit", UNITS)


@unit
def test_a_recorded_spark_is_accepted_and_held(deploy: Deploy, unit: str) -> None:
    run = well(deploy(pair(fresh(unit, "a"), fresh(unit, "b")), "--json", "--dry"))
    assert run.plan[HOLD] == {A, B}


@pytest.mark.slow
@unit
def test_a_recorded_spark_is_in_spec_after_the_deploy(deploy: Deploy, tmp_path: Path, unit: str) -> None:
    halves = pair(deployed(unit, "a"), deployed(unit, "b"))
    run = deploy(halves, "-y")
    assert (run.code, run.changes) == (0, []), run.stderr[-3000:]
    done = Desk(tmp_path / "desk").has(halves).drift()
    assert (done.code, done.wrong) == (0, {A: set(), B: set()}), done.said
    assert DRIVER in done.row(A, "driver.version")["found"]


@unit
def test_doctor_finds_a_recorded_spark_healthy(tmp_path: Path, unit: str) -> None:
    seen = {
        letter: examined(letter, **sections(deployed(unit, letter)), **condition(unit, letter)) for letter in "ab"
    }
    done = doctor(tmp_path, entries(hosts(seen["a"], seen["b"])), "--json")
    assert (done.code, done.told) == (0, {"spark-a": set(), "spark-b": set()}), done.stderr
    assert DRIVER in done.row(A, "driver.version")["found"]


@unit
def test_what_is_held_of_a_recorded_spark(unit: str) -> None:
    """Driver, kernels with their modules, and the tools beside them; nothing else of NVIDIA's."""
    held = set(hold_set(unit))
    listed = packages(unit)
    assert {name for name in listed if name.startswith(("linux-image-", "linux-modules-"))} <= held
    assert {"nvidia-driver-580-open", "nvidia-kernel-common-580", "nvidia-modprobe", "nvidia-settings"} <= held
    others = (
        "nvidia-container",
        "nvidia-spark",
        "nvidia-system",
        "nvidia-mlnx",
        "libnvidia-egl",
        "linux-firmware",
    )
    assert not {name for name in held if name.startswith(others)}


def test_a_recorded_spark_that_was_set_up_by_hand_is_refused_by_the_name_of_its_profile(deploy: Deploy) -> None:
    """An Acer GN100: one twin is on a profile of its owner's, the other on none."""
    run = deploy(pair(acer(fresh("sparky", "a")), fresh("sparky", "b")), "--dry")
    assert run.code == 1
    said = " ".join(run.stderr.split())
    assert "Refused: fabric netdevs have a second definition: NetworkManager profile 'compute-fabric'" in said
    assert "adopt" in said
