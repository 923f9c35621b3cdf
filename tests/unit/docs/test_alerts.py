"""The alerts of templates/watch/rules.yml: each fires at its limit, not just below, and is over afterwards."""

from __future__ import annotations

import re
import runpy
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs import alerts
from docs.make import with_metrics
from sparkrig.checks import reference
from sparkrig.cli.docs import MONITORING, _section
from sparkrig.host import blackbox
from sparkrig.render import drift_prom
from tests.tables import each_row
from tests.unit.blackbox_host import written_by
from tests.unit.prometheus import DRIFTED, OTHERS, ROOT, programs

RULES: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load(alerts.rules())["groups"] for rule in group["rules"]
}
STEP_S = 10
BELOW_S = 300
AFTER_S = 960  # what rose counts as new for ten minutes
ON = 'job="sparks",instance="a:9100"'


@dataclass(frozen=True)
class Case:
    """Values of each series: below the limit, at it, afterwards. always: of others, for promtool.

    A text is a value that changes: `+6` rises by that in each step, `late 30` is a time so far behind, `0 4` the
    one after the other, `gone` none.
    """

    series: Mapping[str, tuple[float | str, float | str, float | str]]
    always: Mapping[str, str] = field(default_factory=dict)


def gauge(name: str, below: float | str, at: float | str, label: str = "") -> Case:
    labels = f"{ON},{label}" if label else ON
    return Case({f"{name}{{{labels}}}": (below, at, below)})


def counter(name: str, label: str, rise: float = 1, less: float = 0) -> Case:
    return Case({f"{name}{{{ON},{label}}}": (less, less + rise, less + rise)})


def memory(below: float, at: float) -> Case:
    return Case(
        {f"node_memory_MemAvailable_bytes{{{ON}}}": (below, at, below)},
        {f"node_memory_MemTotal_bytes{{{ON}}}": "1000+0x2000"},
    )


THROTTLE = "sparkrig_gpu_throttle_active"
UP = f"up{{{ON}}}"
ROW = f"sparkrig_blackbox_row_timestamp_seconds{{{ON}}}"
TIME = {f"node_time_seconds{{{ON}}}": "0+10x2000"}
RAN = 'sparkrig_report_timestamp_seconds{inventory="pair.py"}'
CASES: dict[str, list[Case]] = {
    "SparkMemoryLow": [memory(50, 49)],
    "SparkMemoryEnds": [memory(30, 29)],
    "SparkStalled": [gauge("node_pressure_memory_stalled_seconds_total", "+5.9", "+6.1")],
    "SparkOomKill": [counter("sparkrig_kernel_log_lines_total", 'kind="killed"')],
    "SparkHot": [
        gauge("sparkrig_thermal_zone_celsius", 87, 88, 'type="acpitz"'),
        gauge("sparkrig_gpu_temperature_celsius", 87, 88),
    ],
    "SparkSlowedByHeat": [gauge(THROTTLE, 0, 1, 'reason="SW Thermal Slowdown"')],
    "SparkSlowedByPower": [gauge(THROTTLE, 0, 1, 'reason="HW Power Brake Slowdown"')],
    "SparkPowerClamp": [
        Case(
            {f"sparkrig_gpu_clock_hertz{{{ON}}}": (851e6, 850e6, 851e6)},
            {f"sparkrig_gpu_utilization_ratio{{{ON}}}": "0.8+0x2000"},
        ),
        Case(
            {f"sparkrig_gpu_utilization_ratio{{{ON}}}": (0.79, 0.8, 0.79)},
            {f"sparkrig_gpu_clock_hertz{{{ON}}}": "600000000+0x2000"},
        ),
        Case(
            {f'{THROTTLE}{{{ON},reason="HW Thermal Slowdown"}}': (1, 0, 1)},
            {
                f"sparkrig_gpu_utilization_ratio{{{ON}}}": "1+0x2000",
                f"sparkrig_gpu_clock_hertz{{{ON}}}": "600000000+0x2000",
            },
        ),
    ],
    "SparkGpuSilent": [gauge("sparkrig_blackbox_gpu_answers", 1, 0)],
    "SparkDriverLines": [
        Case({f'sparkrig_kernel_log_lines_total{{{ON},kind="nvrm"}}': ("0 4", 9, 9)}),
    ],
    "SparkPcieErrors": [counter("sparkrig_kernel_log_lines_total", 'kind="aer"')],
    "SparkCarrierLost": [counter("node_network_carrier_down_changes_total", 'device="enp1s0f0np0"', less=3)],
    "SparkRdmaErrors": [counter("sparkrig_rdma_errors_total", 'device="rocep1s0f0"')],
    "SparkGuardActed": [counter("sparkrig_guard_acts_total", 'act="stopped"')],
    "SparkBlackBoxSilent": [
        Case({ROW: ("late 30", "late 31", "late 30")}, TIME),
        Case({ROW: ("late 0", "gone", "late 0")}, {UP: "1+0x2000", **TIME}),
    ],
    "SparkGone": [Case({UP: (1, 0, 1)})],
    "SparksUnwatched": [Case({UP: (1, "gone", 1)})],
    "SparkServerDown": [gauge("sparkrig_serving_up", 1, 0, 'unit="sparkrig-serve"')],
    "SparkServerQueue": [gauge("sparkrig_serving_requests_waiting", 0, 1, 'unit="sparkrig-serve"')],
    "SparkDrift": [gauge("sparkrig_drift_items", 0, 1, 'host="a",inventory="pair.py",mover="host"')],
    "SparkUnread": [gauge("sparkrig_up", 1, 0, 'host="a",inventory="pair.py"')],
    "SparkDriftNotRun": [
        Case({RAN: ("late 90000", "late 90001", "late 90000")}),
        Case({RAN: ("late 0", "gone", "late 0")}),
    ],
}
# what needs no limit: another kind of device, a reason that is no fault, and a counter that a boot set back
SILENT: dict[str, list[Case]] = {
    "SparkCarrierLost": [
        counter("node_network_carrier_down_changes_total", 'device="veth1234"'),
        Case(
            {f'node_network_carrier_down_changes_total{{{ON},device="enp1s0f0np0"}}': (9, 2, 2)},
            {f"node_boot_time_seconds{{{ON}}}": f"{BELOW_S}+0x2000", **TIME},
        ),
    ],
    "SparkSlowedByPower": [gauge(THROTTLE, 0, 1, 'reason="SW Power Cap"')],
    "SparkHot": [gauge("sparkrig_thermal_zone_celsius", 40, 99, 'type="nvme"')],
    "SparkMemoryEnds": [memory(50, 31)],
}


