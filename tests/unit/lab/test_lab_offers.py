"""What the guests' repository offers after the factory state: names and versions, and what apt makes of them."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lab.guest.build import catalogue
from lab.guest.build.catalogue import NEXT, Package
from lab.image import GUEST
from sparkrig.host import branches, driver, recipe_files, releases
from sparkrig.host.grub import Boot
from sparkrig.host.upgrade import Upgrade, parse
from sparkrig.refusal import Refusal
from sparkrig.update import branch, update, update_judge, update_limits
from sparkrig.update.branch import Way
from sparkrig.update.repositories import Kernel, Repositories
from tests.lab import made
from tests.unit import updates
from tests.unit.shells import well
from tests.unit.updates import RECORDED, archived

OWN, SECOND = "6.12.117+deb13-amd64", "6.12.117+deb13-rt-amd64"
OFFERS = catalogue.offers(OWN, SECOND)
STATES = ["1", "2", "torn", "dead"]
KO = "linux-modules-nvidia-580-open"
PIN = branches.pin_file(580).content
META = "linux-image-nvidia-hwe-24.04"
DEBIANS = Package(f"linux-image-{SECOND}", "6.12.117-1")  # which the repository has from Debian


def test_names_and_versions_are_those_of_sparks_in_september_2026() -> None:
    seen = list(csv.DictReader((RECORDED / "seen-7.6.0.csv").read_text().splitlines()))
    ours = {(package.name, package.version) for package in OFFERS["2"]}
    assert len(seen) > 10
    assert {(row["package"], row["version"]) for row in seen} <= ours


def test_no_package_has_one_version_and_two_contents() -> None:
    """A guest goes from one state to the next, and apt takes the same version for the same package."""
    everything = [
        *catalogue.factory(OWN),
        *catalogue.upgrades(),
        *(each for state in STATES for each in OFFERS[state]),
    ]
    made: dict[tuple[str, str], Package] = {}
    for package in everything:
        assert made.setdefault((package.name, package.version), package) == package


@dataclass(frozen=True)
class Apt:
    """apt of this machine, shown a guest of the factory state and the repository in one state."""

    folder: Path

    def forecast(
        self, offered: list[Package], *preferences: str, words: Sequence[str] = ("dist-upgrade",)
    ) -> Upgrade:
        """What a dist-upgrade would do, or what else apt is asked for."""
        (self.folder / "repository/Packages").write_text("\n".join(map(_indexed, offered)))
        (self.folder / "etc/preferences").write_text("\n\n".join(preferences))
        self.run("update")
        said = self.run("-s", *words)
        return parse([line for line in said.splitlines() if re.match("Inst |Remv |E: ", line)] + ["simulated 0"])

    def run(self, *words: str) -> str:
        options = {
            "Dir::Etc": self.folder / "etc",
            "Dir::State": self.folder,
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder,
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "",
            "Debug::NoLocking": "1",
        }
        named = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        done = well(subprocess.run(["apt-get", *named, "-q", *words], capture_output=True, text=True, check=False))
        return done.stdout


def _indexed(package: Package) -> str:
    return f"{package.control}Filename: ./{package.name}.deb\nSize: 1\nSHA256: {'0' * 64}\n"


def _status(package: Package) -> str:
    return package.control.replace("Version:", "Status: install ok installed\nVersion:")


@pytest.fixture
def apt(tmp_path: Path) -> Apt:
    assert shutil.which("apt-get"), "this test asks apt itself, and there is none on this machine"
    for folder in ("lists/partial", "archives/partial", "etc/sources.list.d", "etc/preferences.d", "repository"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/sources.list").write_text(f"deb [trusted=yes] file:{tmp_path}/repository ./\n")
    (tmp_path / "status").write_text("\n".join(map(_status, catalogue.factory(OWN))))
    return Apt(tmp_path)


def after(found: Upgrade) -> dict[str, str]:
    assert not found.trouble
    assert not found.removes, "nothing goes"
    return {name: move.after for name, move in found.installs.items()}


@pytest.mark.parametrize("state", STATES)
def test_behind_the_pin_driver_and_modules_move_together(apt: Apt, state: str) -> None:
    found = after(apt.forecast([*catalogue.factory(OWN), *OFFERS[state], DEBIANS], PIN))
    assert found["nvidia-driver-580-open"] == "580.178.04-0ubuntu0.24.04.1"
    assert found[f"{KO}-{OWN}"] == f"{OWN}+2"
    assert found["dgx-release"] == "7.6.0"
    assert "nvidia-driver-open" not in found
    assert (f"linux-image-{SECOND}" in found) == (state != "1")
    assert (f"{KO}-{SECOND}" in found) == (state in ("2", "dead"))


def test_without_the_pin_590_comes_and_takes_the_modules_away(apt: Apt) -> None:
    found = apt.forecast([*catalogue.factory(OWN), *OFFERS["1"]])
    assert found.installs["nvidia-driver-open"].after.startswith("590.48.01-")
    assert found.removes == (f"{KO}-{OWN}",)


RECIPE = releases.Recipe("OTA2609", "", "2026-09-16", OWN, "580.178.04")


def planned(apt: Apt, state: str, recipe: releases.Recipe | None = None) -> update.Plan:
    """What `sparkrig update --check` makes of a guest and that state; of whatever apt offers without a recipe."""
    have = catalogue.factory(OWN)
    offered = [*have, *OFFERS[state], DEBIANS]
    rows = [driver.Package(each.name, "install", "installed", each.version) for each in have]
    rows.append(driver.Package(f"linux-image-{OWN}", "install", "installed", "6.12.117-1"))
    versions = {row.name: tuple(each.version for each in offered if each.name == row.name) for row in rows}
    known = Repositories(0, 0, versions, frozenset(), (), (Kernel(OWN, initrd=True, module=True),))
    packages = driver.Packages(tuple(rows), {}, grub=Boot(OWN))
    limits = update_limits.limits(packages, known, recipe, Way(580, 580)) if recipe else ""
    return updates.judged(packages, known, apt.forecast(offered, PIN, limits), branches.BRANCH)


@dataclass(frozen=True)
class Moving:
    """A guest of the made release with another branch (tests/lab/made.py), by apt itself."""

    apt: Apt

    def moved(self, declared: int, to: str) -> tuple[update.Plan, list[str]]:
        """What `update --to` makes of it, once it is done so; and what of it is refused."""
        offered = [*catalogue.factory(OWN), *OFFERS["1"], *made.packages(OWN)]
        rows = driver.parse([*self._rows(), "simulated 0"])
        packages = replace(rows, grub=Boot(OWN))
        known = self._known(offered, packages)
        made_known = known_to(made.packages(OWN))
        recipe = releases.find(to, made_known, declared)
        way = branch.way(packages, made_known, recipe, moves=True, declared=declared)
        limits = update_limits.limits(packages, known, recipe, way)
        (self.apt.folder / "etc/preferences.d/pin.pref").write_text(
            branches.pin_file(releases.kept(packages, made_known, declared)).content
        )
        words = branch.words(packages, known, recipe, way)
        found = self.apt.forecast(offered, limits, words=["dist-upgrade", "--allow-downgrades", *words])
        plan = update.draft(packages, known, found, way)
        refused = [str(each.what) for each in update_judge.refusals(plan, known, way.then)]
        refused += [each.what for each in update_limits.out_of_reach(plan, packages, known, recipe, way.now)]
        self._installs(offered, found)
        return plan, refused

    def _rows(self) -> Iterator[str]:
        """What dpkg has, and the kernel that the guest came with."""
        for record in (self.apt.folder / "status").read_text().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in record.splitlines() if ": " in line)
            yield f"dpkg install installed {fields['Package']} {fields['Version']}"
        yield f"dpkg install installed linux-image-{OWN} 6.12.117-1"

    def _known(self, offered: list[Package], packages: driver.Packages) -> Repositories:
        others = (
            each.name for each in offered if each.name.startswith("nvidia-driver-") or each.name.endswith(OWN)
        )
        names = {*others, *(row.name for row in packages.rows)}
        versions = {name: tuple(each.version for each in offered if each.name == name) for name in names}
        return Repositories(0, 0, versions, frozenset(), (), (Kernel(OWN, initrd=True, module=True),))

    def _installs(self, offered: list[Package], found: Upgrade) -> None:
        there = {(each.name, each.version): each for each in offered}
        now = dict(row.split(" ")[3:] for row in self._rows())
        now = {
            name: version for name, version in now.items() if name not in (*found.removes, f"linux-image-{OWN}")
        }
        now |= {name: move.after for name, move in found.installs.items()}
        (self.apt.folder / "status").write_text("\n".join(_status(there[each]) for each in now.items()))


def test_a_branch_moves_forth_and_back_by_apt_itself(apt: Apt) -> None:
    guest = Moving(apt)
    plan, refused = guest.moved(590, made.RELEASE.name)
    assert (refused, plan.driver.after, plan.boot.modules) == ([], NEXT, f"linux-modules-nvidia-open-{OWN}")
    assert f"{KO}-{OWN}" in plan.removed and "nvidia-driver-open" in plan.new
    plan, refused = guest.moved(580, "OTA2609")
    assert (refused, plan.driver.after, plan.boot.modules) == ([], "580.178.04", f"{KO}-{OWN}")
    assert {"nvidia-driver-open", "libnvidia-compute", f"linux-modules-nvidia-open-{OWN}"} <= {*plan.removed}
    rows = driver.parse([*guest._rows(), "simulated 0"])
    assert driver.later_installed(rows, 580) == []
    assert len(driver.tools_ahead(rows, 580)) == 3, "tools at 610 stay as they are"


def test_a_branch_that_no_repository_has_any_more_is_told_before_anything_changes(apt: Apt) -> None:
    guest = Moving(apt)
    guest.moved(590, made.RELEASE.name)
    packages = driver.parse([*guest._rows(), "simulated 0"])
    offered = [each for each in OFFERS["1"] if not each.version.startswith("580.")]
    recipe = releases.find("OTA2609", known_to(made.packages(OWN)), 580)
    with pytest.raises(Refusal, match=r"has driver 580\.178\.04, and no repository of this Spark has branch 580"):
        branch.words(packages, guest._known(offered, packages), recipe, branch.Way(590, 580))


def test_up_to_the_recipe_the_driver_moves_and_the_kernel_stays(apt: Apt) -> None:
    """As `sparkrig update --to latest`."""
    found = planned(apt, "2", RECIPE)
    assert (found.driver.after, found.kernel.after) == ("580.178.04", OWN)
    assert f"{KO}-{OWN}" in found.upgraded and META not in found.upgraded
    assert update_limits.short_of(found, RECIPE) == (False, False)


def test_whatever_apt_offers_brings_the_second_kernel_with_its_modules(apt: Apt) -> None:
    """As `sparkrig update --to candidate`."""
    found = planned(apt, "2")
    assert (found.driver.after, found.kernel.after) == ("580.178.04", SECOND)
    assert found.boot.modules == f"{KO}-{SECOND}"


def test_the_torn_state_is_refused_before_anything_is_done(apt: Apt) -> None:
    with pytest.raises(
        Refusal, match=re.escape(f"would bring kernel {SECOND} without an nvidia.ko of driver 580")
    ):
        planned(apt, "torn")


def test_a_kernel_that_dies_is_mended_by_the_next_one(apt: Apt) -> None:
    dead, good = ({each.name: each for each in OFFERS[state]} for state in ("dead", "2"))
    ko = f"{KO}-{SECOND}"
    assert any(path.endswith("lab-panic") for path in dead[ko].programs)
    assert not any(path.endswith("lab-panic") for path in good[ko].programs)
    newer = subprocess.run(["dpkg", "--compare-versions", good[ko].version, "gt", dead[ko].version], check=False)
    assert newer.returncode == 0


def test_each_nvidia_ko_that_can_be_loaded_needs_its_driver() -> None:
    bound = {each.name: each.depends for each in OFFERS["2"] if each.name.startswith(f"{KO}-6.12")}
    exact = "nvidia-kernel-common-580 (>= 580.178.04), nvidia-kernel-common-580 (<= 580.178.04-1)"
    assert bound == {f"{KO}-{OWN}": exact, f"{KO}-{SECOND}": exact}


def known_to(packages: list[Package]) -> releases.Releases:
    """What the product reads of a guest with these packages."""
    [checker] = [each for each in packages if each.name == releases.CHECKER]
    assert {f"/{Path(path).parent}" for path in checker.files} == {releases.FOLDER}
    files = {Path(path).name: str(text).encode() for path, text in checker.files.items()}
    rows = [f"dpkg install installed {each.name} {each.version}" for each in packages]
    found = recipe_files.parse(["folder", archived(files), *rows])
    assert not found.left_out
    return found


def test_a_guest_has_the_release_of_july_and_is_one_behind_once_it_knows() -> None:
    factory = catalogue.factory(OWN)
    before = known_to(factory)
    assert [each.name for each in before.recipes] == ["OTA2607"]
    assert not releases.standing(
        releases.Installed(OWN, "580.173.02", before.packages, before.removed), before
    ).ahead
    [checker] = [each for each in OFFERS["1"] if each.name == releases.CHECKER]
    aware = known_to([*(each for each in factory if each.name != checker.name), checker])
    assert (
        len(releases.standing(releases.Installed(OWN, "580.173.02", aware.packages, aware.removed), aware).ahead)
        == 1
    )


def test_a_guest_has_the_release_of_september_once_it_has_state_1() -> None:
    """By the product's own judgement, with the kernel that a guest has."""
    moved = {each.name: each for each in OFFERS["1"] if not each.version.startswith("590.")}
    known = known_to([*(each for each in catalogue.factory(OWN) if each.name not in moved), *moved.values()])
    recipe = releases.find("September 2026", known)
    assert recipe == releases.find("latest", known) == releases.find("7.6.0", known)
    done = releases.Installed(OWN, "580.178.04", known.packages, known.removed)
    assert releases.behind(done, recipe, known).nothing
    assert releases.standing(done, known).has == recipe


