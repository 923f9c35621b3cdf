"""T3: the black box, its guard and its metrics on the virtual pair, whose power is cut under memory pressure.

What no other test proves: that systemd starts and stops the real unit, that the rows before a power cut are on a
real disk, that apt installs Debian's node exporter and an undo purges it, and that a real Prometheus sees of real
guests each metric, each fault by its alert, and its end. The rules are the product's own with shorter times.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from docs import alerts
from lab import NODES, pair, ssh
from sparkrig.resources import watch
from tests.faults.record import Seen
from tests.lab.commands import deploy, planned, run, wrong
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with
from tests.unit.blackbox_host import written_by
from tests.unit.prometheus import OTHERS, Prometheus, waited
from tests.unit.sshd import free_ports

pytestmark = pytest.mark.exhaustive  # two deploys, an undo and a boot under emulation

NETDEV = "enp1s0f0np0"
STEP_S = 10
SCRAPE_S = 10  # an emulated guest beside other work may take seconds for an answer
LATE_S = 400  # for an alert to come or to go: a step, two scrapes, and the times of `brief`
LAST = "/var/lib/prometheus/node-exporter/sparkrig.prom"
# a process that takes memory until so many percent are left, and keeps it
HOG = """
import sys, time
least, held = float(sys.argv[1]), []
def percent():
    found = dict(line.split(":") for line in open("/proc/meminfo"))
    return 100 * int(found["MemAvailable"].split()[0]) / int(found["MemTotal"].split()[0])
while True:
    if percent() > least:
        held.append(b"x" * (4 << 20))
    else:
        time.sleep(1)
"""
# what a guest has no reading of: its nvidia-smi knows no T.Limit, and qemu has no thermal zone
NOT_THERE = {"sparkrig_gpu_temperature_margin_celsius", "sparkrig_thermal_zone_celsius"}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> str:
    given = "'watch': True, 'watch_guard': True, 'watch_metrics': True"
    return inventory_with(tmp_path_factory.mktemp("watched"), given)


@pytest.fixture
def watching(deployed: Pair, watched: str) -> Pair:
    """The deployed pair with a black box on both, and its second run."""
    done = deploy(inventory=watched)
    assert done.code == 0, done.stderr[-3000:]
    assert planned(watched) == {}
    report = run("sparkrig", "drift", watched, "--json")
    assert wrong(report) == {}
    return deployed


def takes_memory(guest: Guest, least: float) -> None:
    """A process, until so many percent are left."""
    guest.output(f"cat >hog.py <<'E'\n{HOG}\nE")
    guest.output(f"(setsid python3 hog.py {least} >/dev/null 2>&1 </dev/null & echo $! >hog.pid)")
    until(guest, f"{_SHARE} print $1 <= {least} + 1 ? 0 : 1 }}' /proc/meminfo")


_SHARE = "awk '/^MemTotal/ { t = $2 } /^MemAvailable/ { a = $2 } END { $1 = 100 * a / t;"


def gives_it_back(guest: Guest) -> None:
    guest.output("kill $(cat hog.pid)")


def until(guest: Guest, line: str, seconds: float = 300) -> None:
    """Until that line prints 0."""
    end = time.monotonic() + seconds
    while guest.run(line).stdout.strip() != "0":
        assert time.monotonic() < end, line
        time.sleep(2)


def test_the_last_minutes_before_a_power_cut_are_shown(watching: Pair, watched: str, seen: Seen) -> None:
    b = watching.b
    takes_memory(b, 6)
    time.sleep(6 * STEP_S)
    cut = int(b.output("date +%s"))
    pair.power("spark-b", on=False)
    pair.power("spark-b", on=True)
    until(b, f"test -e {watch.STARTED}; echo $?")
    report = json.loads(run("sparkrig", "blackbox", watched, "--json").stdout)
    reset = report["hosts"]["spark-b"]["reset"]
    before = cut - datetime.fromisoformat(reset["at"]).timestamp()
    assert -STEP_S < before <= STEP_S, reset["at"]
    signs = {sign["id"]: sign["text"] for sign in reset["signs"]}
    assert "memory-low" in signs and "python3" in signs["memory-low"], signs
    assert report["hosts"]["spark-a"]["reset"] is None
    shown = run("sparkrig", "blackbox", watched)
    assert "spark-b: it was reset at" in shown.stdout
    doctor = run("sparkrig", "doctor", watched, "--json").stdout
    assert "it was reset at" in doctor and "GiB available" in doctor
    seen(f"the last row is {before:.0f} s older than the cut; {signs['memory-low']}")


# --- metrics


def brief(text: str) -> str:
    """The rules with shorter times: a step of a black box is ten seconds, and a scrape each ten."""
    shorter = {
        r"\[10m\]": "[1m]",
        r"(node_boot_time_seconds\S*) < 900": r"\1 < 90",
        r"\n    for: \d+s": "\n    for: 4s",
    }
    for what, instead in shorter.items():
        text, times = re.subn(what, instead, text)
        assert times, f"no rule has {what}"
    return text


class Way:
    """Ways from ports of this machine to the exporters of both guests."""

    def __init__(self, left: ExitStack, ports: list[int]) -> None:
        self.ports = dict(zip(NODES, ports, strict=True))
        self.begun: dict[str, subprocess.Popen[bytes]] = {}
        for node in NODES:
            left.callback(self.end, node)

    def open(self, node: str) -> None:
        """By an ssh of its own, which the lab's shared connection does not end with."""
        words = ["-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ExitOnForwardFailure=yes", "-N"]
        words += ["-L", f"127.0.0.1:{self.ports[node]}:127.0.0.1:9100"]
        line = [*ssh.command(node)[:-1], *words, node]
        self.begun[node] = subprocess.Popen(line, stdin=subprocess.DEVNULL)

    def end(self, node: str) -> None:
        if begun := self.begun.pop(node, None):
            begun.kill()
            begun.wait()


