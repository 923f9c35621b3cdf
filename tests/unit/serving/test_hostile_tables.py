"""Tables that want more than a look: of time, of memory, of a person who agrees to what is not shown."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from sparkrig.serving import tables
from sparkrig.serving.io import catalogue_files, table_archive, table_update

SOURCES = (catalogue_files.FOLDER / catalogue_files.SOURCES).read_bytes()


def zipped(file: Path, kind: int, *names: str) -> str:
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name in names:
            archive.writestr(name, SOURCES)
    return str(file)


def test_a_zip_of_another_kind_that_is_torn_is_one_sentence(tmp_path: Path) -> None:
    made = tmp_path / "a.zip"
    zipped(made, zipfile.ZIP_LZMA, "sources.yaml")
    whole = made.read_bytes()
    begin = whole.index(b"sources.yaml") + len("sources.yaml") + 9  # behind LZMA's own head
    made.write_bytes(whole[:begin] + b"\xff" * 8 + whole[begin + 8 :])
    with pytest.raises(Refusal, match="is torn"):
        table_archive.read(str(made))


def test_a_zip_is_bounded_in_all_that_it_unpacks_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = zipped(tmp_path / "a.zip", zipfile.ZIP_DEFLATED, "sources.yaml", "a.yaml", "b.yaml")
    assert len(table_archive.read(made)) == 3
    monkeypatch.setattr(table_archive, "_UNPACKED", 2 * len(SOURCES))
    with pytest.raises(Refusal, match="bytes when unpacked"):
        table_archive.read(made)


def test_a_bomb_of_aliases_is_looked_at_once() -> None:
    bomb: Any = "x"
    for _ in range(60):
        bomb = [bomb, bomb]
    assert sorted(bounds.texts({"a": bomb})) == ["a", "x", "x"]


def test_every_image_that_comes_is_named() -> None:
    before = table_update.loaded(catalogue_files.FOLDER)
    model = before.catalogue.models["gpt-oss-20b"]
    images = [f"x/y:{number}" for number in range(9)]
    launches = tuple(model.launches[0].model_copy(update={"image": image}) for image in images)
    models = {**before.catalogue.models, model.name: model.model_copy(update={"launches": launches})}
    after = replace(before, catalogue=before.catalogue.model_copy(update={"models": models}))
    (line,) = (line for line in tables.changes(before, after) if line.startswith("images"))
    assert all(image in line for image in images), line
