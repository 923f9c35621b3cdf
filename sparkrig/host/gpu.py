"""What nvidia-smi says of a GPU, in each of its forms, and what that proves about a Spark's.

Sources: [@epappas] for a GB10's fields, [@throttle-check] for the clamp; nvml.h for the bits of the clocks event
reasons; nvidia-smi(1) for T.Limit, the margin to the highest operating temperature; output of drivers 470 to 580.
Serial numbers and UUIDs are never kept.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkrig.cure import on_host
from sparkrig.host.apt import install_as_installed, reinstall_past_the_hold
from sparkrig.host.driver import BRANCH
from sparkrig.host.identity import GB10_NAME
from sparkrig.parsing import grammar
from sparkrig.signatures import Signature
from sparkrig.value import Value
from sparkrig.verdict import Verdict

# a clamped GPU runs at 500-850 MHz, a healthy one at 2200 MHz and more, under load [@throttle-check]
LOADED_PERCENT = 80
CLAMPED_BELOW_MHZ = 1400
HEALTHY_FROM_MHZ = 2200
CLAMPED_UP_TO_MHZ = 850
CLAMPED_UP_TO_W = 20  # what a clamped GPU draws under load [@throttle-check]
# People cap the clock at round figures to keep a Spark cool: -lgc 0,2000 [@miaai-146], 0,2100 [@open-gpu-1358].
# nvidia-smi shows a locked clock nowhere, and no reason is active under one [@cuda-jl-2194].
CAP_STEP_MHZ = 100
CAP_SLACK_MHZ = 15  # the clock moves in steps, and stays up to one below what was asked for
# Where a GB10 shows neither its margin nor why its clock is low: one was slowed by heat at 91 and 92 C, and not at
# 80 C [@open-gpu-1358].
HOT_ABOVE_C = 90

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
_REASONS = {
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
_THERMAL = frozenset({"SW Thermal Slowdown", "HW Thermal Slowdown"})
_POWER = frozenset({"SW Power Cap", "HW Slowdown", "HW Power Brake Slowdown"})
_UNPLUG = "unplug the power brick from the wall and from the Spark for a minute or more (a reboot does not help)"
_ASK_REASONS = on_host(
    "nvidia-smi --query-gpu=name,utilization.gpu,clocks.sm,clocks_event_reasons.active --format=csv",
    ", under the same load",
)
_COOL = "free the air inlets, and leave room above and behind"


@dataclass(frozen=True)
class Gpu(Value):
    """One GPU; each None where nvidia-smi does not tell (a GB10 has no memory of its own to tell of).

    utilization: percent; sm_mhz, sm_max_mhz: MHz; power_w: watts; temperature_c: degrees Celsius;
    margin_c: degrees Celsius that are left up to the highest operating temperature ("GPU T.Limit Temp");
    memory_total_mib, memory_used_mib: MiB; reasons: why the clock is what it is, by NVIDIA's names;
    gsp: version of the GSP firmware. trouble: what nvidia-smi said instead of an answer.
    """

    name: str | None = None
    bus_id: str | None = None
    driver: str | None = None
    utilization: float | None = None
    pstate: str | None = None
    sm_mhz: float | None = None
    sm_max_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    memory_total_mib: float | None = None
    memory_used_mib: float | None = None
    reasons: tuple[str, ...] | None = None
    compute_cap: str | None = None
    gsp: str | None = None
    trouble: str = ""
    margin_c: float | None = None

    @property
    def slowed(self) -> tuple[str, ...]:
        """By which active reasons heat slows it; empty where none is active, or none is told."""
        return tuple(reason for reason in self.reasons or () if reason in _THERMAL)

    @property
    def foreign(self) -> bool:
        """Not a Spark's: what is known of a GB10 is no measure for it."""
        return self.name is not None and GB10_NAME.casefold() not in self.name.casefold()


NOT_INSTALLED = "nvidia-smi is not installed"
_LIBRARY = f"libnvidia-compute-{BRANCH}"  # which has libnvidia-ml

