"""What is installed on demand is asked for in one sentence, before anything is done; the wheel is whole."""

from __future__ import annotations

import re
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparkrig.cli import extras
from sparkrig.cli.main import sparkrig
from tests import wheels
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]
PAIR = str(ROOT / "inventories" / "pair.py")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# what is not installed, what is typed, and what is said
ASKED = {
    "zeroconf": ("zeroconf", ["onboard"], "sparkrig onboard needs zeroconf"),
    "the editor of inventories": ("libcst", ["onboard", "nvidia@spark-a"], "sparkrig onboard needs libcst"),
    "the protocol of clients": ("mcp", ["mcp", PAIR], "sparkrig mcp needs mcp"),
    "JUnit's format": (
        "junitparser",
        ["drift", PAIR, "--junit", "x.xml"],
        "a report for CI, or of metrics, needs junit",
    ),
    "the format of metrics": (
        "prometheus_client",
        ["drift", PAIR, "--prom", "x.prom"],
        "a report for CI, or of metrics, needs prometheus_client",
    ),
    "apprise": ("apprise", ["schedule", PAIR, "--now", "--notify", "x"], "a notice needs apprise"),
    "QEMU's monitor": ("qemu", ["lab", "up"], "sparkrig lab needs qemu"),
    "the lab": ("lab", ["lab", "up"], "the virtual Sparks are built from sparkrig's repository"),
}


def test_a_verb_asks_for_what_it_needs_before_it_does_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(module: str, words: list[str], said: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(extras, "find_spec", lambda name: None if name == module else find_spec(name))
            done = CliRunner().invoke(sparkrig, words)
        assert done.exit_code == 1 and done.output.startswith(f"Error: {said}"), done.output
        assert "nothing was done. Try: " in done.output and "Traceback" not in done.output

    each_row(ASKED, holds)


def test_each_extra_that_is_asked_for_is_one_of_the_package() -> None:
    rows = PROJECT["optional-dependencies"]
    declared = {name: {re.split(r"[>=]", row)[0].replace("-", "_") for row in rows[name]} for name in rows}
    assert {name: {*extra.modules} for name, extra in extras._EXTRAS.items()} == {
        **declared,
        "lab": {"qemu"},  # of qemu.qmp
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheels.wheel(tmp_path_factory.mktemp("wheel")))


def test_the_wheel_puts_one_name_into_site_packages(wheel: zipfile.ZipFile) -> None:
    about = f"sparkrig-{PROJECT['version']}.dist-info"
    assert {name.split("/")[0] for name in wheel.namelist()} == {"sparkrig", about}


def test_the_wheel_has_every_file_of_the_product(wheel: zipfile.ZipFile) -> None:
    rooms = ("sparkrig", "facts", "operations", "deploys", "templates", "models")
    here = {
        str(Path("" if room == "sparkrig" else "sparkrig") / file.relative_to(ROOT))
        for room in rooms
        for file in (ROOT / room).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    sure = {
        "templates/guard.py",
        "models/sources.yaml",
        "models/vllm/flags.yaml",
        "models/lint/kernels.yaml",
        "deploys/cluster.py",
    }
    assert {f"sparkrig/{file}" for file in sure} <= here
    assert here - {*wheel.namelist()} == set()
