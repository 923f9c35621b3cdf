"""`sparkrig startup`: what it prints, when it stops looking, and how it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparkrig.cli import startup
from sparkrig.ssh.remote import Lost
from tests.unit.startup_reports import HEAD, WORKER, Looks, typed
from tests.unit.startups import logged, recorded, seen

EARLY = seen(recorded("pair-head"), now=400)


def test_it_looks_until_the_model_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks: Looks = [{"spark-a": EARLY, "spark-b": WORKER}, {"spark-a": HEAD, "spark-b": WORKER}, {}]
    done = typed(monkeypatch, tmp_path, looks)
    assert (done.exit_code, len(looks)) == (0, 1)
    assert "first answer" in done.stdout and "up after 14 min 50 s" in done.stdout
    assert "conselara-hardware" in done.stdout and "spark-b: it has joined the head" in done.stdout


def test_one_look_of_a_model_on_its_way_ends_with_3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks: Looks = [{"spark-a": EARLY, "spark-b": WORKER}, {}]
    done = typed(monkeypatch, tmp_path, looks, "--once")
    assert (done.exit_code, len(looks)) == (3, 1)
    assert "starting for 6 min 40 s" in done.stdout and "spark-a: starting: it is loading weights" in done.stdout


def test_one_that_cannot_come_up_is_not_followed_any_longer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hung = seen(logged("sparkrig: phase start 2026-11-21T14:00:00Z form=solo", "CUDA out of memory"))
    looks: Looks = [{"spark-a": hung, "spark-b": WORKER}, {}]
    done = typed(monkeypatch, tmp_path, looks)
    assert (done.exit_code, len(looks)) == (2, 1)
    assert "spark-a: memory: there is too little memory" in done.stdout and "try: free it" in done.stdout


def test_a_host_that_is_away_hides_nothing_of_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = typed(monkeypatch, tmp_path, [{"spark-a": HEAD, "spark-b": Lost("no route to host")}])
    assert done.exit_code == 3
    assert "no route to host" in done.stdout and "first answer" in done.stdout
    assert "sparkrig doctor" in done.stderr


def test_the_document_has_every_phase(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = typed(monkeypatch, tmp_path, [{"spark-a": HEAD, "spark-b": WORKER}], "--json")
    hosts = json.loads(done.stdout)["hosts"]
    assert [phase["seconds"] for phase in hosts["spark-a"]["phases"]] == [120, 30, 420, 300, 10, 10]
    assert hosts["spark-a"]["phases"][2]["reference"]["seconds"] == 420
    assert hosts["spark-b"]["verdict"]["level"] == "healthy"


EMBED = seen(logged("sparkrig: phase start 2026-11-21T14:00:00Z form=solo", "CUDA out of memory"))


def test_each_service_of_a_host_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks: Looks = [{"spark-a": replace(HEAD, named={"embed": EMBED}), "spark-b": WORKER}, {}]
    done = typed(monkeypatch, tmp_path, looks)
    assert done.exit_code == 2
    assert "spark-a: it answers" in done.stdout and "spark-a (embed): memory: there is too little" in done.stdout
    assert "it has no part in what" in done.stdout and "spark-b (embed)" in done.stdout


def test_services_with_names_alone_hide_the_one_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    none = seen(load="not-found", active="inactive", image="")
    looks: Looks = [{"spark-a": replace(none, named={"embed": EMBED}), "spark-b": none}]
    done = typed(monkeypatch, tmp_path, looks, "--json")
    hosts = json.loads(done.stdout)["hosts"]
    assert hosts["spark-a"]["services"]["embed"]["verdict"]["cause"] == "memory"
    assert hosts["spark-a"]["verdict"]["cause"] == "memory" and hosts["spark-b"]["services"].keys() == {"embed"}
    assert done.exit_code == 2


@pytest.mark.parametrize("words", [["--minutes", "0"], ["--since", "now"]])
def test_what_makes_no_sense_is_refused(words: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(startup.startup, [str(tmp_path / "pair.py"), *words])
    assert done.exit_code != 0 and not isinstance(done.exception, AttributeError)


def test_a_log_in_place_of_an_inventory_is_explained(tmp_path: Path) -> None:
    line = "ERROR 11-20 10:00:01 [core.py:1] torch.OutOfMemoryError: CUDA out of memory\n"
    log = tmp_path / "server.log"
    log.write_text(line)
    from_file = CliRunner().invoke(startup.startup, [str(log), "--json"])
    piped = CliRunner().invoke(startup.startup, ["-", "--json"], input=line)
    for done in (from_file, piped):
        (one,) = json.loads(done.stdout)["explained"]
        causes = [finding["verdict"]["cause"] for finding in one["findings"]]
        assert (done.exit_code, one["tool"], causes) == (2, "server log", ["memory"])
    lost = CliRunner().invoke(startup.startup, [str(tmp_path / "none.log")])
    assert lost.exit_code != 0 and "No such file" in lost.output
