"""What nvidia-smi prints for people: -q, its table, and -L."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sparkrig.cure import on_host
from sparkrig.host.nvidia_smi import REASONS, Gpu, from_fields, said, trouble

# (section, key) of -q -> field; the section is empty where any will do. Some keys changed with the driver.
_QUERY = {
    ("", "product name"): "name",
    ("pci", "bus id"): "pci.bus_id",
    ("", "performance state"): "pstate",
    ("", "gsp firmware version"): "gsp",
    ("utilization", "gpu"): "utilization.gpu",
    ("clocks", "sm"): "clocks.sm",
    ("max clocks", "sm"): "clocks.max.sm",
    ("gpu power readings", "average power draw"): "power.draw",
    ("gpu power readings", "instantaneous power draw"): "power.draw",
    ("gpu power readings", "power draw"): "power.draw",
    ("power readings", "power draw"): "power.draw",
    ("temperature", "gpu current temp"): "temperature.gpu",
    ("temperature", "gpu t.limit temp"): "temperature.gpu.tlimit",
    ("fb memory usage", "total"): "memory.total",
    ("fb memory usage", "used"): "memory.used",
}
_REASON_SECTIONS = ("clocks event reasons", "clocks throttle reasons")


def parse_query(text: str) -> tuple[Gpu, ...]:
    """`nvidia-smi -q`, whole or some sections of it. Raises ValueError where it shows no GPU."""
    sections: list[_Section] = []
    driver = ""
    for section, key, value in _walk(text):
        if key == "driver version":
            driver = value
        elif not value and re.fullmatch(r"gpu [0-9a-f:.]+", key):
            sections.append(_Section({"pci.bus_id": key.removeprefix("gpu ").upper()}))
        name = _QUERY.get((section, key)) or _QUERY.get(("", key))
        of_reasons = section in _REASON_SECTIONS or key in _REASON_SECTIONS
        if (name or of_reasons) and not sections:  # some sections alone, without the row that names the GPU
            sections.append(_Section({}))
        if name:
            sections[-1].set(name, value)
        if of_reasons:
            sections[-1].note(key, active=value.casefold() == "active")
    if not sections:
        complaint = trouble(text)
        if complaint:
            return (Gpu(trouble=complaint),)
        raise ValueError("this is no output of nvidia-smi -q: it tells of no GPU")
    return tuple(each.gpu(driver) for each in sections)


@dataclass
class _Section:
    """What `nvidia-smi -q` prints of one GPU.

    fields: by the name that --query-gpu has; reasons: what holds the clock down, in small letters, None where no
    row shows it.
    """

    fields: dict[str, str]
    reasons: list[str] | None = None

    def set(self, name: str, value: str) -> None:
        """Keep the first value that is known."""
        if said(self.fields.get(name)) is None:
            self.fields[name] = value

    def note(self, reason: str, *, active: bool) -> None:
        self.reasons = [*(self.reasons or []), *([reason] if active else [])]

    def gpu(self, driver: str) -> Gpu:
        return replace(from_fields({"driver_version": driver, **self.fields}), reasons=_names(self.reasons))


def _names(active: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if active is None else tuple(name for name in REASONS.values() if name.casefold() in active)


_ROW = re.compile(r"(.+?):(?:\s+(.*))?")  # the colons of a bus id have no blank behind them


def _walk(text: str) -> Iterator[tuple[str, str, str]]:
    """Each row as (section, key, value), in small letters but for the value.

    A row without a value opens a section; rows deeper than it belong to it. Sub-rows of a row that has a
    value (HW Slowdown) belong to that row's section.
    """
    open_sections: list[tuple[int, str]] = []
    for line in textwrap.dedent(text.expandtabs(4)).splitlines():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        row = _ROW.fullmatch(line.strip())
        name, value = (row.group(1).rstrip(), row.group(2) or "") if row else (line.strip(), "")
        while open_sections and open_sections[-1][0] >= depth:
            open_sections.pop()
        yield (open_sections[-1][1] if open_sections else ""), name.casefold(), value
        if not row:
            open_sections.append((depth, name.casefold()))


_VERSION = re.compile(r"\b(?:Driver|KMD) Version\s*:\s*([\d.]+)", re.I)
_MODE = r"(?:On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s*\|"
_FIRST = re.compile(rf"\|\s*\d+\s++(?P<name>\S++(?:\s++(?!{_MODE})\S++)*+)\s++{_MODE}\s*(?P<bus>[0-9A-Fa-f:.]+)\s")
_SECOND = re.compile(
    r"\|\s*+\S++\s++(?P<temperature>\S++)\s++(?P<pstate>\S++)\s++(?P<power>\S{1,20})\s*/\s*[^\s|]++\s*"
    r"\|(?P<memory>[^|]*+)\|\s*(?P<utilization>\S+)\s"
)


def parse_table(text: str) -> tuple[Gpu, ...]:
    """Plain `nvidia-smi`. Raises ValueError where it shows no GPU."""
    version = _VERSION.search(text)
    gpus: list[Gpu] = []
    lines = iter(text.splitlines())
    for line in lines:
        first = _FIRST.match(line.strip())
        second = _SECOND.match(next(lines, "").strip()) if first else None
        if first is None:
            continue
        if second is None:
            raise ValueError("nvidia-smi's table ends in the middle of a GPU")
        used, _, total = second["memory"].strip().partition(" / ")
        gpus.append(
            from_fields(
                {
                    "name": first["name"],
                    "pci.bus_id": first["bus"],
                    "driver_version": version.group(1) if version else "",
                    "temperature.gpu": second["temperature"],
                    "pstate": second["pstate"],
                    "power.draw": second["power"],
                    "memory.used": used,
                    "memory.total": total,
                    "utilization.gpu": second["utilization"],
                }
            )
        )
    return _or_trouble(gpus, text, "nvidia-smi's table")


def parse_list(text: str) -> tuple[Gpu, ...]:
    """`nvidia-smi -L`: names only. Raises ValueError where it shows no GPU."""
    names = re.findall(r"^[ \t]*GPU \d+: (.*?)(?:\(UUID.*)?$", text, re.M)
    return _or_trouble([Gpu(name=said(name)) for name in names], text, on_host("nvidia-smi -L"))


def _or_trouble(gpus: Sequence[Gpu], text: str, what: str) -> tuple[Gpu, ...]:
    if gpus:
        return tuple(gpus)
    complaint = trouble(text)
    if complaint:
        return (Gpu(trouble=complaint),)
    raise ValueError(f"this is no output of {what}: it tells of no GPU")
