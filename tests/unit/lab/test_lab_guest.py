"""The stand-ins: package names and versions, and programs that speak like the real ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.guest.build import catalogue
from lab.guest.build.catalogue import Package
from lab.image import GUEST
from tests.unit.factory import ROOT

PROGRAMS = GUEST / "build/programs"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The folder of the programs as a package of 580.173.02 would install them."""
    for source in PROGRAMS.iterdir():
        (tmp_path / source.name).write_text(source.read_text().replace("@VERSION@", "580.173.02"))
    return tmp_path


def smi(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(program / "nvidia-smi"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def versions(packages: list[Package], name: str) -> list[str]:
    return [package.version for package in packages if package.name == name]


def test_no_package_comes_twice_in_one_version() -> None:
    everything = [*catalogue.factory("6.12"), *catalogue.upgrades(), *catalogue.toolkit()]
    names = [(package.name, package.version) for package in everything]
    assert len(names) == len(set(names))


def test_the_factory_state_is_what_the_owner_of_a_spark_recorded() -> None:
    """Name by name and version by version: all of NVIDIA's and of the two newest kernels of "sparky" but the
    container toolkit, which a deploy installs from its own repository."""
    recorded = (ROOT / "tests/fixtures/sparks/sparky-packages.csv").read_text().splitlines()
    theirs = {
        (name, version)
        for name, _, version in (row.partition(",") for row in recorded)
        if re.match(r"(lib)?nvidia-|libxnvctrl|xserver-.*nvidia|linux-.*nvidia|dgx-(release|spark-ota)", name)
        and "-container" not in name
        and not re.search(r"-6\.(11\.0-1016|17\.0-10(14|21))(-|$)|linux-nvidia-6\.11", name)
    }
    ours = {(package.name, package.version) for package in catalogue.factory("6.12.1")}
    assert ours - theirs == {("linux-modules-nvidia-580-open-6.12.1", "6.12.1+1")}, "of the guest's own kernel"
    assert theirs - ours == set()


def test_the_factory_state_has_what_made_a_healthy_spark_look_wrong() -> None:
    """Firmware of four drivers, two kernels, and tools of 610 beside driver 580."""
    names = {package.name: package.version for package in catalogue.factory("6.12.1")}
    assert len([name for name in names if name.startswith("nvidia-firmware-580-")]) == 4
    assert len([name for name in names if re.match(r"linux-image-\d", name)]) == 2
    assert names["nvidia-modprobe"].startswith("610.") and names["nvidia-driver-580-open"].startswith("580.")
    # The name in the articles, which DGX OS does not install.
    assert "nvidia-driver-580" not in names


def test_590_comes_under_the_old_name_the_plain_name_and_its_own() -> None:
    offered = catalogue.upgrades()
    full = "590.48.01-0ubuntu0.24.04.1"
    assert versions(offered, "nvidia-driver-580-open") == ["580.178.04-0ubuntu0.24.04.1", full]
    assert versions(offered, "nvidia-driver-open") == versions(offered, "nvidia-driver-590-open") == [full]
    assert versions(offered, "nvidia-modprobe") == ["610.57.04-1ubuntu1"]


def test_a_control_file_has_the_fields_that_are_set() -> None:
    control = Package("a", "1-2", depends="b (= 1)").control
    assert "Package: a\nVersion: 1-2\nArchitecture: all\n" in control
    assert "Depends: b (= 1)\n" in control
    assert "Conflicts" not in control


def test_smi_answers_queries_with_and_without_header(program: Path) -> None:
    query = "--query-gpu=name,driver_version,memory.total,clocks.sm"
    assert smi(program, query, "--format=csv").stdout == (
        "name, driver_version, memory.total [MiB], clocks.current.sm [MHz]\n"
        "NVIDIA GB10, 580.173.02, [N/A], 208 MHz\n"
    )
    bare = smi(program, query, "--format=csv,noheader,nounits").stdout
    assert bare == "NVIDIA GB10, 580.173.02, [N/A], 208\n"


def test_smi_refuses_what_it_does_not_know(program: Path) -> None:
    assert smi(program, "--query-gpu=colour", "--format=csv").returncode == 2
    assert smi(program, "--reset").returncode == 1


def test_smi_lists_and_details(program: Path) -> None:
    assert smi(program, "-L").stdout.startswith("GPU 0: NVIDIA GB10 (UUID: GPU-")
    details = smi(program, "-q").stdout
    assert "Driver Version                                         : 580.173.02" in details
    assert "GSP Firmware Version                               : 580.173.02" in details
    lines = smi(program).stdout.splitlines()
    assert len({len(line) for line in lines[1:] if line}) == 1


def test_ctk_adds_the_runtime_and_writes_the_file_anew_each_time(program: Path, tmp_path: Path) -> None:
    config = tmp_path / "daemon.json"
    config.write_text('{"log-driver": "local"}')
    command = [sys.executable, str(program / "nvidia-ctk"), "runtime", "configure", "--runtime=docker"]
    for _ in range(2):
        config.touch()
        before = config.stat().st_mtime_ns
        subprocess.run([*command, f"--config={config}"], check=True, capture_output=True)
        assert config.stat().st_mtime_ns > before
    runtime = {"args": [], "path": "nvidia-container-runtime"}
    assert json.loads(config.read_text()) == {"log-driver": "local", "runtimes": {"nvidia": runtime}}


BLACKBOX = "--query-gpu=utilization.gpu,clocks.sm,power.draw,temperature.gpu,clocks_event_reasons.active"


def test_nvidia_smi_goes_on_printing_rows_with_what_was_changed_meanwhile(program: Path, tmp_path: Path) -> None:
    """As the black box asks it; a row is seen before the next one comes."""
    changed = tmp_path / "gpu"
    text = (program / "nvidia-smi").read_text().replace("/run/lab-gpu", str(changed))
    (program / "nvidia-smi").write_text(text)
    words = ["sh", str(program / "nvidia-smi"), BLACKBOX, "--format=csv,noheader,nounits", "-l", "0.1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout
        assert begun.stdout.readline() == "0, 208, 4.29, 38, 0x0000000000000001\n"
        changed.write_text("utilization.gpu=96\nclocks.sm=600\nclocks_event_reasons.active=0x0000000000000080\n")
        until = [begun.stdout.readline() for _ in range(3)]
        begun.kill()
    assert until[-1] == "96, 600, 4.29, 38, 0x0000000000000080\n"
    limit = smi(program, f"{BLACKBOX},temperature.gpu.tlimit", "--format=csv,noheader,nounits", "-l", "10")
    assert limit.returncode == 2 and "not a valid field" in limit.stdout
