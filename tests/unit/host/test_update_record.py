"""How far an update is: what is next after each step, and what proves that the next one may come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sparkrig.host import driver, update_record
from sparkrig.host.grub import Boot
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.host.update_record import Firmware, Record, Standing
from sparkrig.host.upgrade import Move
from sparkrig.update import update_proof

OLD, NEW = "6.17.0-1029-nvidia", "6.17.0-1032-nvidia"
BEFORE, AFTER = "580.173.02", "580.178.04"
FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
DEVICE = 40 * "a"
RECORD = Record(
    id="20261126T000000Z",
    goal="OTA2609",
    typed="sparkrig update pair.py",
    kernel=Move(OLD, NEW),
    driver=Move(BEFORE, AFTER),
    release=("nvidia-driver-580-open",),
    keep=("linux-image-nvidia-hwe-24.04",),
    only=("nvidia-driver-580-open",),
    words=("nvidia-driver-open=1:590.48-1", "libold-", "nvidia-utils"),
    drop=("nvidia-utils",),
    before={"nvidia-driver-580-open": BEFORE},
    gone=("libold",),
    new=(f"linux-image-{NEW}",),
    served=("-", "small"),
    firmware={DEVICE: Firmware("SoC", "2.155.18"), 40 * "b": Firmware("EC", "")},
    reboots=True,
)


def rows(record: Record, steps: Sequence[str] = (), boot: str = SECOND, kernel: str = NEW) -> list[str]:
    """What a host prints. steps: noted in its first boot."""
    plan = [f"plan {row}" for row in update_record.text(record).splitlines()]
    noted = [f"step {name} 1795600000 {FIRST}" for name in steps]
    return [f"boot {boot}", f"kernel {kernel}", *plan, *noted, f"ready initrd {AFTER}", "unfinished 0"]


def standing(*steps: str, record: Record = RECORD, boot: str = SECOND, kernel: str = NEW) -> Standing:
    return update_record.parse(rows(record, steps, boot, kernel))


def test_what_is_written_is_read_again() -> None:
    assert standing().record == RECORD
    bare = Record("1", "g", "t", Move(OLD, OLD), Move("", ""))
    assert standing(record=bare).record == bare


@pytest.mark.parametrize("word", ["-o=APT::x=1", "a b", "curl=1 x", "$(reboot)", "--purge"])
def test_a_word_for_apt_is_a_package_and_nothing_else(word: str) -> None:
    with pytest.raises(ValueError, match="word for apt"):
        standing(record=replace(RECORD, words=(word,)))


def test_a_record_of_an_older_sparkrig_is_of_the_latest_release_and_all_parts() -> None:
    narrow = replace(RECORD, to="OTA2609", parts=("driver", "os"))
    assert standing(record=narrow).record == narrow
    found = update_record.parse(row for row in rows(narrow) if not row.startswith(("plan to", "plan part")))
    assert found.record == RECORD
    assert RECORD.same("LATEST ", ("firmware", "os", "driver")) and not RECORD.same("OTA2609", RECORD.parts)
    assert narrow.same("ota2609", ("os", "driver")) and not narrow.same("OTA2609", RECORD.parts)


def test_each_step_has_its_successor() -> None:
    steps: list[str] = []
    seen: list[str] = []
    for _ in range(12):
        seen.append(task := standing(*steps).task)
        if task == "close":
            break
        steps.append(update_record.DONE[task])
    assert seen == [
        "drain", "install", "boot", "prove", "firmware", "apply", "verify", "check", "serve", "close",
    ]  # fmt: skip


def test_a_reboot_that_was_asked_for_and_did_not_come_is_asked_for_again() -> None:
    assert standing("drained", "installed", "armed", boot=FIRST, kernel=OLD).task == "boot"
    assert standing("drained", "installed", "armed").task == "prove"


def test_what_has_nothing_to_do_is_left_out() -> None:
    firmware = replace(RECORD, before={}, gone=(), new=(), reboots=False, served=())
    assert standing(record=firmware).task == "firmware"
    plain = replace(RECORD, reboots=False, served=(), firmware={})
    assert standing("installed", record=plain).task == "check"
    assert standing("installed", "checked", record=plain).task == "close"


def test_a_kernel_that_did_not_stay_up() -> None:
    assert standing("armed", kernel=OLD).fell_back
    assert not standing("armed").fell_back
    assert not standing("armed", boot=FIRST, kernel=OLD).fell_back  # not booted yet
    assert not standing("drained", kernel=OLD).fell_back


def test_the_way_back_of_what_was_not_installed_only_serves_again() -> None:
    steps = ["drained", "began", "back"]
    assert standing(*steps).task == "serve"
    assert standing(*steps, "served").task == "close"


def test_firmware_that_is_not_on_the_board_keeps_nothing_from_going_on() -> None:
    steps = ["drained", "installing", "installed", "armed", "proven", "staged", "applied", "unwritten"]
    assert standing(*steps).task == "check"


def test_other_firmware_than_was_agreed_to_is_passed_by_without_a_reboot() -> None:
    assert standing("drained", "installing", "installed", "armed", "proven", "other").task == "check"


def test_the_way_back_ends_where_it_began_and_writes_no_firmware() -> None:
    steps = ["drained", "installing", "installed", "armed", "proven", "staged", "back"]
    found = standing(*steps, kernel=NEW)
    assert (found.kernel_to_be, found.driver_to_be, found.task) == (OLD, BEFORE, "install")
    tasks = []
    while (task := standing(*steps).task) != "close":
        tasks.append(task)
        steps.append(update_record.DONE[task])
    assert tasks == ["install", "boot", "prove", "check", "serve"]  # what was stopped is still stopped


BAD = (
    "plan kernel ../x y",
    "plan before curl $(x)",
    "plan before curl",
    "plan release UPPER",
    "plan part kernel",
    "plan served ../x",
    "plan firmware x SoC 1",
    "step armed x",
    f"step ARMED 1 {FIRST}",
    "ready initrd x",
    "unfinished x",
    "boot x",
    "kernel ../x",
)


@pytest.mark.parametrize("row", BAD)
def test_rows_of_another_form_are_an_error(row: str) -> None:
    with pytest.raises((ValueError, LookupError)):
        update_record.parse([row, *rows(RECORD)])


@pytest.mark.parametrize("lost", ["id", "goal", "typed", "kernel", "driver", "end"])
def test_a_plan_that_lacks_a_row_is_an_error(lost: str) -> None:
    with pytest.raises((ValueError, LookupError)):
        update_record.parse(row for row in rows(RECORD) if not f"{row} ".startswith(f"plan {lost} "))


def packages(installed: str = AFTER, loaded: str = AFTER) -> driver.Packages:
    rows = [f"dpkg install installed nvidia-driver-580-open {installed}-0ubuntu0.24.04.1", "simulated 0"]
    return replace(driver.parse(rows), module=loaded)


def test_what_must_hold_before_the_reboot() -> None:
    found = standing("drained", "installed", boot=FIRST, kernel=OLD)
    assert update_proof.unready(found, packages()) == ""
    assert "no initrd" in update_proof.unready(replace(found, initrd=False), packages())
    assert "has no nvidia.ko, and the driver is" in update_proof.unready(replace(found, module=""), packages())
    assert f"has nvidia.ko {BEFORE}" in update_proof.unready(replace(found, module=BEFORE), packages())
    assert f"driver {BEFORE} is installed" in update_proof.unready(found, packages(BEFORE))
    assert "unfinished" in update_proof.unready(replace(found, unfinished=1), packages())


def test_grub_has_to_boot_the_planned_kernel() -> None:
    assert update_proof.misled(NEW, Boot(NEW)) == ""
    assert f"GRUB would boot {OLD}" in update_proof.misled(NEW, Boot(OLD))
    assert "not known (the menu is torn)" in update_proof.misled(NEW, Boot("", "the menu is torn"))
    assert update_proof.misled(NEW, None) == ""


def test_what_must_hold_after_the_reboot() -> None:
    found, gpu = standing("armed"), Gpu(name="NVIDIA GB10", driver=AFTER)
    assert update_proof.unproven(found, packages(), gpu) == ""
    assert f"kernel {OLD} runs" in update_proof.unproven(standing("armed", kernel=OLD), packages(), gpu)
    assert f"nvidia.ko {BEFORE} is loaded" in update_proof.unproven(found, packages(loaded=BEFORE), gpu)
    assert "no GPU (No devices were found)" in update_proof.unproven(
        found, packages(), Gpu(trouble="No devices were found")
    )
    assert f"reports driver {BEFORE}" in update_proof.unproven(found, packages(), replace(gpu, driver=BEFORE))
