"""A release upgrade is known by its name, its program and its offer, and by nothing else."""

from __future__ import annotations

import pytest

from sparkrig.host import recipe_files, release_upgrade, releases
from sparkrig.host.apt import Holder
from sparkrig.host.release_upgrade import Others, Program
from sparkrig.host.releases import LATEST, Releases
from sparkrig.refusal import Refusal
from tests.unit import updates

NAMES = ("8", "8.0.0", "DGX OS 8", "dgx os 8.1", "26", "26.04", "26.04.1", "Ubuntu 26.04", "resolute", "Resolute")
OTHERS = (LATEST, "", "OTA2607", "OTA8", "July 2026", "7.5.0", "7.6.0", "24.04", "noble", "Ubuntu 22.04", "24.10")
LOCK = "/var/lib/apt/lists/lock"
KNOWN = (
    "DGX OS 8 on Ubuntu 26.04: NVIDIA documents it for no Spark; it has driver 595 or later, and a Spark requires"
)


def test_what_it_is_called() -> None:
    assert [name for name in NAMES if not release_upgrade.is_meant(name)] == []
    assert [name for name in OTHERS if release_upgrade.is_meant(name)] == []


def test_it_is_refused_by_its_name_with_what_is_known_and_the_day() -> None:
    with pytest.raises(Refusal, match=r"'26\.04' is a release upgrade; DGX OS 8 .* \(as of 2026-09-27\)\."):
        releases.find("26.04", updates.known("sparketa"), 580)


def test_a_recipe_of_it_is_left_out_and_makes_no_spark_behind() -> None:
    newest = updates.recipes()["spark-ota-2607.json"]
    text = newest.replace("OTA2607", "OTA2704").replace("2026-07-15", "2027-04-15").replace('"7.5.0"', '"8.0.0"')
    files = {name: found.encode() for name, found in {**updates.recipes(), "spark-ota-2704.json": text}.items()}
    found = recipe_files.parse([updates.archived(files)])
    assert found.newest and found.newest.name == "OTA2607"
    assert KNOWN in found.left_out["spark-ota-2704.json"]
    assert releases.find(LATEST, found, 580).name == "OTA2607"
    assert Releases().newest is None


# who holds apt's locks, what works there, and how the refusal begins; None for none
AT_WORK: dict[str, tuple[list[Holder], list[Program], str | None]] = {
    "nothing": ([], [], None),
    "apt": ([Holder(LOCK, 7, "apt-get")], [], None),
    # "held by process 3665 (noble)", as owners saw it of the upgrade to 24.04
    "upgrade": ([Holder(LOCK, 3665, "resolute")], [], "a release upgrade of Ubuntu is at work (resolute, process"),
    "asked": ([], [Program(9, "do-release-upgr")], "a release upgrade of Ubuntu is at work (do-release-upgr"),
    "firmware": ([], [Program(9, "fwupdmgr")], "fwupdmgr (process 9) writes firmware"),
    "dashboard": ([], [Program(9, "dgx-dashboard-r")], "NVIDIA's dashboard (process 9) is about to reboot"),
}


def test_what_is_at_work_is_refused_by_what_it_does() -> None:
    for name, (held, programs, said) in AT_WORK.items():
        found = [each.what for each in release_upgrade.at_work(Others(tuple(programs)), held)]
        assert len(found) == (said is not None) and all(what.startswith(said or "") for what in found), name
        assert all((KNOWN in what) == ("upgrade" in what) for what in found), name


def test_what_is_on_offer_is_told_unless_the_spark_knows_it_anyway() -> None:
    def said(**others: str) -> list[str]:
        return release_upgrade.offers(Others(**others), ["OTA2607", "July 2026"])  # type: ignore[arg-type]

    assert said() == said(dashboard="July 2026") == []
    assert said(dashboard="October 2026") == [
        "NVIDIA's dashboard offers October 2026, of which the Spark has no recipe"
    ]
    [dashboard], [ubuntu] = said(dashboard="DGX OS 8"), said(ubuntu="26.04.1 LTS")
    assert KNOWN in dashboard and KNOWN in ubuntu and "Prompt=never" in ubuntu