@contextmanager
def prometheus(folder: Path) -> Iterator[tuple[Prometheus, Way]]:
    """A real one, that scrapes both guests."""
    own, *ports = free_ports(3)
    with ExitStack() as left:
        way = Way(left, ports)
        for node in NODES:
            way.open(node)
        targets = [f"127.0.0.1:{port}" for port in ports]
        yield Prometheus(folder, left, own, {alerts.JOB: targets}, brief(alerts.RULES.read_text()), SCRAPE_S), way


def comes(found: Prometheus, *names: str) -> None:
    """Until each has fired; one may be over before another one comes."""
    fired: set[str] = set()

    def missing() -> str:
        fired.update(found.firing)
        left = set(names) - fired
        return f"{left} did not fire, but {fired}; {scrapes(found)}" if left else ""

    waited(missing, LATE_S)


def scrapes(found: Prometheus) -> dict[str, list[str]]:
    """By instance whether the last scrape had an answer, and how long the last ones took at most, in seconds."""
    asked = ("up", "max_over_time(scrape_duration_seconds[5m])")
    rows = [(each["metric"]["instance"], each["value"][1]) for expr in asked for each in found.series(expr)]
    return {instance: [value for name, value in rows if name == instance] for instance, _ in rows}


def goes(found: Prometheus, *names: str) -> None:
    waited(lambda: set(names) & found.firing, LATE_S)


@contextmanager
def log_of_a_kernel(guest: Guest) -> Iterator[Callable[..., None]]:
    """A log in place of the guest's own, where nobody but its kernel can write as the kernel does: facility 0."""
    log, kmsg = "/run/lab-kmsg", "/dev/kmsg"
    started = f"sudo systemctl restart {watch.UNIT} && until sudo test -e {LAST}; do sleep 1; done"

    def says(line: str, times: int = 1) -> None:
        guest.output(
            f"for _ in $(seq {times}); do echo {f'3,1,1,-;{line}'!r} | sudo tee -a {log} >/dev/null; done"
        )

    guest.output(f"sudo touch {log}; sudo mount --bind {log} {kmsg}; {started}")
    yield says
    guest.output(f"sudo umount {kmsg}; {started}")


