"""A GPU as nvidia-smi has it: what a look asks for, CSV that people paste, and what comes instead of an answer.

Sources: [@epappas] for a GB10's fields; nvml.h for the bits of the clocks event reasons; output of drivers 470 to
580. Serial numbers and UUIDs are never kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkrig.host.identity import GB10_NAME
from sparkrig.parsing import grammar
from sparkrig.value import Value

# What the fact asks for, in this order.
FIELDS = (
    "name",
    "pci.bus_id",
    "driver_version",
    "utilization.gpu",
    "pstate",
    "clocks.sm",
    "clocks.max.sm",
    "power.draw",
    "temperature.gpu",
    "memory.total",
    "memory.used",
    "clocks_event_reasons.active",
    "compute_cap",
)
# nvml.h, nvmlClocksEventReason*: the bits, by the names of `nvidia-smi -q`.
REASONS = {
    0x1: "Idle",
    0x2: "Applications Clocks Setting",
    0x4: "SW Power Cap",
    0x8: "HW Slowdown",
    0x10: "Sync Boost",
    0x20: "SW Thermal Slowdown",
    0x40: "HW Thermal Slowdown",
    0x80: "HW Power Brake Slowdown",
    0x100: "Display Clock Setting",
}
THERMAL = frozenset({"SW Thermal Slowdown", "HW Thermal Slowdown"})


@dataclass(frozen=True)
class Gpu(Value):
    """One GPU; each None where nvidia-smi does not report it (a GB10 has no memory of its own to report).

    utilization: percent; sm_mhz: MHz; power_w: watts; temperature_c: degrees Celsius;
    margin_c: degrees Celsius that are left up to the highest operating temperature ("GPU T.Limit Temp");
    memory_total_mib: MiB; reasons: why the clock is what it is, by NVIDIA's names;
    gsp: version of the GSP firmware. trouble: what nvidia-smi printed instead of an answer.
    """

    name: str | None = None
    driver: str | None = None
    utilization: float | None = None
    pstate: str | None = None
    sm_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    memory_total_mib: float | None = None
    reasons: tuple[str, ...] | None = None
    gsp: str | None = None
    trouble: str = ""
    margin_c: float | None = None

    @property
    def slowed(self) -> tuple[str, ...]:
        """The active reasons by which heat slows it; empty where none is active, or none is reported."""
        return tuple(reason for reason in self.reasons or () if reason in THERMAL)

    @property
    def foreign(self) -> bool:
        """Not a Spark's: what is known of a GB10 is no measure for it."""
        return self.name is not None and GB10_NAME.casefold() not in self.name.casefold()


_TROUBLE = re.compile(
    r"^(?:no devices were found|nvidia-smi has failed|nvidia-smi (?:is not|did not)|failed to initialize nvml"
    r"|nvidia-smi couldn|unable to determine the device handle|gpu is lost|(?>.*?nvidia-smi: ).*not found"
    r"|field \".*\" is not a valid field|failed to properly shut down|error\b)",
    re.I,
)
_UNTOLD = re.compile(
    r"\[?(?:n/?a|not (?:supported|available|found)|unknown(?: error)?|insufficient permissions|gpu is lost"
    r"|gpu requires reset|requested functionality has been deprecated|none|err!|)\]?",
    re.I,
)


def said(text: str | None) -> str | None:
    bare = (text or "").strip()
    return None if _UNTOLD.fullmatch(bare) else bare


def _number(text: str | None, what: str) -> float | None:
    """A figure with or without its unit. Raises ValueError for a word."""
    told = said(text)
    if told is None:
        return None
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*(?:[%A-Za-z]+)?", told)
    if found is None:
        raise ValueError(f"nvidia-smi's {what} is no number")  # where columns moved it may be a serial number
    return float(found.group(1))


def _version(text: str | None, what: str) -> str | None:
    """A version, which is a part of a package's name. Raises ValueError for another text."""
    told = said(text)
    if told is None or grammar.DRIVER.fits(told):
        return told
    raise ValueError(f"nvidia-smi's {what} is none")  # it may be a serial number


