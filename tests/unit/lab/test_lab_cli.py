"""The command line: cheap to load, one sentence on failure, data for programs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from lab.cli import lab


def test_importing_the_command_loads_nothing_heavy() -> None:
    program = "import sys, lab.cli; print([m for m in ('rich', 'asyncio', 'qemu', 'tarfile') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_status_of_a_lab_that_never_was() -> None:
    result = CliRunner().invoke(lab, ["status", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [(row["node"], row["state"], row["port"]) for row in rows] == [
        ("spark-a", "absent", 2201),
        ("spark-b", "absent", 2202),
        ("spark-c", "absent", 2203),
        ("spark-d", "absent", 2204),
        ("spark-s", "absent", 2205),
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["reset"], "spark-a has no snapshot (a lab that was up once); try: sparkrig lab up"),
        (["ssh", "spark-a", "true"], "spark-a does not run (it up); try: sparkrig lab up"),
        (["ssh", "spark-z"], "the lab has no node 'spark-z'"),
        (["power", "spark-b", "cut"], "spark-b does not run"),
        (["cable", "spark-a", "p0", "unplug"], "spark-a does not run"),
        (["up", "--nodes", "4", "--topology", "ring"], "the lab has no ring of 4: opposite ones of four"),
        (["up", "--nodes", "3"], "one cable does not join 3 Sparks"),
        (["rewire", "sideways"], "'sideways' names no cable"),
        (["port", "spark-a", "--mtu", "1500"], "the lab has no switch"),
        (["power", "switch", "cut"], "the lab has no switch"),
        (["ssh", "switch"], "the switch is no Spark"),
    ],
)
def test_a_failure_is_one_sentence_and_exit_code_1(words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(lab, words)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {sentence}")
    assert len(result.stderr.splitlines()) == 1
