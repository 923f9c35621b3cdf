"""T1: `sparkrig update --check` on recorded Sparks: what their owners saw, in which order, and what stops it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparkrig.host import driver
from tests import warm
from tests.plan import recordings
from tests.plan.clean import clean
from tests.plan.conftest import ROOT, A, B, sections
from tests.plan.desk import Desk, Done
from tests.plan.updating import DRIVER, FORECAST, IDLE, KERNEL, LOOK, NOW, ahead, every, look, pair
from tests.schemas import complaints
from tests.unit import updates

SHOWN = ("sparketa", "sparkjr")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


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
        "OTA2607 (July 2026, DGX OS 7.5.0) has driver 580.159.03 and kernel 6.17.0-1022-nvidia, and no repository "
        "of this Spark offers it" in said
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
            """held='"'"' libnvidia-""": IDLE,  # as a shell has it within quotes
            "libnvidia-compute-580": ["else"],
            **each.first,
        }
    done = desk.has(hosts).typed("update", "--check", "--json", "--only", "os")
    assert host(done, A)["driver"]["after"] == recordings.DRIVER and host(done, A)["firmware"] == [], done
    done = desk.typed("update", "--check", "--json", "--only", "driver", "--to", "candidate")
    assert host(done, A)["driver"]["after"] == "580.178.04", done


def test_a_part_is_judged_by_itself(desk: Desk) -> None:
    """An older driver is no matter of `os`, and a release of NVIDIA's none of firmware."""
    hosts = pair(_april("a"), _april("b"))
    done = desk.has(hosts).typed("update", "--check", "--json", "--only", "os")
    assert not [each for each in host(done, A)["refusals"] if "driver" in each["what"]], done
    hosts = pair(look("sparky", "a", releases=""), look("sparky", "b", releases=""))
    done = desk.has(hosts).typed("update", "--check", "--json", "--only", "firmware")
    assert host(done, A)["refusals"] == [] and parts(host(done, A))["EC"] == "offered", done


def _april(letter: str) -> list[str]:
    rows = "\n".join(look("sparketa", letter))
    for new, old in {"6.17.0-1029": "6.17.0-1014", "580.173.02": "580.142"}.items():
        rows = rows.replace(new, old)
    return rows.splitlines()


def test_a_host_whose_release_is_not_known_still_shows_what_it_has(desk: Desk) -> None:
    done = desk.has(pair(look("sparketa", "a"), look("sparkjr", "b"))).typed("update", "--check", "--to", "7.9.9")
    said = " ".join(done.out.split())
    assert "has OTA2607" in said and "would not begin: this Spark knows of no release '7.9.9'" in said, done


def busy(text: str) -> str:
    return text.replace("clock ", "lock /var/lib/dpkg/lock-frontend 4711 aptd\nclock ")


def full(text: str) -> str:
    return re.sub(r"^room \d+ /var$", "room 700 /var", text, flags=re.MULTILINE)


def little(text: str) -> str:
    return text.replace("room 5000 /etc\n", "room 5000 /etc\nroom 120 /boot\n")


@pytest.mark.parametrize(
    ("hindered", "said"),
    [
        (busy, "aptd (process 4711) holds the dpkg lock"),
        (full, "/var has 700 MB"),
        (little, "/boot has 120 MB of room, and 300 MB are expected for another kernel"),
    ],
)
def test_what_keeps_apt_from_it_is_a_refusal_of_both_halves(
    desk: Desk, hindered: Callable[[str], str], said: str
) -> None:
    preflight = hindered(sections(recordings.deployed("sparketa", "a"))["preflight"])
    seen = [
        look("sparketa", "a", *every("sparketa"), preflight=preflight),
        look("sparketa", "b", *every("sparketa")),
    ]
    done = desk.has(pair(seen[0], seen[1], ahead("sparketa"))).typed("update", "--check", "--to", "candidate")
    text = " ".join(done.out.split())
    assert done.code == 2 and said in text, done
    assert f"{A} and {B} would be mixed, because of {A}: an update begins on neither" in text, done


def test_firmware_that_any_reboot_writes_is_written_first(desk: Desk) -> None:
    """NVIDIA's dashboard handed it over; the reboot of a new kernel would write it, and nothing asked for that."""
    devices = updates.fwupd("sparketa")
    for device in devices["Devices"]:
        device["UpdateState"] = 4
    seen = [
        look("sparketa", letter, *every("sparketa"), firmware="\n".join(updates.board("sparketa", devices)))
        for letter in "ab"
    ]
    done = desk.has(pair(seen[0], seen[1], ahead("sparketa"))).typed("update", "--check", "--to", "candidate")
    text = " ".join(done.out.split())
    assert done.code == 2 and "firmware is handed over (" in text and "any reboot writes it" in text, done
    done = desk.typed("update", "--check", "--only", "firmware")
    assert "1. reboot, which writes firmware that waits for it (" in " ".join(done.out.split()), done


def test_old_lists_and_what_waits_for_a_reboot_are_named(desk: Desk) -> None:
    old = look("sparketa", "a", f"lists {NOW - 12 * 86400}", "reboot ", "reboot libc6")
    done = desk.has(pair(old, look("sparketa", "b"))).typed("update", "--check")
    text = " ".join(done.out.split())
    assert "lists fetched 12 days ago" in text and "reboot due: libc6 waits for it" in text, done
    assert "1. reboot once into 6.17.0-1029-nvidia" in text


def test_what_others_hold_is_named(desk: Desk) -> None:
    done = desk.has(pair(look("sparketa", "a", "held docker-ce"), look("sparkjr", "b"))).typed("update", "--check")
    assert "held docker-ce, by others, and stays" in " ".join(done.out.split()), done


def test_hold_set_of_the_recordings_is_what_is_released() -> None:
    """Else the first tests would show nothing of others' holds."""
    assert "nvidia-driver-580-open" in recordings.hold_set("sparketa")
    assert driver.BRANCH == 580
