"""The scripts of serving for a named service beside another one, run for real with stand-ins."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.facts.files import Files
from sparkrig.files import parse
from sparkrig.operations import serving
from sparkrig.runs import journal, lock, undo
from sparkrig.serving import last_deploy, served
from sparkrig.serving.served import Service
from tests.unit import undo_host
from tests.unit.serving_host import DID, Spark
from tests.unit.shells import sh, well

EMBED = Service("embed")
OTHERS = ("sparkrig-serve.service", "sparkrig-serve-port", "sparkrig-serve-watch")


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    """A host whose first server stands, and whose service `embed` stands."""
    made = Spark(tmp_path / "spark")
    for path in served.PATHS:
        made.has(path, "first")
    for path in EMBED.paths:
        made.has(path, "old")
    made.has(served.EVENTS, DID)
    made.prints(serving.PLACED)
    made.prints(EMBED.of(serving.PLACED))
    made.did  # noqa: B018 - what was done until now
    return made


def holds(spark: Spark) -> dict[str, str]:
    return {path: spark.at(path).read_text() for path in EMBED.kept if spark.at(path).exists()}


def untouched(spark: Spark) -> None:
    """The first server is as it was, and none of its units was asked anything."""
    assert spark.holds() == dict.fromkeys(served.PATHS, "first") and spark.enabled
    assert spark.at(served.EVENTS).read_text() == DID
    assert not [line for line in spark.did if any(unit in line for unit in OTHERS)]
    assert not spark.at(served.TRIAL).exists()


def test_a_trial_of_one_that_fails_takes_back_that_one_alone(spark: Spark) -> None:
    spark.prints(EMBED.of(serving.BEGIN), *EMBED.kept)
    assert spark.at(EMBED.of(served.TRIAL)).exists()
    for path in EMBED.paths[:3]:
        spark.has(path, "new")
    spark.prints(EMBED.of(serving.PLACED), *EMBED.paths[3:])
    assert set(holds(spark)) == {*EMBED.paths[:3]}
    spark.prints(EMBED.of(serving.ROLL_BACK), *EMBED.kept)
    assert holds(spark) == dict.fromkeys(EMBED.paths, "old")
    assert spark.log.read_text().splitlines()[-1] == "start sparkrig-serve-embed.service"
    untouched(spark)


def test_a_trial_of_one_that_holds_opens_its_port_alone(spark: Spark) -> None:
    spark.prints(EMBED.of(serving.BEGIN), *EMBED.kept)
    spark.prints(EMBED.of(serving.COMMIT))
    assert spark.log.read_text().splitlines()[-1] == "start sparkrig-serve-embed-port.socket"
    assert not spark.at(EMBED.of(served.TRIAL)).exists()
    untouched(spark)


def test_one_that_goes_leaves_nothing_but_what_it_compiled(spark: Spark) -> None:
    spark.has(EMBED.of(served.RAY_ENV), "RAY_AUTH_TOKEN=x\n")
    spark.has(EMBED.of(served.EVENTS), DID)
    spark.prints(EMBED.of(serving.REMOVE), *EMBED.paths)
    assert holds(spark) == {} and not spark.at(EMBED.of(served.ENABLED)).is_symlink()
    for folder in (
        "/etc/sparkrig/serve/embed",
        "/var/lib/sparkrig/serve-embed",
        "/usr/local/lib/sparkrig/serve/embed",
    ):
        assert not spark.at(folder).exists()
    assert "stop sparkrig-serve-embed.service" in spark.log.read_text().splitlines()
    untouched(spark)


def test_an_undo_of_one_starts_or_ends_that_one_alone(spark: Spark) -> None:
    spark.prints(EMBED.of(undo.SERVE))
    assert spark.log.read_text().splitlines()[-1] == "start --no-block sparkrig-serve-embed.service"
    untouched(spark)
    for path in EMBED.paths:
        spark.at(path).unlink()
    spark.prints(EMBED.of(undo.SERVE))
    assert not spark.at(EMBED.of(served.ENABLED)).is_symlink()
    untouched(spark)


def test_one_look_sees_both_each_with_its_own(spark: Spark, tmp_path: Path) -> None:
    weights = str(tmp_path / "weights")
    for service, port in ((served.UNNAMED, 22), (EMBED, 8000)):
        record = last_deploy.Record(
            "m", "a/b", "sha256:1", "i:1", "solo", 1, 0, port, 18000, weights, service=service.name
        )
        spark.has(service.record, record.file().content)
    spark.has(EMBED.of(served.TRIAL), "")
    spark.unit.write_text("LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\n")
    found = spark.look()
    assert [*found.named] == ["embed"] and len(found.events) == 1
    assert found.bound == ("0.0.0.0:22",) and found.of(EMBED).bound == ("[::]:8000",)
    assert (found.trial, found.of(EMBED).trial, found.of(EMBED).events) == (False, True, ())
    assert found.of(EMBED).unit["UnitFileState"] == "enabled"


def test_a_host_with_a_named_service_alone_is_looked_at(tmp_path: Path) -> None:
    spark = Spark(tmp_path / "spark")
    record = last_deploy.Record("m", "a/b", "sha256:1", "i:1", "solo", 1, 0, 8001, 18001, "/none", service="embed")
    spark.has(EMBED.record, record.file().content)
    assert spark.look().looked and [*spark.look().named] == ["embed"]


def test_names_that_are_none_of_ours_are_not_looked_at(spark: Spark) -> None:
    for name in ("a-port", "A", "x y", "-a", "$(touch PWNED)", "a" * 25, *(f"s{number}" for number in range(12))):
        spark.has(f"/etc/sparkrig/serve/{name}/serve.json", "{}")
    found = spark.look(str(spark.root / "none"))
    assert len(found.named) == served.MOST and all(map(served.usable, found.named))
    assert not [*spark.root.rglob("PWNED")]


def test_the_files_of_each_are_read(spark: Spark) -> None:
    printed = spark.prints(Files.script)
    found = {path.removeprefix(str(spark.root)): each for path, each in parse(printed.splitlines()).items()}
    assert {*found} >= {*EMBED.paths} and found[EMBED.record].content == "old"
    assert EMBED.of(served.RAY_ENV) not in found


def test_the_hosts_own_list_of_paths_is_that_of_this_code() -> None:
    done = sh(f"{programs.text('facts/serving_names.sh')}service_paths embed")
    assert sorted(done.stdout.split()) == sorted(EMBED.paths)


# --- the journal


RUN = "20261125T000000Z-0001"


def test_a_run_notes_the_files_of_a_new_service_and_an_undo_takes_them_away(tmp_path: Path) -> None:
    host = undo_host.Spark(tmp_path)
    given = lock.given(RUN, "ann@laptop", "x", "0", "")
    host.holders.start(RUN)
    well(host.sh(journal.BEGIN, RUN, given, "", *journal.PATHS, *EMBED.paths))
    for path in EMBED.paths[:2]:
        host.at(path).parent.mkdir(parents=True, exist_ok=True)
        host.write(RUN, path, "of the service")
    well(host.sh(journal.END, RUN, "", *journal.PATHS))
    found = host.look()
    assert {f"file {path}" for path in EMBED.paths[:2]} <= {*found.current}
    plan = host.plan(RUN)
    assert {each.name: each.act for each in plan.pending} == dict.fromkeys(EMBED.paths[:2], "remove")
    assert plan.serving == [EMBED]
