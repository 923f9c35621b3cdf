#!/usr/bin/env python3
"""The black box of a host, and its readings for Prometheus: docs/watching.md, "Metrics".

    metrics.py DIGEST [--guard] --metrics

It is the same process: what blackbox.py, beside this file, puts into its ring is also written to PROM, once it is
on the disk, so that no row is delayed. node_exporter's textfile collector hands that on. It is not synced, and no
process is started. What node_exporter has by itself (memory, pressure, carrier losses) is not repeated. Thermal
zones are: one whose device sleeps cannot be read, and an exporter that stops there has none at all.
"""

from __future__ import annotations

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I leaves it out

import blackbox  # type: ignore[import-not-found]
from blackbox import LOG, ROOT, say

TYPE_CHECKING = False
if TYPE_CHECKING:  # its import would cost memory for nothing
    from collections.abc import Iterable, Iterator
    from typing import Any

TEXTFILES = "/var/lib/prometheus/node-exporter"  # as Debian's package has it [@node-exporter-deb]
PROM = "sparkrig.prom"
SAFE = frozenset(" ._:/()+-")  # in a label, letters and digits aside
ACTS_DONE = ("stopped", "capped")  # the first word of what the guard did; any other one failed
# Every metric: its name without `sparkrig_`, its type, its labels, and what it is
METRICS = (
    ("gpu_utilization_ratio", "gauge", "", "Share of the time in which the GPU worked."),
    ("gpu_clock_hertz", "gauge", "", "SM clock of the GPU."),
    ("gpu_power_watts", "gauge", "", "Power that the GPU draws."),
    ("gpu_temperature_celsius", "gauge", "", "Temperature of the GPU."),
    ("gpu_temperature_margin_celsius", "gauge", "", "Degrees up to the limit of the GPU (T.Limit)."),
    ("gpu_throttle_active", "gauge", "reason", "1 while that reason slows the GPU down."),
    ("thermal_zone_celsius", "gauge", "type", "The highest temperature of the zones of a type that can be read."),
    ("memory_unheld_bytes", "gauge", "", "Memory that no process and no cache holds, as what CUDA takes."),
    ("process_resident_bytes", "gauge", "process", "Memory of the five largest processes, by name."),
    (
        "kernel_log_lines_total",
        "counter",
        "kind",
        "Lines of the driver (nvrm), PCIe (aer), OOM kills (killed).",
    ),
    ("rdma_errors_total", "counter", "device", "Errors that an RDMA device counted."),
    ("guard_acts_total", "counter", "act", "What the guard did: stopped servers, capped the clock, or failed to."),
    ("blackbox_rows_total", "counter", "", "Rows that the black box wrote to the disk since it was started."),
    ("blackbox_row_timestamp_seconds", "gauge", "", "When the last row was on the disk."),
    ("blackbox_gpu_answers", "gauge", "", "1 while nvidia-smi prints rows."),
)
# nvml.h, nvmlClocksEventReason*: the bits that slow a GPU down, by the names of `nvidia-smi -q`
REASONS = {
    0x4: "SW Power Cap",
    0x8: "HW Slowdown",
    0x20: "SW Thermal Slowdown",
    0x40: "HW Thermal Slowdown",
    0x80: "HW Power Brake Slowdown",
}


