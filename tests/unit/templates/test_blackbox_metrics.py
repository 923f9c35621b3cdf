"""What the black box writes for Prometheus: from a made /proc and /sys, and from servers of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sparkrig.host.nvidia_smi import REASONS, THERMAL
from sparkrig.resources import watch
from tests.unit.blackbox_host import AER, COST, FOLDER, KILLED, METRICS, NVRM, ROW, STAT, A, Host, until

MEMORY = (
    "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 200 kB\nCached: 150 kB\nAnonPages: 250 kB\nSlab: 50 kB\n"
)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("SPARKRIG_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    made = Host(tmp_path, METRICS)
    made.program.blackbox.time = made.program.time
    made.has("proc/meminfo", MEMORY)
    (tmp_path / FOLDER).mkdir(parents=True)
    return made


def box(host: Host, *, guarded: bool = False) -> Any:
    program = host.program
    return program.blackbox.Box(program.Ring(str(host.ring)), A, program.blackbox.Guard() if guarded else None)


def written(host: Host) -> dict[tuple[str, str], float]:
    """By name and the value of the label; the text is read by Prometheus' own client."""
    text = (host.root / FOLDER / "sparkrig.prom").read_text()
    families = text_string_to_metric_families(text)
    samples = [sample for family in families for sample in family.samples]
    assert all(len(sample.labels) <= 1 for sample in samples)
    return {(sample.name, "".join(sample.labels.values())): sample.value for sample in samples}


def left(host: Host) -> list[str]:
    return [each.name for each in (host.root / FOLDER).iterdir()]


def test_every_reading_of_a_step_is_there_in_base_units(host: Host) -> None:
    host.smi(f"echo '{ROW}'; exec sleep 60")
    host.has("sys/class/infiniband/rocep1s0f0/ports/1/hw_counters/packet_seq_err", "4\n")
    for number, milli in ((0, "54300"), (1, "61000"), (2, "")):
        host.has(f"sys/class/thermal/thermal_zone{number}/temp", milli)
        host.has(f"sys/class/thermal/thermal_zone{number}/type", "acpitz\n")
    page = os.sysconf("SC_PAGE_SIZE")
    for pid, name, pages in ((7, "VLLM::Worker", 30), (8, "VLLM::Worker", 20), (9, 'a"\n\\}\xe9', 10)):
        host.has(f"proc/{pid}/stat", STAT.format(pid=pid, name=name, pages=pages))
    made = box(host)
    made.step()
    until(lambda: made.gpu.look())
    host.has("dev/kmsg", NVRM.format(n=1) * 3 + AER.format(n=9) + KILLED.format(n=10))
    made.step()
    made.step()
    found = written(host)
    made.gpu.end()
    assert {key: value for key, value in found.items() if "throttle" not in key[0]} == {
        ("sparkrig_gpu_utilization_ratio", ""): 0.96,
        ("sparkrig_gpu_clock_hertz", ""): 2405e6,
        ("sparkrig_gpu_power_watts", ""): 44.3,
        ("sparkrig_gpu_temperature_celsius", ""): 63,
        ("sparkrig_gpu_temperature_margin_celsius", ""): 33,
        ("sparkrig_memory_unheld_bytes", ""): (1000 - 100 - 150 - 250 - 50) * 1024,
        ("sparkrig_process_resident_bytes", "VLLM::Worker"): 50 * page,
        ("sparkrig_process_resident_bytes", "a_____"): 10 * page,
        ("sparkrig_kernel_log_lines_total", "nvrm"): 3,
        ("sparkrig_kernel_log_lines_total", "aer"): 1,
        ("sparkrig_kernel_log_lines_total", "killed"): 1,
        ("sparkrig_thermal_zone_celsius", "acpitz"): 61,
        ("sparkrig_rdma_errors_total", "rocep1s0f0"): 4,
        ("sparkrig_guard_acts_total", "stopped"): 0,
        ("sparkrig_guard_acts_total", "capped"): 0,
        ("sparkrig_guard_acts_total", "failed"): 0,
        ("sparkrig_blackbox_rows_total", ""): 3,
        ("sparkrig_blackbox_row_timestamp_seconds", ""): 1795600000 + host.now,
        ("sparkrig_blackbox_gpu_answers", ""): 1,
    }
    active = {reason: value for (name, reason), value in found.items() if "throttle" in name}
    assert active == {reason: reason == "SW Power Cap" for reason in host.program.REASONS.values()}