def test_every_metric_is_there_and_every_alert_comes_and_goes(
    watching: Pair, watched: str, tmp_path: Path, seen: Seen
) -> None:
    a, b = watching
    with prometheus(tmp_path) as (found, way):
        wanted = written_by() - NOT_THERE
        names = wanted | OTHERS
        waited(lambda: {name for name in names if len(found.series(f"count by (instance) ({name})")) < 2}, LATE_S)
        waited(lambda: found.firing, LATE_S)  # of the minute in which nvidia-smi was asked for a T.Limit

        with log_of_a_kernel(a) as says:
            says("NVRM: nvCheckOkFailedNoLog: Out of memory [NV_ERR_NO_MEMORY]", 6)
            says("pcieport 0002:00:00.0: AER: Corrected error message received")
            says("Out of memory: Killed process 4711 (python3) total-vm:9kB, anon-rss:8kB, file-rss:1kB")
            comes(found, "SparkDriverLines", "SparkPcieErrors", "SparkOomKill")
        pair.cable("spark-a", "p0", plugged=False)
        comes(found, "SparkCarrierLost")
        pair.cable("spark-a", "p0", plugged=True)
        goes(found, "SparkDriverLines", "SparkPcieErrors", "SparkOomKill", "SparkCarrierLost")

        gpu(a, "utilization.gpu=96", "clocks.sm=600", "clocks_event_reasons.active=0x0000000000000000")
        comes(found, "SparkPowerClamp")
        gpu(a, "temperature.gpu=90", "clocks_event_reasons.active=0x00000000000000e0")
        comes(found, "SparkHot", "SparkSlowedByHeat", "SparkSlowedByPower")
        gpu(a)
        goes(found, "SparkPowerClamp", "SparkHot", "SparkSlowedByHeat", "SparkSlowedByPower")

        smi = "/usr/bin/nvidia-smi"
        a.output(f"sudo mv {smi} {smi}.away")
        a.output("sudo pkill -f '[n]vidia-smi --query-gpu'")  # and not the shell of this line
        comes(found, "SparkGpuSilent")
        a.output(f"sudo mv {smi}.away {smi}")
        goes(found, "SparkGpuSilent")

        a.output(f"sudo tc qdisc add dev {NETDEV} root netem loss 2%")
        run("sparkrig", "bandwidth", watched, "--quick")
        comes(found, "SparkRdmaErrors")
        a.output(f"sudo tc qdisc del dev {NETDEV} root")
        goes(found, "SparkRdmaErrors")

        takes_memory(b, 2.5)
        comes(found, "SparkMemoryLow", "SparkMemoryEnds", "SparkGuardActed")
        gives_it_back(b)
        goes(found, "SparkMemoryLow", "SparkMemoryEnds", "SparkGuardActed")

        b.output(f"sudo systemctl stop {watch.UNIT}")
        comes(found, "SparkBlackBoxSilent")
        assert b.run(f"test -e {LAST}").rc != 0
        b.output(f"sudo systemctl start {watch.UNIT}")
        goes(found, "SparkBlackBoxSilent")

        pair.power("spark-b", on=False)
        way.end("spark-b")
        comes(found, "SparkGone")
        pair.power("spark-b", on=True)
        way.open("spark-b")
        waited(lambda: found.firing, LATE_S)
    seen(f"{len(wanted)} metrics of ours on both guests; 15 alerts came by their faults and went")


def gpu(guest: Guest, *fields: str) -> None:
    """What nvidia-smi shows from now on, an idle GPU aside."""
    rows = "\\n".join(fields)
    guest.output(f"printf '{rows}\\n' | sudo tee /run/lab-gpu >/dev/null")


def test_an_undo_takes_all_of_it_back(watching: Pair, watched: str, seen: Seen) -> None:
    done = run("sparkrig", "undo", watched, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    for guest in watching:
        left = guest.output(
            f"ls -d {watch.UNIT_FILE} {watch.PROGRAM} {watch.METRICS} {watch.INSTALLED} {LAST} "
            "/var/lib/sparkrig/blackbox /usr/bin/prometheus-node-exporter 2>/dev/null; true"
        )
        assert left == ""
        assert guest.run("dpkg-query -W prometheus-node-exporter 2>/dev/null | grep .").rc != 0
        assert guest.run("pgrep -f 'prometheus-node-exporter|blackbox[.]py|metrics[.]py'").rc != 0
    assert json.loads(run("sparkrig", "drift", "inventories/lab.py", "--json").stdout)["exit"] == 0
    seen("unit, programs, ring, readings, package and its files are gone; drift without watch is clean")
