"""T1: `sparkrig update --check` on recorded Sparks: what their owners saw, in which order, and what stops it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sparkrig.host import driver
from tests import warm
from tests.plan import recordings
from tests.plan.clean import clean
from tests.plan.conftest import ROOT, A, B, Host, joined, sections
from tests.plan.desk import Desk, Done
from tests.plan.walk import halves
from tests.schemas import complaints
from tests.unit import updates

LOOK, FORECAST = "#sparkrig:end identity", "Dir::State::Status"
NOW = 1_795_600_000
KERNEL, DRIVER = "6.17.0-1032", "580.178.04-0ubuntu0.24.04.1"
IDLE = ["simulated 0", "bytes 0"]
SHOWN = ("sparketa", "sparkjr")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def look(unit: str, letter: str, *more: str, **other: Any) -> list[str]:
    """What a recorded Spark prints after a deploy. more: rows of what the repositories have."""
    parts = sections(recordings.deployed(unit, letter))
    held = [f"held {name}" for name in recordings.hold_set(unit)]
    found = {
        "identity": parts["identity"],
        "driver": parts["driver"],
        "serving": parts["serving"],
        "releases": "\n".join(updates.rows(unit)),
        "firmware": "\n".join(updates.board(unit)),
        "repositories": "\n".join([f"now {NOW}", f"lists {NOW - 3600}", *held, *more]),
        "preflight": parts["preflight"],
        **other,
    }
    return joined(found).splitlines()


def spark(host: Host, seen: Sequence[str], forecast: Sequence[str] = IDLE) -> Host:
    host.first = {**host.first, LOOK: [*seen], FORECAST: [*forecast]}
    return host


def pair(a: Sequence[str], b: Sequence[str], forecast: Sequence[str] = IDLE) -> list[Host]:
    one, other = halves()
    return [spark(one, a, forecast), spark(other, b, forecast)]


def ahead(unit: str) -> list[str]:
    """apt's forecast of the step to KERNEL and DRIVER, as apt-get -s prints it."""
    rows = []
    for name, version in recordings.packages(unit).items():
        if version.startswith("580."):
            rows.append(f"Inst {name} [{version}] ({DRIVER} Ubuntu:24.04/noble-updates [arm64])")
        elif name.startswith("linux-") and name.endswith("-nvidia-hwe-24.04"):
            rows.append(f"Inst {name} [{version}] ({KERNEL}.32 Ubuntu:24.04/noble-updates [arm64])")
    new = [f"linux-image-{KERNEL}-nvidia", f"linux-modules-nvidia-580-open-{KERNEL}-nvidia"]
    rows += [f"Inst {name} ({KERNEL}.32 Ubuntu:24.04/noble-updates [arm64])" for name in new]
    return [*rows, "simulated 0", "bytes 606000000", "from ports.ubuntu.com 606000000"]


def every(unit: str) -> list[str]:
    """The repositories have each package as it is."""
    return [f"version {name} {version}" for name, version in recordings.packages(unit).items()]


def host(done: Done, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in done.report["hosts"] if each["name"] == name)
    return found


def parts(found: dict[str, Any]) -> dict[str, str]:
    return {each["part"]: each["state"] for each in found["firmware"]}


def test_recorded_sparks_are_what_their_owners_saw(desk: Desk) -> None:
    """One of NVIDIA's own, and an ASUS that waits for ASUS, which by NVIDIA's checker has to get `July 2026`."""
    done = desk.has(pair(*(look(unit, letter) for unit, letter in zip(SHOWN, "ab", strict=True)))).typed(
        "update", "--check", "--json"
    )
    assert (done.code, complaints("update", done.report)) == (0, []), done
    own, asus = host(done, A), host(done, B)
    for found in (own, asus):
        assert found["release"] == "OTA2607 (July 2026, DGX OS 7.5.0)"
        assert (found["behind_by"], found["steps"], found["exit_code"]) == (0, [], 0)
        assert found["driver"] == {"before": recordings.DRIVER, "after": recordings.DRIVER}
    assert parts(own) == {
        "SoC": "as-released",
        "EC": "as-released",
        "USB-PD": "already-on",
        "ConnectX": "as-released",
    }
    assert parts(asus) == {"SoC": "waits", "EC": "waits", "USB-PD": "as-released", "ConnectX": "as-released"}


