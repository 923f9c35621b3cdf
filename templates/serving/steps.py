#!/usr/bin/env python3
"""Runs in a container what the authors of a recipe run there before its server, then becomes start.sh.

Each time that the container starts, on every node, with the words that start.sh is given. The last line of this
file is what is run: a JSON list of steps, each with a name, and either a command or the files of a mod by their
paths, run.sh among them. A mod lies where eugr's launch-cluster.sh puts it, and WORKSPACE_DIR is the folder in
which the server starts, as there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODS = Path("/workspace/mods")
START = "/sparkrig/start.sh"


def placed(name: str, files: dict[str, str]) -> Path:
    """The folder of a mod, with its files in it."""
    folder = MODS / Path(name).name
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        if path == "run.sh" or text.startswith("#!"):
            file.chmod(0o755)
    return folder


def ended(step: dict[str, Any], workspace: Path) -> int:
    """The exit status of a step."""
    environment = {**os.environ, "WORKSPACE_DIR": str(workspace)}
    environment.pop("HF_HUB_OFFLINE", None)  # which holds for the server alone
    folder = placed(step["name"], step["files"]) if step["files"] else workspace
    return subprocess.call(["bash", "-c", step["command"] or "./run.sh"], cwd=folder, env=environment)


def main() -> int:
    """Runs one after another until one fails. The exit status."""
    *_, told = Path(__file__).read_text(encoding="utf-8", errors="strict").rstrip("\n").split("\n# ")
    for step in json.loads(told):
        print("sparkrig: the recipe runs", step["name"], flush=True)
        if status := ended(step, Path.cwd()):
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            print("sparkrig: trouble steps", now, step["name"], "ended with", status, flush=True)
            return 1
    return 0


if main():
    sys.exit(1)
os.execv(START, [START, *sys.argv[1:]])  # noqa: S606 - it takes the place of this program
