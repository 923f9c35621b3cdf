"""T3: two who come at once, a run that breaks off, and taking a run back, on the virtual pair."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import NODES, USER, ssh
from lab import pair as lab
from lab.waiting import wait_until
from sparkrig.runs import lock
from tests.faults import endstate
from tests.faults.record import Seen
from tests.lab.commands import BIN, LAB, ROOT, STATE, Done, assert_state, deploy, planned, run
from tests.lab.guests import Pair
from tests.lab.states import DEPLOYED

ENVIRONMENT, BANDWIDTH = "deploys/environment.py", "deploys/bandwidth.py"
# the newest run (ids are times) holds the lock and has begun its step
AT_WORK = """sudo sh -c 'test -e /run/sparkrig/lock/owner.json &&
    grep -q begun.Bandwidth "$(ls -d /var/lib/sparkrig/runs/* | tail -n 1)/steps"'"""
# what an undo leaves of a deploy: the toolkit's packages with what they brought
STAYS = ("package ", "file /etc/nvidia-container-", "file /etc/cdi", "file /etc/systemd/")


@contextmanager
def measuring() -> Iterator[subprocess.Popen[bytes]]:
    """A controller that holds both locks for minutes; killed in the end."""
    with subprocess.Popen(
        [BIN / "pyinfra", "-y", LAB, BANDWIDTH],
        cwd=ROOT,
        env={**os.environ, "PYINFRA_PROGRESS": "off", "XDG_STATE_HOME": STATE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as controller:
        try:
            yield controller
        finally:
            controller.send_signal(signal.SIGKILL)


def until_both_are_at_work(guests: Pair) -> None:
    """A run takes one lock after the other, and which half comes first is the machine ids' chance."""
    for guest in guests:
        wait_until(
            lambda guest=guest: guest.run(AT_WORK).rc == 0,  # type: ignore[misc]
            120,
            happened=f"no run is at work on {guest.node}",
            attempt="sparkrig status " + LAB,
        )


def until_it_measures_no_more(guests: Pair) -> None:
    """What a dead controller started ends by itself; beside it an emulated host takes no login in ten seconds."""
    for guest in guests:
        wait_until(
            lambda guest=guest: guest.run("pgrep -x ib_write_bw").rc == 1,  # type: ignore[misc]
            180,
            happened=f"ib_write_bw still runs on {guest.node}",
            attempt="sparkrig lab ssh " + guest.node,
        )


def begun_together() -> list[Done]:
    """The same deploy from two machines (each with a state folder of its own), at the same moment."""
    words = [BIN / "pyinfra", "-y", LAB, ENVIRONMENT]
    with tempfile.TemporaryDirectory(prefix="sparkrig-second-") as second:
        env = {**os.environ, "PYINFRA_PROGRESS": "off", "NO_COLOR": "1"}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        both = [
            subprocess.Popen(words, cwd=ROOT, env={**env, "XDG_STATE_HOME": state}, text=True, **pipes)  # type: ignore[call-overload]
            for state in (STATE, second)
        ]
        told = [each.communicate(timeout=600) for each in both]
    return [Done(each.returncode, *text) for each, text in zip(both, told, strict=True)]


def environment() -> Done:
    return run("pyinfra", "-y", LAB, ENVIRONMENT)


def status(*words: str) -> Done:
    return run("sparkrig", "status", LAB, *words)


@pytest.mark.fault(39)
@pytest.mark.promise(4)
def test_two_at_once_and_one_that_dies(deployed: Pair, seen: Seen) -> None:
    """The second is refused by name; the first is killed and shown as broken off, and the next goes through."""
    for guest in deployed:
        guest.output("sudo rm /etc/nccl.conf; sudo rm -r /var/lib/sparkrig/runs")
    with measuring():
        until_both_are_at_work(deployed)
        refused = environment()
        assert refused.code == 1
        for node in NODES:
            (said,) = [line for line in refused.stderr.splitlines() if f"[{node}] Refused: " in line]
            seen(said.strip())
            assert "is locked by " in said and f"for: pyinfra {LAB} {BANDWIDTH}" in said
            assert "now at Bandwidth | ib_write_bw on each rail" in said and "sparkrig unlock" in said
        assert deployed.b.run("test -e /etc/nccl.conf").rc == 1, "nothing was changed"
        assert status().code == 0, "a run that goes on is no finding"
        assert "running, at step 1 (Bandwidth" in status().stdout
    until_it_measures_no_more(deployed)
    wait_until(  # a holder of a lock outlives its connection by a tick, which takes longer beside other work
        lambda: "its session is still there" not in status().stdout,
        60,
        happened="the locks of a controller that was killed are still held",
        attempt=f"sparkrig status {LAB}",
    )
    shown = status()
    assert shown.code == 2, shown.stdout + shown.stderr
    assert shown.stdout.count("interrupted at step 1 (Bandwidth | ib_write_bw on each rail)") == 2
    went = environment()
    assert went.code == 0, went.stderr[-3000:]
    assert "took over the lock of" in went.stderr
    assert status().code == 0
    assert deployed.b.run("sudo test -e /run/sparkrig/lock").rc == 1


@pytest.mark.exhaustive
def test_of_two_deploys_at_the_same_moment_one_wins(deployed: Pair, seen: Seen) -> None:
    """That the order of real hardware's identities is one and the same to two controllers, no stand-in shows."""
    for guest in deployed:
        guest.output("sudo rm /etc/nccl.conf; sudo rm -r /var/lib/sparkrig/runs")
    lost, won = sorted(begun_together(), key=lambda done: -done.code)
    assert (lost.code, won.code) == (1, 0), lost.stderr[-2000:] + won.stderr[-2000:]
    for node in NODES:
        (said,) = [line for line in lost.stderr.splitlines() if f"[{node}] Refused: " in line]
        seen(said.strip())
        assert "is locked by " in said and f"for: pyinfra {LAB} {ENVIRONMENT}" in said
    runs = {guest.output("sudo ls /var/lib/sparkrig/runs") for guest in deployed}
    assert len(runs) == 1 and len(runs.pop().split()) == 1, "the run that lost left nothing behind"
    for guest in deployed:
        assert guest.run("test -e /etc/nccl.conf").rc == 0
        assert guest.output("sudo ls /run/sparkrig") == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("shell", ["/bin/rbash", "/usr/local/bin/osh"])
def test_a_lock_is_held_whatever_shell_the_user_logs_in_with(deployed: Pair, shell: str) -> None:
    """With sudo, PAM, logind and a login shell of the guest's own, which unit tests have not."""
    for guest in deployed:
        guest.output("sudo rm /etc/nccl.conf")
        guest.output(f"test -x {shell} || sudo cp /bin/dash {shell}")  # a shell by a name that no list has
        guest.output(f"sudo usermod -s {shell} {USER}")
        ssh.hang_up(guest.node)  # the shared connection is of the old shell
        assert guest.output("sudo getent passwd " + USER).endswith(shell)
    with measuring():
        until_both_are_at_work(deployed)
        time.sleep(30)  # no word of the controller's, and no exec but the holder's and the measurement's
        refused = environment()
        assert refused.code == 1 and "is locked by " in refused.stderr, refused.stderr[-2000:]
        assert status().stdout.count("its session is still there") == 2
    until_it_measures_no_more(deployed)
    # the holder sees the end of its connection at its next tick (sparkrig.runs.lock.TICK_S)
    wait_until(
        lambda: status().stdout.count("that run is dead") == 2,
        60,
        happened="a session outlived its connection",
        attempt="try: sparkrig status",
    )
    went = environment()
    assert went.code == 0 and "took over the lock of" in went.stderr, went.stderr[-2000:]
    for guest in deployed:
        assert guest.output("sudo ls /run/sparkrig") == ""
        wait_until(
            lambda guest=guest: guest.run("pgrep -f '[h]older[.]'").rc == 1,  # type: ignore[misc]
            10 * lock.TICK_S,
            happened=f"a process of a run is left on {guest.node}",
            attempt=f"sparkrig lab ssh {guest.node} pgrep -af holder",
        )


@pytest.mark.exhaustive
def test_a_garbled_lock_and_a_garbled_run_are_shown_and_cleared(deployed: Pair) -> None:
    deployed.b.output("sudo sh -c 'mkdir -p /run/sparkrig/lock; echo x >/run/sparkrig/lock/owner.json'")
    deployed.b.output(
        "sudo sh -c 'for run in /var/lib/sparkrig/runs/*; do printf \"x\\nstep\\n\" >$run/run.json; done'"
    )
    shown = status().stdout
    assert "spark-b: locked by an unknown holder" in shown and "is left out" in shown and "spark-a: 2" in shown
    deployed.b.output("sudo rm /etc/nccl.conf")
    refused = environment()
    assert refused.code == 1 and "cannot be told" in refused.stderr
    done = run("sparkrig", "unlock", LAB, "--yes")
    assert done.code == 0 and "spark-b: unlocked" in done.stdout, done.stdout + done.stderr
    assert environment().code == 0


def test_a_lock_is_taken_away_only_on_demand(deployed: Pair) -> None:
    with measuring():
        until_both_are_at_work(deployed)
        asked = run("sparkrig", "unlock", LAB)
        assert (asked.code, "then the same with --yes" in asked.stderr) == (1, True)
        done = run("sparkrig", "unlock", LAB, "--yes")
        assert done.code == 0, done.stdout + done.stderr
        assert done.stdout.count("its session is still there") == done.stdout.count(": unlocked") == 2
    assert run("sparkrig", "unlock", LAB, "--yes").stdout == "spark-a: not locked\nspark-b: not locked\n"


def undone_from(pristine: endstate.State, guests: Pair) -> None:
    """Take the deploy back, and compare both hosts with what they were before it."""
    done = run("sparkrig", "undo", LAB, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    left = endstate.differences(pristine, endstate.of(guests))
    assert [line for line in left if not line.split(" ", 1)[1][1:].startswith(STAYS)] == []


@pytest.mark.main
def test_an_undo_gives_back_the_pristine_pair(deployed_once: Pair) -> None:
    lab.reset(NODES)
    pristine = endstate.of(deployed_once)
    lab.reset(NODES, DEPLOYED)
    undone_from(pristine, deployed_once)


@pytest.mark.exhaustive
def test_an_undo_is_planned_told_and_a_deploy_works_again(deployed_once: Pair) -> None:
    lab.reset(NODES)
    pristine = endstate.of(deployed_once)
    lab.reset(NODES, DEPLOYED)
    dry = run("sparkrig", "undo", LAB, "--dry", "--json")
    assert dry.code == 0, dry.stderr
    (group,) = json.loads(dry.stdout)["groups"]
    acts = {each["item"]: each["act"] for each in group["plans"]["spark-a"]["changes"]}
    assert acts["file /etc/nccl.conf"] == "remove" and acts["hold nvidia-driver-580-open"] == "release"
    assert acts["package nvidia-container-toolkit"] == "stays"
    assert group["plans"]["spark-a"]["network"] is True
    assert planned() == {}, "a dry undo changes nothing"

    undone_from(pristine, deployed_once)
    assert "undone" in status().stdout
    assert run("sparkrig", "undo", LAB, "--yes").stdout.count("nothing to undo") == 1

    assert deploy().code == 0
    assert planned() == {}
    assert_state()


def test_an_undo_leaves_what_somebody_else_changed(deployed: Pair) -> None:
    deployed.a.output("sudo sh -c 'echo // mine >>/etc/apt/apt.conf.d/52sparkrig-nvidia'")
    done = run("sparkrig", "undo", LAB, "--dry")
    assert done.code == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if "52sparkrig-nvidia" in line]
    assert len([line for line in said if "left alone" in line]) == 1, done.stdout
    assert "-// mine" in done.stdout, done.stdout


@pytest.mark.exhaustive
def test_a_half_whose_journal_is_gone_keeps_the_other_from_going_back(deployed: Pair, seen: Seen) -> None:
    """That NetworkManager's guard takes one half back alone, once that is agreed to, no stand-in shows."""
    deployed.b.output("sudo rm -rf /var/lib/sparkrig")
    before = endstate.of(deployed)
    refused = run("sparkrig", "undo", LAB, "--yes")
    assert refused.code == 3, refused.stdout + refused.stderr
    said = " ".join(refused.stdout.split())
    assert "spark-b" in said and "--limit spark-a --one-host --dry" in said, said
    seen(said)
    assert endstate.differences(before, endstate.of(deployed)) == [], "nothing was changed"
    halved = run("sparkrig", "undo", LAB, "--limit", "spark-a")
    assert (halved.code, "no terminal to ask at" in halved.stderr) == (1, True)
    done = run("sparkrig", "undo", LAB, "--limit", "spark-a", "--one-host", "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert deployed.a.run("test -e /etc/nccl.conf").rc == 1
    assert deployed.b.run("test -e /etc/nccl.conf").rc == 0


@pytest.mark.exhaustive
def test_a_daemon_json_that_docker_does_not_start_with_is_left_alone(deployed: Pair, seen: Seen) -> None:
    """What the real dockerd says of a file, and that it goes on with the one that is there."""
    daemon = "/etc/docker/daemon.json"
    for guest in deployed:
        guest.output(f'echo \'{{"log-level": "warn"}}\' | sudo tee {daemon}; sudo systemctl restart docker')
    assert run("pyinfra", "-y", LAB, "deploys/containers.py").code == 0
    ours = deployed.b.output(f"cat {daemon}")
    deployed.b.output(f"echo '{{\"no-such-option\": 1}}' | sudo tee {LATEST}/before/files{daemon}")
    done = run("sparkrig", "undo", LAB, "--yes")
    assert done.code == 2, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert f"{daemon} of spark-b is left alone" in said and "no-such-option" in said, said
    seen(said)
    assert "log-level" in deployed.a.output(f"cat {daemon}") and deployed.b.output(f"cat {daemon}") == ours
    assert deployed.b.run("sudo docker info").rc == 0


DAEMON = "/etc/docker/daemon.json"
LATEST = "/var/lib/sparkrig/runs/$(sudo ls /var/lib/sparkrig/runs | grep ^2 | sort | tail -n 1)"


@pytest.mark.exhaustive
def test_log_options_of_a_user_outlive_a_later_deploy_and_the_undo(deployed: Pair, seen: Seen) -> None:
    """That the real docker starts with what was merged, and has the options in use, no stand-in shows."""
    found = json.loads(run("sparkrig", "status", LAB, "--json").stdout)
    (first, *_) = [each["run"] for each in found["hosts"]["spark-a"]["runs"]]
    program = (
        "import json, sys; found = json.load(sys.stdin); found['log-opts'] = {'max-size': '10m'}; "
        "print(json.dumps(found))"
    )
    for guest in deployed:
        guest.output(f'sudo cat {DAEMON} | python3 -c "{program}" >/tmp/new && sudo cp /tmp/new {DAEMON}')
        guest.output("sudo rm /etc/nccl.conf")
    assert environment().code == 0, "a later run that ends"
    dry = run("sparkrig", "undo", LAB, first, "--dry")
    assert "merge" in dry.stdout and "max-size" in dry.stdout, dry.stdout
    done = run("sparkrig", "undo", LAB, first, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    seen(" ".join(dry.stdout.split()))
    for guest in deployed:
        left = json.loads(guest.output(f"cat {DAEMON}"))
        assert left["log-opts"] == {"max-size": "10m"} and "nvidia" not in left.get("runtimes", {})
        assert guest.run("sudo docker info").rc == 0


@pytest.mark.exhaustive
def test_an_undo_that_lost_its_host_before_docker_restarted_restarts_it(deployed: Pair, seen: Seen) -> None:
    """That docker reads the file that is back only at its restart, and that the same undo does that later."""
    slow = "printf '[Service]\\nExecStop=/bin/sleep 600\\nTimeoutStopSec=900\\n'"
    folder = "/etc/systemd/system/docker.service.d"
    guest = deployed.b
    guest.output(f"sudo mkdir -p {folder}; {slow} | sudo tee {folder}/slow.conf; sudo systemctl daemon-reload")
    with subprocess.Popen(
        [BIN / "sparkrig", "undo", LAB, "--yes"],
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": STATE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as controller:
        wait_until(
            lambda: "deactivating" in guest.run("systemctl is-active docker").stdout,
            300,
            happened="docker did not begin to stop on spark-b",
            attempt="sparkrig lab ssh spark-b systemctl status docker",
        )
        controller.send_signal(signal.SIGKILL)
    guest.output(f"sudo rm {folder}/slow.conf; sudo systemctl daemon-reload")
    guest.output("sudo systemctl kill -s KILL docker; sudo pkill -KILL -f '[s]ystemctl restart docker' || :")
    dry = run("sparkrig", "undo", LAB, "--dry")
    assert "restart" in dry.stdout, dry.stdout + dry.stderr
    done = run("sparkrig", "undo", LAB, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    seen(done.stdout.strip())
    assert "nvidia" not in guest.output("sudo docker info --format '{{json .Runtimes}}'")


@pytest.mark.exhaustive
def test_a_run_after_those_of_a_clock_far_ahead_is_the_newest(deployed: Pair, seen: Seen) -> None:
    """The deploy's runs are those of hosts whose clock was decades ahead, and was put right since."""
    for guest in deployed:
        later = 's/"since": [0-9]*/"since": 2524608000/'
        guest.output(f"sudo find /var/lib/sparkrig/runs -name run.json -exec sed -i '{later}' {{}} +")
        guest.output("sudo rm /etc/nccl.conf")
    assert environment().code == 0
    found = json.loads(run("sparkrig", "status", LAB, "--json").stdout)
    dry = json.loads(run("sparkrig", "undo", LAB, "--dry", "--json").stdout)
    for node in NODES:
        newest = found["hosts"][node]["runs"][0]
        assert newest["since"] < 2524608000, newest
        assert dry["groups"][0]["plans"][node]["run"] == newest["run"]
        seen(f"the newest run of {node} is {newest['run']}")


@pytest.mark.exhaustive
def test_one_half_that_committed_alone_is_said_in_one_sentence(deployed: Pair, seen: Seen) -> None:
    """What a controller that died between the commits leaves, as status and doctor read it on real hosts."""
    state = "rolled-back\\nthe deadline passed\\n"
    deployed.b.output(f"sudo sh -c 'run={LATEST}; printf \"{state}\" >$run/guard/state; rm $run/after'")
    shown = status()
    assert shown.code == 2, shown.stdout + shown.stderr
    (said,) = [line for line in shown.stdout.splitlines() if line.startswith("only spark-a committed the network")]
    seen(said)
    told = run("sparkrig", "doctor", LAB, "pair.halves", "--json")
    rows = [row for host in json.loads(told.stdout)["hosts"] for row in host["rows"] if row["id"] == "pair.halves"]
    assert [row["status"] for row in rows] == ["drift", "drift"]
    for guest in deployed:
        guest.output("sudo rm /etc/nccl.conf")
    assert deploy().code == 0
    assert not [line for line in status().stdout.splitlines() if line.startswith("only ")], (
        "the next deploy mends it"
    )
