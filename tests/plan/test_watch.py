"""T1: the black box, as a deploy, drift, the doctor and its own verb have it."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.resources import watch
from tests.plan import examined
from tests.plan.conftest import A, B, Deploy, Host, converged, pair, recorded, well
from tests.plan.desk import Desk, commands, noted
from tests.plan.lost import lost
from tests.schemas import complaints
from tests.unit.blackboxes import falling, printed

STEPS = {"Watch | black box", "Watch | let systemd run it"}
END = "\n#sparkrig:end files 0"
ASKED = "cd /var/lib/sparkrig/blackbox"  # of the one look that the verb takes


def keeping(letter: str, *, metrics: bool = False, **changed: str | None) -> str:
    """A converged host that keeps a black box. changed: other contents of its files; None for absent.

    metrics: also with the node exporter that a deploy installed; without `installed` it is its owner's.
    """
    files = {file.path: file for file in watch.plan({}, on=True, metrics=metrics).write}
    made = {
        **{path: (file.mode.lstrip("0"), file.content) for path, file in files.items()},
        watch.LINK: ("644", files[watch.UNIT_FILE].content),
        watch.STARTED: ("600", watch.digest(["--metrics"] if metrics else []) + "\n"),
    }
    if metrics:
        made |= dict.fromkeys((watch.EXPORTER_UNIT, watch.EXPORTER_RUNS), ("644", ""))
    contents = {path: changed.get(name, text) for path, (_, text) in made.items() for name in [_name(path)]}
    rows = [
        f"{path} {made[path][0]} root:root {base64.b64encode(text.encode()).decode()}"
        for path, text in contents.items()
        if text is not None
    ]
    seen = converged(letter)
    assert END in seen
    return seen.replace(END, "\n".join([*rows, END]))


def _name(path: str) -> str:
    return _NAMES[path]


_NAMES = {
    watch.PROGRAM: "program",
    watch.UNIT_FILE: "unit",
    watch.LINK: "link",
    watch.STARTED: "started",
    watch.METRICS: "measures",
    watch.INSTALLED: "installed",
    watch.EXPORTER_UNIT: "exporter",
    watch.EXPORTER_RUNS: "runs",
}


def on(run: list[tuple[str, str]], text: str) -> set[str]:
    return {host for host, command in run if text in command}


SETTLED = "systemctl restart $unit"


def test_a_pair_without_the_setting_has_no_check_of_it(tmp_path: Path) -> None:
    done = well(Desk(tmp_path).has(pair(converged("a"), converged("b"))).drift())
    assert not [
        row["id"] for host in done.report["hosts"] for row in host["rows"] if row["id"].startswith("watch")
    ]


def test_a_pair_without_the_setting_has_no_step_of_it(deploy: Deploy) -> None:
    run = deploy(pair(recorded("fresh-a"), recorded("fresh-b")), "--json", "--dry")
    assert not {step for step in run.plan if step.startswith("Watch")}


def test_the_half_that_keeps_none_gets_one(deploy: Deploy) -> None:
    hosts = pair(keeping("a"), converged("b"), watch=True)
    planned = deploy(hosts, "--json", "--dry")
    assert {step: to for step, to in planned.plan.items() if to} == {step: {B} for step in STEPS}
    run = well(deploy(hosts, "-y"))
    assert on(run.changes, SETTLED) == {"spark-b"} == on(run.changes, "while read -r folder name mode content")
    assert {name for host, name in run.steps if host == "spark-b"} >= STEPS  # the journal has both


def test_a_second_run_is_empty(deploy: Deploy) -> None:
    run = deploy(pair(keeping("a"), keeping("b"), watch=True), "-y")
    assert (run.code, run.changes) == (0, [])


CHANGED: dict[str, tuple[dict[str, str | None], bool, str]] = {
    "the program was edited": ({"program": "print()\n"}, True, "watch.files"),
    "the unit is gone": ({"unit": None}, True, "watch.files"),
    "it does not run": ({"started": None}, False, "watch.running"),
    "another version of it runs": ({"started": "0123456789ab\n"}, False, "watch.running"),
    "it does not start with the host": ({"link": None}, False, "watch.running"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_drift_sees_it_and_a_deploy_mends_it(deploy: Deploy, tmp_path: Path, what: str) -> None:
    changed, writes, check = CHANGED[what]
    hosts = pair(keeping("a"), keeping("b", metrics=False, **changed), watch=True)
    done = Desk(tmp_path / "desk").has(hosts).drift()
    assert (done.code, done.wrong) == (2, {A: set(), B: {check}})
    row = done.row(B, check)
    assert "deploys/cluster.py" in row["cure"] and (writes or row["found"] == what)
    run = well(deploy(hosts, "-y"))
    assert on(run.changes, SETTLED) == {"spark-b"}
    assert on(run.changes, "while read -r folder name mode content") == ({"spark-b"} if writes else set())


def test_without_the_setting_it_goes(deploy: Deploy, tmp_path: Path) -> None:
    hosts = pair(keeping("a"), converged("b"))
    done = Desk(tmp_path / "desk").has(hosts).drift()
    assert done.wrong == {A: {"watch.files"}, B: set()}
    run = well(deploy(hosts, "-y"))
    assert on(run.changes, SETTLED) == {"spark-a"} == on(run.changes, "rm -f")


def test_it_can_be_deployed_by_itself(deploy: Deploy) -> None:
    run = well(deploy([Host(A, converged("a"), data={"watch": True})], "-y", file="deploys/watch.py"))
    assert on(run.changes, SETTLED) == {"spark-a"}


# --- what it kept


def shown(b: list[str]) -> list[Host]:
    return [
        replace(host, responses={ASKED: rows})
        for host, rows in zip(
            pair(converged("a"), converged("b")), (["now 1795659000 +0100", "runs"], b), strict=True
        )
    ]


def test_a_reset_is_shown_and_is_what_the_schema_says(tmp_path: Path) -> None:
    desk = noted(Desk(tmp_path), shown(printed(falling)))
    done = desk.typed("blackbox")
    assert done.code == 0 and done.said == ""
    assert "spark-a: its black box has seen no end that was not asked for" in done.out
    assert "spark-b: it was reset at 03:12 on 2026-11-26; memory was falling for 40" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert len(commands(desk)) == 2  # one exec a host
    made = desk.typed("blackbox", "--json", "--last", "10m").report
    assert complaints("blackbox", made) == []
    reset = made["hosts"][B]["reset"]
    assert (reset["at"], reset["booted"]) == ("2026-11-26T03:12:00+01:00", "2026-11-26T03:13:35+01:00")
    assert len(reset["steps"]) == 60 and reset["signs"][0]["id"] == "memory-falling"
    assert made["hosts"][A] == {"runs": True, "reset": None, "guard": []}


def test_the_page_has_all_of_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path).has(shown(printed(falling)))
    file = tmp_path / "box.html"
    assert desk.typed("blackbox", "--html", str(file)).code == 0
    page = " ".join(file.read_text().split())  # its lines are folded
    for text in ("memory was falling for 40 minutes", "VLLM::Worker_TP", "(what CUDA takes", "NVRM: nvCheckOk"):
        assert text in page
    # the name of SVG's language is no address
    named = page.replace("http-equiv", "").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<script" not in page and "http" not in named


@pytest.mark.parametrize("words", ["30", "0m", "3h", "-5m", "1d", "x", "99999m"])
def test_a_time_that_is_none_is_one_sentence(tmp_path: Path, words: str) -> None:
    done = Desk(tmp_path).has(shown([])).typed("blackbox", "--last", words)
    assert done.code == 1 and done.out == ""
    assert "90s, 30m or 1h is expected, and 2h at most. Try: --last 30m" in done.said


def test_a_host_that_is_down_hides_nothing_of_the_other(tmp_path: Path) -> None:
    first, second = shown([])
    hosts = lost([replace(first, responses={ASKED: printed(falling)}), second])
    done = Desk(tmp_path).has(hosts).typed("blackbox")
    assert done.code == 3 and "spark-a: it was reset" in done.out
    assert "sparkrig doctor" in done.said and "access" in done.said


def test_what_no_black_box_wrote_is_no_traceback(tmp_path: Path) -> None:
    done = Desk(tmp_path).has(shown(["now \x1b[31m +0100", "row \x1b]0;x\x07 {"])).typed("blackbox")
    assert done.code == 3 and "\x1b" not in done.out + done.said


def test_the_doctor_says_when_and_why(tmp_path: Path) -> None:
    said = "it was reset at 03:12 on 2026-11-26; memory was falling for 40 minutes, from 21.8 to 0.4 GiB available"
    b = examined.examined("b", blackbox="\n".join(printed(falling)) + "\n")
    done = examined.doctor(tmp_path, examined.entries(examined.hosts(examined.examined("a"), b)), "--json")
    assert done.code == 2 and done.told == {"spark-a": set(), "spark-b": {"watch.reset"}}
    row = done.row("spark-b", "watch.reset")
    assert row["found"] == said and row["cure"].startswith("sparkrig blackbox ")


def test_a_reset_of_the_day_before_yesterday_is_no_news(tmp_path: Path) -> None:
    b = examined.examined("b", blackbox="\n".join(printed(falling, ago=2 * 86400)) + "\n")
    done = examined.doctor(tmp_path, examined.entries(examined.hosts(examined.examined("a"), b)), "--json")
    assert done.code == 0 and done.row("spark-b", "watch.reset")["status"] == "ok"


# --- the guard

ACT = "act 1795658900 stopped the server: 2.1 % of the memory was available"


def test_the_guard_is_another_unit_and_needs_the_black_box(deploy: Deploy) -> None:
    hosts = pair(keeping("a"), keeping("b"), watch=True, watch_guard=True)
    run = well(deploy(hosts, "-y"))
    assert on(run.changes, SETTLED) == {"spark-a", "spark-b"}
    refused = deploy(pair(converged("a"), converged("b"), watch_guard=True), "-y")
    assert refused.code == 1 and refused.commands == []
    assert "watch_guard is of the black box; set watch = True too" in refused.stderr


def test_what_the_guard_did_is_shown_and_is_news_for_a_day(tmp_path: Path) -> None:
    said = "stopped the server at 03:08 on 2026-11-26: 2.1 % of the memory was available"
    desk = Desk(tmp_path).has(shown(["runs", "now 1795659000 +0100", ACT]))
    assert said in " ".join(desk.typed("blackbox").out.split())
    made = desk.typed("blackbox", "--json").report
    assert complaints("blackbox", made) == []
    assert made["hosts"][B]["guard"][0]["at"] == "2026-11-26T03:08:20+01:00"
    for now, status in ((1795659000, "drift"), (1795659000 + 86400, "ok")):
        b = examined.examined("b", blackbox=f"runs\nnow {now} +0100\n{ACT}\n")
        done = examined.doctor(tmp_path, examined.entries(examined.hosts(examined.examined("a"), b)), "--json")
        row = done.row("spark-b", "watch.guard")
        assert row["status"] == status and (row["found"] == f"it {said}") is (status == "drift")


# --- metrics

GIVEN = {"watch": True, "watch_metrics": True}
INSTALLS, RELEASES = "--no-install-recommends install prometheus-node-exporter", "dpkg --purge"
RUNS = "does not stay alive; another program may have its port"


def test_metrics_need_the_black_box(deploy: Deploy) -> None:
    refused = deploy(pair(converged("a"), converged("b"), watch_metrics=True), "-y")
    assert refused.code == 1 and refused.commands == []
    assert "watch_metrics is of the black box; set watch = True too" in refused.stderr


def test_the_half_without_an_exporter_gets_one_and_that_of_its_owner_stays(deploy: Deploy) -> None:
    """spark-b has the package already, and no note of ours."""
    ours = dict.fromkeys(("program", "measures", "unit", "link", "started", "installed"))
    owners = keeping("b", metrics=True, **ours)
    run = well(deploy(pair(converged("a"), owners, **GIVEN), "-y"))
    assert on(run.changes, INSTALLS) == {"spark-a"} and on(run.changes, SETTLED) == {"spark-a", "spark-b"}
    install = next(command for _, command in run.changes if INSTALLS in command)
    assert "apt-get -q -o DPkg::Lock::Timeout=300 update" in install
    # the note comes before the package: a run that breaks off in between still takes it back
    order = [command for host, command in run.changes if host == "spark-a"]
    written = next(at for at, command in enumerate(order) if "while read -r folder name mode content" in command)
    assert written < order.index(install)


def test_the_plan_of_metrics_names_the_package(deploy: Deploy) -> None:
    run = deploy(pair(converged("a"), converged("b"), **GIVEN), "--dry")
    assert "package prometheus-node-exporter: none -> the newest of its repository" in run.stdout + run.stderr


def test_a_second_run_with_metrics_is_empty_and_drift_is_clean(deploy: Deploy, tmp_path: Path) -> None:
    hosts = pair(keeping("a", metrics=True), keeping("b", metrics=True), **GIVEN)
    run = deploy(hosts, "-y")
    assert (run.code, run.changes) == (0, [])
    done = Desk(tmp_path / "desk").has(hosts).drift()
    assert done.code == 0 and done.row(B, "watch.metrics")["status"] == "ok"


def test_drift_sees_an_exporter_that_is_gone_and_a_deploy_mends_it(deploy: Deploy, tmp_path: Path) -> None:
    a = keeping("a", metrics=True, exporter=None, runs=None)
    hosts = pair(a, keeping("b", metrics=True, runs=None), **GIVEN)
    done = Desk(tmp_path / "desk").has(hosts).drift()
    assert done.wrong == {A: {"watch.metrics"}, B: {"watch.metrics"}}
    found = [done.row(host, "watch.metrics")["found"] for host in (A, B)]
    assert found == [f"prometheus-node-exporter {what}" for what in ("is not installed", "does not run")]
    run = well(deploy(hosts, "-y"))
    assert on(run.changes, INSTALLS) == {"spark-a"}
    assert on(run.changes, RUNS) == {"spark-a", "spark-b"}  # it is installed as well where its port is taken
    assert on(run.changes, SETTLED) == set()  # the black box goes on


def test_without_metrics_the_exporter_that_a_deploy_installed_goes(deploy: Deploy) -> None:
    owners = keeping("b", metrics=True, installed=None)
    run = well(deploy(pair(keeping("a", metrics=True), owners, watch=True), "-y"))
    assert on(run.changes, SETTLED) == {"spark-a", "spark-b"} and on(run.changes, RELEASES) == {"spark-a"}
