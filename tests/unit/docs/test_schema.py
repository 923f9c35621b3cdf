"""What verbs print with --json is what docs/schema/ says, and what is not is told apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import is_dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from pydantic import BaseModel, TypeAdapter

import sparkrig.ssh as package
from docs.schemas import DOCUMENTS, FOLDER, texts
from sparkrig.checks import server_plan
from sparkrig.cli import apply as applied
from sparkrig.cli import blackbox, models, topology, update
from sparkrig.cli import plan as planning
from sparkrig.cli import support as support_command
from sparkrig.cli.main import _VERBS, sparkrig
from sparkrig.drift import drift
from sparkrig.drift.plan import Planned
from sparkrig.drift.plan import Step as PlannedStep
from sparkrig.fabric.survey import Survey
from sparkrig.facts.storage import Disk
from sparkrig.fleet import Fleet
from sparkrig.host.armed import Armed
from sparkrig.host.blackbox import Act, BlackBox, Reset, Step
from sparkrig.host.driver import NextBoot
from sparkrig.host.identity import Identity
from sparkrig.host.upgrade import Move
from sparkrig.onboarding import plan
from sparkrig.onboarding.hostkey import HostKey
from sparkrig.onboarding.io.draft import Book, Draft
from sparkrig.onboarding.io.first_login import Target
from sparkrig.onboarding.io.replacing import Place
from sparkrig.operations import applying, onboard, update_look
from sparkrig.redaction.redactor import Count
from sparkrig.refusal import Refusal
from sparkrig.runs.applied import Applied
from sparkrig.runs.change import Change
from sparkrig.runs.journal import Journal
from sparkrig.runs.lock import Lock
from sparkrig.serving.client import Client
from sparkrig.serving.io import catalogue_files
from sparkrig.ssh.remote import Lost
from sparkrig.support import archive
from sparkrig.update import update as update_plan
from sparkrig.update.firmware import Part
from sparkrig.update.report import Prospect
from tests.schemas import complaints
from tests.tables import each_row
from tests.unit import (
    bandwidth_calls,
    benches,
    candidates,
    doctor_reports,
    lint_calls,
    pastes,
    startup_reports,
    statuses,
    storages,
    surveys,
    undos,
)

Patch = pytest.MonkeyPatch


def told(folder: Path, patch: Patch) -> str:
    file = folder / "sparks.py"
    file.write_text(statuses.INVENTORY)
    now = statuses.NOW
    runs = (statuses.DONE, replace(statuses.BROKEN, guard="armed"))
    armed = (Armed(statuses.BROKEN.id, 60, False),)
    found: dict[str, Journal | Lost] = {
        "spark-a": Journal(now, Lock(statuses.OWNER, alive=True), runs, statuses.AFTER, armed=armed),
        "spark-b": Lost("no route to host"),
    }
    return statuses.shown(patch, str(file), found, "--json", state=statuses.DIFFERING).stdout


def cabled(folder: Path, patch: Patch) -> str:
    """The recorded pair, and one whose second host is away."""
    whole = surveys.surveyed()
    half = Survey(whole.fleet, whole.names, {"spark-a": whole.found["spark-a"]}, whole.heard, {"spark-b": "away"})
    file = folder / "sparks.py"
    file.write_text(f"sparks = {list(surveys.SETTINGS.items())!r}\n")
    found = []
    for each in (whole, half):
        patch.setattr(topology, "_surveys", lambda *_, each=each: [each])
        found.append(json.loads(CliRunner().invoke(topology.topology, [str(file), "--json"]).stdout))
    return json.dumps({**found[0], "groups": [group for each in found for group in each["groups"]]})


def measured(folder: Path, patch: Patch) -> str:
    left, right = bandwidth_calls.GONE, bandwidth_calls.BAD
    return str(bandwidth_calls.typed(folder, patch, "--json", left=left, right=right).stdout)


def explained(folder: Path, patch: Patch) -> str:
    return pastes.run("--json", text=pastes.SLOW).stdout


def linted(folder: Path, patch: Patch) -> str:
    """A launch that the catalogue does not know, and one of a pair."""
    return lint_calls.typed("-", "--json", text=lint_calls.SCRIPT).stdout


def onboarded(folder: Path, patch: Patch) -> str:
    """A second Spark, of which the deploy would refuse one host."""
    made = candidates.pair()
    fabric = {"spark-b": made.data["fabric"], "spark-a": made.others["spark-a"]["fabric"]}
    fleet = Fleet.parse({name: {"pair": "sparks", "fabric": each} for name, each in fabric.items()})
    found = {"spark-b": candidates.seen("b"), "spark-a": candidates.seen("a")}
    steps = {
        "spark-b": Planned((PlannedStep("Network | profiles"),)),
        "spark-a": Planned(refusals=(Refusal("no room", "df -h"),)),
    }
    plans = [plan.of(name, each, fleet, steps[name], ["key"]) for name, each in found.items()]
    book = Book(folder / "sparks.py", "", fleet, {}, {}, lambda *_: {})
    draft = Draft(book, made, book, found, plans, ["sparks.py"])
    at = Target("spark-b.local", "spark-b.local", 22, "nvidia", folder / "known_hosts")
    key, old = HostKey("ssh-ed25519", b"key"), HostKey("ssh-ed25519", b"old")
    place = Place("spark-b", at, at, {}, (old,))
    document = onboard._document(at, key, draft, "Refused.", 1, place, onboard._Watch())
    return json.dumps(TypeAdapter(type(document)).dump_python(document, mode="json"))


def undone(folder: Path, patch: Patch) -> str:
    file = folder / "pair.py"
    file.write_text(f"sparks = {list(surveys.SETTINGS.items())!r}\n")
    return undos.typed(patch, str(file), undos.SETTLED, "--yes", "--json")[0].stdout


def started(folder: Path, patch: Patch) -> str:
    """A head that serves, and a host that is away."""
    looks: startup_reports.Looks = [{"spark-a": startup_reports.HEAD, "spark-b": Lost("away")}]
    return startup_reports.typed(patch, folder, looks, "--json").stdout


def catalogued(folder: Path, patch: Patch) -> str:
    """A model with launches, figures and claims, and a checkpoint that is bad."""
    return CliRunner().invoke(models.models, ["show", "qwen3-235b-a22b", "--json"]).stdout


def benched(folder: Path, patch: Patch) -> str:
    """A workload with a request that failed and figures of articles beside it, and some that were not measured."""
    there = benches.host(folder, benches.figures("vllm", completed=2))
    looks = {"spark-a": benches.look(benches.record())}
    return benches.typed(patch, folder, looks, "all", "--at", "1", "--json", programs=there).stdout


def stored(folder: Path, patch: Patch) -> str:
    """A host with a checkpoint that goes, and one that is away."""
    found: dict[str, Disk | Lost] = {"spark-a": storages.found(), "spark-b": Lost("away")}
    return storages.typed(patch, folder, found, "--json").stdout


def unlocked(folder: Path, patch: Patch) -> str:
    from sparkrig.cli.unlock import unlock

    file = folder / "sparks.py"
    file.write_text("sparks = ['spark-a', 'spark-b']\n")
    session = SimpleNamespace(
        connected=lambda data: nullcontext(dict.fromkeys(data)),
        ask=lambda *_: {"spark-a": statuses.GOOD, "spark-b": Lost("no route to host")},
    )
    patch.setattr(package, "session", session, raising=False)
    return CliRunner().invoke(unlock, [str(file), "--yes", "--json"]).stdout


def drifted(folder: Path, patch: Patch) -> str:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    accepted = drift.Acceptance(id="net.mtu", until=date(2026, 12, 1), why="a switch")
    rows = [
        drift.Row(id="net.mtu", status="drift", want="9000", found="1500", moved="host", since=now, news="new"),
        drift.Row(id="driver.hold", status="ok", want="held", found="held", accepted=accepted),
    ]
    hosts = [drift.Host(name="spark-a", exit=2, rows=rows), drift.Host(name="spark-b", exit=3, unread="away")]
    made = drift.Report(
        version="0.1.0", inventory="sparks.py", started=now, seconds=1.5, exit=3, hosts=hosts, expired=[accepted]
    )
    return made.dumps()


def examined(folder: Path, patch: Patch) -> str:
    rows = [doctor_reports.OK, doctor_reports.PATH, doctor_reports.MTU]
    return doctor_reports.made(
        {"spark-a": rows, "spark-b": [doctor_reports.LOST]}, roots=doctor_reports.ROOT
    ).dumps()


def supported(folder: Path, patch: Patch) -> str:
    file = folder / "sent.tar.gz"
    given = (archive.File("drift.json", "{}\n"), archive.File("machine-1/tools/ip.txt", "$ ip\n", cut=True))
    counts = {"mac": Count(3, 2)}
    made = archive.Archive("0.1.0", "2026-11-22T10:00Z", ("machine-1",), given, counts, ("x",), ("y",))
    file.write_bytes(archive.pack(made))
    return CliRunner().invoke(support_command.support, ["--open", "--json", str(file)]).stdout


def foreseen() -> planning.Plan:
    """A host that changes, one that is refused, one that is held up by it, and one that cannot be read."""
    names = ("spark-a", "spark-b", "spark-c", "spark-d")
    fleet = Fleet.parse({name: {} for name in names})
    steps = (
        PlannedStep("Driver | pins", (Change("file", "/etc/x", "1 line", "2 lines", ("-a", "+b"), "links"),)),
    )
    made = [Planned(steps), Planned(refusals=(Refusal("no room", "df -h"),)), Planned(steps, held_up=("spark-b",))]
    hosts = dict(zip(names, [*made, Planned(unread=Refusal("away", "ping"))], strict=True))
    return planning.Plan(Path("pair.py"), fleet, {}, hosts)


def foretold(folder: Path, patch: Patch) -> str:
    patch.setattr(planning, "of", lambda *_, **__: foreseen())
    return CliRunner().invoke(planning.plan, ["pair.py", "--json"]).stdout


def carried_out(folder: Path, patch: Patch) -> str:
    patch.setattr(planning, "of", lambda *_, **__: foreseen())
    patch.setattr(applying, "run", lambda *_: (0, Applied()))
    return CliRunner().invoke(applied.apply, ["pair.py", "--json", "--yes"]).stdout


def boxed(folder: Path, patch: Patch) -> str:
    """A host that was reset and whose guard acted, one that was not, and one that is away."""
    steps = tuple(Step(at, "0a1b2c3d", memory={"total": 1e8, "available": 1e8 - 1e6 * at}) for at in (0, 10, 20))
    box = BlackBox(runs=True, now=90, reset=Reset(steps, 60), acts=(Act(15, "stopped the server: little memory"),))
    found = {"spark-a": box, "spark-b": BlackBox(), "spark-c": Lost("away")}
    patch.setattr(blackbox, "_look", lambda *_: found)
    (folder / "sparks.py").write_text(f"sparks = {[*found]!r}\n")
    return CliRunner().invoke(blackbox.blackbox, [str(folder / "sparks.py"), "--json", "--last", "15s"]).stdout


def updated(folder: Path, patch: Patch) -> str:
    """A host with something to update in packages and firmware, one that is refused, and one that is away."""
    move = Move("580.1", "580.2")
    boot = NextBoot("6.17.0")
    made = {
        "spark-a": Prospect(
            Identity("spark-a", 0, "aarch64", "6.17.0", "", 128),
            plan=update_plan.Plan(
                move, move, boot, ("a", "b"), ("c",), ("d",), ("e",), ("f=1",), ("6.17.0",), 5_000_000
            ),
            parts=(Part("SoC", "offered", "1", "2", "0.1", "2", "0", "id", "so"),),
            left_out={"x.json": "torn"},
        ),
        "spark-b": Prospect(refusals=(Refusal("no room", "df -h"),)),
        "spark-c": Prospect(unread=Refusal("away", "ping")),
    }
    patch.setattr(update_look, "looked", lambda *_, **__: {})
    patch.setattr(update_look, "prospects", lambda *_: made)
    (folder / "sparks.py").write_text(f"sparks = {[*made]!r}\n")
    return CliRunner().invoke(update.update, [str(folder / "sparks.py"), "--check", "--json"]).stdout


def served(folder: Path, patch: Patch) -> str:
    """A server that answers, and a host that was refused."""
    client = Client("http://127.0.0.1:8000/v1", "a-model", "file:~/key")
    plan = server_plan.Planned(
        model="a-model",
        checkpoint="o/a",
        hosts=["spark-a"],
        replaces="",
        image="an-image",
        has_image=False,
        weights={"o/a": server_plan.Weights(there=1.0, missing=None)},
        taken_gib=1.0,
        free_gib=2.0,
        total_gib=3.0,
        context=9,
        speed="",
        at=("127.0.0.1:8000",),
        client=client,
        warnings=["w"],
    )
    made = server_plan.Report(
        inventory="pair.py",
        servers=[plan],
        answers={"spark-a": "Paris."},
        amiss=[server_plan.Amiss(hosts=["spark-b"], why="no room")],
        outcome="Done.",
        exit_code=2,
    )
    return json.dumps(TypeAdapter(server_plan.Report).dump_python(made, mode="json"))


PRINTED: dict[str, Callable[[Path, Patch], str]] = {
    "apply": carried_out,
    "bandwidth": measured,
    "bench": benched,
    "blackbox": boxed,
    "doctor": examined,
    "drift": drifted,
    "explain": explained,
    "lint": linted,
    "models": catalogued,
    "onboard": onboarded,
    "plan": foretold,
    "serve": served,
    "startup": started,
    "status": told,
    "storage": stored,
    "support": supported,
    "topology": cabled,
    "undo": undone,
    "unlock": unlocked,
    "update": updated,
}
TYPED = sorted(PRINTED)


def test_each_document_is_declared_once() -> None:
    """As the dataclass or the model that is judged with, and not once more as a type of what is printed."""
    for verb, document in DOCUMENTS.items():
        assert is_dataclass(document) or issubclass(document, BaseModel), verb


def test_the_schemas_are_current() -> None:
    found = {file: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    assert found == texts(), "make docs"
    for text in found.values():
        Draft202012Validator.check_schema(json.loads(text))


def options(command: click.Command) -> set[str]:
    return {name for each in command.params for name in each.opts}


def test_every_verb_with_json_has_a_schema_and_says_so() -> None:
    def holds(verb: str) -> None:
        context = click.Context(sparkrig)
        command = sparkrig.get_command(context, verb)
        assert command is not None
        if "--json" in options(command):
            assert verb in DOCUMENTS, "docs/schemas.py: DOCUMENTS; then make docs"
            assert f"docs/schema/{verb}.json" in command.get_help(click.Context(command))

    each_row(sorted(_VERBS), holds)


def test_a_file_in_models_is_what_its_schema_says() -> None:
    schema = Draft202012Validator(json.loads((FOLDER / "model-file.json").read_text(encoding="utf-8")))

    def holds(name: str) -> None:
        told = yaml.safe_load((catalogue_files.FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
        told = json.loads(json.dumps(told))  # as an editor has it: keys are text
        assert [each.message for each in schema.iter_errors(told)] == []
        assert not schema.is_valid({**told, "nodes": 9})

    each_row(catalogue_files.names(), holds)


NUMBERS = {
    "onboard": 2,
    "bench": 2,
    "explain": 2,
    "models": 2,
    "status": 2,
    "storage": 3,
}  # of a schema that has moved


@pytest.mark.parametrize("verb", TYPED)
def test_what_a_verb_prints_is_what_its_schema_says_and_nothing_broken_is(
    verb: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    document = json.loads(PRINTED[verb](tmp_path, monkeypatch))
    assert complaints(verb, document) == []
    assert document["schema"] == f"sparkrig.{verb}/{NUMBERS.get(verb, 1)}"
    for broken in breakages(document):
        assert complaints(verb, broken), json.dumps(broken, indent=1)


def breakages(document: dict[str, Any]) -> Iterator[Any]:
    """The document without each of its fields, with one that is not known, and with values of another type."""
    for key in document:
        yield {name: value for name, value in document.items() if name != key}
        yield {**document, key: [[]]}
    yield {**document, "shcema": ""}
    yield {**document, "schema": "sparkrig.other/1"}
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield from ({**document, key: [broken]} for broken in without_a_field(value[0]))


def without_a_field(item: dict[str, Any]) -> Iterator[Any]:
    return ({name: value for name, value in item.items() if name != key} for key in item)


def test_a_rail_that_lost_its_figure_is_told_apart(tmp_path: Path, monkeypatch: Patch) -> None:
    document = json.loads(told(tmp_path, monkeypatch))
    rail = document["hosts"]["spark-a"]["state"]["rails"][0]
    assert rail["gbps"] > 0
    rail["gbps"] = "0.57 Gb/s"
    assert complaints("status", document)