def test_an_asus_with_firmware_on_offer_gets_it_last_and_is_told_what_cannot_be_undone(desk: Desk) -> None:
    done = desk.has(pair(look("sparky", "a"), look("sparky", "b"))).typed("update", "--check", "--json")
    assert done.code == 2, done
    found = host(done, A)
    assert {state for part, state in parts(found).items() if part != "ConnectX"} == {"offered"}
    assert found["removed_by_owner"] == ["nvidia-system-station-apps", "nvidia-system-station-games"]
    said = [step["what"] for step in found["steps"]]
    assert said[0] == "write firmware (SoC, EC and USB-PD), which cannot be undone, and reboot"
    assert said[-1].startswith("hold and pin again")


def test_candidates_ahead_of_the_release_stay_away_unless_they_are_asked_for(desk: Desk) -> None:
    """The forecast of `latest` is given limits; that of `candidate` none."""
    newer = [f"version nvidia-driver-580-open {DRIVER}", f"version linux-image-nvidia-hwe-24.04 {KERNEL}.32"]
    hosts = [*pair(look("sparketa", "a", *newer), look("sparketa", "b", *newer))]
    for each in hosts:  # the limit is a part of the command, and the first piece that fits answers
        limit = f"Package: nvidia-driver-580-open\nPin: version {DRIVER}\nPin-Priority: -1"
        each.first = {limit: IDLE, **each.first, FORECAST: ahead("sparketa")}
    done = desk.has(hosts).typed("update", "--check", "--json")
    assert (done.code, host(done, A)["driver"]["after"]) == (0, recordings.DRIVER), done
    done = desk.typed("update", "--check", "--json", "--to", "candidate")
    found = host(done, A)
    assert (done.code, found["goal"]) == (2, None)
    assert found["driver"] == {"before": "580.173.02", "after": "580.178.04"}
    assert found["kernel"] == {"before": "6.17.0-1029-nvidia", "after": f"{KERNEL}-nvidia"}


def test_the_steps_of_an_upgrade_and_the_half_that_serves_last(desk: Desk) -> None:
    serves = "\n".join(["looked", "unit LoadState=loaded", "unit ActiveState=active", "unit SubState=running"])
    seen = look("sparketa", "a", *every("sparketa"), serving=serves), look("sparketa", "b", *every("sparketa"))
    done = desk.has(pair(*seen, ahead("sparketa"))).typed("update", "--check", "--json", "--to", "candidate")
    assert [each["name"] for each in done.report["hosts"]] == [B, A], done
    said = [step["what"] for step in host(done, A)["steps"]]
    assert said[0].startswith("stop what serves") and said[-1].startswith("start what served")
    assert said[1] == "download 606 MB"
    assert said[2].startswith("release the hold, and install: ") and "2 new" in said[2]
    assert said[3] == f"reboot once into {KERNEL}-nvidia, and prove driver and GPU"
    assert said[4].startswith("hold and pin again")
    assert not any("serve" in step["what"] for step in host(done, B)["steps"])
    assert host(done, A)["no_way_back"] == []
    assert "6.17.0-1029-nvidia" in host(done, A)["kernels_without_module"]  # its module stays behind the driver


def test_a_release_that_no_repository_has_any_more_is_refused(desk: Desk) -> None:
    """A Spark at April 2026, whose repositories went on past July."""
    older = {"6.17.0-1029": "6.17.0-1014", "580.173.02": "580.142"}
    seen = []
    for letter in "ab":
        rows = "\n".join(look("sparketa", letter))
        for new, old in older.items():
            rows = rows.replace(new, old)
        seen.append(rows.splitlines())
    done = desk.has(pair(*seen)).typed("update", "--check")
    assert done.code == 2, done
    said = " ".join(done.out.split())
    assert (
        "OTA2607 (July 2026, DGX OS 7.5.0) has driver 580.159.03 and kernel 6.17.0-1022-nvidia, which no" in said
    )
    assert "--to candidate" in said