def test_its_names_of_reasons_are_those_of_the_product(host: Host) -> None:
    assert host.program.REASONS.items() <= REASONS.items() and set(host.program.REASONS.values()) >= THERMAL


def test_the_names_are_prometheus_own(host: Host) -> None:
    for name, kind, _, meaning in host.program.METRICS:
        assert (kind == "counter") == name.endswith("_total"), name
        assert meaning.endswith(".") and "\n" not in meaning


def test_a_host_that_shows_nothing_has_what_is_of_the_black_box_alone(host: Host) -> None:
    (host.root / "proc/meminfo").unlink()
    box(host).step()
    assert {name for name, _ in written(host)} == {
        "sparkrig_kernel_log_lines_total",
        "sparkrig_guard_acts_total",
        *(f"sparkrig_blackbox_{each}" for each in ("rows_total", "row_timestamp_seconds", "gpu_answers")),
    }


def test_what_the_guard_did_is_counted(host: Host) -> None:
    host.has("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 1 kB\n")
    host.has("sys/fs/cgroup/system.slice/sparkrig-serve.service/cgroup.procs", "7\n")
    host.has("bin/systemctl", "#!/bin/sh\n")
    (host.root / "bin/systemctl").chmod(0o755)
    made = box(host, guarded=True)
    host.steps(made, 3)
    found = written(host)
    assert [found["sparkrig_guard_acts_total", each] for each in ("stopped", "capped", "failed")] == [1, 0, 0]
    os.environ["PATH"] = "/nowhere"
    host.has("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n")
    host.steps(made, 1)
    host.has("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 1 kB\n")
    host.steps(made, 3)
    assert written(host)["sparkrig_guard_acts_total", "failed"] == 1


def test_a_process_with_any_name_is_one_clean_row_of_five(host: Host) -> None:
    for pid in range(1, 20):
        host.has(f"proc/{pid}/stat", STAT.format(pid=pid, name=f'{chr(34)}{pid}"}} 1', pages=pid))
    box(host).step()
    rows = [label for name, label in written(host) if "process" in name]
    assert len(rows) == 5 and all(set(label) <= set("_0123456789 ") for label in rows)


def test_two_names_that_are_the_same_once_they_are_clean_are_one_sample(host: Host) -> None:
    """Of one that comes twice node_exporter makes an error."""
    for number, (kind, milli) in enumerate((("cpu-\u00e4", 50000), ("cpu-\u00f6", 70000), ("cpu-\u00fc", 60000))):
        host.has(f"sys/class/thermal/thermal_zone{number}/temp", f"{milli}\n")
        host.has(f"sys/class/thermal/thermal_zone{number}/type", f"{kind}\n")
    box(host).step()
    assert written(host)["sparkrig_thermal_zone_celsius", "cpu-_"] == 70
    assert (host.root / FOLDER / "sparkrig.prom").read_text().count("sparkrig_thermal_zone_celsius{") == 1


# --- the file