def test_the_recipes_have_the_form_of_a_recorded_one_and_its_values_where_it_is_the_same() -> None:
    recorded = json.loads((RECORDED / "spark-ota-2607.json").read_text())
    july, september = (catalogue.recipe(each, OWN) for each in catalogue.RELEASES)
    for ours in (july, september):
        assert list(ours) == list(recorded)
        assert ours["metadata"].keys() == recorded["metadata"].keys()  # type: ignore[attr-defined]
    for part in ("package", "firmware", "connectx"):
        assert [row for row in july[part] if row not in recorded[part]] == []  # type: ignore[attr-defined]


def offer(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The guests' program on a copy of their source; apt-get says what it is asked."""
    source = folder / "dgx-os.sources"
    source.write_text((GUEST / "root/etc/apt/sources.list.d/dgx-os.sources").read_text())
    program = (GUEST / "root/usr/lib/sparkrig-lab/offer").read_text()
    script = program.replace("/etc/apt/sources.list.d", str(folder)).replace("apt-get ", "echo apt-get ")
    return subprocess.run(["sh", "-c", script, "offer", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("state", STATES)
def test_offer_turns_the_source_to_a_state(tmp_path: Path, state: str) -> None:
    assert offer(tmp_path, state).stdout == "apt-get --quiet update\n"
    rows = (tmp_path / "dgx-os.sources").read_text().splitlines()
    assert f"Suites: ota/{state}/" in rows and "URIs: copy:/srv" in rows
    assert "Signed-By: /usr/share/keyrings/dgx-os.asc" in rows


def test_offer_goes_back_to_the_factory_and_knows_no_other_state(tmp_path: Path) -> None:
    before = (GUEST / "root/etc/apt/sources.list.d/dgx-os.sources").read_text()
    assert offer(tmp_path, "factory").returncode == 0
    assert (tmp_path / "dgx-os.sources").read_text() == before
    refused = offer(tmp_path, "3")
    assert refused.returncode == 2 and "factory|1|2|torn|dead" in refused.stderr
    assert (tmp_path / "dgx-os.sources").read_text() == before