_SAYS = "nvidia-smi"  # its own words are the meaning
# What nvidia-smi says instead of an answer; the first that fits, the last fits all.
_TROUBLES = (
    Signature(
        "no-nvidia-smi",
        f"(?i){NOT_INSTALLED}",
        _SAYS,
        on_host(install_as_installed(f"nvidia-utils-{BRANCH}", like=_LIBRARY)),
        level="unknown",
    ),
    Signature(
        "driver-mismatch",
        r"(?i)driver/library version mismatch",
        _SAYS,
        "reboot, so that the kernel loads the nvidia.ko of the installed driver",
    ),
    Signature(
        "no-gpu",
        r"(?i)no devices were found",
        _SAYS,
        on_host("sudo dmesg | grep -i nvrm"),
    ),
    Signature(
        "driver-not-loaded",
        r"(?i)couldn'?t communicate with the nvidia driver|driver (?:is )?not loaded",
        _SAYS,
        "boot a kernel that has an nvidia.ko: ls /lib/modules/*/kernel/nvidia-*/nvidia.ko*",
    ),
    Signature(
        "gpu-lost",
        r"(?i)gpu is lost|fallen off the bus",
        _SAYS,
        "unplug the power for a minute, then start",
    ),
    Signature(
        "driver-incomplete",
        r"(?i)couldn'?t find libnvidia-ml|nvml shared library not found",
        _SAYS,
        on_host(reinstall_past_the_hold(_LIBRARY)),
    ),
    Signature(
        "gpu-hung",
        r"(?i)did not answer",
        _SAYS,
        on_host("sudo dmesg | grep -i nvrm"),
    ),
    Signature(
        "gpu-unreadable",
        r"",
        _SAYS,
        on_host("sudo nvidia-smi"),
        level="unknown",
    ),
)
_TROUBLE = re.compile(
    r"^(?:no devices were found|nvidia-smi has failed|nvidia-smi (?:is not|did not)|failed to initialize nvml"
    r"|nvidia-smi couldn|unable to determine the device handle|gpu is lost|.*nvidia-smi: .*not found"
    r"|field \".*\" is not a valid field|failed to properly shut down|error\b)",
    re.I,
)

_UNTOLD = re.compile(
    r"\[?(?:n/?a|not (?:supported|available|found)|unknown(?: error)?|insufficient permissions|gpu is lost"
    r"|gpu requires reset|requested functionality has been deprecated|none|err!|)\]?",
    re.I,
)


def _told(text: str | None) -> str | None:
    bare = (text or "").strip()
    return None if _UNTOLD.fullmatch(bare) else bare


def _number(text: str | None, what: str) -> float | None:
    """A figure with or without its unit. Raises ValueError for a word."""
    told = _told(text)
    if told is None:
        return None
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*(?:[%A-Za-z]+)?", told)
    if found is None:
        raise ValueError(f"nvidia-smi's {what} is no number")  # where columns moved it may be a serial number
    return float(found.group(1))


def _version(text: str | None, what: str) -> str | None:
    """A version, which is a part of a package's name. Raises ValueError for another text."""
    told = _told(text)
    if told is None or grammar.DRIVER.fits(told):
        return told
    raise ValueError(f"nvidia-smi's {what} is none")  # it may be a serial number


def _mask(text: str | None) -> tuple[str, ...] | None:
    told = _told(text)
    if told is None:
        return None
    try:
        bits = int(told, 0)
    except ValueError:
        raise ValueError("nvidia-smi's clocks event reasons are no bit mask") from None
    return tuple(name for bit, name in _REASONS.items() if bits & bit)


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
    found = parse_csv("\n".join(rest for word, rest in rows if word == "csv"))[0]
    if found.trouble:
        return found
    gsp = _version(first.get("gsp"), "GSP firmware version")
    return replace(found, gsp=gsp, margin_c=_number(first.get("margin"), "T.Limit"))


# --- --query-gpu=... --format=csv

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
    return tuple(_from_fields(_first_told(zip(names, row, strict=True))) for row in body)


