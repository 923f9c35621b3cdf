"""How far a served model is on its way up, and why one does not come up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkrig.facts.startup import Startup as Fact
from sparkrig.host.images import Image
from sparkrig.serving.io import catalogue_files
from sparkrig.serving.served import Service
from sparkrig.serving.startup import (
    DOING,
    MEANINGS,
    REFERENCES,
    TOTALS,
    WANTED,
    Seen,
    announced,
    attempts,
    parse,
    read,
)
from sparkrig.serving.trouble import judge
from sparkrig.signatures import table
from sparkrig.verdict import Verdict
from tests.unit.shells import sh, tool
from tests.unit.startups import BEGAN, FOLDER, IMAGE, logged, recorded, rows, seen

HEAD, WORKER, SOLO = (recorded(name) for name in ("pair-head", "pair-worker", "solo"))
START = "sparkrig: phase start 2026-11-21T14:00:00Z form=ray rank=0 nodes=2 head=10.0.0.1 address=10.0.0.1"


def alone(found: Seen) -> Verdict:
    return judge({"spark-a": (found, read(found))})["spark-a"]


def both(a: Seen, b: Seen) -> dict[str, Verdict]:
    return judge({"spark-a": (a, read(a)), "spark-b": (b, read(b))})


def stamp(line: str) -> float:
    """Seconds after the begin."""
    return float(line.split(" ", maxsplit=1)[0]) - BEGAN


def took(found: Seen) -> dict[str, float | None]:
    return {phase.name: phase.seconds for phase in read(found).phases if phase.state == "done"}


def test_the_phases_of_a_pair_are_what_stands_between_their_lines() -> None:
    found = seen(HEAD)
    assert took(found) == {"cluster": 120, "engine": 30, "weights": 420, "compile": 300, "api": 10, "answer": 10}
    node = read(found)
    assert (node.state, node.role, node.form, node.address) == ("serving", "head", "ray", "192.168.177.11")
    assert node.seconds == 890  # a look later on makes it no longer
    assert alone(found) == Verdict("healthy", "", "it answers")


def test_the_worker_of_a_pair_has_joined() -> None:
    found = seen(WORKER)
    assert took(found) == {"cluster": 115} and read(found).state == "serving"
    assert both(seen(HEAD), found)["spark-b"].evidence == "it has joined the head"


def test_one_spark_alone_forms_no_cluster() -> None:
    found = seen(SOLO)
    assert took(found) == {"engine": 20, "weights": 575, "compile": 95, "api": 29, "answer": 2}
    weights = next(phase for phase in read(found).phases if phase.name == "weights")
    assert weights.told == ("checkpoint 75.89 GiB", "501.02 s", "73.12 s", "76.02 GiB resident")
    compiled = next(phase for phase in read(found).phases if phase.name == "compile")
    assert compiled.told == ("torch.compile 36.50 s", "torch.compile 6.60 s", "graphs 17 s")


@pytest.mark.parametrize(
    ("now", "phase", "seconds"),
    [(60, "cluster", 60), (130, "engine", 10), (400, "weights", 250), (700, "compile", 130), (875, "api", 5)],
)
def test_the_phase_of_now_is_the_first_that_has_not_ended(now: float, phase: str, seconds: float) -> None:
    found = seen(HEAD, now=now)
    current = read(found).current
    assert current and (current.name, current.seconds) == (phase, seconds)
    verdict = alone(found)
    assert (verdict.level, verdict.cause) == ("unknown", "starting") and DOING[current.name] in verdict.evidence


def test_a_phase_whose_line_is_missing_is_over_with_the_next_one() -> None:
    without = "".join(
        line for line in HEAD.splitlines(keepends=True) if "Starting to load" not in line and "shards" not in line
    )
    phases = {phase.name: phase for phase in read(seen(without)).phases}
    assert (phases["engine"].state, phases["engine"].seconds) == ("done", None)
    assert phases["weights"].seconds == 450  # and counts with the one after it


def test_several_nodes_without_ray_log_for_themselves() -> None:
    order = f"{START} name=x=127.0.0.1".replace("form=ray rank=0", "form=multinode rank=1")
    log = logged(order, at=0) + logged(
        "INFO [parallel_state.py:9] rank 1 in world size 2 is assigned as DP rank 0", at=9
    )
    log += logged("INFO Starting to load model /m...", at=12) + logged("INFO Model loading took 5 GiB", at=80)
    found = seen(log, now=90)
    assert took(found) == {"cluster": 9, "engine": 3, "weights": 68}
    assert read(found).state == "starting" and read(found).role == "worker"
    done = seen(log + logged("INFO Graph capturing finished in 9 secs, took 1 GiB", at=85), now=90)
    assert read(done).state == "serving"


def test_only_the_last_try_counts() -> None:
    log = logged(START, "CUDA out of memory", at=0) + logged(START, at=50)
    found = seen(log, now=55, restarts=1)
    assert len(attempts(found.lines)) == 2 and read(found).seconds == 5
    verdict = alone(found)
    assert (
        verdict.cause == "starting" and "; the try before this one: there is too little memory" in verdict.evidence
    )
    assert alone(seen(log, now=55, restarts=3)).cause == "memory"
    again = alone(seen(log, now=55, active="activating", result="exit-code", restarts=1))
    assert (again.level, again.cause) == ("fault", "memory")


def test_no_unit_and_a_stopped_one_are_not_known_to_be_wrong() -> None:
    absent, stopped = seen(load="not-found", active="inactive", image=""), seen(active="inactive", image="")
    assert (alone(absent).cause, alone(absent).level) == ("absent", "unknown")
    assert (alone(stopped).cause, alone(stopped).level) == ("stopped", "unknown")
    assert alone(seen(now=3)).cause == "begins"


STOOD = "2026-11-24T12:03:00Z stuck restarted the engine stood still for 300 s"
BOOTS = "2026-11-24T12:30:00Z boots held 2 boots ended while it loaded"
GONE = "2026-11-24T12:30:00Z stuck stopped the engine stood still for 300 s"


def test_what_the_watch_did_is_told_of_a_server_that_is_up_and_of_one_that_it_stopped() -> None:
    up = alone(seen(SOLO, events=[STOOD]))
    assert (up.level, up.cause) == ("degraded", "stuck")
    assert up.evidence == "the watch restarted it at 2026-11-24T12:03:00Z: the engine stood still for 300 s"
    assert "--attention-backend" in up.cure
    low = alone(seen(SOLO, events=[STOOD, "2026-11-24T13:00:00Z memory restarted it was low", "nonsense"]))
    assert (low.level, low.cause) == ("degraded", "memory") and "--max-num-seqs" in low.cure
    down = alone(seen(active="inactive", image="", events=[STOOD, GONE]))
    assert (down.level, down.cause) == ("fault", "stuck") and "stopped it at 2026-11-24T12:30" in down.evidence
    held = alone(seen(active="inactive", image="", events=[STOOD, BOOTS]))
    assert (held.level, held.cause) == ("fault", "boots") and held.cure.startswith(
        "sudo systemctl start sparkrig-serve;"
    )
    assert held.evidence == "the brake held it at 2026-11-24T12:30:00Z: 2 boots ended while it loaded"
    by_hand = alone(seen(active="inactive", image="", events=[STOOD]))
    assert (by_hand.level, by_hand.cause) == ("unknown", "stopped")


def test_the_half_of_a_pair_that_has_no_part_in_it_is_not_missed() -> None:
    absent = seen(load="not-found", active="inactive", image="")
    assert both(seen(SOLO), absent) == {
        "spark-a": Verdict("healthy", "", "it answers"),
        "spark-b": Verdict("healthy", "", "it has no part in what spark-a serves"),
    }
    on_ray = seen(HEAD.replace("form=ray", "form=standing"))
    assert (
        both(on_ray, absent)["spark-b"].evidence == "its part in what spark-a serves is a worker of sparkrig-ray"
    )
    assert {each.cause for each in both(absent, absent).values()} == {"absent"}


def test_gpus_that_another_launch_holds_are_told_as_such() -> None:
    held = seen(
        logged(START, "sparkrig: trouble placement 2026-11-21T14:10:00Z after 600 s Ray has", at=0),
        active="failed",
    )
    assert alone(held).cause == "placement"


def test_two_sparks_that_serve_for_themselves_need_no_common_image() -> None:
    found = both(seen(SOLO), seen(SOLO, image="sha256:" + "b" * 64))
    assert [each.cause for each in found.values()] == ["", ""]


def trouble() -> list[tuple[str, str]]:
    lines = [line for line in recorded("trouble").splitlines() if not line.startswith("#")]
    return [(cause, line) for cause, _, line in (line.split(" | ", 2) for line in lines)]


@pytest.mark.parametrize(("cause", "line"), trouble(), ids=[f"{cause}: {line[-30:]}" for cause, line in trouble()])
def test_a_line_of_trouble_is_told_and_reaches_us(cause: str, line: str) -> None:
    verdict = alone(seen(logged(START, at=0) + logged(line, at=5), now=10, active="failed", result="exit-code"))
    assert verdict.cause == cause and verdict.level != "healthy" and verdict.cure
    assert any(words in line for words in WANTED), "the host's grep would drop it"


WARNING = "sparkrig: trouble interface 2026-11-21T14:07:10Z this node speaks to 10.0.0.1 from 10.9.9.9, not from x"


def test_a_warning_counts_once_it_did_not_come_up() -> None:
    log = logged(START, WARNING, at=0)
    assert alone(seen(log, now=30)).cause == "starting"
    hung = alone(seen(log, now=241, quiet=200))
    assert (hung.level, hung.cause) == ("fault", "interface") and hung.evidence.startswith("it hangs; ")
    assert alone(seen(log, now=30, active="failed", result="exit-code", status=1)).cause == "interface"


def test_what_it_got_over_is_no_trouble_any_more() -> None:
    early = logged("INFO Waiting for creating a placement group of specs for 30 seconds. specs=[]", at=119)
    lines = "".join(sorted((HEAD + early).splitlines(keepends=True), key=stamp))
    assert alone(seen(lines, now=119)).cause == "placement"
    assert alone(seen(lines, now=130)).cause == "starting"


def test_one_node_has_no_trouble_with_another() -> None:
    log = logged("sparkrig: phase start 2026-11-21T14:00:00Z form=solo", at=0)
    log += logged("[W ProcessGroupGloo.cpp:514] Warning: Unable to resolve hostname to a (local) address.", at=1)
    log += logged("RuntimeError: Engine core initialization failed. See root cause above.", at=2)
    assert alone(seen(log, now=9, active="failed", result="exit-code", status=1)).cause == "engine"


def test_every_sign_has_a_line_and_a_source() -> None:
    assert {sign.cause for sign in table("serving")} == {cause for cause, _ in trouble()}
    assert all(sign.source for sign in table("serving"))


@pytest.mark.parametrize(
    "line",
    [
        "INFO [parallel_state.py:9] rank 1 in world size 2 is assigned as DP rank 0",
        "x:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.",
        "x:1:1 [0] NCCL INFO Failed to open libibverbs.so[.1]",
        "INFO 08-17 22:48:18 [gpu_model_runner.py:1983] Loading model from scratch...",
    ],
)
def test_what_is_read_in_other_launches_passes_it_as_well(line: str) -> None:
    assert any(words in line for words in WANTED)


@pytest.mark.parametrize("name", ["pair-head", "pair-worker", "solo"])
def test_what_tells_a_phase_passes_the_grep_of_the_host(name: str) -> None:
    lines = recorded(name).split("\n")
    kept = "\n".join(line for line in lines if any(words in line for words in WANTED)) + "\n"
    assert took(seen(kept)) == took(seen(recorded(name)))


def test_sockets_in_place_of_rdma_are_told_where_it_answers_and_where_it_hangs() -> None:
    slow = HEAD.replace("via NET/IB/0", "via NET/Socket/0").replace("Using network IB", "Using network Socket")
    verdict = alone(seen(slow))
    assert (verdict.level, verdict.cause) == ("degraded", "socket") and "/dev/infiniband" in verdict.cure
    log = "".join(line for line in slow.splitlines(keepends=True) if stamp(line) <= 151)
    hung = alone(seen(log, now=150 + 841, quiet=400))
    assert (hung.level, hung.cause) == ("fault", "socket") and hung.evidence.startswith("it hangs; ")
    disabled = slow + logged("x:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.", at=148)
    assert "NCCL_IB_DISABLE" in alone(seen(disabled)).cure


@pytest.mark.parametrize(
    ("now", "quiet", "available", "cause"),
    [
        (120 + 55, 50, 40, "starting"),
        (150 + 2 * 420 - 1, 400, 40, "starting"),
        (150 + 2 * 420 + 1, 10, 40, "starting"),
        (150 + 2 * 420 + 1, 400, 40, "hangs"),
        (150 + 2 * 420 + 1, 400, 9, "memory"),
    ],
    ids=["in time", "not yet too long", "too long, and it speaks", "too long and silent", "with no memory left"],
)
def test_what_takes_twice_as_long_and_says_nothing_hangs(
    now: float, quiet: float, available: int, cause: str
) -> None:
    log = "".join(line for line in HEAD.splitlines(keepends=True) if stamp(line) <= 151)
    verdict = alone(seen(log, now=now, quiet=quiet, available=available))
    assert verdict.cause == cause
    assert verdict.level == ("unknown" if cause == "starting" else "fault")


def test_vllm_that_says_it_waits_is_no_sign_of_life() -> None:
    log = "".join(line for line in HEAD.splitlines(keepends=True) if stamp(line) <= 700)
    assert alone(seen(log, now=570 + 601, quiet=30)).cause == "hangs"
    assert alone(seen(log, now=720, quiet=20)).cause == "starting"
    later = "".join(line for line in HEAD.splitlines(keepends=True) if stamp(line) <= 870)
    assert alone(seen(later, now=870 + 61, quiet=50)).cause == "starting"  # it waited in a phase that is over


def test_one_image_in_two_stores_is_no_drift() -> None:
    def node(log: str, id: str, held: str) -> Seen:
        return parse([*rows(log, now=60, image=id), f"content {id} {held}"])

    one, other = "a" * 64, "b" * 64
    drift = {each.cause for each in both(node(HEAD, IMAGE, one), node(WORKER, "sha256:fedc", other)).values()}
    same = {each.cause for each in both(node(HEAD, IMAGE, one), node(WORKER, "sha256:fedc", one)).values()}
    assert drift == {"image-drift"} and "image-drift" not in same


def test_images_that_differ_are_told_of_both() -> None:
    found = both(seen(HEAD, now=60), seen(WORKER, now=60, image="sha256:fedcba9876543210"))
    assert {(each.level, each.cause) for each in found.values()} == {("fault", "image-drift")}
    assert "spark-a runs 0123456789ab, spark-b runs fedcba987654" in found["spark-a"].evidence
    up = both(seen(HEAD), seen(WORKER, image="sha256:fedcba9876543210"))
    assert up["spark-a"].level == "degraded"


def test_a_head_that_waits_for_a_node_without_a_unit_names_it() -> None:
    waits = logged(START, at=0) + logged("sparkrig: nodes 1 of 2: 10.0.0.1 works", at=9)
    found = both(seen(waits, now=400, quiet=391), seen(active="failed", result="exit-code", status=1, image=""))
    assert found["spark-a"].cause == "peer" and "spark-b, whose unit is failed" in found["spark-a"].evidence
    assert found["spark-b"].cause == "ended"


def test_a_server_that_is_killed_is_told_with_the_memory_that_is_left() -> None:
    verdict = alone(seen(logged(START), active="activating", result="exit-code", status=137, restarts=3))
    assert verdict.cause == "killed" and "40 GiB" in verdict.evidence


def test_another_network_than_was_told_is_no_fault_once_it_answers() -> None:
    verdict = alone(seen(HEAD + logged(WARNING, at=2)))
    assert (verdict.level, verdict.cause) == ("degraded", "interface")


def test_the_figures_beside_the_phases_are_those_of_the_catalogue() -> None:
    told = {
        (figure.source, figure.value if figure.high is None else figure.high)
        for model in catalogue_files.catalogue().models.values()
        for figure in model.figures
        if figure.metric == "startup s"
    }
    pair = {(each.source, each.seconds) for each in (*REFERENCES[True].values(), TOTALS[True])}
    assert pair <= told
    solo = {seconds for source, seconds in told if source == "docai-122b"}
    assert {20, 501, 73, 36.5, 6.6, 10, 17, 720} <= solo
    assert {each.seconds for each in REFERENCES[False].values()} == {20, 501 + 73, 36.5 + 6.6 + 10 + 17}


def test_nonsense_of_a_host_is_refused() -> None:
    with pytest.raises((ValueError, LookupError)):
        parse(["now soon"])
    assert parse([*rows(), "log no stamp at all"]).lines == ()


def test_the_fact_reads_what_a_host_has(tmp_path: Path) -> None:
    tool(
        tmp_path / "bin",
        "systemctl",
        'case "$*" in *ExecMainStart*) echo "@1795266000" ;;'
        ' *) printf "LoadState=loaded\\nActiveState=active\\nExecMainStatus=0\\nNRestarts=2\\n" ;; esac',
    )
    tool(tmp_path / "bin", "docker", f'[ "$1" = container ] && echo {IMAGE}')
    tool(
        tmp_path / "bin",
        "journalctl",
        f"cat {FOLDER}/pair-head.txt; echo '1795266891.0 spark-a docker[811]: █ api_key=c4n4ry'",
    )
    done = sh(Fact().command(), path=tmp_path / "bin")
    found = Fact().process(done.stdout.splitlines())
    assert done.returncode == 0 and "c4n4ry" not in done.stdout.split("\nlast ")[0]
    assert (found.restarts, found.image, found.total > found.available > 0) == (2, Image(IMAGE), True)
    assert len(took(found)) == len(MEANINGS)
    assert any(line.text.startswith("Loading safetensors checkpoint shards: 100%") for line in found.lines)


def test_a_host_without_any_of_it_is_read_as_well(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "systemctl", "exit 1")
    tool(tmp_path / "bin", "docker", "exit 127")
    found = Fact().process(sh(Fact().command(), path=tmp_path / "bin").stdout.splitlines())
    assert (read(found).state, found.lines, found.image) == ("absent", (), None)


def test_the_fact_reads_each_service(tmp_path: Path) -> None:
    host = "".join(f"{row}\n" for row in rows(load="not-found", active="inactive", image=""))
    own = "".join(f"{row}\n" for row in rows(active="failed", restarts=3) if not row.startswith(("now", "Mem")))
    found = parse(f"{host}service embed\n{own}service A-B\n{own}".splitlines())
    assert [*found.named] == ["embed"]
    embed = found.named["embed"]
    assert (embed.active, embed.restarts, embed.now, embed.total) == ("failed", 3, found.now, found.total)
    tool(tmp_path / "bin", "systemctl", 'echo "$*" >>"$0.log"; exit 1')
    tool(tmp_path / "bin", "docker", "exit 1")
    (tmp_path / "etc/sparkrig/serve/embed").mkdir(parents=True)
    (tmp_path / "etc/sparkrig/serve/embed/serve.json").write_text("{}")
    text = Fact().command().replace("/etc/sparkrig", f"{tmp_path}/etc/sparkrig")
    done = sh(text, path=tmp_path / "bin")
    assert [*Fact().process(done.stdout.splitlines()).named] == ["embed"], done.stderr
    assert "show sparkrig-serve-embed.service" in (tmp_path / "bin/systemctl.log").read_text()


def test_what_start_sh_announces_is_shown_in_words() -> None:
    said = (Path(__file__).parents[3] / "templates/serving/start.sh").read_text()
    phases = set(re.findall(r"say phase (\S+)", said))
    assert phases and all(announced(f"phase {each} 2026-11-21T13:00:00Z vllm").isascii() for each in phases)
    assert not any("phase" in announced(f"phase {each} 2026-11-21T13:00:00Z vllm") for each in phases)
    assert announced("trouble no-head 2026-11-21T13:00:00Z nothing answered") == "no-head: nothing answered"
    for strange in ("", "trouble", "phase other 2026-11-21T13:00:00Z x", "phase"):
        assert announced(strange) == strange


def test_a_verdict_on_a_named_service_names_its_unit() -> None:
    stopped = seen(active="inactive")
    (found,) = judge({"spark-a": (stopped, read(stopped))}, Service("embed")).values()
    assert found.cure == "sudo systemctl start sparkrig-serve-embed"


def test_a_model_that_embeds_has_answered_although_it_has_no_completions() -> None:
    begun = "sparkrig: phase start 2026-11-21T14:00:00Z form=solo"
    told = "sparkrig: trouble no-answer 2026-11-21T14:03:00Z <HTTPError 404: 'Not Found'>"
    up = seen(logged(begun, "sparkrig: phase ready 2026-11-21T14:02:00Z", told))
    assert alone(up).healthy
    other = told.replace("404", "500")
    assert not alone(seen(logged(begun, "sparkrig: phase ready 2026-11-21T14:02:00Z", other))).healthy
