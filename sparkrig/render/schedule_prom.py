"""The last run of a schedule as Prometheus's text format, for the textfile collector of its node_exporter.

Every sample has the name of its inventory and that of its schedule: one machine may look after several, two of
them of one file name, and node_exporter shows nothing at all where a sample comes twice.
"""

from __future__ import annotations

from pathlib import PurePath

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from sparkrig.reports.drift import Report
from sparkrig.reports.schedule import Schedule, State

_OF_RUN = {
    "run_timestamp_seconds": "When the last run of drift began.",
    "duration_seconds": "How long the last run took.",
    "exit_code": "The exit code of drift.",
    "failed": "1 where the last run made no report.",
    "late_seconds": "After so long without a run one is missing.",
}
_OF_HOST = {
    "host_read": "1 where the last run could read the host.",
    "differing_checks": "Checks that do not hold and are not accepted.",
    "unknown_checks": "Checks that have no result and are not accepted.",
}
_RUNS = "runs_total"
_LABELS = ("inventory", "schedule")
NAMES = tuple(f"sparkrig_schedule_{each}" for each in (*_OF_RUN, *_OF_HOST, _RUNS))


def metrics(schedule: Schedule, state: State, report: Report | None, id: str) -> str:
    """What the last run left: of hosts only with a report, and of those that were read. id: of the schedule."""
    registry = CollectorRegistry()
    of = (PurePath(schedule.inventory).name, id)
    if ran := state.ran:
        found = {
            "run_timestamp_seconds": ran.started.timestamp(),
            "duration_seconds": ran.seconds,
            "exit_code": ran.exit,
            "failed": float(bool(ran.trouble)),
            "late_seconds": schedule.late_s,
        }
        for name, value in found.items():
            _gauge(registry, name, _OF_RUN[name], *_LABELS).labels(*of).set(value)
    registry.register(_Runs(of, state.runs))
    gauges = {name: _gauge(registry, name, about, *_LABELS, "host") for name, about in _OF_HOST.items() if report}
    for host in report.hosts if report else ():
        gauges["host_read"].labels(*of, host.name).set(host.unread is None)
        if host.unread is None:
            unknown = sum(row.counts and row.status == "unknown" for row in host.rows)
            wrong = sum(row.counts for row in host.rows) - unknown
            gauges["differing_checks"].labels(*of, host.name).set(wrong)
            gauges["unknown_checks"].labels(*of, host.name).set(unknown)
    return generate_latest(registry).decode()


def _gauge(registry: CollectorRegistry, name: str, about: str, *labels: str) -> Gauge:
    return Gauge(f"sparkrig_schedule_{name}", about, labels, registry=registry)


class _Runs(Collector):
    """A count that is known; the client's own counter would add the time at which it was made."""

    def __init__(self, of: tuple[str, str], count: int) -> None:
        self.of, self.count = of, count

    def collect(self) -> list[CounterMetricFamily]:
        made = CounterMetricFamily("sparkrig_schedule_runs", "Runs since it was scheduled.", labels=_LABELS)
        made.add_metric(self.of, self.count)
        return [made]
