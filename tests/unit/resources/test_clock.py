"""A cap on the GPU's clock: what is to be done, what the doctor makes of it, and its unit with a stand-in."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.checks.condition import judged
from sparkrig.checks.resources import explained
from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.host.gpu import power_clamp
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.clock import CLOCK, LINK, MARK, SETTLE, UNIT, UNIT_FILE, Clock
from sparkrig.runs.managed_files import RELOADS
from sparkrig.settings import SettingsError
from tests.tables import each_row
from tests.unit.simulated import SimulatedHost
from tests.unit.states import SEEN, A


def host(cap: int | None = 2400, *, smi: bool = True, gpu: Gpu | None = None, **files: str) -> Subject:
    """A lone Spark with that setting. files: contents of the unit, the link and the mark."""
    fleet = Fleet.parse({A: {"allow_non_spark": True, "gpu_clock_max": cap}})
    names = {"unit": UNIT_FILE, "link": LINK, "mark": MARK}
    there = {names[name]: Found(text, "0644", "root:root") for name, text in files.items()}
    state = replace(SEEN[A], files=there, others={"clock": Clock(smi)}, gpu=gpu or SEEN[A].gpu)
    return subject(A, fleet, {A: state})


TEXT = CLOCK.changes(host()).write[0].content
SET: dict[str, Any] = {"unit": TEXT, "link": TEXT, "mark": "2400\n"}
# the host; what is written, removed, settled; what its check found
HOSTS: dict[str, tuple[Any, ...]] = {
    "fresh": (host(), [UNIT_FILE], [], True, f"{UNIT_FILE} is absent"),
    "as declared": (host(**SET), [], [], False, "a cap of 2400 MHz"),
    "stopped": (host(unit=TEXT, link=TEXT), [], [], True, "it is not set"),
    "disabled": (host(unit=TEXT, mark="2400\n"), [], [], True, "it is not set at the next start"),
    "an earlier cap": (host(**{**SET, "mark": "2100\n"}), [], [], True, "2100 MHz are set"),
    "no more": (host(None, **SET), [], [UNIT_FILE], True, f"{UNIT_FILE} is not declared"),
    "its removal broke off": (host(None, mark="2400\n"), [], [], True, "a cap of ours is set"),
    "never": (host(None, smi=False), [], [], False, None),
}


def test_what_changes_and_what_is_checked() -> None:
    def holds(one: Subject, write: list[str], remove: list[str], settled: bool, said: str | None) -> None:
        changes = CLOCK.changes(one)
        assert [file.path for file in changes.write] == write and [*changes.remove] == remove
        assert [*changes.reload] == ([UNIT_FILE] if settled else [])
        assert [each.found for each in CLOCK.checks(one)] == ([said] if said else [])

    each_row(HOSTS, holds)
    assert CLOCK.settings_of(host(**SET).found) == {"gpu_clock_max": 2400} and not CLOCK.settings_of(host().found)
    assert CLOCK.parse(["smi"]) == Clock(smi=True) and CLOCK.parse([]) == Clock()
    with pytest.raises(ValueError, match="no row is 'sm'"):
        CLOCK.parse(["sm"])


def test_what_is_refused() -> None:
    with pytest.raises(Refusal, match="gpu_clock_max needs nvidia-smi, which is not there"):
        CLOCK.changes(host(smi=False))
    for cap in (299, 3004):
        with pytest.raises(SettingsError, match="gpu_clock_max"):
            Fleet.parse({A: {"gpu_clock_max": cap}})


LOADED = Gpu(name="NVIDIA GB10", utilization=96, power_w=40, reasons=("SW Power Cap",))
# the cap, the clock under load; status and found
CLOCKS = {
    "at its cap": (1750, 1746, "ok", "gpu_clock_max is 1750, a cap and no fault"),
    "low, and not by its cap": (1750, 611, "drift", "2200 MHz and more expected"),
    "above its cap": (2400, 2600, "drift", "the SM clock is 2600 MHz, above the declared cap of 2400"),
    "healthy below it": (2400, 2300, "ok", "the SM clock is 2300 MHz"),
    "without a cap": (None, 1746, "drift", "2200 MHz and more expected"),
}


def test_the_doctor_knows_a_declared_cap() -> None:
    def holds(cap: int | None, mhz: float, status: str, said: str) -> None:
        gpu = replace(LOADED, sm_mhz=mhz)
        found = explained(host(cap, gpu=gpu), judged("gpu.clock", "2200 MHz", power_clamp(gpu)))
        assert found.status == status and said in found.found
        other = judged("gpu.gsp", "x", power_clamp(gpu))
        assert explained(host(cap, gpu=gpu), other) == other

    each_row(CLOCKS, holds)


class Spark(SimulatedHost):
    """A host below a folder, whose systemctl starts what the unit's file says, and a GB10 that takes a cap."""

    own = r"(?<![\w.}])/(?:etc|run|usr/bin)/"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.at(LINK).parent.mkdir(parents=True)
        self.at(MARK).parent.mkdir(parents=True)
        smi = f"""echo "$*" >>{root}/did
case $* in
*clocks.max.sm*) echo 3003 ;;
*clocks.sm*) cat {root}/mhz ;;
-lgc*) cat {root}/takes ;;
esac"""
        self.tool("nvidia-smi", smi)
        self.has("/usr/bin/nvidia-smi", (self.bin / "nvidia-smi").read_text())
        self.at("/usr/bin/nvidia-smi").chmod(0o755)
        self.has("/mhz", "208\n")
        self.has(
            "/takes", 'GPU clocks set to "(gpuClkMin 0, gpuClkMax 2400)" for GPU 0000000F:01:00.0\nAll done.\n'
        )

    def settle(self, cap: int | None = 2400) -> tuple[int, str]:
        """What the program makes of the unit with that cap."""
        self.at(UNIT_FILE).unlink(missing_ok=True)
        starts = ""
        if cap:
            self.has(UNIT_FILE, CLOCK.changes(host(cap)).write[0].content)
            rows = [row.partition("=")[2] for row in self.lines(UNIT_FILE) if row.startswith("ExecStart=")]
            starts = " && ".join(self.here(shlex.join(shlex.split(row))) for row in rows)
        link, unit, mark = self.at(LINK), self.at(UNIT_FILE), self.at(MARK)
        self.tool(
            "systemctl",
            f"""echo "$*" >>{self.root}/did
case $* in
*enable*) ln -sf {unit} {link} ;;
restart*) rm -f {mark}; {starts or ":"} ;;
stop*) ;; # a unit without its file ends, and nothing of what its file had is done (seen on a guest)
esac""",
        )
        done = self.sh(f"set -e\n{SETTLE}")
        return done.returncode, done.stderr

    @property
    def cap(self) -> list[str]:
        return self.lines(MARK)