def test_the_file_is_replaced_as_a_whole_after_the_row_and_any_user_may_read_it(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    replace, whole = os.replace, os.fdatasync

    def synced(file: int) -> None:
        seen.append("row")
        whole(file)

    def moved(source: str, target: str, **words: Any) -> None:
        seen.append((target, (host.root / FOLDER / source).read_text().endswith("\n")))
        replace(source, target, **words)

    monkeypatch.setattr(os, "fdatasync", synced)
    monkeypatch.setattr(os, "replace", moved)
    monkeypatch.setattr(os, "fsync", lambda _: seen.append("synced"))
    umask = os.umask(0o077)
    try:
        box(host).step()
    finally:
        os.umask(umask)
    assert seen == ["row", ("sparkrig.prom", True)]
    assert left(host) == ["sparkrig.prom"]
    assert (host.root / FOLDER / "sparkrig.prom").stat().st_mode & 0o777 == 0o644


def test_a_disk_that_takes_a_part_of_it_leaves_no_part(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """write(2) says how much it took; a disk that is nearly full fails at the next one alone."""
    made = box(host)
    made.step()
    write, room = os.write, [0]

    def nearly_full(file: int, content: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken = write(file, content[: room[0]])
        room[0] -= taken
        return taken

    before = (host.root / FOLDER / "sparkrig.prom").read_text()
    monkeypatch.setattr(host.program, "os", SimpleNamespace(**{**vars(os), "write": nearly_full}))
    for room[0] in (0, 1, 700):
        made.step()
        assert (host.root / FOLDER / "sparkrig.prom").read_text() == before
    room[0] = 1 << 20
    made.step()
    assert written(host)["sparkrig_blackbox_rows_total", ""] == 5


def test_a_row_that_the_disk_did_not_take_is_none_in_the_metrics(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = box(host)
    made.step()
    before = written(host)
    host.now += 10

    def failing(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(host.program.blackbox, "os", SimpleNamespace(**{**vars(os), "pwrite": failing}))
    made.step()
    for name in ("rows_total", "row_timestamp_seconds"):
        assert written(host)[f"sparkrig_blackbox_{name}", ""] == before[f"sparkrig_blackbox_{name}", ""]


def test_an_end_on_a_disk_that_is_read_only_is_an_end(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    made = box(host)
    made.step()

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(host.program, "os", SimpleNamespace(**{**vars(os), "unlink": read_only}))
    made.end()


def test_a_process_that_is_killed_leaves_no_readings(host: Host) -> None:
    """systemd removes them (ExecStopPost) however it ended."""
    units = [each.content for each in watch.plan({}, on=True, metrics=True).write if each.path == watch.UNIT_FILE]
    assert f"\nExecStopPost=-/usr/bin/rm -f /{FOLDER}/sparkrig.prom\n" in units[0]
    assert not any("ExecStopPost" in each.content for each in watch.plan({}, on=True).write)


def test_no_link_of_another_user_is_followed(host: Host) -> None:
    """The user of the exporter owns the folder above."""
    victim = host.root / "victim"
    victim.write_text("mine")
    (host.root / FOLDER / ".sparkrig.prom.new").symlink_to(victim)
    (host.root / FOLDER / "sparkrig.prom").symlink_to(victim)
    box(host).step()
    assert victim.read_text() == "mine" and not (host.root / FOLDER / "sparkrig.prom").is_symlink()
    (host.root / FOLDER / "sparkrig.prom").unlink()
    (host.root / FOLDER).rmdir()
    (host.root / "elsewhere").mkdir()
    (host.root / FOLDER).symlink_to(host.root / "elsewhere")
    box(host).step()
    assert not any((host.root / "elsewhere").iterdir())


def test_without_the_folder_or_on_a_full_disk_the_ring_goes_on(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = box(host)
    (host.root / FOLDER).rmdir()
    host.steps(made, 2)
    (host.root / FOLDER).mkdir()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        host.steps(made, 3)
    assert capsys.readouterr().out.count("No space left") == 1
    host.steps(made, 1)
    assert written(host)["sparkrig_blackbox_rows_total", ""] == 6 == len(host.rows())


def test_it_goes_with_the_black_box(host: Host) -> None:
    made = box(host)
    made.step()
    made.end()
    assert left(host) == []
    made.end()


# --- what it costs


def test_what_it_costs(host: Host) -> None:
    """The real process, with metrics: no more processes, and less than 30 MiB at any time."""
    host.smi(f"while :; do echo '{ROW}'; sleep 0.02; done")
    for pid in range(1, 500):
        host.has(f"proc/{pid}/stat", STAT.format(pid=pid, name="python3", pages=pid))
    program = COST.replace('"digest"', '"digest", "--metrics"').replace("box.asked", "box.blackbox.asked")
    words = [sys.executable, "-IBS", "-c", program, str(METRICS), "60"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    processes, kib = map(int, done.stdout.split()[-2:])
    assert processes == 1
    assert kib < 30 * 1024, kib
    assert len(host.rows()) == 62 and host.rows()[-1].kind == "stop"


def test_the_unit_has_it_write_and_systemd_ends_it(host: Host) -> None:
    file = next(each for each in watch.plan({}, on=True, metrics=True).write if each.path == watch.UNIT_FILE)
    words = next(row for row in file.content.splitlines() if row.startswith("ExecStart=")).split(" ")
    begun = subprocess.Popen([sys.executable, "-IBS", str(METRICS), *words[3:]], stdout=subprocess.DEVNULL)
    prom = host.root / FOLDER / "sparkrig.prom"
    until(prom.exists)
    begun.terminate()
    assert begun.wait(20) == 0 and not prom.exists()
