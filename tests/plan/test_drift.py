"""`sparkrig drift` and `accept` on fake hosts: what real hosts printed goes in, a report comes out."""

from __future__ import annotations

import json
import os
import stat
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml

from sparkrig.drift.io import drift_files
from sparkrig.refusal import Refusal
from tests.plan.conftest import ROOT, A, B, Deploy, Host, barred, converged, pair, recorded, well
from tests.plan.desk import Desk
from tests.plan.lost import lost
from tests.tables import each_row
from tests.unit.sshd import free_ports

NETDEV = "enp1s0f0np0"
NEXT_YEAR = str(date.today() + timedelta(days=365))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).has(settled())


def settled(**changes: Any) -> list[Host]:
    return pair(converged("a"), converged("b"), **changes)


def unheld() -> list[Host]:
    """A package of spark-b is no longer held."""
    held, not_held = (f"dpkg {want} installed nvidia-driver-580-open " for want in ("hold", "install"))
    text = converged("b")
    assert held in text
    return pair(converged("a"), text.replace(held, not_held))


# --- what is found


def test_a_settled_pair_is_in_spec(desk: Desk) -> None:
    done = desk.drift()
    assert (done.code, done.said) == (0, "")
    assert done.wrong == {A: set(), B: set()}
    assert len(done.report["hosts"][0]["rows"]) > 40


def test_a_run_that_broke_off_at_its_end_is_a_step_of_the_deploy(desk: Desk) -> None:
    """What was declared of the host is not kept, so drift could not tell who moved."""
    text = converged("b").replace("\nclock ", "\nopen\nclock ")
    done = desk.has(pair(converged("a"), text)).drift()
    assert done.code == 2
    assert done.wrong == {A: {"deploy.plan"}, B: {"deploy.plan"}}
    assert "it would change: close the run" in done.out


def test_a_network_change_that_is_not_confirmed_is_drift_although_the_links_are_as_declared(desk: Desk) -> None:
    done = desk.has(pair(converged("a"), barred(converged("b"), "armed OLD 70 dead"))).drift()
    assert done.code == 2
    assert done.wrong == {A: set(), B: {"host.rollback"}}
    assert "run OLD broke off in the middle of its network change, which goes back in 70 s" in done.out


def test_a_journal_that_is_gone_is_named_and_the_deploy_begins_a_new_one(desk: Desk, deploy: Deploy) -> None:
    hosts = pair(converged("a"), barred(converged("b"), "lost"))
    done = desk.has(hosts).drift()
    assert done.code == 2
    assert done.wrong == {A: set(), B: {"host.journal"}}
    assert "the journal of the runs on this host is gone" in done.out
    assert deploy(hosts, "--dry", "--json").plan["close the run"] >= {B}


def test_a_pair_from_the_box_wants_everything(desk: Desk) -> None:
    done = desk.has(pair(recorded("fresh-a"), recorded("fresh-b"))).drift()
    assert done.code == 2
    assert {"driver.hold", f"net.{NETDEV}.profile", "containers.toolkit"} <= done.wrong[A]
    assert "deploy.plan" not in done.wrong[A]
    assert not any(host["deployed"] for host in done.report["hosts"])


def test_a_declaration_that_moved_is_no_fault_of_the_host(desk: Desk) -> None:
    assert desk.drift().code == 0
    done = desk.has(settled(mtu=8000)).drift()
    assert done.code == 2
    assert done.row(A, f"net.{NETDEV}.mtu")["moved"] == "declaration"


@pytest.mark.slow
def test_a_host_that_moved_is_told_by_the_report_before(desk: Desk) -> None:
    assert desk.drift().code == 0
    done = desk.has(unheld()).drift()
    row = done.row(B, "driver.hold")
    assert (done.code, row["moved"], row["news"]) == (2, "host", "new")
    again = desk.drift()
    assert (again.row(B, "driver.hold")["news"], again.row(B, "driver.hold")["since"]) == ("still", row["since"])
    mended = desk.has(settled()).drift()
    assert (mended.code, [(each["host"], each["id"]) for each in mended.report["fixed"]]) == (
        0,
        [(B, "driver.hold")],
    )