def wait_s(alert: str) -> int:
    return int(RULES[alert].get("for", "0s").removesuffix("s"))


def phase(value: float | str, begin_s: int, length_s: int) -> str:
    """Values of one phase, as promtool takes them."""
    count = length_s // STEP_S
    word, _, rest = str(value).partition(" ")
    if word == "gone":
        return f"stale _x{count - 1}"
    if word == "late":
        return f"{begin_s - float(rest)}+{STEP_S}x{count - 1}"
    if word.startswith("+"):
        return f"{begin_s}{word}x{count - 1}"  # a rise at a border is a new beginning of a counter, or a small one
    if rest:
        half = count // 2
        return f"{word}+0x{half - 1} {rest}+0x{count - half - 1}"
    return f"{float(word)}+0x{count - 1}"


def group(alert: str, case: Case, *, fires: bool = True) -> dict[str, Any]:
    """The test of one alert, as promtool reads it."""
    at_s = wait_s(alert) + 120
    lengths = (BELOW_S, at_s, AFTER_S)
    begins = (0, BELOW_S, BELOW_S + at_s)
    told = {
        name: " ".join(phase(*each) for each in zip(values, begins, lengths, strict=True))
        for name, values in case.series.items()
    }
    times = {BELOW_S - STEP_S: 0, BELOW_S + wait_s(alert) + 30: int(fires), sum(lengths) - STEP_S: 0}
    if wait_s(alert):
        times[BELOW_S + wait_s(alert) - STEP_S] = 0
    expr = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    return {
        "interval": f"{STEP_S}s",
        "name": alert,
        "input_series": [{"series": name, "values": text} for name, text in {**told, **case.always}.items()],
        "promql_expr_test": [
            {
                "expr": expr,
                "eval_time": f"{at}s",
                "exp_samples": [{"labels": "{}", "value": 1}] if count else [],
            }
            for at, count in sorted(times.items())
        ],
    }


