"""templates/watch/rules.yml: alerts of Prometheus, by the limits and with the cures of the product itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sparkrig.checks import reference
from sparkrig.host import blackbox, gpu, health
from sparkrig.host.nvidia_smi import THERMAL, Gpu
from sparkrig.resources.kind import Kind, to_read

_FOLDER = Path(__file__).resolve().parent.parent / "templates" / "watch"
RULES = _FOLDER / "rules.yml"
DASHBOARD = _FOLDER / "dashboard.json"  # edited by hand, or saved by a Grafana
JOB = "sparks"  # of the scrape configuration of docs/watching.md
RECENT = "10m"  # in which something counts as new
# netdevs of containers and of virtual machines come and go
DEVICES = "veth.*|docker.*|br-.*|virbr.*|tap.*|lo"

HEAD = """\
# Made by `python -m docs.make` (make docs) from docs/alerts.py. Do not edit. See sparkrig docs watching#alerts
"""


@dataclass(frozen=True)
class Alert:
    """A rule. about: the id of a check, or a page where no check is of it; text: to follow the host's name.

    wait: seconds for which it must hold; cure: what to do; host: the label that has the host's name.
    """

    name: str
    about: str
    expr: str
    text: str
    wait: int = 0
    critical: bool = False
    cure: str = "sparkrig doctor INVENTORY"
    host: str = "instance"

    @property
    def kind(self) -> Kind | None:
        """The check that it is of."""
        return None if self.about.startswith("docs/") else reference.kind(self.about)

    @property
    def description(self) -> str:
        """Meaning, usual cause and cure, as the reference of checks and the verdicts have them."""
        parts = [f"Try: {self.cure}"]
        if self.kind:
            usual = [f"Usually {self.kind.cause}"] if self.kind.cause else []
            parts = [f"Expected: {self.kind.meaning}", *usual, *parts]
        return "".join(f"{part}. " for part in parts).strip()


def of(name: str, labels: str = "") -> str:
    """A series of the Sparks alone: a Prometheus may scrape other machines, and a Spark for another job, too."""
    return f'{name}{{job="{JOB}"{"," if labels else ""}{labels}}}'


def _low(percent: float) -> str:
    return f"100 * {of('node_memory_MemAvailable_bytes')} / {of('node_memory_MemTotal_bytes')} < {percent:g}"


def _rose(series: str) -> str:
    return f"increase({series}[{RECENT}]) > 0"


def _throttled(reasons: frozenset[str]) -> str:
    series = of("sparkrig_gpu_throttle_active", f'reason=~"{"|".join(sorted(reasons))}"')
    return f"max by (instance) ({series}) == 1"


_MEMORY = health.memory(health.Health("", "", memory_total_kb=100, memory_available_kb=1)).cure
_CLAMP = gpu.power_clamp(Gpu(utilization=100, sm_mhz=gpu.CLAMPED_UP_TO_MHZ)).cure
_COOL = gpu.temperature(Gpu(margin_c=0)).cure
_LINES = of("sparkrig_kernel_log_lines_total", 'kind="nvrm"')
_SOC = health.SOC_ZONE.pattern.replace(r"\d", "0-9")  # PromQL has no such class in a set
_ZONES = of("sparkrig_thermal_zone_celsius", f'type=~"(?i){_SOC}"')
_BOX = "sparkrig blackbox INVENTORY, and sparkrig doctor INVENTORY"
# a boot sets counters of the kernel back, and that is no rise
_SINCE_BOOT = f"unless on (instance) {of('node_time_seconds')} - {of('node_boot_time_seconds')} < 900"
_ROW = of("sparkrig_blackbox_row_timestamp_seconds")
# of each instance one, whatever other labels its targets have: two on one side are an error, and no alert
_AGE = f"max by (instance) ({of('node_time_seconds')}) - max by (instance) ({_ROW})"
_RAN = "sparkrig_report_timestamp_seconds"
_DAY_S = 25 * 3600  # drift is looked for once a day or more often, unless somebody changes the rule

HOSTS = (
    Alert(
        "SparkMemoryLow",
        "health.memory",
        _low(blackbox.NEAR_PERCENT),  # the doctor's floor is that of an idle host: a server takes what is above
        'has {{ $value | printf "%.1f" }} % of its memory available',
        60,
        cure=_MEMORY,
    ),
    Alert(
        "SparkMemoryEnds",
        "health.memory",
        _low(blackbox.ENDS_PERCENT),
        'has {{ $value | printf "%.1f" }} % of its memory available, and hangs without any',
        30,
        critical=True,
        cure=_MEMORY,
    ),
    Alert(
        "SparkStalled",
        "health.memory",
        f"100 * rate({of('node_pressure_memory_stalled_seconds_total')}[1m]) >= {blackbox.STALLED_PERCENT}",
        'made every process wait for memory for {{ $value | printf "%.0f" }} % of a minute',
        30,
        critical=True,
        cure=_MEMORY,
    ),
    Alert(
        "SparkOomKill",
        "health.memory",
        _rose(of("sparkrig_kernel_log_lines_total", 'kind="killed"')),
        "had processes ended by its kernel to get memory",
        cure=_BOX,
    ),
    Alert(
        "SparkHot",
        "health.temperature",
        f"max by (instance) ({_ZONES} or {of('sparkrig_gpu_temperature_celsius')}) >= {blackbox.HOT_C}",
        f'is at {{{{ $value | printf "%.0f" }}}} C, and was at {blackbox.HOT_C} C and more for minutes',
        blackbox.HOT_S,
        critical=True,
        cure=_COOL,
    ),
    Alert(
        "SparkSlowedByHeat",
        "gpu.temperature",
        _throttled(THERMAL),
        "has a GPU that is slowed by heat",
        60,
        cure=_COOL,
    ),
    Alert(
        "SparkSlowedByPower",
        "gpu.clock",
        _throttled(blackbox.POWER),
        "has a GPU that is slowed by its power supply",
        60,
        cure=_CLAMP,
    ),
    Alert(
        "SparkPowerClamp",
        "gpu.clock",
        f"{of('sparkrig_gpu_utilization_ratio')} >= {gpu.LOADED_PERCENT / 100:g} and "
        f"{of('sparkrig_gpu_clock_hertz')} <= "
        f"{gpu.CLAMPED_UP_TO_MHZ * 1e6:.0f} unless on (instance) ({_throttled(THERMAL)})",
        f"has a loaded GPU whose clock stays at {gpu.CLAMPED_UP_TO_MHZ} MHz and less",
        300,
        cure=_CLAMP,
    ),
    Alert(
        "SparkGpuSilent",
        "gpu.answers",
        f"{of('sparkrig_blackbox_gpu_answers')} == 0",
        "has an nvidia-smi that shows nothing",
        300,
        critical=True,
    ),
    Alert(
        "SparkDriverLines",
        "watch.reset",
        f"{_LINES} - {_LINES} offset {blackbox.NVRM_S}s >= {blackbox.NVRM_LINES}",
        'has a driver that logged {{ $value | printf "%.0f" }} lines (NVRM) in a minute',
        cure=_BOX,
    ),
    Alert(
        "SparkPcieErrors",
        "nic.NETDEV.pcie",
        _rose(of("sparkrig_kernel_log_lines_total", 'kind="aer"')),
        "logged errors of PCIe (AER)",
    ),
    Alert(
        "SparkCarrierLost",
        "net.NETDEV.carrier",
        _rose(of("node_network_carrier_down_changes_total", f'device!~"{DEVICES}"')) + f" {_SINCE_BOOT}",
        "lost the carrier of {{ $labels.device }}",
        cure="sparkrig topology INVENTORY",
    ),
    Alert(
        "SparkRdmaErrors",
        "docs/fabric.md#whether-each-rail-carries-what-it-should",
        _rose(of("sparkrig_rdma_errors_total")),
        "counted errors on {{ $labels.device }}",
        cure="sparkrig bandwidth INVENTORY",
    ),
    Alert(
        "SparkGuardActed",
        "watch.guard",
        _rose(of("sparkrig_guard_acts_total")),
        "has a guard that acted: {{ $labels.act }}",
        critical=True,
        cure=_BOX,
    ),
    Alert(
        "SparkBlackBoxSilent",
        "watch.running",
        f'{_AGE} > {blackbox.LATE_S} or up{{job="{JOB}"}} == 1 unless on (instance) {_ROW}',
        "has a black box that writes nothing",
        60,
        cure="sparkrig drift INVENTORY",
    ),
    Alert(
        "SparkGone",
        "access.ssh",
        f'up{{job="{JOB}"}} == 0',
        "does not answer",
        120,
        critical=True,
    ),
    Alert(
        "SparksUnwatched",
        "docs/watching.md#metrics",
        f'absent(up{{job="{JOB}"}})',
        f"No Spark is scraped: there is no job {JOB}",
        300,
        critical=True,
        cure="the scrape configuration of this page",
        host="",
    ),
    Alert(
        "SparkServerDown",
        "serve.answer",
        f"{of('sparkrig_serving_up')} == 0",
        "has a server that does not answer: {{ $labels.unit }}",
        1800,
        cure="sparkrig startup INVENTORY",
    ),
    Alert(
        "SparkServerQueue",
        "serve.answer",
        f"{of('sparkrig_serving_requests_waiting')} > 0",
        "has {{ $value }} requests that wait for {{ $labels.unit }}",
        600,
        cure="sparkrig bench INVENTORY",
    ),
)
DRIFT = (
    Alert(
        "SparkDrift",
        "docs/drift.md",
        "sum by (inventory, host) (sparkrig_drift_items) > 0",
        "differs from what is declared in {{ $value }} checks",
        cure="sparkrig drift INVENTORY",
        host="host",
    ),
    Alert(
        "SparkUnread",
        "access.ssh",
        "sparkrig_up == 0",
        "could not be read by the last run of drift",
        host="host",
    ),
    Alert(
        "SparkDriftNotRun",
        "docs/scheduling.md",
        f"time() - {_RAN} > {_DAY_S} or last_over_time({_RAN}[1d]) unless {_RAN}",
        "is not looked at by drift any more",
        300,
        cure="sparkrig status INVENTORY",
        host="inventory",
    ),
)


def rules() -> str:
    """The text of templates/watch/rules.yml."""
    import yaml

    groups = [
        {"name": "sparkrig", "rules": list(map(_rule, HOSTS))},
        {"name": "sparkrig-drift", "rules": list(map(_rule, DRIFT))},
    ]
    return HEAD + yaml.safe_dump({"groups": groups}, sort_keys=False, width=110)


def _rule(alert: Alert) -> dict[str, object]:
    name = f"{{{{ $labels.{alert.host} }}}} " if alert.host else ""
    return {
        "alert": alert.name,
        "expr": alert.expr,
        **({"for": f"{alert.wait}s"} if alert.wait else {}),
        "labels": {"severity": "critical" if alert.critical else "warning"},
        "annotations": {
            "summary": f"{name}{alert.text}",
            "description": alert.description,
            **({"check": alert.about} if alert.kind else {}),
            "runbook": to_read(alert.kind.docs if alert.kind else alert.about),
        },
    }


def table() -> Iterator[tuple[str, ...]]:
    """The rows of the page: alert, when it fires, check."""
    for alert in (*HOSTS, *DRIFT):
        wait = f"{alert.wait} s" if alert.wait else "at once"
        about = f"`{alert.about}`" if alert.kind else to_read(alert.about)
        yield f"`{alert.name}`", f"`{alert.expr}`", wait, about
