"""T1: `sparkrig update --check` on recorded Sparks: what their owners saw, in which order, and what stops it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from sparkrig.host import branches
from tests import warm
from tests.plan import recordings
from tests.plan.clean import clean
from tests.plan.conftest import ROOT, A, B, sections
from tests.plan.desk import Desk, Done
from tests.plan.updating import DRIVER, FORECAST, IDLE, KERNEL, LOOK, NOW, ahead, every, look, pair
from tests.schemas import complaints
from tests.unit import updates

SHOWN = ("sparketa", "sparkjr")


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
    shown = " ".join(desk.typed("update", "--check").out.split())
    assert "EC 2.78.24; 3.3.2 is offered, less than the release's 3.5.8" in shown
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
    assert said[1] == "download 606.0 MB"
    assert said[2].startswith("release the hold, and install: ") and "2 new" in said[2]
    assert said[3] == f"reboot once into {KERNEL}-nvidia, and prove driver and GPU"
    assert said[4].startswith("hold and pin again")
    assert not any("serve" in step["what"] for step in host(done, B)["steps"])
    assert host(done, A)["no_way_back"] == []
    assert "6.17.0-1029-nvidia" in host(done, A)["kernels_without_module"]  # its module stays behind the driver


def test_an_open_update_is_shown_in_the_place_of_a_forecast_that_only_its_middle_explains(desk: Desk) -> None:
    open_ = sections(recordings.deployed("sparketa", "a"))["preflight"] + "\nupdate installed OTA2607 (July 2026)"
    seen = look("sparketa", "a", preflight=open_), look("sparketa", "b")
    done = desk.has(pair(*seen, ["E: no way", "simulated 100"])).typed("update", "--check", "--json")
    (refusal,) = host(done, A)["refusals"]
    assert refusal["what"] == "an update to OTA2607 (July 2026) is open (last step: installed)", done
    assert refusal["cure"] == f"sparkrig update {desk.inventory}"
    assert host(done, A)["exit_code"] == 2
    assert "is open" not in str(host(done, B)["refusals"])


def april(letter: str, *more: str) -> list[str]:
    """A Spark at April 2026. more: rows of what the repositories have."""
    rows = "\n".join(look("sparketa", letter))
    for new, old in {"6.17.0-1029": "6.17.0-1014", "580.173.02": "580.142"}.items():
        rows = rows.replace(new, old)
    return rows.replace(f"now {NOW}", "\n".join([f"now {NOW}", *more])).splitlines()


GONE_ON = (
    "version nvidia-driver-580-open 580.173.02-0ubuntu0.24.04.1",
    "version linux-image-nvidia-hwe-24.04 6.17.0-1029.29",
)


def test_a_release_that_no_repository_has_any_more_is_refused(desk: Desk) -> None:
    """A Spark whose repositories went on past July."""
    done = desk.has(pair(april("a", *GONE_ON), april("b", *GONE_ON))).typed("update", "--check")
    assert done.code == 2, done
    said = " ".join(done.out.split())
    assert (
        "OTA2607 (July 2026, DGX OS 7.5.0) has driver 580.159.03 and kernel 6.17.0-1022-nvidia, which no" in said
    )
    assert "--to candidate" in said
    done = desk.typed("update", "--check", "--only", "os")  # which leaves driver and kernel as they are
    assert done.code == 0 and "would not begin" not in done.out, done


ANOTHER = "590.48.01-0ubuntu0.24.04.1"


def knows_another(letter: str) -> list[str]:
    """A Spark that knows of a release with driver 590, made up in the form of NVIDIA's recipes."""
    recipe = json.loads(updates.recipes()["spark-ota-2607.json"])
    recipe["metadata"] |= {"name": "OTA2701", "external_name": "January 2027", "releaseDate": "2027-01-15"}
    recipe["package"] = updates.listed({"nvidia-driver-open": ANOTHER})
    recipe["software"] = updates.listed({"kernel": f"{KERNEL}-nvidia", "driver": "590.48.01"})
    files = {name: text.encode() for name, text in updates.recipes().items()}
    known = updates.archived({**files, "spark-ota-2701.json": json.dumps(recipe).encode()})
    releases = "\n".join([known, *updates.rows("sparketa")[1:]])
    rows = [*every("sparketa"), f"version nvidia-driver-open {ANOTHER}"]
    return look("sparketa", letter, *rows, releases=releases)


