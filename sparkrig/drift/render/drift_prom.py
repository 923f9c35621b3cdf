"""The drift report as Prometheus's text format, for the textfile collector of its node_exporter."""

from __future__ import annotations

from pathlib import PurePath
from typing import get_args

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from sparkrig.drift.drift import Host, Mover, Report
from sparkrig.resources.check import Status
from sparkrig.text import plain

_VALUES: dict[Status, int] = {"ok": 0, "drift": 1, "missing": 1, "extra": 1, "unknown": 2}


def metrics(report: Report) -> str:
    """Gauges of each host. One that could not be read has no time of a success, so that its absence can alert.

    Every sample has the name of its inventory: one machine may look after several, and no sample may come twice.
    """
    registry = CollectorRegistry()
    inventory = plain(PurePath(report.inventory).name)

    def gauge(name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"sparkrig_{name}", meaning, ("inventory", *labels), registry=registry)

    up = gauge("up", "1 where the host could be read.", "host")
    status = gauge("check_status", "0 holds, 1 does not, 2 could not be told; accepted or not.", "host", "check")
    items = gauge("drift_items", "Checks that do not hold and are not accepted, by who moved.", "host", "mover")
    unknown = gauge("unknown_items", "Checks that could not be told and are not accepted.", "host")
    accepted = gauge("accepted_items", "Checks that do not hold, and are accepted.", "host")
    success = gauge("last_success_timestamp_seconds", "When the host was last read.", "host")
    for host in report.hosts:
        of_host = (inventory, host.name)
        up.labels(*of_host).set(host.unread is None)
        if host.unread is not None:
            continue
        success.labels(*of_host).set(report.started.timestamp())
        unknown.labels(*of_host).set(sum(row.status == "unknown" and row.counts for row in host.rows))
        accepted.labels(*of_host).set(sum(row.accepted is not None for row in host.rows))
        for mover in get_args(Mover):
            items.labels(*of_host, mover).set(_moved(host, mover))
        for row in host.rows:
            if row.status in _VALUES:
                status.labels(*of_host, plain(row.id)).set(_VALUES[row.status])
    gauge("report_timestamp_seconds", "When the report began.").labels(inventory).set(report.started.timestamp())
    gauge("report_duration_seconds", "How long all hosts took.").labels(inventory).set(report.seconds)
    return generate_latest(registry).decode()


def _moved(host: Host, mover: Mover) -> int:
    return sum(row.counts and row.moved == mover for row in host.rows)
