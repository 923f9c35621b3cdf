"""The screens that people read, drawn from recorded states, each by its name on any console."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from rich.console import Console

from sparkrig.bandwidth.measurement import Case, Measurement, Run
from sparkrig.bandwidth.render import bandwidth, matrix
from sparkrig.checks.server_plan import Planned as Served
from sparkrig.checks.server_plan import Weights
from sparkrig.cli import serve
from sparkrig.cli.bandwidth import refused
from sparkrig.cure import local, on_host
from sparkrig.doctor.render import doctor
from sparkrig.drift.plan import Planned, Step
from sparkrig.drift.render import drift, plan
from sparkrig.explain import tools
from sparkrig.explain.render.explained import explained
from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render import gids
from sparkrig.fabric.render.topology import Listing
from sparkrig.files import File, Found
from sparkrig.host.identity import Identity
from sparkrig.refusal import Refusal
from sparkrig.render.findings import Findings
from sparkrig.resources.check import Check
from sparkrig.runs.change import Change, of_file
from sparkrig.runs.journal import Journal
from sparkrig.serving.budget import Use
from sparkrig.serving.client import Client
from sparkrig.serving.render import models
from sparkrig.serving.render.startup import Phases
from sparkrig.serving.startup_report import judged
from sparkrig.status.render import status
from sparkrig.storage.render import storage
from sparkrig.support import archive
from sparkrig.update.render import update
from sparkrig.update.report import Prospect
from sparkrig.verdict import Finding, Verdict
from sparkrig.watch.render.blackbox import Picture
from tests.unit import (
    blackboxes,
    clusters_measured,
    disks,
    doctor_reports,
    drift_reports,
    pastes,
    servings,
    statuses,
    surveys,
    topologies,
)
from tests.unit.doctor_reports import LOST, MTU, OK, PATH, ROOT, A, B
from tests.unit.startups import recorded, seen

COMMAND = "sudo apt-get install --allow-downgrades linux-image-nvidia=6.17.0-1014.14 linux-modules-nvidia"
_HOLDS = tuple(Change("hold", f"package-{number}", None, "held") for number in range(6))
_WRITTEN = File("/etc/nccl.conf", "NCCL_IB_GID_INDEX=3\nNCCL_SOCKET_IFNAME=enP7s7,enp1s0f0np0\n")
_STANDS = Found("NCCL_IB_GID_INDEX=1\nNCCL_DEBUG=INFO\n", "0644", "root:root")
_STEPS = (
    Step("Driver | hold", _HOLDS),
    Step("Network | profiles and live links", (Change("mtu", "enp1s0f0np0", "1500", "9000"),)),
    Step("Environment | /etc/nccl.conf", (of_file(_WRITTEN, _STANDS),)),
)
_REFUSED = Refusal("its kernel is not the one of its pair", on_host(COMMAND, ", and reboot"))
_PLANNED = {A: Planned(_STEPS), B: Planned(refusals=(_REFUSED,))}
_SPARK = Identity(A, 0, "aarch64", "6.17.0-1014-nvidia", "", 127535084)
_LONG = Check("containers.docker", "docker runs", "no daemon", "drift", local(COMMAND, ", and reboot"))


def _doctor(found: Mapping[str, list[Check]], console: Console) -> None:
    roots = ROOT if PATH in found[B] else {}
    report, plain = doctor_reports.made(found, roots=roots), console.options.ascii_only
    for line in doctor.lines(report, everything=False, ascii_only=plain, width=console.width):
        console.print(line, soft_wrap=True)


def _status(journal: Journal, console: Console) -> None:
    plain = console.options.ascii_only
    console.print(status.host(A, statuses.DIFFERING, journal, 5, ascii_only=plain))


def _topology(shown: Topology, console: Console) -> None:
    console.print(Listing(shown))


def _gids(console: Console) -> None:
    for table in gids.tables(surveys.surveyed()):
        console.print(table)


def _explain(console: Console) -> None:
    for one in tools.read(pastes.SLOW).explained:
        console.print(explained(one))


def _startup(console: Console) -> None:
    for name, half in ((A, "head"), (B, "worker")):
        for node in judged(surveys.surveyed().fleet, {name: seen(recorded(f"pair-{half}"))}).values():
            console.print(Phases(name, node))


def _findings(console: Console) -> None:
    verdicts = [Verdict("fault", "kernel", "another one boots", _LONG.cure), Verdict("healthy")]
    console.print(Findings(Finding("spark-a", verdict) for verdict in verdicts))


def _pair(console: Console) -> None:
    well, slow = (Verdict("healthy"), Verdict("fault", "slow-start", "13.35 Gb/s", local(COMMAND)))
    cases = [
        Case("ib_write_bw", rails, sender, receiver, queue_pairs)
        for sender, receiver in ((A, B), (B, A))
        for rails, queue_pairs in (((0,), 1), ((1,), 1), ((0,), 4), ((1,), 4), ((0, 1), 4))
    ]
    measured = [
        Measurement(
            "ib_write_bw", rail, each.sender, each.receiver, each.queue_pairs, each.together, verdict, gbps=gbps
        )
        for each in cases
        for rail, verdict, gbps in ((0, slow, 13.35), (1, well, 111.86))
        if rail in each.rails
    ]
    console.print(bandwidth.table(cases, measured, ascii_only=console.options.ascii_only))
    _verdicts(clusters_measured.run(clusters_measured.slow_port("spark-b"), 2, "cable"), console)


def _cluster(console: Console) -> None:
    run = clusters_measured.run(clusters_measured.slow_port("spark-b"))
    console.print(matrix.Matrix([*run.hosts], matrix.grids(run.rails, run.measurements, run.ports)))
    _verdicts(run, console)


def _verdicts(run: Run, console: Console) -> None:
    console.print(bandwidth.verdicts(run))


def _refused(console: Console) -> None:
    refused(console, (A, B), _REFUSED)


def _model(console: Console) -> None:
    known = servings.CATALOGUE
    model = known.models["gpt-oss-120b"]
    console.print(models.Page(model, model.best(), known.sources, Use()))


def _served(console: Console) -> None:
    planned = Served(
        model="gpt-oss-120b",
        checkpoint="openai/gpt-oss-120b",
        hosts=[A, B],
        replaces="qwen3-30b-a3b",
        image=f"vllm/vllm-openai@{servings.ID}",
        has_image=False,
        weights={"openai/gpt-oss-120b": Weights(there=0.0, missing=60.8)},
        taken_gib=97.4,
        free_gib=121.4,
        total_gib=121.7,
        context=131072,
        speed="57 to 60 tokens a second measured for one request (conselara-benchmarks, 2026-05-09)",
        at=("10.0.2.15:8000", "127.0.0.1:8000"),
        client=Client("http://10.0.2.15:8000/v1", "gpt-oss-120b", "file:~/.config/sparkrig/keys/spark-a"),
        warnings=["lint: --enforce-eager costs a fifth of the speed"],
    )
    serve.put_plan(plan.Sheet(console), planned, "; it is made, and inventories/sparks.py names it")


def _archive(console: Console) -> None:
    files = (archive.File("spark-a/evidence/nvidia-smi-q.txt", "x" * 123456), archive.File("report.json", "{}"))
    missing = (f"{B}: it cannot be reached: Connection refused",)
    made = archive.Archive("0.1.0", "2026-11-22T10:00Z", ("machine-1", "machine-2"), files, {}, missing)
    console.print(archive.contents(made, console.width), end="", soft_wrap=True)


SCREENS: Mapping[str, Callable[[Console], None]] = {
    "doctor, one fault": partial(_doctor, {A: [OK], B: [PATH, MTU]}),
    "doctor, one away": partial(_doctor, {A: [OK, _LONG], B: [LOST]}),
    **{f"topology, {name}": partial(_topology, shown) for name, shown in topologies.states().items()},
    "GIDs": _gids,
    "findings": _findings,
    "status, done": partial(_status, statuses.GOOD),
    "status, broken off": partial(_status, statuses.BAD),
    "plan": lambda console: plan.show(console, _PLANNED, {A: 1, B: 1}, everything=True),
    "drift": lambda console: drift.show(console, drift_reports.DRIFTED),
    "drift, one away": lambda console: drift.show(console, drift_reports.HALF),
    "drift of a fleet": lambda console: drift.show(console, drift_reports.fleet()),
    "storage": lambda console: console.print(storage.Shown(A, disks.disk())),
    "startup": _startup,
    "black box": lambda console: console.print(Picture(B, blackboxes.box(blackboxes.falling), 1800)),
    "update": lambda console: update.show(console, {A: Prospect(identity=_SPARK, refusals=(_REFUSED,))}, [A]),
    "explain": _explain,
    "bandwidth of a pair": _pair,
    "bandwidth of a cluster": _cluster,
    "bandwidth, refused": _refused,
    "models": lambda console: console.print(models.Listing([*servings.CATALOGUE.models.values()], Use())),
    "model": _model,
    "serve --dry": _served,
    "support": _archive,
}
