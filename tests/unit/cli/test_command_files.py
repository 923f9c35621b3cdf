"""What a verb writes for its user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from sparkrig.cli import files
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]


def test_what_is_written_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from sparkrig.cli import files; "
        r"files.write(Path(sys.argv[1]), '\xb5')"
    )
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.html")], env=ascii_only, check=True, cwd=ROOT)
    assert (tmp_path / "a.html").read_bytes() == "\xb5".encode()


def test_what_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match=r"cannot be written: no such file or directory. Try: ls -ld"):
        files.write(tmp_path / "none" / "a.html", "")


@pytest.mark.parametrize(("name", "file"), [("left", "r-left.html"), ("rack/1", "r-rack-1.html")])
def test_one_file_of_several_is_named_after_its_pair(name: str, file: str) -> None:
    assert files.one_of(Path("x/r.html"), name, 2) == Path("x") / file


def test_files_are_written_each_by_itself(tmp_path: Path) -> None:
    """Whichever of them cannot be, and where the text itself is made late."""
    (tmp_path / "folder").mkdir()
    good = [tmp_path / name for name in ("a", "b")]

    def holds(bad: Path, why: str, place: int) -> None:
        for file in good:
            file.unlink(missing_ok=True)
        made = [(file, lambda: "text") for file in good]
        made.insert(place, (bad, lambda: "text"))
        with pytest.raises(click.ClickException, match=re.escape(f"{bad} cannot be written: {why}. Try: ls -ld ")):
            files.write_each(made)
        assert [file.read_text() for file in good] == ["text", "text"]

    places = {
        tmp_path / "none" / "x": "no such file or directory",
        tmp_path / "folder": "is a directory",
        Path("/dev/full"): "no space left on device",
    }
    each_row([(bad, why, place) for bad, why in places.items() for place in (0, 1, 2)], holds)
    files.write_each([])
