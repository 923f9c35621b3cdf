"""The wheel with all that it asks for, to carry to a guest: guests have no way out."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests import wheels

PYTHON = "3.13"  # of the guests' suite
# pip comes as a wheel, too: a guest has Python, and need not have ensurepip
INSTALL = """
set -e
python3 -m venv --without-pip venv
export PYTHONPATH=$(ls dist/pip-*.whl)
venv/bin/python -m pip install -q --no-index --find-links dist "$(ls dist/sparkrig-*.whl)EXTRA"
unset PYTHONPATH
venv/bin/sparkrig init sparks --here spark-a
mv sparks.py sparks/inventories/sparks.py
"""


def archive(files: Mapping[str, str], extra: str = "") -> bytes:
    """A tar archive: `dist` with the wheels, and these files. extra: of the package, such as `[watch]`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheels.download(folder, PYTHON, "pip", extra=extra)
        made = io.BytesIO()
        for each, text in files.items():
            (folder / each).write_text(text)
        with tarfile.open(fileobj=made, mode="w") as tar:
            for each in ("dist", *files):
                tar.add(folder / each, each)
        return made.getvalue()
