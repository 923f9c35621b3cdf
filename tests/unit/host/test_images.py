"""One image in docker's two stores is told by what it holds (tests/fixtures/images/README.md)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.host.images import HELD, Image, contents, known, one
from tests.tables import each_row
from tests.unit.shells import sh, tool

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "images"
ONE = ("graphdriver", "containerd", "containerd-copy")
OTHERS = ("other-environment", "other-layer")
A, B = "a" * 64, "b" * 64


def id_of(name: str) -> str:
    (image,) = json.loads((FOLDER / f"{name}.json").read_text())
    return str(image["Id"])


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the script says of every recorded image, by ID; its docker has what a real one made of that format."""
    path = tmp_path_factory.mktemp("docker")
    content_of = programs.text("host/images_content_of.sh")
    asked = f'[ "$1 $2 $3 $4" = "image inspect -f $(cat {FOLDER}/format.txt)" ]'
    tool(path, "docker", f"{asked} && cat {FOLDER}/held.txt")
    done = sh(f"{content_of}\ncontent_of all of them", path=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "VLLM_TARGET_DEVICE" not in done.stdout, "an image may carry a secret in its environment"
    return contents(row.removeprefix("content ") for row in done.stdout.splitlines())


def test_the_format_is_the_one_that_was_recorded() -> None:
    assert (FOLDER / "format.txt").read_text() == f"{HELD}\n"
    recorded = {row.split(" ")[0] for row in (FOLDER / "held.txt").read_text().splitlines()}
    assert recorded == {id_of(file.stem) for file in FOLDER.glob("*.json")}


def test_an_image_holds_the_same_in_both_stores_and_after_a_copy(held: dict[str, str]) -> None:
    assert len({id_of(name) for name in ONE}) == 3, "its ID is another one each time"
    assert len({held[id_of(name)] for name in ONE}) == 1


def test_what_differs_in_one_thing_is_another_image(held: dict[str, str]) -> None:
    assert len({held[id_of(name)] for name in (ONE[0], *OTHERS)}) == 3


def test_an_image_without_its_platform_is_known_by_its_id_alone(held: dict[str, str]) -> None:
    assert id_of("no-platform") not in held


def test_which_images_are_one() -> None:
    def holds(first: Image, second: Image, expected: bool) -> None:
        assert first.same(second) is second.same(first) is one([first, second]) is expected

    each_row(
        {
            "one ID": (Image("1"), Image("1"), True),
            "one ID, and what it holds is known of one": (Image("1", content=A), Image("1"), True),
            "another ID, and the same in it": (Image("1", content=A), Image("2", content=A), True),
            "another ID, and something else in it": (Image("1", content=A), Image("2", content=B), False),
            "another ID, and it is not known": (Image("1"), Image("2"), False),
            "another ID, and it is known of one": (Image("1", content=A), Image("2"), False),
        },
        holds,
    )
    assert one([]) and not one([Image("1", content=A), Image("2", content=A), Image("3", content=B)])


def test_rows_that_are_none_say_nothing() -> None:
    assert contents(["1", "2 ", "3 nonsense", f"4 {A}0", f"5 {A.upper()}", f"6 {A}\r", ""]) == {"6": A}
    assert known("", [f"1 {A}"]) is None
    assert known("1", [f"2 {B}", f"1 {A}"]) == Image("1", content=A) and known("1", []) == Image("1")
