"""GPUs: every form that nvidia-smi speaks in, and what it proves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from sparkrig.fabric.io import survey
from sparkrig.facts.gpu import Gpu as Fact
from sparkrig.host import gpu, nvidia_smi
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.host.nvidia_smi_text import parse_list, parse_query, parse_table
from tests.faults.record import Seen
from tests.tables import each_row
from tests.unit.shells import sh, tool

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "gpu"
Parse = Callable[[str], tuple[Gpu, ...]]

GB10_HEADER = (
    "name, pci.bus_id, driver_version, utilization.gpu [%], pstate, clocks.current.sm [MHz], "
    "clocks.max.sm [MHz], power.draw [W], temperature.gpu, memory.total [MiB], memory.used [MiB], "
    "clocks_event_reasons.active, compute_cap"
)
GB10_ROW = (
    "NVIDIA GB10, 0000000F:01:00.0, 580.159.03, 96 %, P0, 2405 MHz, 3003 MHz, "
    "58.31 W, 71, [N/A], [N/A], 0x0000000000000004, 12.1"
)
SLOWED = ("SW Thermal Slowdown",)
GB10 = Gpu(
    name="NVIDIA GB10",
    driver="580.159.03",
    utilization=96,
    pstate="P0",
    sm_mhz=2405,
    power_w=58.31,
    temperature_c=71,
    reasons=("SW Power Cap",),
)


def recorded(name: str) -> str:
    return (FIXTURES / name).read_text()


# --- csv


def test_recorded_csv() -> None:
    (found,) = nvidia_smi.parse_csv(recorded("nvidia-smi-csv.txt"))
    assert found == Gpu(
        name="NVIDIA H200",
        driver="580.159.04",
        utilization=0,
        pstate="P0",
        sm_mhz=1980,
        power_w=126.31,
        temperature_c=39,
        memory_total_mib=143771,
        reasons=("Idle",),
    )


def test_a_gb10_in_every_csv() -> None:
    def holds(text: str) -> None:
        assert nvidia_smi.parse_csv(text) == (GB10,)

    each_row(
        [
            f"{GB10_HEADER}\n{GB10_ROW}\n",
            f"{GB10_HEADER}\r\n{GB10_ROW}\r\n",
            f"{GB10_ROW}\n",
            GB10_ROW.replace(" %", "").replace(" MHz", "").replace(" W", ""),
            GB10_HEADER.replace(" [%]", "").replace(" [MHz]", "").replace(" [W]", "")
            + "\n"
            + GB10_ROW.replace(" MHz", ""),
            f"Warning: persistence mode is off, this can be slow\n\n{GB10_HEADER}\n{GB10_ROW}\n"
            "WARNING: infoROM is corrupted at gpu 0000000F:01:00.0, see the manual\n",
            f"{GB10_HEADER}\n{GB10_ROW.replace('[N/A]', 'Not Supported')}",
            f"{GB10_HEADER}\n{GB10_ROW.replace('[N/A]', '[Not Supported]')}",
            f"{GB10_HEADER}\n{GB10_ROW.replace('[N/A]', '[Unknown Error]')}",
            f"{GB10_HEADER.replace(', ', ',')}\n{GB10_ROW.replace(', ', ',')}",
        ],
        holds,
    )


def test_other_fields_in_another_order() -> None:
    header = "index, uuid, temperature.gpu, clocks_throttle_reasons.active, gpu_name, power.draw.instant [W]"
    text = f"{header}\n0, GPU-00000000-0000-0000-0000-000000000000, 61, 0x0000000000000048, NVIDIA GB10, 12.10 W\n"
    (found,) = nvidia_smi.parse_csv(text)
    assert found == Gpu(
        name="NVIDIA GB10", temperature_c=61, power_w=12.1, reasons=("HW Slowdown", "HW Thermal Slowdown")
    )
    assert nvidia_smi.parse_csv("61, P8", ["temperature.gpu", "pstate"]) == (Gpu(temperature_c=61, pstate="P8"),)
    assert nvidia_smi.parse_csv("44, 52", ["temperature.gpu", "temperature.gpu.tlimit"])[0].margin_c == 52
    assert nvidia_smi.parse_csv("NVIDIA GB10", ["name"]) == (Gpu(name="NVIDIA GB10"),)


def test_several_gpus_and_one_that_fell_off() -> None:
    text = "name, temperature.gpu, power.draw [W]\nA, 40, ERR!\nB, [GPU is lost], 55.00 W\n"
    assert nvidia_smi.parse_csv(text) == (Gpu(name="A", temperature_c=40), Gpu(name="B", power_w=55))


def test_csv_refuses() -> None:
    def holds(text: str, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            nvidia_smi.parse_csv(text)

    each_row(
        {
            "empty": ("", "no row"),
            "header only": (GB10_HEADER, "no row"),
            "truncated": (f"{GB10_HEADER}\nNVIDIA GB10, 0000000F:01:00.0, 580", "has 3 fields, 13 are expected"),
            "a word": (f"{GB10_HEADER}\n{GB10_ROW.replace('2405 MHz', 'fast')}", "SM clock is no number"),
            "no mask": (f"{GB10_HEADER}\n{GB10_ROW.replace('0x0000000000000004', 'cap')}", "no bit mask"),
        },
        holds,
    )


# --- -q, the table, -L


def test_recorded_query() -> None:
    (found,) = parse_query(recorded("nvidia-smi-q.txt"))
    assert found == Gpu(
        name="NVIDIA H200",
        driver="580.159.04",
        utilization=0,
        pstate="P0",
        sm_mhz=1980,
        power_w=126.32,
        temperature_c=39,
        memory_total_mib=143771,
        reasons=("Idle",),
        gsp="580.159.04",
        margin_c=48,
    )


GB10_QUERY = Gpu(
    name="NVIDIA GB10",
    driver="580.159.03",
    utilization=0,
    pstate="P8",
    sm_mhz=208,
    power_w=4.29,
    temperature_c=38,
    reasons=("Idle",),
    gsp="580.159.03",
)


def test_query_of_a_gb10() -> None:
    def holds(eol: str, memory: str, indent: str) -> None:
        text = recorded("gb10-stand-in-q.txt").replace(": N/A", f": {memory}")
        lines = [indent + line for line in text.splitlines()]
        assert parse_query(eol.join(lines)) == (GB10_QUERY,)

    each_row(product(("\n", "\r\n"), ("N/A", "Not Supported"), ("", "    ")), holds)


def test_query_of_an_older_driver_and_of_one_section() -> None:
    text = """\