def to_another() -> list[str]:
    """apt's forecast of it: the earlier names stay, empty, and the modules of 580 go."""
    rows = "\n".join(ahead("sparketa")).replace(DRIVER, ANOTHER).replace("-580-open-6", "-open-6")
    gone = "linux-modules-nvidia-580-open-6.17.0-1029-nvidia"
    rows = rows.replace("simulated 0", f"Inst nvidia-driver-open ({ANOTHER} NVIDIA [arm64])\nsimulated 0")
    return [*rows.splitlines(), f"Remv {gone} [6.17.0-1029.29+1]", f"manual {gone}"]


def test_another_branch_moves_by_its_release_once_it_is_declared(desk: Desk) -> None:
    hosts = pair(knows_another("a"), knows_another("b"))
    for each in hosts:
        asked = f"dist-upgrade --allow-downgrades nvidia-driver-open={ANOTHER}"
        each.first = {asked: to_another(), **each.first}
    done = desk.has(hosts).typed("update", "--check", "--json", "--to", "OTA2701")
    (refusal,) = host(done, A)["refusals"]
    assert done.code == 2 and "has driver 590.48.01, and driver_branch declares 580" in refusal["what"], done
    assert host(desk.typed("update", "--check", "--json"), A)["goal"].startswith("OTA2607")
    for each in hosts:
        each.data = {**each.data, "driver_branch": 590}
    done = desk.has(hosts).typed("update", "--check", "--json", "--to", "OTA2701")
    found = host(done, A)
    assert (done.code, found["refusals"], found["driver"]["after"]) == (2, [], "590.48.01"), done
    steps = [step["what"] for step in found["steps"]]
    assert steps[1].startswith("release the hold, and move the driver from branch 580 to 590: install: "), steps
    alone = host(desk.typed("update", "--check", "--json", "--to", "OTA2701", "--only", "driver"), A)
    assert "with its other packages" in alone["refusals"][0]["what"], alone
    said = " ".join(desk.typed("update", "--check", "--to", "OTA2701").out.split())
    assert "580.173.02 -> 590.48.01" in said and "One after the other: " in said
    for each in hosts:
        each.data = {**each.data, "driver_branch": 595}
    done = desk.has(hosts).typed("update", "--check", "--json")
    assert "no recipe of NVIDIA's on this Spark has a driver 595" in host(done, A)["refusals"][0]["what"], done


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
    assert "has OTA2607" in done.out and "USB-PD" in done.out, "the look is shown all the same"
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


def test_without_recipes_the_look_is_shown_and_firmware_alone_needs_none(desk: Desk) -> None:
    bare = [look(unit, letter, releases="folder") for unit, letter in (("sparky", "a"), ("sparky", "b"))]
    done = desk.has(pair(*bare)).typed("update", "--check")
    said = " ".join(done.out.split())
    assert (
        done.code == 2
        and "it knows of no release of NVIDIA's" in said
        and "this Spark knows of no release" in said
    )
    done = desk.typed("update", "--check", "--json", "--only", "firmware")
    assert (done.code, host(done, A)["refusals"], parts(host(done, A))["EC"]) == (2, [], "offered"), done


def test_a_recipe_that_is_left_out_is_told(desk: Desk) -> None:
    rows = "\n".join([*updates.rows("sparketa"), "left spark-ota-2610.json it is longer than 1 MB"])
    desk.has(pair(look("sparketa", "a", releases=rows), look("sparketa", "b")))
    assert "spark-ota-2610.json left out: it is longer than 1 MB" in " ".join(
        desk.typed("update", "--check").out.split()
    )
    assert host(desk.typed("update", "--check", "--json"), A)["recipes_left_out"] == {
        "spark-ota-2610.json": "it is longer than 1 MB"
    }


