"""The releases of DGX OS that a Spark knows of: recorded recipes and Sparks, hostile files, and the script."""

from __future__ import annotations

import base64
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.noun import PREAMBLE
from sparkrig.facts.resources import Releases as Fact
from sparkrig.host import recipe_files, releases
from sparkrig.host.releases import FOLDER, Behind, Installed, Recipe, Releases, VersionGap
from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from tests.attacks.texts import DEEP, VALUES, WORST, codes
from tests.tables import each_row
from tests.unit import updates
from tests.unit.shells import sh, tool

NAMES = ["OTA0", "OTA0.1", "OTA1", "OTA1.1", "OTA2", "OTA2.1", "OTA2.2", "OTA2604", "OTA2604.Computex", "OTA2607"]
OLD = Installed(
    "6.17.0-1008-nvidia",
    "580.126.09",
    {"dgx-release": "7.4.0", "dgx-spark-ota-update-meta": "26.01.1", "dgx-dashboard": "0.23.3"},
)


@pytest.fixture(scope="module")
def known() -> Releases:
    return updates.known("sparketa")


def named(name: str, found: Releases) -> Recipe:
    return next(each for each in found.recipes if each.name == name)


def test_the_recorded_recipes(known: Releases) -> None:
    """An `ebeta` is no release, and none is left out."""
    assert [each.name for each in known.recipes] == NAMES and known.left_out == {}
    assert known.newest == known.recipes[-1]
    july = named("OTA2607", known)
    assert (july.title, july.date, july.kernel) == ("July 2026", "2026-07-15", "6.17.0-1022-nvidia")
    assert (july.driver, july.dgx_release, july.connectx) == ("580.159.03", "7.5.0", "28.45.4028")
    assert july.firmware == {
        "SOCFW": "2.155.11",
        "EC": "3.5.8",
        "EC Unfused": "3.5.8",
        "USBPD": "0.5.22",
        "TPM": "7.516.1",
    }
    assert july.packages["nvidia-firmware-580-580.159.03"] == "580.159.03-0ubuntu0.24.04.1"
    assert july.shown == "OTA2607 (July 2026, DGX OS 7.5.0)" and named("OTA0", known).shown == "OTA0"


def test_the_driver_is_what_the_packages_install(known: Releases) -> None:
    """May 2026 says 580.142, and its packages are of 580.159.03."""
    assert named("OTA2604.Computex", known).driver == "580.159.03"
    assert named("OTA2604", known).driver == "580.142"


def test_each_recorded_spark_has_the_newest_release() -> None:
    def holds(unit: str, removed: tuple[str, ...]) -> None:
        found = updates.known(unit)
        newest = named("OTA2607", found)
        assert releases.standing(updates.has(unit), found) == releases.ReleaseStanding(newest, ())
        assert releases.behind(updates.has(unit), newest, found) == Behind("OTA2607", removed=removed)

    each_row(
        [
            ("sparketa", ()),  # NVIDIA's checker misses a package that went with driver 580.159.03
            ("sparkjr", ()),  # and puts this one at OTA2604, and the next at OTA2.2, for firmware
            ("sparky", ("nvidia-system-station-apps", "nvidia-system-station-games")),
        ],
        holds,
    )


def test_how_far_a_spark_is_behind(known: Releases) -> None:
    def holds(installed: Installed, has: str | None, far: int) -> None:
        stands = releases.standing(installed, known)
        assert (stands.has and stands.has.name) == has
        assert len(stands.ahead) == far

    whole = updates.has("sparketa")
    each_row(
        {
            "as March 2026 left it": (OLD, "OTA2.2", 3),
            "not rebooted since": (replace(whole, kernel="6.17.0-1014-nvidia"), "OTA2604.Computex", 1),
            "an older driver": (replace(whole, driver="580.142"), "OTA2604", 2),
            "a driver of 2025, by numbers": (replace(whole, driver="580.95.05"), "OTA1.1", 6),
            "without a driver": (replace(whole, driver=""), None, 10),
            "an older package": (
                replace(whole, packages={**whole.packages, "dgx-dashboard": "0.29.0"}),
                "OTA2604.Computex",
                1,
            ),
            "ahead": (replace(whole, kernel="7.0.0-1019-nvidia", driver="580.178.04"), "OTA2607", 0),
            "older than all": (Installed("6.8.0-1000-nvidia", "570.10", {}), None, 10),
        },
        holds,
    )


def test_what_of_a_release_a_spark_does_not_have(known: Releases) -> None:
    found = releases.behind(OLD, named("OTA2607", known), known)
    assert found.kernel == VersionGap("6.17.0-1008-nvidia", "6.17.0-1022-nvidia")
    assert found.driver == VersionGap("580.126.09", "580.159.03")
    assert found.older["dgx-dashboard"] == VersionGap("0.23.3", "0.29.1")
    assert found.missing["nvidia-spark-repo"] == "1.1-1" and found.outdated and not found.nothing
    assert not any("580" in name for name in (*found.older, *found.missing)), "the driver stands for its packages"