def test_a_fleet_that_is_down_is_a_report_too(desk: Desk, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    away = {"ssh_hostname": "127.0.0.1", "ssh_port": port}
    done = desk.has([Host("spark-a", "", data={**away, "fabric": {}})]).drift("--prom", str(tmp_path / "prom"))
    assert done.code == 3, done.said
    assert [bool(host["unread"]) for host in done.report["hosts"]] == [True]
    assert (tmp_path / "prom").exists()


def test_a_host_that_is_down_hides_no_drift_of_the_other(desk: Desk) -> None:
    done = desk.has(lost(settled(mtu=8000))).drift()
    assert done.code == 3
    assert [host["exit"] for host in done.report["hosts"]] == [2, 3]
    assert f"net.{NETDEV}.mtu" in done.wrong[A]
    assert "Connection refused" in done.report["hosts"][1]["unread"]


# --- what is typed wrong


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--limit", "@fake/spark-x"],
            "there is no host @fake/spark-x in the inventory. Try: the same with @fake/spark-",
        ),
        (
            ["--since", "no-such.json"],
            "the report no-such.json cannot be read: no such file or directory. Try: ls -l",
        ),
        (["--since", "README.md"], "README.md is no report that sparkrig drift --json wrote. Try: head -c 200"),
        (
            ["--timeout", "0"],
            "Invalid value for '--timeout': 0.0 is not in the range x>=1. Try: sparkrig drift --help",
        ),
    ],
    ids=["limit", "no report", "another file", "timeout"],
)
def test_bad_input_is_one_sentence(desk: Desk, words: list[str], said: str) -> None:
    done = desk.drift(*words)
    assert (done.code, done.out) == (1, "")
    assert done.said.startswith(f"Error: {said}"), done.said
    assert done.said.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("sparks = []\n", "the inventory names no host"), ("sparks = [\n", ""), (None, "there is no inventory file")],
    ids=["empty", "broken", "absent"],
)
def test_an_inventory_without_hosts_is_an_error_and_not_in_spec(desk: Desk, text: str | None, said: str) -> None:
    if text is None:
        desk.inventory.unlink()
    else:
        desk.inventory.write_text(text)
    done = desk.drift()
    assert (done.code, done.out) == (1, "")
    assert said in done.said and done.said.count("\n") == 1


def test_a_report_of_other_hosts_is_no_comparison(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    document = desk.drift().report
    other.write_text(json.dumps({**document, "hosts": [{**document["hosts"][0], "name": "elsewhere"}]}))
    done = desk.drift("--since", str(other))
    assert (done.code, done.said.startswith(f"Error: {other} is a report of other hosts. Try: ")) == (1, True)


# --- what is kept, and compared


@pytest.mark.slow
def test_a_limit_reads_the_peer_too_and_keeps_no_report(desk: Desk) -> None:
    desk.has([*settled(), Host("@fake/spark-c", converged("a"), data={"allow_non_spark": True})])
    assert [host["name"] for host in desk.drift("--limit", A).report["hosts"]] == [A, B]
    assert desk.drift("--limit", "@fake/spark-c").report["counts"]["hosts"] == 1
    assert not (desk.folder / "state").exists()
    assert desk.drift().report["counts"]["hosts"] == 3


def test_a_comparison_with_another_report_is_not_kept(desk: Desk, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(desk.drift().out)
    first = desk.has(unheld()).drift()
    compared = desk.drift("--since", str(old))
    assert compared.row(B, "driver.hold")["news"] == "new"
    assert desk.drift().row(B, "driver.hold")["since"] == first.row(B, "driver.hold")["since"]


def test_the_report_is_kept_for_its_owner_alone(desk: Desk) -> None:
    desk.drift()
    (kept,) = (desk.folder / "state").rglob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


# --- the outputs


def test_all_outputs_are_of_one_look(desk: Desk, tmp_path: Path) -> None:
    junit, prom, page = (tmp_path / name for name in ("a.xml", "a.prom", "a.html"))
    umask = os.umask(0o077)
    try:
        done = desk.has(unheld()).typed("drift", "--junit", str(junit), "--prom", str(prom), "--html", str(page))
    finally:
        os.umask(umask)
    assert done.code == 2
    assert "driver.hold" in done.out and "mends it:\npyinfra " in done.out and "2 hosts · " in done.out
    assert (JUnitXml.fromfile(str(junit)).failures, JUnitXml.fromfile(str(junit)).errors) == (1, 0)
    assert f'host="{B}",inventory="sparks.py",mover="declaration"}} 1.0' in prom.read_text()
    assert "driver.hold" in page.read_text()
    assert {stat.S_IMODE(file.stat().st_mode) for file in (junit, prom, page)} == {0o644}
    assert [file.name for file in tmp_path.glob(".*")] == [], "nothing is left of the files that were renamed"


def test_a_file_that_cannot_be_written_costs_no_other(desk: Desk, tmp_path: Path) -> None:
    """The first of them kept the others from being written."""
    away, page = tmp_path / "none" / "x", tmp_path / "page"
    done = desk.typed("drift", "--junit", str(away), "--prom", "/dev/full", "--html", str(page))
    assert done.code == 1 and "2 hosts · " in done.out and page.stat().st_size > 1000
    assert done.said.startswith(
        f"Error: {away} cannot be written: no such file or directory; /dev/full cannot be "
    )
    assert done.said.count("Error: ") == done.said.count("Try: ") == 1, done.said


def test_a_file_is_replaced_as_a_whole(desk: Desk, tmp_path: Path) -> None:
    """Whoever collects it has it open while it is written anew."""
    prom = tmp_path / "a.prom"
    prom.write_text("before\n")
    with prom.open() as reader:
        assert desk.typed("drift", "--prom", str(prom)).code == 0
        assert reader.read() == "before\n"
    assert prom.read_text().startswith("# HELP sparkrig_up ")


def test_a_command_can_be_typed_where_it_is_printed(desk: Desk, tmp_path: Path) -> None:
    desk.has(unheld())
    here, elsewhere = desk.typed("drift"), desk.typed("drift", at=tmp_path)
    assert f"mends it:\npyinfra {desk.inventory} deploys/cluster.py\n" in here.out
    assert f" {ROOT}/deploys/cluster.py" in elsewhere.out


# --- accept


def accepting(id: str = "driver.hold", until: str = NEXT_YEAR, why: str = "a test", *more: str) -> list[str]:
    return [id, "--until", until, "--why", why, *more]


@pytest.mark.slow
def test_what_is_accepted_is_no_drift_until_that_day_is_over(desk: Desk) -> None:
    assert desk.has(unheld()).drift().code == 2
    done = desk.typed("accept", *accepting())
    file = desk.folder / "sparks.accepted.yaml"
    assert (done.code, done.out) == (
        0,
        f"accepted until {NEXT_YEAR}: driver.hold on every host. Now: git add {file}\n",
    )
    shown = well(desk.typed("drift"))
    assert "1 accepted" in shown.out and "(a test)" in shown.out
    file.write_text(file.read_text().replace(NEXT_YEAR, "2026-01-01"))
    over = desk.typed("drift")
    assert over.code == 2
    assert "! driver.hold on every host is drift again: accepted until 1 Jan 2026" in over.out


def test_what_stands_in_the_file_stays_as_it_is(desk: Desk) -> None:
    desk.has(unheld()).drift()
    file = desk.folder / "sparks.accepted.yaml"
    before = f"# ours\n- id: driver.hold  # until the update\n  until: {NEXT_YEAR}\n  why: 'x'\n\n# the end\n"
    file.write_text(before)
    assert desk.typed("accept", *accepting("driver.upgrade", NEXT_YEAR, "ünsafe: yes", "--host", B)).code == 0
    assert file.read_text().startswith(before)
    rows = yaml.safe_load(file.read_text())
    assert [row["id"] for row in rows] == ["driver.hold", "driver.upgrade"]
    assert (rows[1]["why"], rows[1]["host"], str(rows[1]["until"])) == ("ünsafe: yes", B, NEXT_YEAR)


@pytest.mark.slow  # a run for each row
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            accepting("driver.hodl"),
            "the last report has no check driver.hodl, but driver.hold. Try: sparkrig drift ",
        ),
        (accepting("driver.hold", "2026-01-01"), "2026-01-01 is over. Try: --until with a day to come"),
        (accepting("driver.hold", "soon"), "Invalid value for '--until': 'soon' does not match the format"),
        (accepting("driver.hold", NEXT_YEAR, " "), "a reason is expected. Try: --why "),
        (
            accepting("driver.hold", NEXT_YEAR, "x", "--host", "c"),
            "there is no host c in the inventory. Try: one of ",
        ),
        (["driver.hold", "--why", "x"], "Missing option '--until'. Try: sparkrig accept --help"),
    ],
    ids=["misspelt", "over", "no day", "no reason", "no host", "no until"],
)
def test_what_cannot_be_accepted_is_one_sentence(desk: Desk, words: list[str], said: str) -> None:
    desk.drift()
    done = desk.typed("accept", *words)
    assert (done.code, done.out) == (1, "")
    assert done.said.startswith(f"Error: {said}") and done.said.count("\n") == 1, done.said
    assert not (desk.folder / "sparks.accepted.yaml").exists()