def test_a_spark_behind_by_packages_that_apt_does_not_offer_is_not_up_to_date(desk: Desk) -> None:
    """As on one of a pair without the package nvidia-spark-repo, whose sources ended with an earlier release."""
    rows = "\n".join(updates.rows("sparketa")).replace("dgx-dashboard 0.29.1", "dgx-dashboard 0.25.11")
    seen = look("sparketa", "a", releases=rows), look("sparketa", "b")
    done = desk.has(pair(*seen)).typed("update", "--check")
    said = " ".join(done.out.split())
    assert done.code == 2 and "Nothing to update" not in said, done
    assert "has dgx-dashboard 0.29.1, and apt offers nothing try: ssh spark-a sudo apt-get update" in said
    assert host(desk.typed("update", "--check", "--json"), A)["not_offered"] == ["dgx-dashboard 0.29.1"]
    held = look("sparketa", "a", "held dgx-dashboard", releases=rows)  # as its owner wants it
    assert desk.has(pair(held, seen[1])).typed("update", "--check").code == 0
    offered = ["Inst dgx-dashboard [0.25.11] (0.29.1 x [arm64])", "simulated 0", "bytes 1000"]
    done = desk.has(pair(*seen, offered)).typed("update", "--check", "--json")
    assert (host(done, A)["refusals"], host(done, A)["not_offered"]) == ([], []), done


def test_the_age_of_the_package_lists_is_told(desk: Desk) -> None:
    rows = [row.replace(f"lists {NOW - 3600}", f"lists {NOW - 20 * 86400}") for row in look("sparketa", "a")]
    none = [row for row in look("sparketa", "b") if not row.startswith("lists ")]
    done = desk.has(pair(rows, none)).typed("update", "--check")
    said = " ".join(done.out.split())
    assert "lists fetched 20 days ago: run sudo apt-get update there first" in said, done
    assert "no package lists: run sudo apt-get update there" in said
    done = desk.typed("update", "--check", "--json")
    assert [host(done, name)["lists_age_s"] for name in (A, B)] == [20 * 86400, None]


def test_a_failed_firmware_with_an_offer_is_due_and_one_that_is_staged_is_applied(desk: Desk) -> None:
    seen = []
    for state, letter in ((3, "a"), (4, "b")):
        devices = updates.fwupd("sparky")
        device = next(
            each for each in devices["Devices"] if "c3cccaf0-9a3e-4ee2-992e-9f0cf9b55fa0" in each.get("Guid", ())
        )
        device.update(UpdateState=state, UpdateError="no power")
        seen.append(look("sparky", letter, firmware="\n".join(updates.board("sparky", devices))))
    done = desk.has(pair(*seen)).typed("update", "--check", "--only", "firmware")
    said = " ".join(done.out.split())
    assert "; the last attempt failed (no power)" in said and "failed: the last" not in said, done
    assert "write firmware (SoC, EC and USB-PD), which cannot be undone, and reboot (" in said
    assert (
        "write firmware (SoC and USB-PD), which cannot be undone, and reboot, which applies what is staged" in said
    )


def test_firmware_of_a_later_release_stays_away_from_an_older_goal(desk: Desk) -> None:
    """The ASUS has the EC of March; fwupd offers a later one."""
    desk.has(pair(look("sparky", "a"), look("sparky", "b")))
    done = desk.typed("update", "--check", "--json", "--only", "firmware", "--to", "OTA1")
    assert done.code == 0 and {*parts(host(done, A)).values()} <= {"newer", "as-released", "unknown"}, done


def test_apt_at_work_and_too_little_room_are_refused(desk: Desk) -> None:
    def preflight(letter: str, old: str, new: str) -> str:
        text = sections(recordings.deployed("sparketa", letter))["preflight"]
        changed = re.sub(old, new, text, flags=re.M)
        assert changed != text
        return changed

    busy = preflight("a", r"\A", "lock /var/lib/dpkg/lock-frontend 811 aptd\n")
    full = preflight("b", r"^room [0-9]+ /var$", "room 2900 /var")
    seen = (
        look("sparketa", "a", *every("sparketa"), preflight=busy),
        look("sparketa", "b", *every("sparketa"), preflight=full),
    )
    done = desk.has(pair(*seen, ahead("sparketa"))).typed("update", "--check", "--to", "candidate")
    said = " ".join(done.out.split())
    assert "would not begin: apt is busy: aptd (process 811) holds the dpkg lock" in said, done
    assert "/var has 2900 MB of room, and 2924 MB are expected" in said  # 500, and 4 times 606