def test_a_package_that_is_new_with_a_release_counts_and_one_that_was_removed_does_not(known: Releases) -> None:
    """Kernel and driver of September without nvidia-spark-grub-kho were seen on one Spark of eight."""
    july = named("OTA2607", known)
    later = replace(july, name="OTA2609", date="2026-09-16")
    kho = replace(later, packages={**july.packages, "nvidia-spark-grub-kho": "1.0-1"})
    whole = updates.has("sparketa")

    def behind(recipe: Recipe, installed: Installed, *before: Recipe) -> tuple[list[str], tuple[str, ...]]:
        found = releases.behind(installed, recipe, replace(known, recipes=(*before, recipe)))
        return [*found.missing], found.removed

    after = replace(kho, name="OTA2610", date="2026-10-16")
    assert releases.standing(whole, replace(known, recipes=(july, kho))).ahead == (kho,)
    assert behind(kho, whole, july) == (["nvidia-spark-grub-kho"], ())
    assert behind(after, whole, july, kho) == ([], ("nvidia-spark-grub-kho",)), "it was passed by without it"
    old = replace(whole, kernel="6.11.0-1016-nvidia")
    assert behind(after, old, july, kho) == (["nvidia-spark-grub-kho"], ()), "it never had that release"
    purged = replace(whole, removed=("nvidia-spark-grub-kho",))
    assert behind(kho, purged, july) == ([], ("nvidia-spark-grub-kho",)), "dpkg has its configuration"
    assert behind(kho, whole) == ([], ("nvidia-spark-grub-kho",)), "nothing is known of before"


def test_what_a_user_types(known: Releases) -> None:
    def holds(text: str, name: str) -> None:
        assert releases.find(text, known).name == name

    each_row(
        {
            text: (text, name)
            for text, name in (
                ("latest", "OTA2607"),
                ("Latest ", "OTA2607"),
                ("OTA2604", "OTA2604"),
                ("ota2604.computex", "OTA2604.Computex"),
                ("July  2026", "OTA2607"),
                ("january 2026", "OTA2"),
                ("7.5.0", "OTA2607"),
                ("7.4.0", "OTA2.2"),
                ("7.3.1", "OTA1"),
            )
        },
        holds,
    )


def test_a_release_with_a_later_driver_is_never_the_latest_and_is_refused_by_name(known: Releases) -> None:
    newest = known.recipes[-1]
    ahead = replace(newest, name="OTA2701", title="January 2027", driver="590.48.01")
    found = replace(known, recipes=(*known.recipes, ahead))
    assert releases.find("latest", found, 580) == newest
    assert releases.find("OTA2701", found) == releases.find("latest", found) == ahead, "no driver is asked for"
    with pytest.raises(Refusal) as caught:
        releases.find("January 2027", found, 580)
    assert "has driver 590.48.01, and driver_branch declares 580" in caught.value.what
    assert caught.value.cure.startswith("driver_branch = 590 in the inventory, then the same")
    assert caught.value.cure.endswith(f"or --to {newest.name}")
    with pytest.raises(Refusal, match="OTA2701") as caught:
        releases.find("latest", replace(known, recipes=(ahead,)), 580)
    assert caught.value.cure.endswith("or --only firmware")
    assert releases.find("latest", found, 590) == ahead


def test_a_branch_is_held_where_a_recipe_has_it_and_nowhere_else(known: Releases) -> None:
    ahead = replace(known.recipes[-1], name="OTA2701", driver="590.48.01")
    assert releases.unpublished(known, 580) is None and releases.unpublished(Releases(), 580) is None
    assert releases.unpublished(replace(known, recipes=(ahead,)), 590) is None
    for branch in (585, 595, 610):
        refusal = releases.unpublished(replace(known, recipes=(*known.recipes, ahead)), branch)
        assert refusal and f"no recipe of NVIDIA's on this Spark has a driver {branch}" in refusal.what


def test_a_release_that_is_not_known_is_refused_with_those_that_are(known: Releases) -> None:
    def refused(text: str, found: Releases, what: str) -> None:
        with pytest.raises(Refusal) as caught:
            releases.find(text, found)
        assert what in caught.value.what and caught.value.what.isprintable()
        assert "apt-get install nvidia-spark-ota-check; " in caught.value.cure
        assert "which brings NVIDIA's newest recipes" in caught.value.cure

    each_row(
        {
            "not public": (
                "7.6.0",
                known,
                "no release '7.6.0' of DGX OS, but of OTA2607 (July 2026, DGX OS 7.5.0), OTA",
            ),
            "empty": ("", known, "no release '' of DGX OS, but of OTA2607"),
            "a beta": ("OTA2604-ebeta", known, "no release 'OTA2604-ebeta'"),
            "not even a text": ("x" * 900 + "\x1b[2J", known, f"no release {'x' * 60 + '...'!r} of"),
            "no recipe": ("latest", Releases(), f"no release of DGX OS: {FOLDER} has no recipe"),
        },
        refused,
    )


