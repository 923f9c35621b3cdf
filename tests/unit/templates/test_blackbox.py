"""The black box on this machine: its own steps on a made /proc and /sys, its ring on a real disk.

Its clock moves by steps alone; nvidia-smi is a stand-in, whose rows are those of an H100 with driver 580.159.04
(`-l` prints each row at once, also into a pipe; a field that it does not know ends it: seen 2026-11-26).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparkrig.host import health
from sparkrig.resources import watch
from sparkrig.watch.blackbox_rows import parse
from tests.faults.record import Seen
from tests.unit.blackbox_host import (
    AER,
    COST,
    EURO,
    KILLED,
    NVRM,
    OF_PROCESS,
    PROGRAM,
    ROW,
    STAT,
    A,
    B,
    Host,
    loaded,
    names,
    until,
)
from tests.unit.shells import tool


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("SPARKRIG_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return Host(tmp_path)


def test_a_row_has_what_the_host_shows_and_no_argument_of_a_process(host: Host) -> None:
    host.has("proc/pressure/memory", "some avg10=12.50 avg60=1.00 total=1\nfull avg10=3.25 avg60=1.00 total=1\n")
    for number, kind, milli in ((0, "acpitz", "54300"), (1, "acpitz", "61000"), (2, "nvme", "-"), (3, "iwl", "")):
        host.has(f"sys/class/thermal/thermal_zone{number}/temp", milli)
        host.has(f"sys/class/thermal/thermal_zone{number}/type", f"{kind}\n")
    host.has("sys/class/net/enp1s0f0np0/carrier_down_count", "3\n")
    host.has("sys/class/net/enp1s0f0np0/device/vendor", "")
    host.has("sys/class/net/lo/carrier_down_count", "0\n")
    for name, count in (("packet_seq_err", 4), ("out_of_sequence", 5), ("np_cnp_sent", 900)):
        host.has(f"sys/class/infiniband/rocep1s0f0/ports/1/hw_counters/{name}", f"{count}\n")
    for pid, name, pages in ((7, "VLLM::Worker (0)", 3000), (8, "sshd", 20), (9, "a) b", 500)):
        host.has(f"proc/{pid}/stat", STAT.format(pid=pid, name=name, pages=pages))
        host.has(f"proc/{pid}/cmdline", "--api-key\0SECRET")
    before = NVRM.format(n=0)  # of before the start, which is no part of the first step
    host.has("dev/kmsg", before)
    box = host.box()
    host.has("dev/kmsg", before + "".join(NVRM.format(n=n) for n in range(5)) + AER.format(n=9) + "6,1,1,-;x\n")
    box.step()
    found, page = host.found(), os.sysconf("SC_PAGE_SIZE") // 1024
    assert found["memory"] == {"total": 127535084, "free": 9, "available": 419430, "anon": 5}
    assert found["pressure"] == {"memory_some": 12.5, "memory_full": 3.25}
    assert found["zones"] == {"acpitz": 61.0}
    assert found["down"] == {"enp1s0f0np0": 3} and found["rdma"] == {"rocep1s0f0": 9}
    assert found["top"] == [["VLLM::Worker (0)", 7, 3000 * page], ["a) b", 9, 500 * page], ["sshd", 8, 20 * page]]
    assert [found["log"][kind][0] for kind in ("nvrm", "aer")] == [5, 1]
    assert len(found["log"]["nvrm"]) == 4 and found["log"]["nvrm"][1].startswith("NVRM: nvCheckOk")
    assert b"SECRET" not in host.ring.read_bytes()


def test_an_empty_host_has_rows_too(host: Host) -> None:
    (host.root / "proc/meminfo").unlink()
    host.steps(host.box(), 2)
    assert [row.kind for row in host.rows()] == ["step", "step"] and [*host.found()] == ["up"]


def test_the_ring_has_its_size_from_the_start_and_keeps_the_newest_day(host: Host) -> None:
    box = host.box()
    size = host.ring.stat().st_size
    host.steps(box, 300)
    assert size == host.ring.stat().st_size == 256 * 4096
    assert host.ring.stat().st_blocks * 512 >= size  # and the disk's room with it
    assert [row.number for row in host.rows()] == list(range(45, 301))
    whole = loaded()
    assert whole.SLOTS * whole.STEP_S == 24 * 3600 and whole.SLOTS * whole.SLOT_B <= 50_000_000
    assert host.ring.stat().st_mode & 0o777 == 0o600


def test_a_row_never_outgrows_its_slot(host: Host) -> None:
    for pid in range(100, 110):
        host.has(f"proc/{pid}/stat", STAT.format(pid=pid, name=EURO * 15, pages=3))
    for number in range(200):
        host.has(f"sys/class/net/{EURO * 20}{number}/carrier_down_count", "3\n")
        host.has(f"sys/class/net/{EURO * 20}{number}/device/vendor", "")
    box = host.box()
    host.has("dev/kmsg", "".join(f"4,{n},1,-;NVRM: AER {EURO * 4000}\n" for n in range(50)))
    host.steps(box, 2)
    assert [len(row.text) < 4096 for row in host.rows()] == [True, True]
    assert host.found()["memory"]["available"] == 419430


def test_torn_rows_are_skipped_and_the_next_number_follows_the_newest_whole_one(host: Host) -> None:
    host.steps(host.box(), 5)
    text = bytearray(host.ring.read_bytes())
    text[5 * 4096 + 30] ^= 1  # row 5, the last one
    text[3 * 4096 + 100 : 4 * 4096] = bytes(4096 - 100)  # the end of row 3 never came
    text[4 * 4096 : 4 * 4096 + 6] = b"\xff\xfe\xff\xfe\xff\xfe"
    host.ring.write_bytes(text)
    assert [row.number for row in host.rows()] == [1, 2]
    assert host.program.Ring(str(host.ring)).next == 3


def test_each_row_is_synced_before_the_step_ends(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append(host.ring.read_bytes()[4096:8192].rstrip()))
    host.box().step()
    assert len(synced) == 1 and b" step aaaaaaaa " in synced[0]


def test_a_boot_that_ended_without_being_asked_leaves_its_last_rows(host: Host) -> None:
    host.program.KEPT = 20
    host.steps(host.box(A), 30)
    box = host.box(B)
    assert [int(row.split(" ")[0]) for row in host.kept()[:-1]] == list(range(11, 31))
    assert host.kept()[-1] == f"booted {1795600000 + host.now - 12.5:.0f} {B}"
    host.steps(box, 40)
    assert len(host.kept()) == 21  # the ring goes on, and it stays
    assert host.reset.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("clean", [True, False])
def test_an_end_that_was_asked_for_leaves_nothing(host: Host, clean: bool) -> None:
    box = host.box(A)
    host.steps(box, 3)
    if clean:  # a shutdown, or by hand
        box.end()
        assert [row.kind for row in host.rows()] == ["step"] * 3 + ["stop"]
    host.steps(host.box(B if clean else A), 2)  # a start in the same boot is no reset either
    assert not host.reset.exists()


def test_a_full_disk_costs_what_is_kept_and_not_the_ring(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host.steps(host.box(A), 3)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        box = host.box(B)
        host.steps(box, 40)
        assert not host.reset.exists() and not list(host.reset.parent.glob("*.new"))
    assert capsys.readouterr().out.count("No space left") == 1 and [row.boot for row in host.rows()][-1] == B
    host.steps(box, host.program.KEEP_STEPS)  # the disk has room again
    assert [row.split(" ")[2] for row in host.kept()[:-1]] == [A] * 3
    assert host.kept()[-1] == f"booted {1795600000 + 1017.5:.0f} {B}"


def test_one_nvidia_smi_prints_row_after_row(host: Host) -> None:
    host.smi(f"while :; do echo '{ROW}'; sleep 0.02; done")
    box = host.box()
    host.steps(box, 1)
    until(lambda: box.gpu.look())
    host.steps(box, 2)
    expected = {"used": 96.0, "mhz": 2405.0, "watts": 44.3, "celsius": 63.0, "margin": 33.0}
    assert host.found()["gpu"] == {**expected, "reasons": "0x0000000000000004"}
    assert len(host.asked) == 1 and host.asked[0].endswith("--format=csv,noheader,nounits -l 10")
    box.end()
    assert os.waitstatus_to_exitcode(os.waitpid(box.gpu.pid, 0)[1]) == -signal.SIGKILL


def test_what_the_gpu_does_not_report_is_left_out(host: Host) -> None:
    host.smi("echo '[N/A], [N/A], 4.29, nan, [N/A], [N/A]'; exec sleep 60")
    box = host.box()
    box.step()
    until(lambda: box.gpu.look())
    assert box.gpu.look() == {"watts": 4.29}
    box.end()


def test_a_driver_that_knows_no_limit_is_asked_without_it(host: Host) -> None:
    host.smi(
        "case $* in *tlimit*) echo 'Field \"temperature.gpu.tlimit\" is not a valid field to query.'; exit 2 ;; "
        "esac; "
        f"echo '{ROW[:-4]}'; exec sleep 60"
    )
    box = host.box()
    box.step()
    until(lambda: (box.gpu.look(), not box.gpu.pid)[1])
    host.now += host.program.GPU_AGAIN_S
    box.step()
    until(lambda: box.gpu.look())
    assert box.gpu.look()["reasons"] == "0x0000000000000004" and len(host.asked) == 2
    box.end()


def test_a_driver_that_is_loaded_later_is_asked_for_its_limit_all_the_same(host: Host) -> None:
    """It prints no row before that, whatever it is asked for: texts of driver 580.159.04."""
    host.smi(
        f"if [ -e {host.root}/loaded ]; then echo '{ROW}'; exec sleep 60; fi; "
        "echo 'Failed to initialize NVML: GPU access blocked by the operating system'; exit 17"
    )
    box = host.box()
    box.step()
    until(lambda: (box.gpu.look(), not box.gpu.pid)[1])
    host.has("loaded", "")
    host.now += host.program.GPU_AGAIN_S
    box.step()
    until(lambda: box.gpu.look())
    assert box.gpu.look()["margin"] == 33.0 and len(host.asked) == 2
    box.end()


def test_one_that_ends_or_is_not_there_is_started_once_a_minute_at_most(host: Host) -> None:
    host.smi("exit 1")
    box = host.box()
    for _ in range(60):
        box.step()
        until(lambda: (box.gpu.hear(host.now), not box.gpu.pid)[1])
        host.now += 10
    assert len(host.asked) == 10  # of ten minutes
    (host.root / "bin/nvidia-smi").unlink()
    os.environ["PATH"] = f"{host.root}/bin"
    host.steps(box, 20)
    assert not box.gpu.pid


def test_one_that_hangs_is_killed_and_an_old_row_counts_no_more(host: Host) -> None:
    host.smi(f"echo '{ROW}'; exec sleep 600")
    box = host.box()
    box.step()
    until(lambda: box.gpu.look())
    first = box.gpu.pid
    host.now += 31
    assert box.gpu.look() == {}
    host.now += 100
    box.step()  # killed
    until(lambda: (box.gpu.hear(host.now), not box.gpu.pid)[1])
    box.step()
    assert box.gpu.pid not in (0, first)
    until(lambda: len(host.asked) == 2)
    box.end()


# --- a clock that is set


@pytest.mark.parametrize("years", [-50, 3])
def test_a_clock_that_is_set_moves_no_row_of_a_boot(host: Host, years: float) -> None:
    """A Spark begins in another year where the battery of its clock is empty, until NTP sets it."""
    right = host.wall
    host.wall += years * 365 * 86400
    box = host.box(A)
    host.steps(box, 60)
    host.wall = right
    host.steps(box, 60)
    end = right + host.now - 10
    host.now += 30
    host.box(B)
    now = [f"now {right + host.now + 50:.0f} +0000", f"up 62.5 {B}"]
    reset = parse([*now, *(f"row {row}" for row in host.kept())]).reset
    assert reset and [step.at for step in reset.steps] == [round(end) - 10 * left for left in range(119, -1, -1)]
    assert not [sign for sign in reset.signs if sign.id == "silent"]


def test_a_reset_and_an_act_are_news_although_the_clock_was_set_afterwards(host: Host) -> None:
    """The black box starts before NTP sets the clock of a host whose battery is empty."""
    host.steps(host.box(A), 3)
    right, host.wall = host.wall, 100.0
    host.now += 20
    guarded = Guarded(host)
    host.box(B)
    guarded.box = host.program.Box(host.program.Ring(str(host.ring)), B, host.program.Guard(B))
    guarded.steps(3, percent=1)
    acts = (host.root / "var/lib/sparkrig/blackbox/guard").read_text().splitlines()
    clock = [f"now {right + host.now:.0f} +0000", f"up {host.now - host.began:.2f} {B}"]
    found = parse([*clock, *(f"row {row}" for row in host.kept()), *(f"act {row}" for row in acts)])
    assert found.recent and found.recent.booted == pytest.approx(right + host.began, abs=1)
    assert found.recent_acts and found.recent_acts[0].at == pytest.approx(right + host.now - 10, abs=1)
    later = parse([f"now {right + host.now:.0f} +0000", "up 9.50 cccccccc", *(f"act {row}" for row in acts)])
    assert later.acts[0].at < 2000, "of another boot nothing but its clock is known"


def test_an_earlier_boot_that_would_come_later_has_no_place(host: Host) -> None:
    host.steps(host.box(A), 5)
    host.wall -= 365 * 86400
    host.steps(host.box(B), 5)
    host.box("cccccccc")
    reset = parse(["now 1795700000 +0000", *(f"row {row}" for row in host.kept())]).reset
    assert reset and [step.boot for step in reset.steps] == [B] * 5


def test_the_guard_goes_by_time_where_the_disk_delays_its_steps(host: Host) -> None:
    guarded = Guarded(host)
    guarded.steps(1, percent=1)
    host.now += 50
    guarded.steps(1, percent=1)
    assert guarded.did() == [STOP]


# --- what no host should show, and some day one does


GARBAGE = (
    "",
    "\n",
    "garbage\n",
    "-5\n",
    "9" * 400,
    "\0\0\0",
    "MemTotal:\nMemAvailable: kB\n",
    "some avg10=\nfull",
)


def test_garbage_of_the_kernel_costs_its_figure_and_no_row(host: Host) -> None:
    """A program that ended here would be started anew each ten seconds, and its guard would never act."""
    host.has("proc/8/stat", STAT.format(pid=8, name="sshd", pages=20))
    host.has("sys/class/thermal/thermal_zone0/type", "acpitz\n")
    host.has("sys/class/net/eth0/device/vendor", "")
    files = [
        *("proc/meminfo", "proc/pressure/memory", "proc/uptime", "proc/7/stat", "dev/kmsg"),
        *("sys/class/thermal/thermal_zone0/temp", "sys/class/net/eth0/carrier_down_count"),
        "sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err",
    ]
    box = host.box()
    stat = STAT.format(pid=7, name="x", pages="pages")
    for text in (*GARBAGE, stat, stat.replace("pages", "-1"), "7 (x"):
        for path in files:
            host.has(path, text)
            (host.root / path).write_bytes(text.encode() + b"\xff\xfe")
        host.steps(box, 1)
        assert [name for name, *_ in host.found()["top"] if name == "sshd"], text
    host.boot(B)
    host.box(B)  # an uptime that is none is no reason not to begin
    assert host.kept()[-1].startswith("booted ")


def test_a_name_that_is_no_text_costs_no_row(host: Host) -> None:
    """What reads a row refuses half of a surrogate pair, which is what such a byte would be in JSON."""
    folder = host.root / "sys/class/net" / os.fsdecode(b"\xff\xfe")
    (folder / "device").mkdir(parents=True)
    (folder / "carrier_down_count").write_text("3\n")
    host.steps(host.box(A), 3)
    host.box(B)
    found = parse(["now 1795700000 +0000", *(f"row {row}" for row in host.kept())])
    assert found.reset and len(found.reset.steps) == 3 and [*found.reset.steps[0].down.values()] == [3]


def test_devices_are_not_crowded_out_by_those_of_containers(host: Host) -> None:
    for number in range(40):
        host.has(f"sys/class/net/br-{number:012x}/carrier_down_count", "1\n")
    host.has("sys/class/net/enp1s0f0np0/carrier_down_count", "3\n")
    host.has("sys/class/net/enp1s0f0np0/device/vendor", "")
    host.box().step()
    assert host.found()["down"] == {"enp1s0f0np0": 3}


@pytest.mark.fault(50)
def test_no_line_is_one_of_the_kernels_by_a_word_that_a_process_put_into_it(
    host: Host, monkeypatch: pytest.MonkeyPatch, seen: Seen
) -> None:
    """Any program may be called NVRM, and crash; and root may write into the log, but not as the kernel."""
    box = host.box()
    rows = [
        f"{level},1,1,-;{text.format(name=name)}\n"
        for level in (1, 4, 6)
        for text in OF_PROCESS
        for name in names()
    ]
    rows += [f"{12 + 8 * n}{row.format(n=n)[1:]}" for row in (NVRM, AER, KILLED) for n in range(9)]
    for row in (NVRM, AER, KILLED):  # what a driver adds to its line is none
        rows.append(f"6,1,1,-;x\n {row.format(n=1).partition(';')[2]} SUBSYSTEM={row.format(n=1)}")
    assert len(rows) > 10_000
    host.program.RECORDS, given = len(rows) + 1, iter(rows)
    with monkeypatch.context() as patch:
        patch.setattr(host.program.os, "read", lambda *_: next(given, "").encode())
        assert box.log.look() == {}
    seen(f"{len(rows):,} forged lines of the kernel's log, by processes' names and words: none was taken for one")


def test_a_flood_of_the_log_costs_its_texts_and_not_the_figures(host: Host) -> None:
    host.has("proc/8/stat", STAT.format(pid=8, name="sshd", pages=20))
    host.has("sys/class/thermal/thermal_zone0/type", "acpitz\n")
    host.has("sys/class/thermal/thermal_zone0/temp", "61000\n")
    box = host.box()
    long = [row.replace("\n", f" {EURO * 300}\n", 1) for row in (NVRM, AER, KILLED)]
    host.has("dev/kmsg", "".join(row.format(n=n) for row in long for n in range(3)))
    box.step()
    found = host.found()
    assert {kind: row[0] for kind, row in found["log"].items()} == {"nvrm": 3, "aer": 3, "killed": 3}
    assert found["zones"] == {"acpitz": 61.0} and found["top"][0][0] == "sshd"


def test_a_row_that_fits_nowhere_ends_at_its_slot(host: Host) -> None:
    ring = host.program.Ring(str(host.ring))
    ring.add("step", A, {"guard": ["x" * 9000], "memory": {"available": 7}})
    ring.add("step", A, {"guard": ["x" * 900]})
    assert [row.number for row in host.rows()] == [1, 2]
    assert json.loads(host.rows()[0].text.split(" ", 4)[4]) == {"memory": {"available": 7}}


def test_an_nvidia_smi_that_prints_without_end_costs_no_step_and_no_memory(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.smi(f"exec yes '{ROW}'")
    box = host.box()
    box.step()
    until(lambda: box.gpu.look())
    reads = 0

    def read(file: int, most: int) -> bytes:
        nonlocal reads
        reads += 1
        assert reads < 1000, "it is read without end"
        return f"{ROW}\n".encode() * (most // 50)

    monkeypatch.setattr(host.program, "os", SimpleNamespace(**{**vars(os), "read": read}))
    box.gpu.hear(host.now)
    assert box.gpu.row["mhz"] == 2405.0 and len(box.gpu.rest) <= 8192
    box.end()
    os.waitpid(box.gpu.pid, 0)


def test_what_many_processes_cost(host: Host) -> None:
    """Their names and sizes are not all in memory at once: 15,000 cost less than a MiB, all of it less than 30."""

    def most() -> int:
        words = [sys.executable, "-IBS", "-c", COST, str(PROGRAM), "2"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100)
        return int(done.stdout.split()[-1])

    host.has("folder/stat", STAT.format(pid=7, name="python3", pages=300))
    few = most()
    for pid in range(1, 15_001):
        (host.root / f"proc/{pid}").symlink_to(host.root / "folder")
    assert most() < min(few + 1024, 30 * 1024)


# --- the guard


class Guarded:
    """A host whose guard looks at what a step shows; it acts on stand-ins."""

    def __init__(self, host: Host) -> None:
        self.host = host
        for name in ("systemctl", "nvidia-smi"):
            tool(
                host.root / "bin", name, f'case $* in *--query*) ;; *) echo "{name} $*" >>{host.root}/did ;; esac'
            )
        host.has("sys/fs/cgroup/system.slice/sparkrig-serve-a.service/cgroup.procs", "7\n")
        ring = host.program.Ring(str(host.ring))
        self.box = host.program.Box(ring, A, host.program.Guard(A))

    def steps(self, count: int, *, percent: float = 50, full: float = 0, celsius: float = 60) -> None:
        host = self.host
        host.has("proc/meminfo", f"MemTotal: 1000000 kB\nMemAvailable: {percent * 10000:.0f} kB\n")
        host.has("proc/pressure/memory", f"some avg10=99 avg60=1\nfull avg10={full} avg60=1.00 total=1\n")
        host.has("sys/class/thermal/thermal_zone0/temp", f"{celsius * 1000:.0f}")
        host.has("sys/class/thermal/thermal_zone0/type", "acpitz\n")
        host.has("sys/class/thermal/thermal_zone1/temp", "99000")
        host.has("sys/class/thermal/thermal_zone1/type", "nvme\n")
        host.steps(self.box, count)

    def did(self) -> list[str]:
        until(lambda: all(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT) for pid in self.box.guard.started))
        file = self.host.root / "did"
        found = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return found


STOP, CAP = "systemctl stop --no-block sparkrig-serve*.service", "nvidia-smi -lgc 0,2000"


def test_the_guard_stops_the_server_once_where_the_memory_ends(host: Host) -> None:
    guarded = Guarded(host)
    guarded.steps(2, percent=2.9)
    guarded.steps(1, percent=3.1)
    guarded.steps(2, percent=2.9)
    assert guarded.did() == []  # not in a row
    guarded.steps(1, percent=2.9)
    assert guarded.did() == [STOP]
    assert host.found()["guard"] == [
        "stopped the server: 2.9 % of the memory was available, and all processes waited for 0 % of ten seconds"
    ]
    acts = host.root / "var/lib/sparkrig/blackbox/guard"
    at = f"{1795600000 + host.now - 10:.0f} @{host.now - 10 - host.began}/{A}"
    assert acts.read_text().startswith(f"{at} stopped the server: 2.9 %")
    guarded.steps(30, percent=0.5)
    guarded.steps(1, percent=4.9)
    guarded.steps(5, percent=0.5)
    assert guarded.did() == []  # once, until all was well
    guarded.steps(1, percent=5)
    guarded.steps(3, percent=0.5)
    assert guarded.did() == [STOP] and len(acts.read_text().splitlines()) == 2


def test_the_guard_waits_for_more_where_all_processes_wait(host: Host) -> None:
    guarded = Guarded(host)
    guarded.steps(10, percent=4.9, full=59)
    guarded.steps(10, percent=5, full=99)
    assert guarded.did() == []
    guarded.steps(3, percent=4.9, full=60)
    assert guarded.did() == [STOP]


def test_the_guard_caps_the_clock_where_it_stays_hot(host: Host) -> None:
    guarded = Guarded(host)
    guarded.steps(23, celsius=88)
    guarded.steps(1, celsius=87)
    guarded.steps(23, celsius=95)
    assert guarded.did() == []
    guarded.steps(40, celsius=88)
    assert guarded.did() == [CAP]
    assert (
        "capped the GPU at 2000 MHz: it was at 88 C and more for 240 s, now at 88 C"
        in (host.root / "var/lib/sparkrig/blackbox/guard").read_text()
    )


def test_the_guard_never_raises_a_lower_cap_that_is_declared(host: Host) -> None:
    host.has("run/sparkrig-gpu-clock/cap", "1800\n")
    guarded = Guarded(host)
    guarded.steps(24, celsius=90)
    assert guarded.did() == ["nvidia-smi -lgc 0,1800"]


def test_the_guard_knows_the_zones_of_the_soc_that_the_doctor_knows(host: Host) -> None:
    assert health.SOC_ZONE.pattern == host.program.SOC_ZONE
    guarded = Guarded(host)
    host.has("sys/class/thermal/thermal_zone2/temp", "90000")
    host.has("sys/class/thermal/thermal_zone2/type", "soc-thermal\n")
    guarded.steps(24, celsius=60)
    assert guarded.did() == [CAP]


def test_the_guard_says_what_it_could_not_do_and_keeps_a_few(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = Guarded(host)
    monkeypatch.setenv("PATH", "/nowhere")
    for _ in range(10):
        guarded.steps(3, percent=1)
        guarded.steps(1)
    rows = (host.root / "var/lib/sparkrig/blackbox/guard").read_text().splitlines()
    assert len(rows) == 8 and "could not run systemctl (No such file or directory)" in rows[0]


def test_the_guard_does_not_say_that_it_stopped_what_was_not_there(host: Host) -> None:
    guarded = Guarded(host)
    shutil.rmtree(host.root / "sys/fs/cgroup/system.slice/sparkrig-serve-a.service")
    host.has("sys/fs/cgroup/system.slice/sparkrig-blackbox.service/cgroup.procs", "7\n")
    guarded.steps(5, percent=1)
    assert guarded.did() == []
    acts = (host.root / "var/lib/sparkrig/blackbox/guard").read_text().splitlines()
    assert len(acts) == 1 and "found no server to stop: 1.0 % of the memory was available" in acts[0]


def test_the_guard_says_where_what_it_began_failed(host: Host) -> None:
    guarded = Guarded(host)
    tool(host.root / "bin", "systemctl", "exit 5")
    guarded.steps(3, percent=1)
    until(lambda: all(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT) for pid in guarded.box.guard.started))
    guarded.steps(1, percent=1)
    said = ["failed, for systemctl ended with 5: 1.0 % of the memory was available, and all processes waited for "]
    assert [row[: len(said[0])] for row in host.found()["guard"]] == said
    assert not guarded.box.guard.started


def test_a_disk_that_takes_no_row_ends_nothing(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guarded = Guarded(host)
    guarded.steps(2)

    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as broken:
        broken.setattr(host.program, "os", SimpleNamespace(**{**vars(os), "pwrite": read_only}))
        guarded.steps(5, percent=1)
    assert guarded.did() == [STOP]
    assert capsys.readouterr().out.count("the disk takes no row: Read-only file system") == 1
    guarded.steps(1)
    assert [row.number for row in host.rows()] == [1, 2, 3]


BROKEN = {
    "no folder can be made": ("makedirs", 30, "Read-only file system"),
    "no file can be written": ("open", 30, "Read-only file system"),
    "there is no room": ("posix_fallocate", 28, "No space left on device"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_disk_that_has_no_ring_at_the_start_gets_it_later(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """The guard acts meanwhile, and the boot that was lost before is noticed once its rows can be read."""
    host.steps(host.box(A), 5)
    call, number, said = BROKEN[what]
    real = getattr(os, call)

    def broken(path: object, *words: object, **more: object) -> object:
        if call != "open" or str(path) == str(host.ring):
            raise OSError(number, said)
        return real(path, *words, **more)

    with monkeypatch.context() as begun:
        begun.setattr(host.program, "os", SimpleNamespace(**{**vars(os), call: broken}))
        host.boot(B)
        guarded = Guarded(host)
        guarded.box.boot = B
        begun.setattr(host.program, "write_whole", lambda *_: None)  # of what the guard did: the same disk
        guarded.steps(5, percent=1)
    assert guarded.did() == [STOP]
    assert capsys.readouterr().out.count(said) == 2, "of the ring, and of the rows"
    guarded.steps(2)
    assert [(row.number, row.boot) for row in host.rows()] == [*((n, A) for n in range(1, 6)), (6, B), (7, B)]
    assert host.kept()[-1].endswith(f" {B}")


def test_a_ring_without_room_leaves_the_room_as_it_was(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def part(file: int, _: int, size: int) -> None:
        os.truncate(file, size // 2)  # as ext4 does it, block after block
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(host.program, "os", SimpleNamespace(**{**vars(os), "posix_fallocate": part}))
    files = len([*Path("/proc/self/fd").iterdir()])
    host.steps(host.box(), 3)
    assert host.ring.stat().st_size == 0 and len([*Path("/proc/self/fd").iterdir()]) <= files + 1  # of the log


def test_rows_that_the_disk_cannot_read_are_skipped(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.program.SLOTS = 600
    host.steps(host.box(), 300)
    real = os.pread

    def failing(file: int, size: int, at: int) -> bytes:
        if at == 0:
            raise OSError(5, "Input/output error")
        return real(file, size, at)

    monkeypatch.setattr(host.program, "os", SimpleNamespace(**{**vars(os), "pread": failing}))
    box = host.box()
    assert box.ring.next == 301 and len(box.ring.last(300)) == 300
    monkeypatch.setattr(host.program, "SLOTS", 300)
    assert box.ring.row(300) is None


def test_what_is_no_temperature_is_none(host: Host) -> None:
    for number, milli in enumerate(("-274000", "2147483647", "99000000", "61000")):
        host.has(f"sys/class/thermal/thermal_zone{number}/temp", f"{milli}\n")
        host.has(f"sys/class/thermal/thermal_zone{number}/type", f"cpu-{number}\n")
    assert host.program.zones() == {"cpu-3": 61.0}
    fields = ["1", "2", "3", "4294967295", "0x1"]
    assert "celsius" not in host.program.told(fields) and host.program.told(fields)["watts"] == 3


def test_without_the_word_nothing_is_done(host: Host) -> None:
    guarded = Guarded(host)
    guarded.box = host.box()
    guarded.steps(30, percent=0.1, full=99, celsius=99)
    assert not (host.root / "did").exists() and "guard" not in host.found()


def test_the_unit_starts_it_and_systemd_ends_it(host: Host) -> None:
    """The real process: it notes as what it runs, writes a row at once, and a last one when it is asked to end."""
    file = next(each for each in watch.plan({}, on=True).write if each.path == watch.UNIT_FILE)
    words = next(row for row in file.content.splitlines() if row.startswith("ExecStart=")).split(" ")
    assert words[1:3] == ["-IBS", watch.PROGRAM]
    begun = subprocess.Popen([sys.executable, "-IBS", str(PROGRAM), *words[3:]], stdout=subprocess.DEVNULL)
    started = host.root / watch.STARTED[1:]
    until(lambda: started.exists() and host.ring.exists() and host.rows())
    assert started.read_text() == f"{words[3]}\n"
    begun.send_signal(signal.SIGTERM)
    assert begun.wait(20) == 0
    assert [(row.kind, row.boot) for row in host.rows()] == [("step", A), ("stop", A)]


def test_a_journal_that_is_gone_ends_nothing(host: Host) -> None:
    """It has a word to say at once, for there is no log of the kernel."""
    (host.root / "dev/kmsg").unlink()
    reading, writing = os.pipe()
    os.close(reading)
    begun = subprocess.Popen([sys.executable, "-IBS", str(PROGRAM), "digest"], stdout=writing)
    os.close(writing)
    until(lambda: begun.poll() is not None or (host.root / watch.STARTED[1:]).exists())
    begun.send_signal(signal.SIGTERM)
    begun.wait(20)
    assert [row.kind for row in host.rows()] == ["step", "stop"]


def test_it_is_noted_as_started_once_it_keeps_rows(host: Host) -> None:
    """Else a deploy whose disk has no room for the ring would be one that went well."""
    (host.root / "var/lib").mkdir(parents=True)
    (host.root / "var/lib/sparkrig").write_text("")
    waits = iter(range(3))
    started = []

    def asked(_: float) -> bool:
        started.append((host.root / watch.STARTED[1:]).exists())
        if len(started) == 1:
            (host.root / "var/lib/sparkrig").unlink()
        return next(waits, None) is None

    host.program.asked_to_end, host.program.stay_in_memory = asked, lambda: None
    host.program.signal = SimpleNamespace(**{**vars(signal), "pthread_sigmask": lambda *_: None})
    host.program.main(["digest"])
    assert started == [False, True, True, True]


def test_what_it_is_noted_as_follows_whether_rows_are_kept_and_a_full_run_ends_nothing(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that became read-only keeps nothing, which drift is to see."""
    note, started = host.root / watch.STARTED[1:], host.program.Started("digest")
    box = host.box()
    started.follow(box.step())
    assert note.read_text() == "digest\n"

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "pwrite", fails)
        started.follow(box.step())
    assert not note.exists()
    with monkeypatch.context() as broken:
        broken.setattr(host.program, "write_whole", fails)
        for _ in range(3):
            started.follow(box.step())
    assert capsys.readouterr().out.count("started cannot be changed: No space left") == 1
    started.follow(box.step())
    assert note.read_text() == "digest\n"


def test_a_ring_that_was_removed_by_hand_is_made_again(host: Host) -> None:
    box = host.box()
    host.steps(box, 3)
    shutil.rmtree(host.ring.parent)
    host.steps(box, 2)
    assert [row.number for row in host.rows()] == [1, 2]


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """systemd-analyze knows every setting of it; the program and python3 are stood in for."""
    file = next(each for each in watch.plan({}, on=True).write if each.path == watch.UNIT_FILE)
    (tmp_path / watch.UNIT).write_text(file.content.replace("/usr/bin/python3", "/bin/true"))
    words = ["systemd-analyze", "verify", "--recursive-errors=no", str(tmp_path / watch.UNIT)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