def test_a_reboot_that_is_due_already_is_a_step(desk: Desk) -> None:
    """As between 2026-09-22 23:38 and 04:55 on a Spark that was upgraded, and booted hours later."""
    seen = [row.replace("module 580.173.02", "module 580.159.03") for row in look("sparketa", "a")]
    done = desk.has(pair(seen, look("sparketa", "b"))).typed("update", "--check")
    said = " ".join(done.out.split())
    assert done.code == 2 and "reboot due: nvidia.ko 580.159.03 is loaded, and driver 580.173.02 is" in said, done
    assert "1. reboot once into 6.17.0-1029-nvidia" in said and "1 of 2 to update" in said


@pytest.mark.parametrize("columns", [40, 80])
def test_it_fits_a_narrow_screen(desk: Desk, columns: int) -> None:
    desk.has(pair(look("sparky", "a", *every("sparky")), look("sparkjr", "b"), ahead("sparky")))
    done = warm.run(
        "sparkrig", "update", str(desk.inventory), "--check", "--to", "candidate", cwd=ROOT,
        env={"COLUMNS": str(columns), "NO_COLOR": "1"},
    )  # fmt: skip
    assert max(map(len, done.stdout.splitlines())) <= columns, done.stdout


def test_one_host_that_cannot_be_read_hides_no_other(desk: Desk) -> None:
    for bad in (["nothing"], look("sparkjr", "b", releases="recipes x"), look("sparkjr", "b", "else 1")):
        done = desk.has(pair(look("sparketa", "a"), bad)).typed("update", "--check")
        assert done.code == 3 and "has OTA2607" in done.out and "not read: " in done.out, done
        clean(done)


def test_a_release_that_is_not_known_and_a_host_that_is_not_there(desk: Desk) -> None:
    desk.has(pair(look("sparketa", "a"), look("sparkjr", "b")))
    done = desk.typed("update", "--check", "--to", "7.9.9")
    assert done.code == 2 and "knows of no release '7.9.9' of DGX OS" in " ".join(done.out.split()), done
    done = desk.typed("update", "--check", "--limit", "spark-z")
    assert done.code == 1 and "there is no host spark-z" in done.said


def test_a_part_alone(desk: Desk) -> None:
    """`os` leaves the hold as it is; `firmware` asks apt nothing."""
    hosts = pair(look("sparky", "a"), look("sparky", "b"))
    done = desk.has(hosts).typed("update", "--check", "--json", "--only", "firmware")
    assert done.code == 2 and host(done, A)["driver"] is None and parts(host(done, A))["EC"] == "offered", done
    for each in hosts:
        each.first = {
            LOOK: each.first[LOOK],
            "install --only-upgrade libnvidia": ahead("sparky"),
            "released=' libnvidia-": ["else"],
            "held=' libnvidia-": IDLE,
            **each.first,
        }
    done = desk.has(hosts).typed("update", "--check", "--json", "--only", "os")
    assert host(done, A)["driver"]["after"] == recordings.DRIVER and host(done, A)["firmware"] == [], done
    done = desk.typed("update", "--check", "--json", "--only", "driver", "--to", "candidate")
    assert host(done, A)["driver"]["after"] == "580.178.04", done


def test_what_others_hold_is_named(desk: Desk) -> None:
    done = desk.has(pair(look("sparketa", "a", "held docker-ce"), look("sparkjr", "b"))).typed("update", "--check")
    assert "held docker-ce, by others, and stays" in " ".join(done.out.split()), done


def test_hold_set_of_the_recordings_is_what_is_released() -> None:
    """Else the first tests would show nothing of others' holds."""
    assert "nvidia-driver-580-open" in recordings.hold_set("sparketa")
    assert driver.BRANCH == 580
