"""Debian's Prometheus, promtool and node exporter, as scripts/prometheus fetches them; none is installed."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sparkrig.drift.drift import Report
from tests.unit.shells import well

ROOT = Path(__file__).resolve().parents[2]
# those of node_exporter that rules and dashboard name
OTHERS = {
    "node_boot_time_seconds",
    "node_memory_MemAvailable_bytes",
    "node_memory_MemTotal_bytes",
    "node_memory_SwapFree_bytes",
    "node_memory_SwapTotal_bytes",
    "node_network_carrier_down_changes_total",
    "node_network_receive_bytes_total",
    "node_pressure_memory_stalled_seconds_total",
    "node_time_seconds",
}
_ROW = {"id": "driver.hold", "status": "drift", "want": "x", "found": "y", "moved": "host"}
# a report of one host that differs and one that cannot be read
DRIFTED = Report.model_validate(
    {
        "schema": "sparkrig.drift/1",
        "version": "1",
        "inventory": "pair.py",
        "started": datetime.now(UTC),
        "seconds": 1,
        "exit": 3,
        "hosts": [
            {"name": "spark-a", "exit": 2, "rows": [_ROW]},
            {"name": "spark-b", "exit": 3, "unread": "refused"},
        ],
    }
)


@cache
def programs() -> Path:
    """Their folder. Fails where they cannot be fetched."""
    done = well(subprocess.run([ROOT / "scripts/prometheus"], capture_output=True, text=True, timeout=100))
    return Path(done.stdout.strip())


WITHIN_S = 180  # alone it takes eight, beside a whole suite on two cores above sixty


class Prometheus:
    """One that runs until the stack ends. jobs: targets of each; rules: their text; every: seconds."""

    def __init__(
        self, root: Path, left: ExitStack, port: int, jobs: Mapping[str, Sequence[str]], rules: str, every: int = 1
    ) -> None:
        self.url = f"http://127.0.0.1:{port}/api/v1"
        (root / "rules.yml").write_text(rules)
        told: dict[str, Any] = {
            "global": {"scrape_interval": f"{every}s", "evaluation_interval": f"{every}s"},
            "rule_files": [str(root / "rules.yml")],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [*targets]}]} for job, targets in jobs.items()
            ],
        }
        (root / "prometheus.yml").write_text(yaml.safe_dump(told))
        words = [
            str(programs() / "prometheus"),
            f"--config.file={root}/prometheus.yml",
            f"--storage.tsdb.path={root}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        log = left.enter_context((root / "log").open("w"))
        begun = subprocess.Popen(words, cwd=root, stdout=log, stderr=log)
        left.callback(begun.wait)
        left.callback(begun.kill)

    def ask(self, what: str, **words: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/{what}?{urllib.parse.urlencode(words)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def series(self, expr: str) -> list[Any]:
        return list(self.ask("query", query=expr)["result"])

    @property
    def firing(self) -> set[str]:
        """The names of the alerts that fire now."""
        return {each["labels"]["alertname"] for each in self.ask("alerts")["alerts"] if each["state"] == "firing"}


def waited(holds: Callable[[], object], seconds: float = WITHIN_S) -> None:
    """Until that is empty: what is still missing."""
    end = time.monotonic() + seconds
    while True:
        found: object
        try:
            found = holds()
        except OSError:  # it does not listen yet
            found = "no answer"
        if not found:
            return
        assert time.monotonic() < end, found
        time.sleep(0.3)