def promtool(folder: Path, groups: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    file = folder / "tests.yml"
    (folder / "rules.yml").write_text(alerts.rules())
    told = {"rule_files": ["rules.yml"], "evaluation_interval": f"{STEP_S}s", "tests": groups}
    file.write_text(yaml.safe_dump(told))
    words = [str(programs() / "promtool"), "test", "rules", str(file)]
    return subprocess.run(words, capture_output=True, text=True, timeout=100)


@pytest.mark.slow  # Prometheus is fetched once, 23 MB, and promtool takes seconds
def test_each_alert_fires_at_its_limit_and_only_there(tmp_path: Path) -> None:
    assert set(CASES) == set(RULES)
    groups = [group(alert, case) for alert, cases in CASES.items() for case in cases]
    groups += [group(alert, case, fires=False) for alert, cases in SILENT.items() for case in cases]
    done = promtool(tmp_path, groups)
    assert done.returncode == 0, done.stdout + done.stderr


def elsewhere(text: str) -> str:
    """A series of the same name, of another job's targets."""
    return text.replace('job="sparks"', 'job="all"')


def of_both(case: Case) -> Case:
    """A Spark that another job scrapes, too."""
    series = {**case.series, **{elsewhere(name): values for name, values in case.series.items()}}
    return Case(series, {**case.always, **{elsewhere(name): text for name, text in case.always.items()}})


def of_others(case: Case) -> Case:
    """A machine that is no Spark, beside one of which all is well."""
    return Case(
        {elsewhere(name): values for name, values in case.series.items()},
        {elsewhere(name): text for name, text in case.always.items()},
    )


@pytest.mark.slow  # as the one before
def test_other_jobs_of_that_prometheus_neither_fire_nor_silence_an_alert(tmp_path: Path) -> None:
    """A node exporter that another job scrapes, too, and one of a machine that is no Spark."""
    of_hosts = {alert.name for alert in alerts.HOSTS} - {"SparksUnwatched"}
    groups = [group(alert, of_both(case)) for alert in sorted(of_hosts) for case in CASES[alert]]
    groups += [group(alert, of_others(case), fires=False) for alert in sorted(of_hosts) for case in CASES[alert]]
    done = promtool(tmp_path, groups)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow  # as the one before
def test_an_alert_says_which_host_what_and_what_to_do(tmp_path: Path) -> None:
    test = group("SparkMemoryLow", CASES["SparkMemoryLow"][0])
    test["alert_rule_test"] = [
        {
            "eval_time": f"{BELOW_S + 120}s",
            "alertname": "SparkMemoryLow",
            "exp_alerts": [
                {
                    "exp_labels": {"severity": "warning", "job": "sparks", "instance": "a:9100"},
                    "exp_annotations": {
                        "summary": "a:9100 has 4.9 % of its memory available",
                        "description": "Expected: the host has memory enough to stay alive. Try: stop a model "
                        "server, or start it with a GPU memory utilization of 0.80.",
                        "check": "health.memory",
                        "runbook": "sparkrig docs fabric#the-hosts",
                    },
                }
            ],
        }
    ]
    done = promtool(tmp_path, [test])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_and_the_page_are_current() -> None:
    from docs.make import WATCHING

    assert alerts.RULES.read_text() == alerts.rules(), "make docs"
    text = WATCHING.read_text(encoding="utf-8")
    assert text == with_metrics(text), "make docs"
    assert {alerts.RULES.name, alerts.DASHBOARD.name} == set(MONITORING)


def test_each_alert_has_a_check_of_ours_or_a_page_and_it_is_there() -> None:
    def holds(alert: str) -> None:
        notes = RULES[alert]["annotations"]
        if "check" in notes:
            assert reference.kind(notes["check"]).meaning in notes["description"]
        page, _, section = notes["runbook"].removeprefix("sparkrig docs ").partition("#")
        assert _section(page, section) if section else (ROOT / f"docs/{page}.md").exists()
        assert "Try: " in notes["description"] and RULES[alert]["labels"]["severity"] in ("warning", "critical")

    each_row(list(RULES), holds)


def test_the_limits_are_those_of_the_guard_where_it_has_them() -> None:
    program = runpy.run_path(str(ROOT / "templates/watch/blackbox.py"))
    assert program["LOW_PERCENT"] == blackbox.ENDS_PERCENT
    assert program["NEAR_PERCENT"] == blackbox.NEAR_PERCENT
    assert program["STALLED_PERCENT"] == blackbox.STALLED_PERCENT
    assert program["HOT_C"] == blackbox.HOT_C


def test_every_metric_that_is_asked_for_is_one_that_is_written() -> None:
    report = drift_prom.metrics(DRIFTED)
    ours = written_by() | set(re.findall(r"^# TYPE (\w+)", report, re.MULTILINE))
    asked = set(re.findall(r"\b(?:sparkrig|node)_[a-zA-Z_]+", alerts.rules() + alerts.DASHBOARD.read_text()))
    assert asked - ours == OTHERS
    left = ours - asked  # what a rule or a graph has no use for
    assert left == {
        "sparkrig_guard_enabled",
        "sparkrig_blackbox_rows_total",
        "sparkrig_blackbox_write_seconds",
        "sparkrig_accepted_items",
        "sparkrig_check_status",
        "sparkrig_last_success_timestamp_seconds",
        "sparkrig_report_duration_seconds",
        "sparkrig_unknown_items",
    }