def test_without_root_nothing_is_taken_for_a_broken_disk(desk: Desk) -> None:
    """To a user all looks read-only."""
    texts = sections(recordings.deployed("sparketa", "a"))
    odd = {
        "identity": re.sub("(?m)^uid=0$", "uid=1000", texts["identity"]),
        "preflight": f"read-only /\nread-only /var\n{texts['preflight']}",
    }
    seen = (look("sparketa", "a", *every("sparketa"), **odd), look("sparketa", "b", *every("sparketa")))
    done = desk.has(pair(*seen, ahead("sparketa"))).typed("update", "--check", "--to", "candidate")
    said = " ".join(done.out.split())
    assert "would not begin: commands run as uid 1000, root is expected" in said, done
    assert "read-only" not in said


def test_a_kernel_that_is_unknown_after_the_update_is_shown_so(desk: Desk) -> None:
    seen = look("sparketa", "a", *every("sparketa"))
    menu = ["grub", *(f"grub {row}" for row in ("set default=a", "menuentry 'a' {", "linux /boot/x", "}"))]
    at = seen.index("simulated 0")
    unknown = [*seen[:at], "/boot/grub/grub.cfg", *menu, "grub-whole", *seen[at:]]
    done = desk.has(pair(unknown, look("sparketa", "b", *every("sparketa")), ahead("sparketa"))).typed(
        "update", "--check", "--to", "candidate"
    )
    said = " ".join(done.out.split())
    assert (
        "kernel unknown -> unknown: its entry 'a' loads a kernel whose file does not name its release" in said
    ), done
    assert "which kernel boots after the update is unknown: its entry" in said
    assert f"{A} and {B} would stay mixed: {B} would be updated, and {A} not." in said


def test_a_driver_past_the_module_of_its_kernel_is_refused_and_its_row_says_the_same(desk: Desk) -> None:
    stays = [row for row in ahead("sparketa") if " linux-" not in row]
    one, other = (look("sparketa", letter, *every("sparketa")) for letter in "ab")
    done = desk.has(pair(one, other, stays)).typed("update", "--check", "--to", "candidate")
    said = " ".join(done.out.split())
    module = "linux-modules-nvidia-580-open-6.17.0-1029-nvidia"
    why = f"without an nvidia.ko of driver 580.178.04: {module} stays behind, as it is built for another"
    assert f"kernel 6.17.0-1029-nvidia, stays · {why}" in said, done
    assert f"would not begin: after the upgrade kernel 6.17.0-1029-nvidia would boot {why}" in said


def test_a_torn_next_boot_is_refused_for_firmware_alone_too(desk: Desk) -> None:
    torn = [row for row in look("sparky", "a") if "linux-modules-nvidia-580-open-6.17.0-1029" not in row]
    done = desk.has(pair(torn, look("sparky", "b"))).typed("update", "--check", "--json", "--only", "firmware")
    [refusal] = host(done, A)["refusals"]
    assert "boots next without an nvidia.ko of driver 580" in refusal["what"], done
    assert host(done, B)["refusals"] == []


def test_halves_that_would_end_apart_are_told(desk: Desk) -> None:
    hosts = pair(look("sparketa", "a", *every("sparketa")), look("sparketa", "b", *every("sparketa")))
    hosts[0].first = {**hosts[0].first, FORECAST: ahead("sparketa")}
    done = desk.has(hosts).typed("update", "--check", "--json", "--to", "candidate")
    assert done.report["mixed"] == [
        f"{A} and {B} would stay mixed: {A} has driver 580.178.04 and kernel {KERNEL}-nvidia, "
        f"{B} has driver 580.173.02 and kernel 6.17.0-1029-nvidia then"
    ], done
    rows = "\n".join(updates.rows("sparketa"))
    fewer = "\n".join(each for each in rows.splitlines() if not each.startswith("recipes "))
    fewer += "\n" + updates.archived({
        name: text.encode() for name, text in updates.recipes().items() if "2607" not in name
    })  # fmt: skip
    done = desk.has(pair(look("sparketa", "a", releases=fewer), look("sparketa", "b"))).typed("update", "--check")
    assert "as they know of different releases: " in " ".join(done.out.split()), done