Driver Version : 535.183.01
GPU 0000000F:01:00.0
    Clocks Throttle Reasons
        Idle : Not Active
        SW Power Cap : Active
        HW Slowdown : Active
            HW Thermal Slowdown : Active
    GPU Power Readings
        Power Draw : 18.20 W
    Utilization
        Gpu : 97 %
"""
    (found,) = parse_query(text)
    assert (found.driver, found.power_w, found.utilization) == ("535.183.01", 18.2, 97)
    assert found.reasons == ("SW Power Cap", "HW Slowdown", "HW Thermal Slowdown")
    assert parse_query("    GSP Firmware Version    : 580.159.03\n") == (Gpu(gsp="580.159.03"),)


def test_average_power_that_is_not_told() -> None:
    text = "GPU 0000000F:01:00.0\n    GPU Power Readings\n        Average Power Draw : N/A\n"
    (found,) = parse_query(text + "        Instantaneous Power Draw : 5.10 W\n")
    assert found.power_w == 5.1


def test_recorded_table_and_list() -> None:
    (table,) = parse_table(recorded("nvidia-smi.txt"))
    assert (table.name, table.driver) == ("NVIDIA H200", "580.159.04")
    assert (table.temperature_c, table.pstate, table.power_w, table.utilization) == (39, "P0", 126, 0)
    assert table.memory_total_mib == 143771
    assert parse_list(recorded("nvidia-smi-L.txt")) == (Gpu(name="NVIDIA H200"),)


TABLE = """\
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
|   0  NVIDIA GB10                    Off |   0000000F:01:00.0 Off |                  N/A |
{second}
|                                         |                        |                  N/A |
"""


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (
            "| N/A   41C    P0             11W /  N/A  | Not Supported          |      3%      Default |",
            (41, "P0", 11, 3),
        ),
        (
            "|ERR!   41C    P0             ERR! /  N/A |       N/A /  N/A      |     N/A      Default |\r",
            (41, "P0", None, None),
        ),
        ("| 30%   ERR!  P8     9W /  70W |      0MiB / 15109MiB |      0%      Default |", (None, "P8", 9, 0)),
    ],
    ids=["GB10", "ERR!, CRLF", "the narrow table of older drivers"],
)
def test_table(second: str, expected: tuple[float | None, str, float | None, float | None]) -> None:
    (found,) = parse_table(TABLE.format(second=second))
    assert (found.temperature_c, found.pstate, found.power_w, found.utilization) == expected
    assert (found.name, found.driver) == ("NVIDIA GB10", "580.95.05")


def test_no_uuid_is_kept() -> None:
    text = "GPU 0: NVIDIA GB10 (UUID: GPU-12345678-aaaa-bbbb-cccc-000000000000)\r\n"
    assert parse_list(text) == (Gpu(name="NVIDIA GB10"),)


def test_what_is_no_nvidia_smi_is_refused() -> None:
    def holds(parse: Parse, text: str) -> None:
        with pytest.raises(ValueError, match="tells of no GPU"):
            parse(text)

    each_row(product((parse_query, parse_table, parse_list), ("", "hello\n", "{}")), holds)


def test_a_table_that_breaks_off_is_refused() -> None:
    with pytest.raises(ValueError, match="in the middle"):
        parse_table("\n".join(TABLE.splitlines()[:2]))


# --- troubles

TROUBLES = {
    "no-gpu": "No devices were found",
    "driver-not-loaded": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.",
    "driver-mismatch": "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159",
    "driver-incomplete": "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that",
    "gpu-lost": "Unable to determine the device handle for GPU 0000000F:01:00.0: GPU is lost.  Reboot the system",
    "gpu-unreadable": "Failed to initialize NVML: Unknown Error",
}


def test_troubles_are_values_and_told_apart() -> None:
    def holds(parse: Parse, cause: str) -> None:
        text = TROUBLES[cause]
        (found,) = parse(f"\n{text}\n\n")
        assert found == Gpu(trouble=text.splitlines()[0])
        assert gpu.answers(found).cause == cause and not gpu.answers(found).evidence.endswith(".")

    each_row(product((nvidia_smi.parse_csv, parse_query, parse_table, parse_list), TROUBLES), holds)


@pytest.mark.fault(37)
def test_two_versions_of_the_driver_ask_for_a_reboot(seen: Seen) -> None:
    found = gpu.answers(Gpu(trouble=TROUBLES["driver-mismatch"].splitlines()[0]))
    assert found.cause == "driver-mismatch" and found.cure.startswith("reboot")
    seen(f"{found.cause}: {found.evidence}; try: {found.cure}")


@pytest.mark.fault(36)
def test_a_module_that_drives_no_gpu_is_a_fault_with_a_place_to_look(seen: Seen) -> None:
    """A proprietary nvidia.ko loads and leaves a Blackwell GPU alone; the flavour itself is not read."""
    found = gpu.answers(Gpu(trouble=TROUBLES["no-gpu"]))
    assert (found.level, found.cause) == ("fault", "no-gpu") and found.cure
    seen(f"{found.cause}: {found.evidence}; try: {found.cure}")


# --- the fact


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (f"printf '{GB10_HEADER}\\n{GB10_ROW}\\n'".replace("%,", "%%,").replace("[%]", "[%%]"), GB10),
        ("echo 'No devices were found'; exit 6", Gpu(trouble="No devices were found")),
        ("echo 'No devices were found'", Gpu(trouble="No devices were found")),
        (
            "echo 'WARNING: x' >&2; echo 'Failed to initialize NVML: Unknown Error'; exit 255",
            Gpu(trouble="Failed to initialize NVML: Unknown Error"),
        ),
        ("exit 3", Gpu(trouble="nvidia-smi ended with exit 3")),
        ("exit 124", Gpu(trouble="nvidia-smi did not answer in 20 s")),
    ],
    ids=["answers", "exit 6", "exit 0", "warning in front", "silent", "hangs"],
)
def test_script(tmp_path: Path, answer: str, expected: Gpu) -> None:
    serial = (
        "printf '    Serial Number : 1234567890\\n    GSP Firmware Version     : 580.159.03\\n"
        "        GPU T.Limit Temp    : 24 C\\n        GPU Slowdown T.Limit Temp    : -2 C\\n'"
    )
    tool(tmp_path / "bin", "nvidia-smi", f"case $1 in -q) {serial}; exit 0 ;; esac\n{answer}")
    done = sh(Fact.script, path=tmp_path / "bin")
    assert done.returncode == 0 and "1234567890" not in done.stdout
    want = expected if expected.trouble else replace(expected, gsp="580.159.03", margin_c=24)
    assert nvidia_smi.parse(done.stdout.splitlines()) == want


def test_a_gpu_that_hangs_leaves_time_to_read_the_rest_of_its_host() -> None:
    limits = [int(seconds) for seconds in re.findall(r"timeout -k 2 (\d+)", Fact.script)]
    assert len(limits) == 2 and sum(limits) < survey.LOOK_S


def test_script_without_nvidia_smi(tmp_path: Path) -> None:
    done = sh(Fact.script.replace("command -v nvidia-smi", "command -v sparkrig-no-such-program"))
    found = nvidia_smi.parse(done.stdout.splitlines())
    assert (gpu.answers(found).level, gpu.answers(found).cause) == ("unknown", "no-nvidia-smi")


# --- verdicts


def test_power_clamp() -> None:
    def holds(change: dict[str, float | str | None], expected: tuple[str, str]) -> None:
        found = gpu.power_clamp(replace(GB10, **change))  # type: ignore[arg-type]
        assert (found.level, found.cause) == expected

    each_row(
        [
            ({}, ("healthy", "")),
            ({"sm_mhz": 2200.0}, ("healthy", "")),
            ({"sm_mhz": 2199.0}, ("degraded", "low-clock")),
            ({"sm_mhz": 1400.0}, ("degraded", "low-clock")),
            ({"sm_mhz": 1399.0}, ("fault", "power-clamp")),
            ({"sm_mhz": 611.0, "utilization": 80.0}, ("fault", "power-clamp")),
            ({"sm_mhz": 611.0, "utilization": 79.0}, ("unknown", "inconclusive")),
            ({"sm_mhz": 208.0, "utilization": 0.0}, ("unknown", "inconclusive")),
            ({"utilization": None}, ("unknown", "inconclusive")),
            ({"sm_mhz": None}, ("unknown", "inconclusive")),
            ({"sm_mhz": None, "power_w": 14.0}, ("unknown", "power-low")),
            ({"sm_mhz": None, "power_w": 14.0, "utilization": 40.0}, ("unknown", "inconclusive")),
            ({"name": None, "sm_mhz": 611.0}, ("fault", "power-clamp")),
            ({"name": "NVIDIA H200", "sm_mhz": 1440.0, "utilization": 99.0}, ("unknown", "not-gb10")),
        ],
        holds,
    )


def test_a_cap_that_a_person_set_is_no_power_fault() -> None:
    """nvidia-smi -lgc 0,2100; under a locked clock no reason is active."""

    def holds(change: dict[str, object], expected: tuple[str, str], words: str) -> None:
        found = gpu.power_clamp(replace(GB10, **{"reasons": (), "power_w": 40.0, **change}))  # type: ignore[arg-type]
        assert (found.level, found.cause) == expected
        assert words in f"{found.evidence}; {found.cure}"

    cap, clamp, low = ("healthy", ""), ("fault", "power-clamp"), ("degraded", "low-clock")
    each_row(
        [
            ({"sm_mhz": 2100.0}, cap, "a cap near 2100 MHz"),
            ({"sm_mhz": 2093.0}, cap, "no power or thermal reason is active"),
            ({"sm_mhz": 1200.0}, cap, "-rgc lifts a cap"),
            (
                {"sm_mhz": 1733.0, "reasons": ("Applications Clocks Setting",)},
                cap,
                "applications clocks are set so",
            ),
            ({"sm_mhz": 2093.0, "reasons": None}, ("unknown", "clock-cap"), "clocks_event_reasons.active"),
            ({"sm_mhz": 2050.0}, low, "sudo nvidia-smi -rgc, which lifts a cap; else unplug"),
            ({"sm_mhz": 2100.0, "reasons": ("SW Power Cap",)}, low, "(active: SW Power Cap)"),
            ({"sm_mhz": 2100.0, "reasons": SLOWED}, low, "(active: SW Thermal Slowdown); free the air inlets"),
            ({"sm_mhz": 1100.0, "reasons": ("HW Slowdown", "HW Thermal Slowdown")}, low, "free the air inlets"),
            ({"sm_mhz": 800.0}, clamp, "unplug"),
            ({"sm_mhz": 611.0}, clamp, "unplug"),
            ({"sm_mhz": 850.0}, clamp, "unplug"),
            ({"sm_mhz": 1000.0, "power_w": 18.0}, clamp, "unplug"),
            ({"sm_mhz": 1300.0, "reasons": ("HW Power Brake Slowdown",)}, clamp, "unplug"),
        ],
        holds,
    )


def test_a_clamp_is_told_with_its_figures() -> None:
    found = gpu.power_clamp(replace(GB10, sm_mhz=611.0, power_w=12.4))
    assert found.evidence == (
        "the SM clock is 611 MHz at 96 % utilization and 12.4 W, 2200 MHz and more expected (active: SW Power Cap)"
    )


def test_the_best_look_at_a_loaded_gpu_counts() -> None:
    def holds(looks: list[tuple[float, float]], expected: tuple[str, str] | None) -> None:
        found = gpu.power_clamp_under_load(replace(GB10, utilization=busy, sm_mhz=clock) for busy, clock in looks)
        assert (found and (found.level, found.cause)) == expected

    each_row(
        [
            ([], None),
            ([(12.0, 208.0), (79.0, 611.0)], None),  # none of them is conclusive
            ([(0.0, 208.0), (96.0, 611.0), (96.0, 640.0)], ("fault", "power-clamp")),
            ([(96.0, 1500.0), (96.0, 611.0)], ("degraded", "low-clock")),
            ([(85.0, 208.0), (96.0, 2405.0), (85.0, 900.0)], ("healthy", "")),  # as a load comes and goes
        ],
        holds,
    )


@pytest.mark.parametrize(
    ("firmware", "driver", "expected"),
    [
        ("580.159.03", "580.159.03", ("healthy", "")),
        ("580.95.05", "580.159.03", ("degraded", "gsp-mismatch")),
        (None, "580.159.03", ("unknown", "gsp-unknown")),
        ("580.159.03", None, ("unknown", "gsp-unknown")),
    ],
)
def test_gsp(firmware: str | None, driver: str | None, expected: tuple[str, str]) -> None:
    found = gpu.gsp(Gpu(gsp=firmware, driver=driver))
    assert (found.level, found.cause) == expected


def test_temperature() -> None:
    """Recorded of a GB10 with driver 580.126.09: 38 C, and 57 C are left."""

    def holds(change: dict[str, object], level: str, words: str) -> None:
        found = gpu.temperature(replace(Gpu(name="NVIDIA GB10"), **change))  # type: ignore[arg-type]
        assert (found.level, found.cause) == (level, {"degraded": "gpu-hot"}.get(level, found.cause))
        assert words in found.evidence

    each_row(
        [
            ({"temperature_c": 38.0, "margin_c": 57.0}, "healthy", "57 C are left up to its limit (T.Limit)"),
            ({"temperature_c": 86.0, "margin_c": 9.0, "reasons": ("SW Power Cap",)}, "healthy", "T.Limit"),
            ({"temperature_c": 95.0, "margin_c": 0.0, "reasons": ()}, "degraded", "T.Limit"),
            ({"temperature_c": 97.0, "margin_c": -2.0}, "degraded", "2 C above its highest operating"),
            ({"temperature_c": 87.0, "margin_c": 8.0, "reasons": SLOWED}, "degraded", "SW Thermal Slowdown is a"),
            ({"reasons": (*SLOWED, "HW Thermal Slowdown")}, "degraded", "and HW Thermal Slowdown are active"),
            ({"temperature_c": 86.0, "reasons": ()}, "healthy", "no thermal slowdown is active"),
            ({"temperature_c": 76.0}, "healthy", "above 90 C; nvidia-smi shows neither T.Limit nor a sl"),
            ({"temperature_c": 90.0}, "healthy", "90 C"),
            ({"temperature_c": 91.0}, "degraded", "above 90 C; nvidia-smi shows neither"),
            ({"temperature_c": 91.0, "name": "NVIDIA H200"}, "unknown", "no measure for NVIDIA H200"),
            ({}, "unknown", "does not tell the temperature"),
        ],
        holds,
    )