# --- what is no recipe


def recipe(**changed: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((updates.RECORDED / "spark-ota-2607.json").read_text())
    return made | changed


def told(**changed: Any) -> dict[str, Any]:
    return {"metadata": recipe()["metadata"] | changed}


BAD = {
    "no UTF-8": (b'{"metadata": "\xe9"}', "can't decode byte 0xe9"),
    "no JSON": (b"{", "Expecting property name"),
    "empty": (b"", "Expecting value"),
    "deep": (DEEP.encode(), "JSON nests deeper than 32 levels"),
    "a huge number": (b'{"metadata": ' + b"9" * 5000 + b"}", "JSON has a number of 5000 digits"),
    "half a character": (b'{"metadata": "\\ud800"}', "surrogate"),
    "a list": (b"[]", "another value where an object belongs"),
    "no name": (told(name=None), "another value where a text"),
    "a name of escapes": (told(name="\x1b[2JOTA"), "is no name of a release"),
    "a name of words": (told(name="OTA 1; reboot"), "is no name of a release"),
    "a long title": (told(external_name="x" * 200), "metadata.external_name: a text of too many characters"),
    "no day": (told(releaseDate="soon"), "Invalid isoformat"),
    "no kernel": ({"software": updates.listed({"driver": "580.1"})}, "'' is no release of a kernel"),
    "no driver": ({"software": updates.listed({"kernel": "6.17.0-1-nvidia"})}, "'' is no version of NVIDIA's"),
    "no package": ({"package": []}, "it names no package"),
    "packages of another form": ({"package": {"a": "1"}}, "package: another value where a list belongs"),
    "too many": (
        {"package": updates.listed({f"p{n}": "1" for n in range(2001)})},
        "package: a list of too many values",
    ),
    "a package in capitals": ({"package": updates.listed({"Nvidia; id": "1"})}, "is no name of a Debian package"),
    "a version of a shell": ({"package": updates.listed({"nvidia": "$(id)"})}, "is no version of a Debian"),
    "a version as a number": ({"package": [{"name": "nvidia", "version": 1}]}, "another value where a text"),
    "firmware of words": ({"firmware": updates.listed({"EC": "new"})}, "is no version of firmware"),
}


def test_a_recipe_that_cannot_be_read_spoils_itself_alone() -> None:
    def holds(bad: bytes | dict[str, Any], why: str) -> None:
        content = bad if isinstance(bad, bytes) else json.dumps(recipe(**bad)).encode()
        good = (updates.RECORDED / "spark-ota-2604.json").read_bytes()
        found = recipe_files.parse([updates.archived({"a.json": content, "b.json": good})])
        assert [each.name for each in found.recipes] == ["OTA2604"] and [*found.left_out] == ["a.json"]
        assert why in found.left_out["a.json"] and found.left_out["a.json"].isprintable()

    each_row(BAD, holds)
    good = (updates.RECORDED / "spark-ota-2604.json").read_bytes()
    found = recipe_files.parse([updates.archived({"a.json": good, "b.json": good})])
    assert (
        found.left_out == {"b.json": "another file is the recipe of the same release"} and len(found.recipes) == 1
    )


def test_a_title_is_made_plain() -> None:
    content = json.dumps(recipe(**told(external_name=f"July\n{WORST} 2026"))).encode()
    (found,) = recipe_files.parse([updates.archived({"a.json": content})]).recipes
    assert found.title.startswith("July") and not codes(found.title)


def test_any_value_anywhere_in_a_recipe_is_harmless() -> None:
    def holds(value: str, at: str) -> None:
        content = json.dumps(recipe(**told(**{at: value}))).encode("utf-8", "surrogatepass")
        found = recipe_files.parse([updates.archived({"a.json": content})])
        assert len(found.recipes) + len(found.left_out) == 1
        for each in found.recipes:
            assert releases.find("latest", found) == each and not codes(each.shown)

    each_row([(value, at) for value in VALUES for at in ("name", "external_name", "releaseDate")], holds)


NONSENSE = {
    "no archive": (
        [f"recipes {base64.b64encode(gzip.compress(b'nothing')).decode()}"],
        "releases: cannot be understood (an archive of files",
    ),
    "no base64": (["recipes ***"], "releases: cannot be understood ("),
    "not compressed": ([f"recipes {base64.b64encode(b'x' * 600).decode()}"], "the recipes cannot be unpacked"),
    "a bomb": (
        [f"recipes {base64.b64encode(gzip.compress(bytes(9**8))).decode()}"],
        "have more than 1572864 bytes",
    ),
    "cut short": ([f"recipes {base64.b64encode(gzip.compress(bytes(9**6))[:-9]).decode()}"], "are cut short"),
    "too many files": (
        [updates.archived({f"{n}.json": b"{}" for n in range(41)})],
        "41 recipes are more than the 40",
    ),
    "a path": ([updates.archived({"../x.json": b"{}"})], "is no name of a recipe's file"),
    "a package of words": (["dpkg install installed Nv$(id) 1"], "is no name of a Debian package"),
    "a version of words": (["dpkg install installed nvidia $(id)"], "is no version of a Debian package"),
    "a long version": ([f"dpkg install installed nvidia {'1.' * 99}1"], "is no version of a Debian package"),
    "an escape": (["left \x1b[2J it is odd"], "is no name of a recipe's file"),
    "much": ([f"recipes {'A' * (bounds.NOUN_CHARS + 1)}"], "1 rows of"),
}


def test_rows_that_make_no_sense_are_one_sentence() -> None:
    def holds(lines: list[str], why: str) -> None:
        with pytest.raises(FactProcessError) as failed:
            Fact().process(lines)
        assert why in str(failed.value) and str(failed.value).isprintable() and len(str(failed.value)) < 400

    each_row(NONSENSE, holds)


def test_dpkg_s_states() -> None:
    found = recipe_files.parse(
        [
            "dpkg hold installed nvidia-spark-repo 1.1-1",
            "dpkg install half-configured dgx-oobe 0.25.1",
            "dpkg deinstall config-files dgx-dashboard 0.23.3",
            "dpkg unknown not-installed dgx-release ",
        ]
    )
    assert found.packages == {"nvidia-spark-repo": "1.1-1", "dgx-oobe": "0.25.1"}
    assert found.removed == ("dgx-dashboard",)


# --- the script


def looked(root: Path) -> list[str]:
    """The rows of the fact on a root of its own, where dpkg has two packages."""
    tool(
        root / "bin",
        "dpkg-query",
        """printf '%s\\n' "$@" >"${0%/*}/asked"
printf 'dpkg install installed dgx-release 7.5.0\\n'; exit 1""",
    )
    text = Fact.script.replace(FOLDER, f"{root}/metadata")
    assert text != Fact.script
    done = sh(f"{PREAMBLE}\n{text}", path=root / "bin")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_script_reads_plain_files_of_a_fair_size_alone(tmp_path: Path) -> None:
    assert looked(tmp_path) == [], "a host without the checker"
    folder = tmp_path / "metadata"
    folder.mkdir()
    assert looked(tmp_path) == []
    for name, text in updates.recipes().items():
        (folder / name).write_text(text)
    (folder / "link.json").symlink_to("/etc/passwd")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "fifo.json")
    (folder / "huge.json").write_text("x" * 32769)
    (folder / "two\nlines.json").write_text("{}")
    (folder / os.fsdecode(b"latin-1 \xe9.json")).write_text("{}")
    (folder / "-C.json").write_text("{}")
    (folder / "notes.txt").write_text("no recipe")
    found = recipe_files.parse(looked(tmp_path))
    assert [each.name for each in found.recipes] == NAMES and found.packages == {"dgx-release": "7.5.0"}
    assert found.left_out == {
        "link.json": "it is no plain file",
        "folder.json": "it is no plain file",
        "fifo.json": "it is no plain file",
        "huge.json": "it has more than 32768 bytes",
        "-": "its name has other letters than a recipe of NVIDIA",
        "-C.json": "metadata: it is missing",
    }
    asked = (tmp_path / "bin" / "asked").read_text().splitlines()
    names = {name for each in found.recipes for name in each.packages}
    assert names <= {*asked[3:]} and asked[2] == "--" and len(asked) == len({*asked})


def test_the_script_has_an_end(tmp_path: Path) -> None:
    """The newest by name are kept, and no name of a package is taken for a pattern or an option."""
    (tmp_path / "metadata").mkdir()
    for number in range(60):
        names = updates.listed({f"p{number}-{n}": "1" for n in range(100)} | {"nvidia-*": "1", "-f": "1"})
        (tmp_path / "metadata" / f"spark-ota-{2600 + number}.json").write_text(json.dumps(names))
    found = recipe_files.parse(looked(tmp_path))
    assert found.left_out["-"] == "this Spark has more than 40 recipes" and len(found.left_out) == 41
    assert {"spark-ota-2659.json", "spark-ota-2620.json"} <= {*found.left_out} - {"spark-ota-2619.json"}
    asked = (tmp_path / "bin" / "asked").read_text().splitlines()[3:]
    assert len(asked) == 1000 and not {"nvidia-*", "-f"} & {*asked}