def test_the_way_back_of_nothing_is_nothing(desk: Desk) -> None:
    said = " ".join(
        desk.has(pair(look("sparketa", "a"), look("sparketa", "b"))).typed("update", "--check").out.split()
    )
    assert "way back" not in said and said.count("nothing to install") == 2
    loaded = ["Inst linux-firmware [1] (2 x [arm64])", "simulated 0", "bytes 1000"]
    done = desk.has(pair(look("sparketa", "a"), look("sparketa", "b"), loaded)).typed("update", "--check")
    said = " ".join(done.out.split())
    assert "way back nothing of driver and kernel changes" in said and "reboot once into 6.17.0-1029" in said, done


def test_little_room_for_another_kernel_is_a_refusal(desk: Desk) -> None:
    preflight = sections(recordings.deployed("sparketa", "a"))["preflight"]
    preflight = preflight.replace("room 5000 /etc\n", "room 5000 /etc\nroom 120 /boot\n")
    seen = (
        look("sparketa", "a", *every("sparketa"), preflight=preflight),
        look("sparketa", "b", *every("sparketa")),
    )
    done = desk.has(pair(*seen, ahead("sparketa"))).typed("update", "--check", "--to", "candidate")
    text = " ".join(done.out.split())
    assert "/boot has 120 MB of room, and 300 MB are expected for two kernels" in text, done


def test_firmware_that_any_reboot_writes_is_written_first(desk: Desk) -> None:
    """NVIDIA's dashboard handed it over; the reboot of a new kernel would write it, and nothing asked for that."""
    devices = updates.fwupd("sparketa")
    for device in devices["Devices"]:
        device["UpdateState"] = 4
    board = "\n".join(updates.board("sparketa", devices))
    seen = [look("sparketa", letter, *every("sparketa"), firmware=board) for letter in "ab"]
    done = desk.has(pair(seen[0], seen[1], ahead("sparketa"))).typed("update", "--check", "--to", "candidate")
    text = " ".join(done.out.split())
    assert done.code == 2 and "firmware is handed over (" in text and "any reboot writes it" in text, done
    due = [row.replace("module 580.173.02", "module 580.159.03") for row in seen[0]]
    done = desk.has(pair(due, seen[1])).typed("update", "--check", "--to", "candidate", "--limit", A)
    assert done.out.count("firmware is handed over (") == 1, "a reboot that is due already writes it, too"


def test_what_others_hold_is_named(desk: Desk) -> None:
    done = desk.has(pair(look("sparketa", "a", "held docker-ce"), look("sparkjr", "b"))).typed("update", "--check")
    assert "held docker-ce, by others, and stays" in " ".join(done.out.split()), done


def test_a_source_of_a_later_release_is_refused_before_anything_is_fetched(desk: Desk) -> None:
    rows = ["codename noble", "source - noble https://repo.download.nvidia.com/baseos/8/arm64"]
    done = desk.has(pair(look("sparketa", "a", *rows), look("sparketa", "b"))).typed("update", "--check")
    assert done.code == 2, done
    said = " ".join(done.out.split())
    assert (
        "would not begin: apt's source https://repo.download.nvidia.com/baseos/8/arm64 noble is of DGX OS 8"
        in said
    )


def test_what_would_go_is_refused_by_name_and_let_go_by_name(desk: Desk) -> None:
    """Of two packages one alone is let go: the other is still named."""
    rows = ["Remv ubuntu-desktop [1]", "Remv htop [3]", "manual htop", *IDLE]
    desk.has(pair(look("sparketa", "a"), look("sparketa", "b"), rows))
    asked = desk.typed("update", "--check", "--to", "candidate", "--allow-removal", "htop")
    assert asked.code == 2, asked
    said = " ".join(asked.out.split())
    assert said.count("would not begin: the upgrade would remove ubuntu-desktop (a part of the desktop) try:") == 2
    let = desk.typed(
        "update", "--check", "--to", "candidate", "--allow-removal", "htop", "--allow-removal", "ubuntu-desktop"
    )
    assert "would not begin" not in let.out
    assert "install: 2 removed" in " ".join(let.out.split())


def test_hold_set_of_the_recordings_is_what_is_released() -> None:
    """Else the first tests would show nothing of others' holds."""
    assert "nvidia-driver-580-open" in recordings.hold_set("sparketa")
    assert branches.BRANCH == 580
