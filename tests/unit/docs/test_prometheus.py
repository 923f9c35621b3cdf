"""Real Prometheus scrapes real node exporters, whose hosts are made: each query has an answer, each alert fires.

The exporters read a made /proc and /sys. The black box is the real program, with steps of half a second; servers
are stand-ins that print what engines print. Every fault is made, with all times cut short.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from docs import alerts
from sparkrig.drift.render import drift_prom
from tests.unit.blackbox_host import AER, FOLDER, KILLED, METRICS, NVRM, STAT
from tests.unit.prometheus import DRIFTED, Prometheus, programs, waited
from tests.unit.shells import tool
from tests.unit.sshd import free_ports

# rows as of an H100 with driver 580.159.04: a clamped GPU, and one that is slowed by heat and by its power supply
CLAMPED, HOT = "96, 600, 14.30, 63, 0x0000000000000000, 33", "96, 1500, 44.30, 90, 0x00000000000000e0, -2"
BOX = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("metrics", sys.argv[1])
metrics = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics)
metrics.blackbox.STEP_S, metrics.blackbox.SLOTS = 0.5, 256
metrics.main(sys.argv[2:])
"""
PSI = "".join(f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={{stalled}}\n" for kind in ("some", "full"))


class Spark:
    """A made host with a real exporter, and with a black box if it is asked for one."""

    def __init__(self, root: Path, left: ExitStack, port: int) -> None:
        self.root, self.left, self.port = root, left, port
        self.at = f"127.0.0.1:{port}"
        for path, text in {
            "proc/meminfo": "MemTotal: 1000000 kB\nMemFree: 300 kB\nMemAvailable: 500000 kB\nCached: 150 kB\n"
            "AnonPages: 250 kB\nSlab: 50 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n",
            "proc/uptime": "12.50 1.00\n",
            "proc/net/dev": "Inter-|   Receive  |  Transmit\n face |bytes packets\n"
            "enp1s0f0np0: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n",
            "proc/7/stat": STAT.format(pid=7, name="VLLM::Worker", pages=9),
            "proc/sys/kernel/random/boot_id": "aaaaaaaa-1111-4222-8333-444444444444\n",
            "dev/kmsg": "",
            "sys/class/thermal/thermal_zone0/temp": "60000\n",
            "sys/class/thermal/thermal_zone0/type": "acpitz\n",
            "sys/class/net/enp1s0f0np0/carrier_down_count": "3\n",
            "sys/class/net/enp1s0f0np0/device/vendor": "",
            "sys/class/infiniband/rocep1s0f0/ports/1/hw_counters/packet_seq_err": "4\n",
            f"{FOLDER}/.keep": "",
        }.items():
            self.has(path, text)
        self.stall(0)
        words = [
            str(programs() / "prometheus-node-exporter"),
            f"--web.listen-address={self.at}",
            f"--path.procfs={root}/proc",
            f"--path.sysfs={root}/sys",
            f"--collector.textfile.directory={root}/{FOLDER}",
            "--collector.disable-defaults",
            *(f"--collector.{each}" for each in ("meminfo", "netclass", "netdev", "pressure", "textfile", "time")),
            "--no-collector.netdev.netlink",
        ]
        self.begin(words)

    def has(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def stall(self, microseconds: int) -> None:
        for name in ("memory", "io", "cpu"):
            self.has(f"proc/pressure/{name}", PSI.format(stalled=microseconds))

    def begin(self, words: list[str], **variables: str) -> None:
        log = self.left.enter_context((self.root / "log").open("a"))
        begun = subprocess.Popen(words, env={**os.environ, **variables}, stdout=log, stderr=log)
        self.left.callback(begun.wait)
        self.left.callback(begun.send_signal, signal.SIGKILL)

    def watches(self, gpu: str = "") -> None:
        smi = f"case $1 in --query*) while kill -0 $PPID; do echo '{gpu}'; sleep 0.3; done ;; esac"
        tool(self.root / "bin", "nvidia-smi", smi if gpu else "exit 9")
        tool(self.root / "bin", "systemctl", "")
        words = [sys.executable, "-IBS", "-c", BOX, str(METRICS), "digest", "--guard", "--metrics"]
        self.begin(words, SPARKRIG_ROOT=str(self.root), PATH=f"{self.root}/bin:{os.environ['PATH']}")


def short(text: str) -> str:
    """The rules with every time cut short, though not so short that a few scrapes may not be lost."""
    text = re.sub(r"\n    for: \d+s", "\n    for: 1s", text)
    return text.replace("[1m]", "[10s]").replace("[10m]", "[1m]").replace("offset 60s", "offset 5s")


def drifted(place: Path) -> None:
    """What drift of two inventories left: one drifts, the other was last looked at long ago."""
    long_ago = DRIFTED.model_copy(
        update={"inventory": "old.py", "hosts": [], "started": datetime(2020, 1, 1, tzinfo=UTC)}
    )
    (place / "sparkrig-pair.prom").write_text(drift_prom.metrics(DRIFTED))
    (place / "sparkrig-old.prom").write_text(drift_prom.metrics(long_ago))


class Engine(BaseHTTPRequestHandler):
    """Answers /metrics as vLLM does [@vllm-metrics]."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.end_headers()
        for name, value in {
            "num_requests_running": 2,
            "num_requests_waiting": 5,
            "prompt_tokens_total": 8128902,
            "generation_tokens_total": 12,
        }.items():
            self.wfile.write(f'vllm:{name}{{engine="0",model_name="m"}} {value}\n'.encode())

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def sparks(root: Path) -> Iterator[tuple[Prometheus, list[Spark]]]:
    """A clamped host, a hot one, one whose nvidia-smi ends, one without a black box, and one that is not there."""
    *ports, own, nothing = free_ports(6)
    with ExitStack() as left:
        made = []
        for name, port in zip("abcd", ports, strict=True):
            (root / name).mkdir()
            made.append(Spark(root / name, left, port))
        (root / "prometheus").mkdir()
        server = left.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Engine))
        Thread(target=server.serve_forever, daemon=True).start()
        left.callback(server.shutdown)
        away = f"127.0.0.1:{nothing}"
        jobs = {
            alerts.JOB: [*(each.at for each in made), away],
            alerts.SERVERS: [f"127.0.0.1:{server.server_port}", away],
        }
        yield Prometheus(root / "prometheus", left, own, jobs, short(alerts.RULES.read_text())), made


@pytest.mark.slow  # nine processes of Go and Python, and five seconds of scraping
@pytest.mark.timeout(300)  # they take 20 s on a quiet machine, and minutes beside others
def test_every_alert_fires_and_every_graph_has_lines(tmp_path: Path) -> None:
    with sparks(tmp_path) as (prometheus, (a, b, c, d)):
        drifted(d.root / FOLDER)
        a.watches(CLAMPED)
        b.watches(HOT)
        c.watches()
        waited(lambda: None if len(prometheus.series("sparkrig_blackbox_rows_total > 2")) == 3 else "no rows")
        log = "".join(NVRM.format(n=n) for n in range(6))
        a.has("dev/kmsg", log + AER.format(n=9) + KILLED.format(n=10))
        a.has("sys/class/net/enp1s0f0np0/carrier_down_count", "4\n")
        a.has("sys/class/infiniband/rocep1s0f0/ports/1/hw_counters/packet_seq_err", "5\n")
        b.has("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 10000 kB\n")
        stalled, fired = 0, set()

        def missing() -> set[str]:
            nonlocal stalled
            stalled += 900_000
            b.stall(stalled)
            fired.update(prometheus.firing)
            return set(alerts.rules()) - fired - {"SparksUnwatched"}

        waited(missing)
        empty = [expr for expr in graphs() if not prometheus.series(expr)]
        assert empty == []
        assert prometheus.series('absent(up{job="others"})')  # as SparksUnwatched asks


def graphs() -> list[str]:
    """The queries of the dashboard as Grafana asks them."""
    found = [
        target["expr"]
        for panel in json.loads(alerts.DASHBOARD.read_text())["panels"]
        for target in panel.get("targets", [])
    ]
    return [each.replace("$instance", ".*").replace("$__rate_interval", "10s") for each in found]
