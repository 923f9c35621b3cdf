"""What is seen of a drift report: the terminal's screens, JUnit XML, Prometheus's metrics, the page."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import product

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from prometheus_client.parser import text_string_to_metric_families
from rich.cells import cell_len
from rich.console import Console

from sparkrig.drift.drift import Acceptance, Report
from sparkrig.drift.render import drift_html, drift_junit, drift_prom
from sparkrig.drift.render.drift import moment, show
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check
from tests.tables import each_row
from tests.unit.drift_reports import (
    CLEAN,
    DEPLOY,
    DRIFTED,
    HALF,
    LOST,
    NOW,
    A,
    B,
    docker,
    fleet,
    healthy,
    hold,
    made,
    mtu,
    upgrade,
)
from tests.unit.pages import Whole, is_whole_and_loads_nothing

EVIL = "<script>alert(1)</script>\"'&"


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def screen(
    report: Report, *, width: int = 80, encoding: str = "utf-8", everything: bool = False, terminal: bool = False
) -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, force_terminal=terminal, highlight=False, legacy_windows=False)
    show(console, report, everything=everything)
    file.flush()
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(encoding).splitlines()


# --- the terminal


def test_a_pair_in_spec_is_one_line() -> None:
    assert screen(CLEAN) == [
        "2 hosts · 8 ok · 0 drift · 0 accepted · 0 unknown · 2 skipped",
        "checked 14:02 (3 s)",
    ]


def test_a_pair_is_a_matrix_with_the_command_under_what_it_mends() -> None:
    assert screen(DRIFTED) == [
        "                   spark-a  spark-b",
        "containers.docker     ✓        ✗",
        "    no daemon; want: docker runs · host moved · new",
        "mends it: pyinfra pair.py --limit spark-b -y exec -- systemctl start docker",
        "",
        "net.mtu               ✓        ✗",
        "    1500; want: 9000 · host moved · since 18 Nov 03:02",
        "mends it: pyinfra pair.py deploys/cluster.py",
        "",
        "identity.kernel       ~        ~",
        "    want: the same on all hosts",
        "    spark-a: 6.12 · environment moved · new · accepted until 31 Jan 2027 by ann",
        "    (update planned)",
        "    spark-b: 6.14 · environment moved · new · accepted until 31 Jan 2027 by ann",
        "    (update planned)",
        "",
        "✓ fixed: driver.hold on spark-b",
        "",
        "2 hosts · 4 ok · 2 drift · 2 accepted · 0 unknown · 1 skipped",
        "checked 14:02 (3 s) · 3 new, 1 still, 1 fixed since 18 Nov 03:02",
    ]


def _from_the_box(count: int = 30) -> list[Check]:
    return [Check(f"net.rail{i}.address", "10.0.0.1", "none", "missing", DEPLOY) for i in range(count)]


def test_a_host_that_was_never_deployed_is_one_line_and_what_to_type() -> None:
    both = made({A: _from_the_box(), B: _from_the_box()}, deployed=False)
    assert screen(both)[:2] == [
        "✗ spark-a and spark-b were never deployed: 60 checks do not hold (--all)",
        f"deploys them: {DEPLOY}",
    ]
    assert len(screen(both)) <= 6 and "60 drift" in screen(both)[-1]
    assert len(screen(both, everything=True)) > 60
    assert all(
        len(host.rows) == 30 and not host.deployed for host in Report.model_validate_json(both.dumps()).hosts
    )


def test_what_the_first_deploy_does_not_mend_is_said_all_the_same() -> None:
    foreign = Check("identity.spark", "a DGX Spark", "a laptop", "drift", "look at the address")
    lines = screen(made({A: [*_from_the_box(), foreign]}, deployed=False))
    assert lines[0] == "✗ spark-a was never deployed: 30 checks do not hold (--all)"
    assert "✗ identity.spark" in lines and not [line for line in lines if "net.rail" in line]


def test_beside_a_host_that_was_never_deployed_the_other_one_is_told_whole() -> None:
    kept = made({A: [mtu(1500)]}).host(A)
    new = made({A: [mtu(1500)], B: _from_the_box()}, deployed=False)
    lines = screen(new.model_copy(update={"hosts": [kept, *new.hosts[1:]]}))
    assert any(line.startswith("net.mtu ") for line in lines)
    assert "✗ spark-b was never deployed: 30 checks do not hold (--all)" in lines


def test_where_a_record_was_lost_each_of_few_findings_is_shown() -> None:
    lines = screen(made({A: _from_the_box(3)}, deployed=False))
    assert not [line for line in lines if "never deployed" in line]
    assert len([line for line in lines if "net.rail" in line]) == 3
    assert "no deploy is recorded" in " ".join(lines) and "declaration moved" not in " ".join(lines)


def test_a_host_that_cannot_be_read_is_said_with_what_was_known_of_it() -> None:
    lines = screen(HALF)
    assert lines[0] == "                spark-a  spark-b"
    assert "driver.upgrade     ?        ?" in lines
    assert "    unknown: no lists; want: an upgrade moves none" in lines
    assert "try on spark-a: apt-get update" in lines
    at = lines.index("? spark-b could not be read: Could not connect (10.0.0.12 port 22: [Errno 113]")
    assert lines[at + 1 : at + 4] == [
        "No route to host)",
        "    driver.hold and net.mtu did not hold when it last could",
        "    try: ping spark-b",
    ]
    assert "1 unreachable" in lines[-2]


def test_a_fleet_is_counted_and_named_and_marked_where_it_differs() -> None:
    lines = screen(fleet())
    assert "≠ identity.kernel  spark-05" in lines
    at = lines.index("≠ driver.hold  10 hosts: spark-00, spark-06, spark-18, spark-24, spark-30,")
    assert lines[at + 1 : at + 3] == [
        "spark-36, 4 more",
        "    1 not held; want: 16 held · host moved · differs from most",
    ]
    assert lines.index("mends 2: pyinfra pair.py deploys/cluster.py") > at
    assert lines[-2] == "64 hosts · 43 in spec · 216 ok · 20 drift · 0 accepted · 0 unknown"
    assert lines[-1].startswith("5 unreachable · checked")


def test_a_command_stands_on_one_line_however_long() -> None:
    limits = " ".join(f"--limit spark-{n:02}" for n in range(0, 64, 9))
    lines = screen(fleet(), width=40)
    assert lines[lines.index("mends it:") + 1] == f"pyinfra pair.py {limits} -y exec -- systemctl start docker"


def test_what_holds_is_cut_on_no_narrow_screen() -> None:
    long = " ".join(f"word{n}" for n in range(20))
    report = made({"spark-a": [Check("driver.hold", long, long, "ok", DEPLOY)]})
    assert long in " ".join(" ".join(screen(report, width=40, everything=True)).split())
    (line,) = (each for each in screen(report, width=80, everything=True) if "driver.hold" in each)
    assert line.endswith("…") and len(line) <= 80


def test_a_report_of_hundreds_of_hosts_fits_a_few_screens() -> None:
    """Each has another address, nobody answers on a third of them, and all that can differ does."""
    found = {
        f"spark-{n:03}": LOST
        if n % 3 == 0
        else [Check(f"net.rail{i}.address", f"10.{i}.0.{n}", f"10.{i}.1.{n}", "drift", DEPLOY) for i in range(60)]
        for n in range(300)
    }
    lines = screen(made(found))
    assert len(lines) < 500
    assert "and 20 more" in lines
    assert len([line for line in lines if "could not be read" in line]) == 1
    assert "    and also 99 hosts: spark-003, spark-006, spark-009, spark-012, spark-015," in lines
    some = {name: found[name] for name in sorted(found)[:30]}
    assert len(screen(made(some), everything=True)) > 1_200


def thousand() -> Report:
    """412 side by side are without a hold, 50 without docker, one has another MTU, 41 are down."""
    found: dict[str, Sequence[Check] | Refusal] = {}
    for number in range(1000):
        name, address = f"spark-{number:04}", f"10.0.{number // 250}.{number % 250}"
        down = Refusal(f"Could not connect ({address} port 22: timed out)", f"ping {address}")
        checks = [hold(held=not 100 <= number < 512), docker(name, runs=number % 20 != 3)]
        checks.append(mtu(1500 if number == 7 else 9000))
        found[name] = down if 600 <= number < 640 or number == 11 else checks
    return made(found)


THOUSAND = thousand()


def test_a_report_of_a_thousand_hosts_fits_one_screen() -> None:
    for width in (80, 40):
        lines = screen(THOUSAND, width=width)
        assert len(lines) < 33, lines
        whole = " ".join(" ".join(lines).split())
        assert "driver.hold 412 hosts: spark-0100 … spark-0511 1 not held" in whole
        assert "and also 40 hosts: spark-0600 … spark-0639" in whole
        assert "try: ping 10.0.0.11" in whole and "10.0.2.100" not in whole
        assert "1000 hosts · 519 in spec ·" in whole
    assert " ... spark-0511" in "\n".join(screen(THOUSAND, encoding="ascii"))


def test_a_command_for_hundreds_of_hosts_is_shown_for_the_first_and_whole_where_all_is_asked_for() -> None:
    lines = screen(THOUSAND)
    short = lines.index("pyinfra pair.py --limit spark-0003 -y exec -- systemctl start docker")
    assert lines[short - 1] == "mends spark-0003, and so on for 47 more:"
    (whole,) = (line for line in screen(THOUSAND, everything=True) if " exec -- " in line)
    assert whole.count("--limit") == 48


def test_all_that_is_folded_is_there_where_all_is_asked_for() -> None:
    whole = " ".join(screen(THOUSAND, everything=True))
    assert "42 more" not in whole and "spark-0983" in whole
    assert all(f"ping 10.0.2.{number}" in whole for number in range(100, 140))


def test_nothing_but_a_command_is_wider_than_the_screen() -> None:
    reports = {"drift": DRIFTED, "half": HALF, "fleet": fleet(), "clean": CLEAN}

    def holds(name: str, width: int) -> None:
        for everything in (False, True):
            for line in screen(reports[name], width=width, everything=everything):
                assert cell_len(line) <= width or re.match(r" *(pyinfra|sparkrig|ping) ", line), line

    each_row(product(reports, (40, 80, 132)), holds)


def test_what_was_found_is_cut_short_unless_all_is_asked_for() -> None:
    long = made({A: [Check("driver.upgrade", "none", "; ".join(["a package moves"] * 40), "drift", "apt-mark")]})
    assert any("... (more with --all)" in line for line in screen(long))
    assert not any("--all" in line for line in screen(long, everything=True))


def test_everything_names_what_holds_with_what_was_found() -> None:
    lines = screen(DRIFTED, everything=True)
    assert "driver.hold           ✓        ✓  16 held" in lines
    assert "rdma.device           ·           no cable" in [
        line.replace("·        ·", "·         ") for line in lines
    ]


def test_a_plain_terminal_has_signs_that_it_can_show() -> None:
    text = "\n".join(screen(fleet(), encoding="ascii") + screen(DRIFTED, encoding="ascii"))
    assert text.isascii()
    assert "!= identity.kernel  spark-05" in text
    assert "net.mtu              ok        x" in text


def test_a_pipe_has_no_colour_and_a_terminal_has() -> None:
    assert "\x1b" not in "\n".join(screen(DRIFTED))
    assert "\x1b[31m" in "\n".join(screen(DRIFTED, terminal=True))


def test_what_expired_is_drift_again_and_says_so() -> None:
    over = Acceptance(id="net.mtu", until=NOW.date() - timedelta(days=1), why="a switch", by="ann")
    lines = " ".join(screen(made({A: [mtu(1500)]}, accepted=[over])))
    assert (
        "! net.mtu on every host is drift again: accepted until 20 Nov 2026 by ann (a switch), which is over"
        in lines
    )


@pytest.mark.parametrize(
    ("ago", "words"),
    [(timedelta(hours=1), "13:02"), (timedelta(days=2), "19 Nov 14:02"), (timedelta(days=400), "17 Oct 2025")],
)
def test_a_moment_is_told_as_people_do(ago: timedelta, words: str) -> None:
    assert moment(NOW - ago, NOW) == words


# --- JUnit


def cases(report: Report) -> dict[tuple[str, str], list[object]]:
    text = drift_junit.xml(report)
    whole = JUnitXml.fromstring(text.encode())
    return {(case.classname, case.name): list(case.result) for suite in whole for case in suite}


def test_junit_has_a_case_for_each_check_of_each_host() -> None:
    found = cases(DRIFTED)
    assert len(found) == sum(len(host.rows) for host in DRIFTED.hosts)
    assert found[A, "net.mtu"] == []
    (moved,) = found[B, "net.mtu"]
    assert isinstance(moved, Failure)
    assert (moved.type, moved.message) == ("drift", "1500; want 9000")
    assert "host moved, since 2026-11-18 03:02 UTC" in str(moved.text)
    assert f"try: {DEPLOY}" in str(moved.text)
    (accepted,) = found[A, "identity.kernel"]
    assert isinstance(accepted, Skipped)
    assert accepted.message == "accepted until 2027-01-31: update planned"
    (skipped,) = found[A, "rdma.device"]
    assert isinstance(skipped, Skipped) and skipped.message == "no cable"


def test_junit_has_an_error_for_what_could_not_be_told() -> None:
    found = cases(HALF)
    (unread,), (unknown,) = found[B, "read"], found[A, "driver.upgrade"]
    assert isinstance(unread, Error) and unread.message == LOST.what
    assert isinstance(unknown, Error) and unknown.message == "no lists; want an upgrade moves none"


def test_junit_counts_what_ci_shows() -> None:
    whole = JUnitXml.fromstring(drift_junit.xml(HALF).encode())
    assert (whole.tests, whole.failures, whole.errors, whole.skipped) == (6, 1, 2, 0)


def test_junit_takes_any_text() -> None:
    bad = made({EVIL: [Check("x", EVIL, f"\x00\x1b{EVIL}", "drift", EVIL)]})
    assert set(cases(bad)) == {(EVIL, "x")}


# --- Prometheus


LABELS = ("host", "check", "mover")


def metrics(report: Report) -> dict[tuple[str, ...], float]:
    text = drift_prom.metrics(report)
    return {
        (sample.name.removeprefix("sparkrig_"), *(sample.labels[key] for key in LABELS if key in sample.labels)): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_each_host_and_check_has_its_figures() -> None:
    found = metrics(DRIFTED)
    assert found["check_status", B, "net.mtu"] == 1
    assert found["check_status", A, "net.mtu"] == 0
    assert found["check_status", A, "identity.kernel"] == 1
    assert ("check_status", A, "rdma.device") not in found
    assert found["drift_items", B, "host"] == 2
    assert found["drift_items", B, "environment"] == 0
    assert found["accepted_items", B] == 1
    assert found["up", A] == 1
    assert found["last_success_timestamp_seconds", A] == NOW.timestamp()
    assert found[("report_timestamp_seconds",)] == NOW.timestamp()


def test_each_figure_names_its_inventory_for_one_machine_may_look_after_several() -> None:
    report = DRIFTED.model_copy(update={"inventory": "/srv/inventories/my pair.py"})
    samples = [
        sample for each in text_string_to_metric_families(drift_prom.metrics(report)) for sample in each.samples
    ]
    assert {sample.labels.get("inventory") for sample in samples} == {"my pair.py"}


def test_a_host_that_was_not_read_has_no_figures_that_look_well() -> None:
    found = metrics(HALF)
    assert found["up", B] == 0
    assert [key for key in found if B in key] == [("up", B)]
    assert found["check_status", A, "driver.upgrade"] == 2
    assert found["unknown_items", A] == 1


# --- the page


PAGES = {"drift": DRIFTED, "half": HALF, "fleet": fleet(), "clean": CLEAN, "nobody": made({A: LOST, B: LOST})}
PAGES["thousand"] = THOUSAND
TEXTS = {name: drift_html.html(report) for name, report in PAGES.items()}


def test_each_page_is_whole_and_loads_nothing() -> None:
    def holds(text: str) -> None:
        is_whole_and_loads_nothing(text)

    each_row(TEXTS, holds)


def test_a_page_says() -> None:
    def holds(name: str, words: str) -> None:
        assert words in TEXTS[name]

    each_row(
        [
            ("drift", "2 checks do not hold"),
            ("drift", "Since 2026-11-18 03:02 UTC: 3 new, 1 still, 1 fixed."),
            ("drift", f"<code>{DEPLOY}</code>"),
            ("drift", "2027-01-31"),
            ("half", "1 check does not hold; 1 could not be told; 1 of 2 hosts could not be read"),
            ("half", LOST.what),
            ("half", "<code>ping spark-b</code>"),
            ("half", "driver.hold, net.mtu"),
            ("fleet", "differs from most"),
            ("clean", "All that is declared holds"),
            ("nobody", "2 of 2 hosts could not be read"),
            ("thousand", "<span>519 in spec</span>"),
            ("thousand", "412 hosts: spark-0100 … spark-0511"),
            ("thousand", "40 hosts: spark-0600 … spark-0639"),
            ("thousand", "Every check on the 64 hosts with the most that does not hold"),
            ("thousand", '<th scope="row">driver.hold</th><td>547</td><td>412</td><td></td>'),
        ],
        holds,
    )


def test_a_page_of_a_thousand_hosts_names_each_of_them_that_is_not_in_spec_and_stays_small() -> None:
    text = TEXTS["thousand"]
    assert len(text) < 100_000
    assert all(f"spark-{number:04}" in text for number in (*range(100, 512), *range(600, 640), 983))
    assert text.count("could not be read") == 1 and "10.0.2.101" not in text


def test_hostile_text_is_text() -> None:
    """A profile, a reason, an acceptance: whoever can name them cannot write the page."""
    known = Acceptance(id="y", until=NOW.date(), why=EVIL, by=EVIL)
    bad = [Check("x", EVIL, EVIL, "drift", EVIL), Check("y", EVIL, EVIL, "drift", EVIL), upgrade()]
    text = drift_html.html(made({EVIL: bad, B: Refusal(EVIL, EVIL)}, accepted=[known]))
    assert "script" not in Whole(text).tags
    assert "&lt;script&gt;" in text


def test_a_report_is_the_same_each_time() -> None:
    for make in (drift_html.html, drift_prom.metrics, drift_junit.xml):
        assert make(DRIFTED) == make(DRIFTED)
    assert healthy(A)
