"""scripts/venv empties the folder that it is given, and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parents[3] / "scripts" / "venv"


def test_a_link_to_a_folder_of_somewhere_else_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    (tmp_path / ".venv").symlink_to(other)
    line = [str(VENV), sys.executable, ".venv", "no such lock"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f".venv is a link to {other}, which would be emptied. Try: rm .venv, and the same command again\n"
    )
    assert (other / "kept").exists()