def test_before_the_first_report_there_is_nothing_to_accept(desk: Desk) -> None:
    done = desk.typed("accept", *accepting())
    expected = f"Error: there is no drift report of this inventory yet. Try: sparkrig drift {desk.inventory}\n"
    assert (done.code, done.said) == (1, expected)


def test_a_file_that_cannot_stand_accepts_nothing(desk: Desk) -> None:
    file = desk.folder / "sparks.accepted.yaml"

    def refused(text: bytes, said: str) -> None:
        file.write_bytes(text)
        with pytest.raises(Refusal) as caught:
            drift_files.accepted(desk.inventory)
        assert said in caught.value.what and caught.value.cure

    each_row(
        [
            (b"- id: driver.hold\n", "entry 1: until: field required"),
            (
                b"- id: x\n  until: 2027-01-01\n  why: y\n  hots: spark-a\n",
                "1: hots: extra inputs are not permitted",
            ),
            (b"- id: x\n  until: soon\n  why: y\n", "entry 1: until: input should be a valid date"),
            (b"- driver.hold\n", "entry 1: input should be a valid dictionary"),
            (b"id: driver.hold\n", "is no list of entries"),
            (b"- [\n", "is no YAML: "),
            (b"- id: \xff\n", "is no text in UTF-8"),
        ],
        refused,
    )
    done = desk.drift()  # with the last of them
    assert (done.code, done.out, done.said.count("\n")) == (1, "", 1) and ". Try: " in done.said, done.said


def test_a_file_that_nothing_can_be_added_to_is_left_as_it_is(desk: Desk) -> None:
    desk.drift()
    file = desk.folder / "sparks.accepted.yaml"
    file.write_text("[]\n")
    done = desk.typed("accept", *accepting())
    assert (done.code, file.read_text()) == (1, "[]\n")
    assert "nothing can be added at its end" in done.said