def _mask(text: str | None) -> tuple[str, ...] | None:
    told = said(text)
    if told is None:
        return None
    try:
        bits = int(told, 0)
    except ValueError:
        raise ValueError("nvidia-smi's clocks event reasons are no bit mask") from None
    return tuple(name for bit, name in REASONS.items() if bits & bit)


def trouble(text: str) -> str:
    """What nvidia-smi complains of instead of an answer, in its own words; empty where it does not."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines if _TROUBLE.match(line)), "")


def parse(lines: Iterable[str]) -> Gpu:
    """Read the gpu fact: `trouble WORDS`, or `csv ROW`, `gsp VERSION` and `margin CELSIUS`; the first GPU."""
    rows = [line.partition(" ")[::2] for line in lines]
    said = [rest.strip() for word, rest in rows if word == "trouble"]
    if said:
        return Gpu(trouble=trouble("\n".join(said)) or said[0])
    first = dict(reversed(rows))
    gpu = parse_csv("\n".join(rest for word, rest in rows if word == "csv"))[0]
    if gpu.trouble:
        return gpu
    gsp = _version(first.get("gsp"), "GSP firmware version")
    return replace(gpu, gsp=gsp, margin_c=_number(first.get("margin"), "T.Limit"))


_ALIASES = {
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "clocks.current.sm": "clocks.sm",
    "clocks_throttle_reasons.active": "clocks_event_reasons.active",
    "power.draw.average": "power.draw",
    "power.draw.instant": "power.draw",
}


def parse_csv(text: str, fields: Sequence[str] | None = None) -> tuple[Gpu, ...]:
    """The csv of --query-gpu, with header or without (then `fields` names what was asked for), units or not.

    fields: FIELDS where it is not given. Raises ValueError for a row that does not fit, and where there is none.
    """
    lines = [line for line in text.splitlines() if line.strip() and not _WARNING.match(line)]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    start = next((number for number, row in enumerate(rows) if _is_header(row)), None)
    names = [_field(name) for name in (fields or FIELDS if start is None else rows[start])]
    body = [row for row in rows[0 if start is None else start + 1 :] if len(row) > 1 or len(names) == 1]
    complaint = trouble(text)
    if complaint and not any(len(row) == len(names) for row in body if row != [complaint]):
        return (Gpu(trouble=complaint),)
    if not body:
        raise ValueError("nvidia-smi's csv has no row")
    for row in body:
        if len(row) != len(names):
            raise ValueError(f"a row of nvidia-smi's csv has {len(row)} fields, {len(names)} are expected")
    return tuple(from_fields(_first_told(zip(names, row, strict=True))) for row in body)


def _first_told(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By name; where several stand for one thing (power.draw, power.draw.instant), the first with a value."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if said(found.get(name)) is None:
            found[name] = value
    return found


_WARNING = re.compile(r"\s*(?:warning|note)\b", re.I)


def _is_header(row: Sequence[str]) -> bool:
    names = [_field(cell) for cell in row]
    return all(re.fullmatch(r"[a-z_0-9.]+", name) for name in names) and any(
        name in FIELDS or name in ("index", "uuid", "serial", "count") or ("." in name and name[0].isalpha())
        for name in names
    )


def _field(name: str) -> str:
    name = name.strip()
    bare = (name.partition("[")[0].rstrip() if name.endswith("]") else name).casefold()
    return _ALIASES.get(bare, bare)


def from_fields(found: Mapping[str, str]) -> Gpu:
    return Gpu(
        name=said(found.get("name")),
        driver=_version(found.get("driver_version"), "driver version"),
        utilization=_number(found.get("utilization.gpu"), "utilization"),
        pstate=said(found.get("pstate")),
        sm_mhz=_number(found.get("clocks.sm"), "SM clock"),
        power_w=_number(found.get("power.draw"), "power draw"),
        temperature_c=_number(found.get("temperature.gpu"), "temperature"),
        memory_total_mib=_number(found.get("memory.total"), "memory"),
        reasons=_mask(found.get("clocks_event_reasons.active")),
        gsp=_version(found.get("gsp"), "GSP firmware version"),
        margin_c=_number(found.get("temperature.gpu.tlimit"), "T.Limit"),
    )
