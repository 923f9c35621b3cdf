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
from sparkrig.drift.render import drift_prom
from sparkrig.host import blackbox, gpu, health
from sparkrig.host.nvidia_smi import THERMAL
from sparkrig.resources.kind import to_read
from tests.tables import data, each_row
from tests.unit.blackbox_host import written_by
from tests.unit.prometheus import DRIFTED, OTHERS, ROOT, programs
from tests.unit.shells import well

RULES = alerts.rules()
STEP_S = 10
BELOW_S = 300
AFTER_S = 960  # what rose counts as new for ten minutes


@dataclass(frozen=True)
class Case:
    """Values of each series: below the limit, at it, afterwards. always: of others (test_alerts.yaml)."""

    series: Mapping[str, tuple[float | str, float | str, float | str]]
    always: Mapping[str, str] = field(default_factory=dict)


_TABLE = data(__file__)
CASES, SILENT = (
    {alert: [Case(**case) for case in cases] for alert, cases in _TABLE[part].items()}
    for part in ("fires", "silent")
)


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
            {"expr": expr, "eval_time": f"{at}s", "exp_samples": [{"labels": "{}", "value": 1}] if count else []}
            for at, count in sorted(times.items())
        ],
    }


def promtool(folder: Path, groups: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    file = folder / "tests.yml"
    told = {"rule_files": [str(alerts.RULES)], "evaluation_interval": f"{STEP_S}s", "tests": groups}
    file.write_text(yaml.safe_dump(told))
    words = [str(programs() / "promtool"), "test", "rules", str(file)]
    return subprocess.run(words, capture_output=True, text=True, timeout=100)


@pytest.mark.slow  # Prometheus is fetched once, 23 MB, and promtool takes seconds
def test_each_alert_fires_at_its_limit_and_only_there(tmp_path: Path) -> None:
    assert set(CASES) == set(RULES)
    groups = [group(alert, case) for alert, cases in CASES.items() for case in cases]
    groups += [group(alert, case, fires=False) for alert, cases in SILENT.items() for case in cases]
    well(promtool(tmp_path, groups))


def elsewhere(text: str) -> str:
    """A series of the same name, of another job's targets."""
    return re.sub('job="spark[a-z-]+"', 'job="all"', text)


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
    of_hosts = {rule["alert"] for rule in alerts.groups()["sparkrig"]} - {"SparksUnwatched"}
    groups = [group(alert, of_both(case)) for alert in sorted(of_hosts) for case in CASES[alert]]
    groups += [group(alert, of_others(case), fires=False) for alert in sorted(of_hosts) for case in CASES[alert]]
    well(promtool(tmp_path, groups))


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
    well(promtool(tmp_path, [test]))


def test_the_files_and_the_page_are_current() -> None:
    from docs.make import WATCHING

    text = WATCHING.read_text(encoding="utf-8")
    assert text == with_metrics(text), "make docs"
    assert {alerts.RULES.name, alerts.DASHBOARD.name} == set(MONITORING)


def test_each_alert_has_a_check_of_ours_or_a_page_and_it_is_there() -> None:
    def holds(alert: str) -> None:
        notes = RULES[alert]["annotations"]
        if "check" in notes:
            kind = reference.kind(notes["check"])
            assert kind.meaning in notes["description"] and kind.cause in notes["description"]
            assert notes["runbook"] == to_read(kind.docs)
        page, _, section = notes["runbook"].removeprefix("sparkrig docs ").partition("#")
        assert _section(page, section) if section else (ROOT / f"docs/{page}.md").exists()
        assert "Try: " in notes["description"] and RULES[alert]["labels"]["severity"] in ("warning", "critical")

    each_row(list(RULES), holds)


def test_the_limits_are_those_of_the_product() -> None:
    soc = health.SOC_ZONE.pattern.replace(r"\d", "0-9")  # PromQL has no such class in a set
    celsius = 'sparkrig_gpu_temperature_celsius{job="sparks"}'
    for alert, limit in {
        "SparkMemoryLow": f"< {blackbox.NEAR_PERCENT}",
        "SparkMemoryEnds": f"< {blackbox.ENDS_PERCENT}",
        "SparkStalled": f">= {blackbox.STALLED_PERCENT}",
        "SparkHot": f'type=~"(?i){soc}"}} or {celsius}) >= {blackbox.HOT_C}',
        "SparkSlowedByHeat": f'reason=~"{"|".join(sorted(THERMAL))}"',
        "SparkSlowedByPower": f'reason=~"{"|".join(sorted(blackbox.POWER))}"',
        "SparkPowerClamp": f">= {gpu.LOADED_PERCENT / 100:g} and",
        "SparkDriverLines": f"offset {blackbox.NVRM_S}s >= {blackbox.NVRM_LINES}",
        "SparkBlackBoxSilent": f"> {blackbox.LATE_S} or",
    }.items():
        assert limit in RULES[alert]["expr"], alert
    assert f"<= {gpu.CLAMPED_UP_TO_MHZ * 1e6:.0f} unless" in RULES["SparkPowerClamp"]["expr"]
    assert RULES["SparkHot"]["for"] == f"{blackbox.HOT_S}s"


def test_the_limits_are_those_of_the_guard_where_it_has_them() -> None:
    program = runpy.run_path(str(ROOT / "templates/watch/blackbox.py"))
    assert program["LOW_PERCENT"] == blackbox.ENDS_PERCENT
    assert program["NEAR_PERCENT"] == blackbox.NEAR_PERCENT
    assert program["STALLED_PERCENT"] == blackbox.STALLED_PERCENT
    assert program["HOT_C"] == blackbox.HOT_C


def test_every_metric_that_is_asked_for_is_one_that_is_written() -> None:
    report = drift_prom.metrics(DRIFTED)
    ours = written_by() | set(re.findall(r"^# TYPE (\w+)", report, re.MULTILINE))
    queries = alerts.RULES.read_text() + alerts.DASHBOARD.read_text()
    asked = set(re.findall(r"\b(?:sparkrig|node)_[a-zA-Z_]+", queries))
    assert asked - ours == OTHERS
    left = ours - asked  # what a rule or a graph has no use for
    assert left == {
        "sparkrig_blackbox_rows_total",
        "sparkrig_accepted_items",
        "sparkrig_check_status",
        "sparkrig_last_success_timestamp_seconds",
        "sparkrig_report_duration_seconds",
        "sparkrig_unknown_items",
    }
