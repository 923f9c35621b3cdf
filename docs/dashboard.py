"""templates/watch/dashboard.json: a page of Grafana, built with Grafana's own SDK, which developers alone have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import common, prometheus, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.common import GraphDrawStyle, LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DataSourceRef, VariableRefresh

from docs.alerts import DEVICES, JOB, of

DASHBOARD = Path(__file__).resolve().parent.parent / "templates" / "watch" / "dashboard.json"
_OF = 'instance=~"$instance"'
_WIDTH, _HEIGHT = 8, 7  # of 24 columns


@dataclass(frozen=True)
class Graph:
    """A panel. queries: each with the legend of its lines; unit: as Grafana names it; about: what it shows."""

    title: str
    unit: str
    about: str
    queries: tuple[tuple[str, str], ...]


def _of(name: str, more: str = "") -> str:
    return of(name, f"{_OF}{more}")


def _rate(name: str, more: str = "") -> str:
    return f"rate({_of(name, more)}[$__rate_interval])"


_HOST = "{{instance}}"
ROWS: tuple[tuple[str, tuple[Graph, ...]], ...] = (
    (
        "Hosts",
        (
            Graph(
                "Answers",
                "bool_on_off",
                "Whether the host is scraped.",
                ((f'up{{job="{JOB}",{_OF}}}', _HOST),),
            ),
            Graph(
                "Age of the last row of the black box",
                "s",
                "More than 30 s: the host stands still, or the black box does.",
                (
                    (
                        f"max by (instance) ({_of('node_time_seconds')}) - "
                        f"max by (instance) ({_of('sparkrig_blackbox_row_timestamp_seconds')})",
                        _HOST,
                    ),
                ),
            ),
            Graph(
                "Checks that differ from what is declared",
                "short",
                "By the last run of sparkrig schedule.",
                (("sparkrig_schedule_differing_checks", "{{host}}"), ("sparkrig_schedule_failed", "failed runs")),
            ),
        ),
    ),
    (
        "Memory",
        (
            Graph(
                "Memory available",
                "bytes",
                "CPU and GPU share it: a GB10 reports no memory of its own.",
                ((_of("node_memory_MemAvailable_bytes"), _HOST),),
            ),
            Graph(
                "Memory that no process holds",
                "bytes",
                "What CUDA takes is in it.",
                ((_of("sparkrig_memory_unheld_bytes"), _HOST),),
            ),
            Graph(
                "Largest processes",
                "bytes",
                "By name.",
                ((_of("sparkrig_process_resident_bytes"), "{{instance}} {{process}}"),),
            ),
            Graph(
                "Time in which every process waited for memory",
                "percentunit",
                "Pressure (PSI).",
                ((_rate("node_pressure_memory_stalled_seconds_total"), _HOST),),
            ),
            Graph(
                "Swap in use",
                "bytes",
                "",
                (
                    (
                        f"{_of('node_memory_SwapTotal_bytes')} - {_of('node_memory_SwapFree_bytes')}",
                        _HOST,
                    ),
                ),
            ),
            Graph(
                "Lines of the kernel's log",
                "short",
                "The driver (nvrm), PCIe (aer), and processes that the kernel ended (killed).",
                (
                    (
                        f"increase({_of('sparkrig_kernel_log_lines_total')}[$__rate_interval])",
                        "{{instance}} {{kind}}",
                    ),
                ),
            ),
        ),
    ),
    (
        "GPU and heat",
        (
            Graph("Utilization", "percentunit", "", ((_of("sparkrig_gpu_utilization_ratio"), _HOST),)),
            Graph(
                "SM clock",
                "hertz",
                "Under load 850 MHz and less is a clamp by the power supply.",
                ((_of("sparkrig_gpu_clock_hertz"), _HOST),),
            ),
            Graph("Power", "watt", "", ((_of("sparkrig_gpu_power_watts"), _HOST),)),
            Graph(
                "Temperature",
                "celsius",
                "GPU, and the zones of the board.",
                (
                    (_of("sparkrig_gpu_temperature_celsius"), "{{instance}} GPU"),
                    (_of("sparkrig_thermal_zone_celsius"), "{{instance}} {{type}}"),
                ),
            ),
            Graph(
                "Degrees up to the GPU's limit",
                "celsius",
                "T.Limit of nvidia-smi; a driver that does not report it has no line.",
                ((_of("sparkrig_gpu_temperature_margin_celsius"), _HOST),),
            ),
            Graph(
                "Reasons of a low clock",
                "short",
                "A power cap alone is no fault.",
                ((_of("sparkrig_gpu_throttle_active"), "{{instance}} {{reason}}"),),
            ),
        ),
    ),
    (
        "Fabric",
        (
            Graph(
                "Carrier losses",
                "short",
                "",
                (
                    (
                        "increase("
                        + _of("node_network_carrier_down_changes_total", f',device!~"{DEVICES}"')
                        + "[$__rate_interval])",
                        "{{instance}} {{device}}",
                    ),
                ),
            ),
            Graph(
                "RDMA errors",
                "short",
                "",
                (
                    (
                        f"increase({_of('sparkrig_rdma_errors_total')}[$__rate_interval])",
                        "{{instance}} {{device}}",
                    ),
                ),
            ),
            Graph(
                "Bytes received",
                "Bps",
                "By netdev; RDMA passes them by.",
                (
                    (
                        _rate("node_network_receive_bytes_total", f',device!~"{DEVICES}"'),
                        "{{instance}} {{device}}",
                    ),
                ),
            ),
        ),
    ),
    (
        "Serving",
        (
            Graph(
                "Requests",
                "short",
                "Those that run, and those that wait.",
                (
                    (_of("sparkrig_serving_requests_running"), "{{instance}} {{unit}} run"),
                    (_of("sparkrig_serving_requests_waiting"), "{{instance}} {{unit}} wait"),
                ),
            ),
            Graph(
                "Tokens in a second",
                "short",
                "Of answers, and of prompts.",
                (
                    (_rate("sparkrig_serving_generated_tokens_total"), "{{instance}} {{unit}} answers"),
                    (_rate("sparkrig_serving_prompt_tokens_total"), "{{instance}} {{unit}} prompts"),
                ),
            ),
            Graph(
                "Servers, and what the guard did",
                "short",
                "",
                (
                    (_of("sparkrig_serving_up"), "{{instance}} {{unit}} answers"),
                    (_of("sparkrig_guard_acts_total"), "{{instance}} guard: {{act}}"),
                ),
            ),
        ),
    ),
)


def dashboard() -> str:
    """The text of templates/watch/dashboard.json."""
    page = (
        builders.Dashboard("Sparks")
        .uid("sparkrig")
        .description("What the black boxes of DGX Sparks read: sparkrig docs watching#metrics")
        .tags(["sparkrig"])
        .time("now-3h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(builders.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .with_variable(
            builders.QueryVariable("instance")
            .label("Spark")
            .query(f'label_values(up{{job="{JOB}"}}, instance)')
            .datasource(_SOURCE)
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .current(models.VariableOption(text="All", value="$__all"))
        )
    )
    for title, graphs in ROWS:
        page = page.with_row(builders.Row(title))
        for graph in graphs:
            page = page.with_panel(_panel(graph))
    return JSONEncoder(sort_keys=True, indent=1).encode(page.build()) + "\n"


_SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")


def _panel(graph: Graph) -> timeseries.Panel:
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    panel = (
        timeseries.Panel()
        .title(graph.title)
        .description(graph.about)
        .unit(graph.unit)
        .datasource(_SOURCE)
        .span(_WIDTH)
        .height(_HEIGHT)
        .draw_style(GraphDrawStyle.LINE)
        .min(0)
        .legend(legend.show_legend(True))
    )
    for id, (expr, legend_of) in zip("ABC", graph.queries, strict=False):
        panel = panel.with_target(
            prometheus.Dataquery().ref_id(id).expr(expr).legend_format(legend_of).datasource(_SOURCE)
        )
    return panel