def test_the_cap_is_set_now_and_at_each_start_and_lifted_again(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    code, said = spark.settle()
    assert code == 0, said
    assert spark.cap == ["2400"] and spark.at(LINK).is_symlink()
    assert {"-lgc 0,2400", f"restart {UNIT}"} <= {*spark.did}
    assert spark.settle(None)[0] == 0
    assert spark.cap == [] and not spark.at(LINK).is_symlink() and "-rgc" in spark.did
    assert RELOADS[UNIT_FILE] == SETTLE


def test_a_cap_that_is_not_confirmed_fails_the_step(tmp_path: Path) -> None:
    """nvidia-smi exits 0 all the same."""
    spark = Spark(tmp_path)
    spark.has("/takes", "Setting locked GPU clocks is not supported for GPU 0000000F:01:00.0.\nAll done.\n")
    code, said = spark.settle()
    assert code == 1 and "nvidia-smi does not take a cap of 2400 MHz" in said and spark.cap == []


def test_a_clock_above_the_cap_and_a_cap_above_the_most_fail_the_step(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    spark.has("/mhz", "2600\n")
    code, said = spark.settle()
    assert code == 1 and "the SM clock is 2600 MHz under a cap of 2400" in said
    spark = Spark(tmp_path / "other")
    spark.tool("nvidia-smi", "echo 2100")
    code, said = spark.settle()
    assert code == 1 and "nvidia-smi lists 2100 MHz as the most" in said and spark.cap == []