class Ring(blackbox.Ring):  # type: ignore[misc]
    """The ring, whose rows are counted and shown."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.metrics = Metrics()

    def add(self, kind: str, boot: str, found: dict[str, Any]) -> bool:
        kept: bool = super().add(kind, boot, found)
        if kind == "step":
            self.metrics.step(found, kept=kept)
        else:
            self.metrics.end()
        return kept


class Metrics:
    """What PROM has after each row. Counters begin with the process, as those of any exporter."""

    def __init__(self) -> None:
        self.trouble = ""
        self.rows, self.row_at = 0, 0.0  # those on the disk, and when the last one was
        self.lines = dict.fromkeys(LOG, 0)
        self.acts = dict.fromkeys((*ACTS_DONE, "failed"), 0)

    def step(self, found: dict[str, Any], *, kept: bool) -> None:
        """found: of the row, less what the host did not show; kept: if the disk took it."""
        if kept:
            self.rows, self.row_at = self.rows + 1, time.time()
        self.count(found)
        samples = [
            *gpu_samples(found.get("gpu", {})),
            *memory_samples(found.get("memory", {}), found.get("top", [])),
        ]
        samples += [("thermal_zone_celsius", clean(kind), high) for kind, high in found.get("zones", {}).items()]
        samples += [("kernel_log_lines_total", kind, count) for kind, count in self.lines.items()]
        samples += [("rdma_errors_total", clean(device), count) for device, count in found.get("rdma", {}).items()]
        samples += [("guard_acts_total", act, count) for act, count in self.acts.items()]
        samples += [("blackbox_rows_total", "", self.rows), ("blackbox_gpu_answers", "", "gpu" in found)]
        samples += [("blackbox_row_timestamp_seconds", "", self.row_at)] if self.rows else []
        self.write(exposition(samples))

    def count(self, found: dict[str, Any]) -> None:
        for kind, (count, *_) in found.get("log", {}).items():
            self.lines[kind] += count
        for act in found.get("guard", ()):
            word = act.partition(" ")[0]
            self.acts[word if word in ACTS_DONE else "failed"] += 1

    def write(self, text: str) -> None:
        """The old file or the new one, for the user of the exporter, too; nothing without its folder.

        That user owns the folder above, so neither the folder nor a file in it is followed where it is a link.
        """
        kind = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            folder = os.open(ROOT + TEXTFILES, kind)
        except OSError:
            return
        new, trouble = f".{PROM}.new", ""
        try:
            remove(new, folder)
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
            try:
                os.fchmod(file, 0o644)
                write_all(file, text.encode())
            finally:
                os.close(file)
            os.replace(new, PROM, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            trouble = f"the metrics cannot be written: {error.strerror}"
        finally:
            os.close(folder)
        if trouble and trouble != self.trouble:
            say(trouble)
        self.trouble = trouble

    def end(self) -> None:
        """Without a black box there are no readings; a file of before would go on to show its last ones."""
        try:
            remove(f"{ROOT}{TEXTFILES}/{PROM}")
        except OSError as error:
            say(f"the metrics cannot be removed: {error.strerror}")


def write_all(file: int, content: bytes) -> None:
    """A disk that is nearly full takes a part, and says so at the next one alone. Raises OSError."""
    while content:
        content = content[os.write(file, content) :]


def remove(name: str, folder: int | None = None) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return


def gpu_samples(gpu: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    for key, name, factor in (
        ("used", "gpu_utilization_ratio", 0.01),
        ("mhz", "gpu_clock_hertz", 1e6),
        ("watts", "gpu_power_watts", 1),
        ("celsius", "gpu_temperature_celsius", 1),
        ("margin", "gpu_temperature_margin_celsius", 1),
    ):
        if key in gpu:
            yield name, "", gpu[key] * factor
    try:
        bits = int(gpu.get("reasons", ""), 16)
    except ValueError:
        return
    for bit, reason in REASONS.items():
        yield "gpu_throttle_active", reason, bool(bits & bit)


def memory_samples(kb: dict[str, int], top: list[tuple[str, int, int]]) -> Iterator[tuple[str, str, float]]:
    """Processes of one name are one row: a name lasts, and a number does not."""
    if all(name in kb for name in ("total", "free", "cached", "anon", "slab")):
        held = kb["free"] + kb["cached"] + kb["anon"] + kb["slab"]
        yield "memory_unheld_bytes", "", max(0, kb["total"] - held) * 1024
    sizes: dict[str, int] = {}
    for name, _, size in top:
        sizes[clean(name)] = sizes.get(clean(name), 0) + size
    for name, size in sizes.items():
        yield "process_resident_bytes", name, size * 1024


def clean(name: str) -> str:
    """Any process may call itself by any 15 bytes."""
    return "".join(each if each.isascii() and (each.isalnum() or each in SAFE) else "_" for each in name)[:32]


def exposition(samples: Iterable[tuple[str, str, float]]) -> str:
    """Prometheus' text format; a metric without a sample is left out.

    Two names that are the same once they are clean are one sample, the higher one: of a sample that comes twice an
    exporter makes an error.
    """
    by_name: dict[str, dict[str, float]] = {}
    for name, of, value in samples:
        found = by_name.setdefault(name, {})
        found[of] = max(value, found.get(of, value))
    rows = []
    for name, kind, label, meaning in METRICS:
        if name in by_name:
            rows += [f"# HELP sparkrig_{name} {meaning}", f"# TYPE sparkrig_{name} {kind}"]
            for of, value in by_name[name].items():
                labels = f'{{{label}="{of}"}}' if label else ""
                rows.append(f"sparkrig_{name}{labels} {value:.15g}")
    return "\n".join(rows) + "\n"


def main(words: list[str]) -> None:
    blackbox.Ring = Ring
    blackbox.main(words)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # whatever the locale
    main(sys.argv[1:])