def _first_told(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By name; where several stand for one thing (power.draw, power.draw.instant), the first that is told."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if _told(found.get(name)) is None:
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
    bare = re.sub(r"\s*\[.*\]\s*$", "", name).strip().casefold()
    return _ALIASES.get(bare, bare)


def _from_fields(found: Mapping[str, str]) -> Gpu:
    return Gpu(
        name=_told(found.get("name")),
        bus_id=_told(found.get("pci.bus_id")),
        driver=_version(found.get("driver_version"), "driver version"),
        utilization=_number(found.get("utilization.gpu"), "utilization"),
        pstate=_told(found.get("pstate")),
        sm_mhz=_number(found.get("clocks.sm"), "SM clock"),
        sm_max_mhz=_number(found.get("clocks.max.sm"), "highest SM clock"),
        power_w=_number(found.get("power.draw"), "power draw"),
        temperature_c=_number(found.get("temperature.gpu"), "temperature"),
        memory_total_mib=_number(found.get("memory.total"), "memory"),
        memory_used_mib=_number(found.get("memory.used"), "used memory"),
        reasons=_mask(found.get("clocks_event_reasons.active")),
        compute_cap=_told(found.get("compute_cap")),
        gsp=_version(found.get("gsp"), "GSP firmware version"),
        margin_c=_number(found.get("temperature.gpu.tlimit"), "T.Limit"),
    )


# --- -q

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
    """`nvidia-smi -q`, whole or some sections of it. Raises ValueError where it tells of no GPU."""
    found: list[_Section] = []
    driver = ""
    for section, key, value in _walk(text):
        if key == "driver version":
            driver = value
        elif not value and re.fullmatch(r"gpu [0-9a-f:.]+", key):
            found.append(_Section({"pci.bus_id": key.removeprefix("gpu ").upper()}))
        name = _QUERY.get((section, key)) or _QUERY.get(("", key))
        of_reasons = section in _REASON_SECTIONS or key in _REASON_SECTIONS
        if (name or of_reasons) and not found:  # some sections alone, without the row that names the GPU
            found.append(_Section({}))
        if name:
            found[-1].set(name, value)
        if of_reasons:
            found[-1].note(key, active=value.casefold() == "active")
    if not found:
        complaint = trouble(text)
        if complaint:
            return (Gpu(trouble=complaint),)
        raise ValueError("this is no output of nvidia-smi -q: it tells of no GPU")
    return tuple(each.gpu(driver) for each in found)


@dataclass
class _Section:
    """What `nvidia-smi -q` prints of one GPU.

    fields: by the name that --query-gpu has; reasons: what holds the clock down, in small letters, None where no
    row tells.
    """

    fields: dict[str, str]
    reasons: list[str] | None = None

    def set(self, name: str, value: str) -> None:
        """Keep the first value that tells something."""
        if _told(self.fields.get(name)) is None:
            self.fields[name] = value

    def note(self, reason: str, *, active: bool) -> None:
        self.reasons = [*(self.reasons or []), *([reason] if active else [])]

    def gpu(self, driver: str) -> Gpu:
        return replace(_from_fields({"driver_version": driver, **self.fields}), reasons=_names(self.reasons))


def _names(active: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if active is None else tuple(name for name in _REASONS.values() if name.casefold() in active)


_ROW = re.compile(r"(.+?)\s*:(?:\s+(.*))?")  # the colons of a bus id have no blank behind them


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
        name, value = (row.group(1), row.group(2) or "") if row else (line.strip(), "")
        while open_sections and open_sections[-1][0] >= depth:
            open_sections.pop()
        yield (open_sections[-1][1] if open_sections else ""), name.casefold(), value
        if not row:
            open_sections.append((depth, name.casefold()))


# --- the table, and -L

_VERSION = re.compile(r"\b(?:Driver|KMD) Version\s*:\s*([\d.]+)", re.I)
_FIRST = re.compile(
    r"\|\s*\d+\s+(?P<name>\S.*?)\s+(?:On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s*\|\s*(?P<bus>[0-9A-Fa-f:.]+)\s"
)
_SECOND = re.compile(
    r"\|\s*\S+?\s+(?P<temperature>\S+)\s+(?P<pstate>\S+)\s+(?P<power>\S+)\s*/\s*\S+\s*"
    r"\|\s*(?P<memory>[^|]*?)\s*\|\s*(?P<utilization>\S+)\s"
)


def parse_table(text: str) -> tuple[Gpu, ...]:
    """Plain `nvidia-smi`. Raises ValueError where it tells of no GPU."""
    version = _VERSION.search(text)
    found: list[Gpu] = []
    lines = iter(text.splitlines())
    for line in lines:
        first = _FIRST.match(line.strip())
        second = _SECOND.match(next(lines, "").strip()) if first else None
        if first is None:
            continue
        if second is None:
            raise ValueError("nvidia-smi's table ends in the middle of a GPU")
        used, _, total = second["memory"].partition(" / ")
        found.append(
            _from_fields(
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
    return _or_trouble(found, text, "nvidia-smi's table")


def parse_list(text: str) -> tuple[Gpu, ...]:
    """`nvidia-smi -L`: names only. Raises ValueError where it tells of no GPU."""
    names = re.findall(r"^\s*GPU \d+: (.*?)\s*(?:\(UUID.*)?$", text, re.M)
    return _or_trouble([Gpu(name=_told(name)) for name in names], text, on_host("nvidia-smi -L"))


def _or_trouble(found: Sequence[Gpu], text: str, what: str) -> tuple[Gpu, ...]:
    if found:
        return tuple(found)
    complaint = trouble(text)
    if complaint:
        return (Gpu(trouble=complaint),)
    raise ValueError(f"this is no output of {what}: it tells of no GPU")


# --- verdicts


def answers(gpu: Gpu) -> Verdict:
    """Whether nvidia-smi tells of a GPU at all, and what keeps it from that."""
    if not gpu.trouble:
        return Verdict("healthy", evidence=f"nvidia-smi tells of {gpu.name or 'a GPU'}")
    trouble = next(each for each in _TROUBLES if each.search(gpu.trouble))
    return Verdict(trouble.level, trouble.cause, f"{trouble.meaning}: {gpu.trouble.rstrip('.')}", trouble.cure)


def power_clamp(gpu: Gpu) -> Verdict:
    """Whether USB-C power delivery holds the GPU at a low clock; only a loaded GPU can tell.

    An active SW Power Cap is no fault: healthy units show it too. Nor is a cap that a person set on the clock.
    """
    if gpu.foreign:
        return Verdict("unknown", "not-gb10", f"the clocks of a GB10 are no measure for {gpu.name}")
    loaded = gpu.utilization is not None and gpu.utilization >= LOADED_PERCENT
    if loaded and gpu.sm_mhz is None and _draws_little(gpu):
        return Verdict(
            "unknown",
            "power-low",
            f"the GPU draws {gpu.power_w:g} W at {gpu.utilization:g} % utilization, as a clamped one does, "
            "and its clock is not told",
            on_host(
                "nvidia-smi --query-gpu=name,utilization.gpu,clocks.sm,power.draw --format=csv",
                ", under the same load",
            ),
        )
    if gpu.utilization is None or gpu.sm_mhz is None or gpu.utilization < LOADED_PERCENT:
        busy = "unknown" if gpu.utilization is None else f"{gpu.utilization:g} %"
        clock = "" if gpu.sm_mhz is not None else ", its SM clock unknown"
        return Verdict(
            "unknown",
            "inconclusive",
            f"GPU utilization is {busy}{clock}, and the clock tells only at {LOADED_PERCENT} % and more",
            "look again while a model answers requests",
        )
    evidence = f"the SM clock is {gpu.sm_mhz:g} MHz at {gpu.utilization:g} % utilization"
    if gpu.power_w is not None:
        evidence += f" and {gpu.power_w:g} W"
    if gpu.sm_mhz >= HEALTHY_FROM_MHZ:
        return Verdict("healthy", evidence=evidence)
    return _capped(gpu, evidence) or _low(gpu, evidence)


def _capped(gpu: Gpu, evidence: str) -> Verdict | None:
    """A low clock that a person asked for; None where power or heat holds it, or may do so."""
    if _POWER.union(_THERMAL).intersection(gpu.reasons or ()):
        return None
    if "Applications Clocks Setting" in (gpu.reasons or ()):
        return Verdict("healthy", evidence=f"{evidence}: the applications clocks are set so, a cap and no fault")
    cap = _round_cap(gpu)
    if cap is None:
        return None
    evidence += f", as a cap near {cap:g} MHz gives it (nvidia-smi -lgc)"
    if gpu.reasons is None:
        return Verdict("unknown", "clock-cap", f"{evidence}; the active reasons are not shown", _ASK_REASONS)
    return Verdict(
        "healthy", evidence=f"{evidence}: no power or thermal reason is active (sudo nvidia-smi -rgc lifts a cap)"
    )


def _round_cap(gpu: Gpu) -> float | None:
    """The round figure in MHz that the clock stays just below; None where it is none, or a clamp may be."""
    if gpu.sm_mhz is None or gpu.sm_mhz <= CLAMPED_UP_TO_MHZ or _draws_little(gpu):
        return None
    below = -gpu.sm_mhz % CAP_STEP_MHZ
    return gpu.sm_mhz + below if below <= CAP_SLACK_MHZ else None


def _draws_little(gpu: Gpu) -> bool:
    return gpu.power_w is not None and gpu.power_w <= CLAMPED_UP_TO_W


def _low(gpu: Gpu, evidence: str) -> Verdict:
    evidence += f", {HEALTHY_FROM_MHZ} MHz and more expected"
    if gpu.reasons:
        evidence += f" (active: {', '.join(gpu.reasons)})"
    if gpu.slowed:
        return Verdict("degraded", "low-clock", evidence, _COOL)
    if gpu.sm_mhz is not None and gpu.sm_mhz < CLAMPED_BELOW_MHZ:
        return Verdict("fault", "power-clamp", evidence, _UNPLUG)
    return Verdict(
        "degraded", "low-clock", evidence, on_host("sudo nvidia-smi -rgc", f", which lifts a cap; else {_UNPLUG}")
    )


def power_clamp_under_load(looks: Iterable[Gpu]) -> Verdict | None:
    """power_clamp of several looks at one GPU while it works; None where none of them is conclusive.

    The best one counts: a clamped clock stays low, and a free one is low for a moment as a load comes and goes.
    """
    told = [verdict for verdict in map(power_clamp, looks) if verdict.level != "unknown"]
    return min(told, key=lambda verdict: ("healthy", "degraded", "fault").index(verdict.level), default=None)


def gsp(gpu: Gpu) -> Verdict:
    """Whether the GSP firmware is that of the driver."""
    if gpu.gsp is None or gpu.driver is None:
        return Verdict(
            "unknown", "gsp-unknown", "nvidia-smi -q does not tell both GSP firmware and driver version"
        )
    if gpu.gsp != gpu.driver:
        package = f"nvidia-firmware-{gpu.driver.split('.')[0]}-{gpu.driver}"
        return Verdict(
            "degraded",
            "gsp-mismatch",
            f"the GSP firmware is {gpu.gsp}, the driver {gpu.driver}",
            on_host(reinstall_past_the_hold(package), "; and reboot"),
        )
    return Verdict("healthy", evidence=f"GSP firmware and driver are both {gpu.driver}")


def temperature(gpu: Gpu) -> Verdict:
    """Whether the GPU is too warm: by what slows it, by its own margin, or else by a bound for a GB10.

    80 to 86 C under load are no fault. The evidence names what it was judged by.
    """
    if gpu.slowed:
        active = f"{' and '.join(gpu.slowed)} {'is' if len(gpu.slowed) == 1 else 'are'} active"
        return Verdict("degraded", "gpu-hot", f"{_warmth(gpu)}: {active}, so heat slows it", _COOL)
    if gpu.margin_c is not None:
        return _by_margin(gpu, gpu.margin_c)
    if gpu.temperature_c is None:
        return Verdict("unknown", "no-temperature", "nvidia-smi does not tell the temperature of the GPU")
    if gpu.reasons is not None:
        return Verdict("healthy", evidence=f"{_warmth(gpu)}, and no thermal slowdown is active")
    return _by_bound(gpu, gpu.temperature_c)


def _warmth(gpu: Gpu) -> str:
    return "the GPU" if gpu.temperature_c is None else f"the GPU has {gpu.temperature_c:g} C"


def _by_margin(gpu: Gpu, margin: float) -> Verdict:
    if margin <= 0:
        evidence = f"{_warmth(gpu)}: it is {-margin:g} C above its highest operating temperature (T.Limit)"
        return Verdict("degraded", "gpu-hot", evidence, _COOL)
    return Verdict("healthy", evidence=f"{_warmth(gpu)}, {margin:g} C are left up to its limit (T.Limit)")


def _by_bound(gpu: Gpu, celsius: float) -> Verdict:
    if gpu.foreign:
        return Verdict("unknown", "not-gb10", f"the temperature of a GB10 is no measure for {gpu.name}")
    evidence = (
        f"{_warmth(gpu)}, a GB10 was slowed by heat above {HOT_ABOVE_C} C; "
        "nvidia-smi shows neither T.Limit nor a slowdown reason"
    )
    if celsius > HOT_ABOVE_C:
        return Verdict("degraded", "gpu-hot", evidence, _COOL)
    return Verdict("healthy", evidence=evidence)
