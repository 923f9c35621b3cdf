"""T1: sparkrig runs on a Spark of the inventory, so another member proves what this one cannot of itself."""

from __future__ import annotations

import re
from typing import Any

from tests.plan.clustered import Cluster
from tests.plan.conftest import A, B, Deploy, Host, Run, pair, recorded, well
from tests.plan.guarded import COMMIT, GUARDED, PREPARE, START
from tests.tables import each_row

FILE = "deploys/network.py"
SEEN = "ssh-keyscan -T"  # in what a witness is asked, and in no other script
ON_A = re.findall(r"^boot_id=(.*)$", recorded("fresh-a"), re.MULTILINE)[0]
KEY = re.findall(r"^host (ssh-ed25519 \S+)", recorded("fresh-a"), re.MULTILINE)[0]
SEES = ["over enP7s7", f"key {KEY}"]
# as the kernel of the machine that runs pyinfra would say it
HERE = f"import sparkrig.ssh.controller as _controller\n_controller.boot_id = lambda: {ON_A!r}\n"


def hosts(sees: Any = SEES, **changes: Any) -> list[Host]:
    """A fresh pair whose guards answer well; spark-a is this machine, and spark-b is asked about it."""
    found = pair(recorded("fresh-a"), recorded("fresh-b"), **changes)
    for host in found:
        host.responses = {**GUARDED, SEEN: sees}
    itself = {PREPARE: [ON_A], SEEN: {"success": False, "stderr": ["asked of itself"]}}
    found[0].responses = {**found[0].responses, **itself}
    return found


def asked(run: Run, piece: str) -> list[str]:
    """Who was asked something, in order."""
    return [name for name, command in run.commands if piece in command]


def test_the_other_half_is_asked_before_the_change_and_for_each_proof(deploy: Deploy) -> None:
    run = well(deploy(hosts(), "-y", file=FILE, head=HERE))
    # once before the first change of the run, once before anything is armed, and twice while it is
    assert asked(run, SEEN) == 4 * ["spark-b"]
    order = [piece for _, command in run.commands for piece in (SEEN, START, COMMIT) if piece in command]
    assert order == [SEEN, SEEN, START, START, SEEN, SEEN, COMMIT, COMMIT]
    assert run.stderr.count("sparkrig 10.0.2.11 22 5 ed25519") == 4
    assert f"applied; another member sees the ssh server of {A}; reverts in" in run.stderr


def test_from_another_machine_no_half_is_asked_about_the_other(deploy: Deploy) -> None:
    run = well(deploy(hosts(), "-y", file=FILE))
    assert asked(run, SEEN) == []
    assert "applied; a new ssh connection gets in; reverts in" in run.stderr


def test_what_no_other_half_sees_is_not_begun(deploy: Deploy) -> None:
    cases: dict[str, tuple[Any, str]] = {
        "no ssh server": (["over enP7s7"], f"no ssh server answers {B} at 10.0.2.11 port 22"),
        "no route": ([], f"{B} has no route to 10.0.2.11"),
        "over the fabric": (
            ["over enp1s0f0np0", f"key {KEY}"],
            f"{B} reaches 10.0.2.11 over enp1s0f0np0, which is not its management network",
        ),
        "the same machine": (["over lo", f"key {KEY}"], f"{B} reaches 10.0.2.11 over lo"),
        "another machine": (
            ["over enP7s7", "key ssh-ed25519 AAAAOTHER"],
            f"another ssh server than that of {A} answers {B} at 10.0.2.11",
        ),
        "no tool": (["over enP7s7", "absent"], f"{B} has no ssh-keyscan (package openssh-client)"),
        "no answer": ({"success": False, "stderr": ["killed"]}, f"{B} cannot be asked (killed)"),
    }

    def holds(sees: Any, why: str) -> None:
        run = deploy(hosts(sees), "-y", file=FILE, head=HERE)
        assert run.code == 1
        said = " ".join(run.stderr.split())
        assert f"sparkrig runs on {A} itself" in said and why in said, run.stderr
        assert "allow_unwitnessed set to True in the inventory" in said
        assert not run.changes or asked(run, START) == []
        assert not [command for _, command in run.commands if PREPARE in command], "before the first change"

    each_row(cases, holds)


def test_a_cluster_whose_addresses_come_from_a_network_has_a_fabric_too(deploy: Deploy) -> None:
    """No witness's way to this machine may be what changes."""
    for form, over in (("ring", "enP2p1s0f1np1"), ("switch", "enp1s0f0np0")):
        members = Cluster(3, form).fresh()
        for host in members:
            host.responses = {**host.responses, SEEN: [f"over {over}", f"key {KEY}"]}
        for number, host in enumerate(members[1:], 1):
            host.seen = re.sub("^boot_id=.*$", f"boot_id={number}{ON_A[1:]}", host.seen, flags=re.MULTILINE)
        run = deploy(members, "-y", file=FILE, head=HERE)
        assert run.code == 1 and asked(run, START) == asked(run, PREPARE) == []
        assert f"over {over}, which is not its management network" in " ".join(run.stderr.split()), run.stderr


def test_who_consents_is_told_that_it_was_not_proven(deploy: Deploy) -> None:
    run = well(deploy(hosts(["over enP7s7"], allow_unwitnessed=True), "-y", file=FILE, head=HERE))
    assert asked(run, SEEN) == []
    assert f"applied; not proven from outside of {A}, as allow_unwitnessed says; reverts in" in run.stderr


def lone(**changes: Any) -> list[Host]:
    found = hosts()[:1]
    found[0].data = {"fabric": found[0].data["fabric"], "bandwidth_floor": 0.01, **changes}
    return found


def test_a_spark_alone_changes_its_own_network_by_consent_alone(deploy: Deploy) -> None:
    run = deploy(lone(), "-y", file=FILE, head=HERE)
    assert run.code == 1
    said = " ".join(run.stderr.split())
    assert f"sparkrig runs on {A} itself, and no other member of a cluster is there to prove" in said, run.stderr
    assert asked(run, START) == asked(run, PREPARE) == []
    for case, head in ((lone(allow_unwitnessed=True), HERE), (lone(), "")):
        run = well(deploy(case, "-y", file=FILE, head=head))
        assert asked(run, START) == ["spark-a"]


def test_what_changes_no_network_needs_no_witness(deploy: Deploy) -> None:
    """A lone Spark that serves on itself met allow_unwitnessed, which has nothing to do with a model."""
    for file, words in (("secrets", ()), ("serve", ("--data", "model=gpt-oss-120b"))):
        run = deploy(lone(), "-y", *words, file=f"deploys/{file}.py", head=HERE)
        assert "sparkrig runs on" not in run.stderr, run.stderr
        assert (run.code == 0) == (file == "secrets"), run.stderr
    assert "the nvidia runtime of docker is missing" in " ".join(run.stderr.split())


def test_one_machine_is_not_two_hosts(deploy: Deploy) -> None:
    """An inventory with @here/spark-a that was carried to spark-b, say."""
    case = hosts()
    case[1].seen = re.sub("^boot_id=.*$", f"boot_id={ON_A}", case[1].seen, flags=re.MULTILINE)
    run = deploy(case, "-y", file=FILE, head=HERE)
    assert run.code == 1
    assert "are both the machine that sparkrig runs on; two machines are expected" in " ".join(run.stderr.split())
    assert asked(run, START) == []
