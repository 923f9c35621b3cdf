"""`sparkrig drift` of 64 hosts: one report, whoever is down or hangs, and little memory for each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measure import RUSAGE
from sparkrig.deploys import dry
from sparkrig.facts.spark import Spark
from sparkrig.fleet import Fleet
from tests.plan import fleet
from tests.plan.conftest import ROOT, converged
from tests.plan.desk import write
from tests.unit.sshd import free_ports

SIZE = 64
GIVEN_UP_S = 4
MEMORY_KIB = 1536  # for each host: 280 were measured with sshd, 910 with @fake, whose inventory holds the answers


@dataclass(frozen=True)
class Done:
    """A drift that ended. peak_kib: the most memory that it had at once."""

    code: int
    report: dict[str, Any]
    said: str
    took_s: float
    peak_kib: int

    def hosts(self) -> dict[str, dict[str, Any]]:
        return {host["name"].removeprefix("@fake/"): host for host in self.report["hosts"]}


def drift(folder: Path, entries: Sequence[tuple[str, dict[str, Any]]], *flags: str) -> Done:
    file = write(folder, entries)
    words = [str(Path(sys.executable).with_name("sparkrig")), "drift", str(file), "--json", *flags]
    out, err, used = folder / "out.json", folder / "err", folder / "used"
    with out.open("w") as stdout, err.open("w") as stderr:
        subprocess.run(
            [sys.executable, "-I", "-S", str(RUSAGE), str(used), "600", *words],
            cwd=ROOT,
            env={**os.environ, "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1", "SPARKRIG_WAIT_S": ""},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            check=True,
        )
    assert out.stat().st_size, err.read_text()
    code, took_s, _, peak_kib = used.read_text().split()
    return Done(int(code), json.loads(out.read_text()), err.read_text(), float(took_s), int(peak_kib))


@pytest.mark.slow  # it measures the memory of 64 hosts' looks
def test_a_fleet_of_64_is_one_report_and_takes_little_memory(tmp_path: Path) -> None:
    """On the @fake connector."""
    small = drift(tmp_path / "small", list(fleet.faked(4).values()))
    large = drift(tmp_path / "large", list(fleet.faked(SIZE).values()))
    assert (small.code, large.code) == (0, 0), large.said
    assert large.report["counts"]["hosts"] == SIZE
    assert large.report["counts"]["ok"] == SIZE // 4 * small.report["counts"]["ok"]
    assert (large.peak_kib - small.peak_kib) / (SIZE - 4) < MEMORY_KIB


def refusing(bound: ExitStack) -> int:
    """A port that refuses connections, and that no other program gets meanwhile: it is bound, and none listens."""
    held = bound.enter_context(socket.socket())
    held.bind(("127.0.0.1", 0))
    port: int = held.getsockname()[1]
    return port


@pytest.mark.slow  # 16 real logins, and two that hang, 5 s
def test_five_that_are_down_and_two_that_hang_lose_no_other_host(tmp_path: Path) -> None:
    """Nine on the @fake connector; five real addresses where nothing listens, one that accepts and is silent, and
    one @fake host that stops answering in the middle of its look.
    """
    entries = fleet.faked(16)
    mute, stuck, drifted = "spark-07a", "spark-02a", "spark-00a"
    with ExitStack() as bound, socket.create_server(("127.0.0.1", 0)) as silent:
        down = {name: refusing(bound) for name in list(entries)[3:13:2]}
        for name, port in {**down, mute: silent.getsockname()[1]}.items():
            entries[name] = (name, {**entries[name][1], "ssh_hostname": "127.0.0.1", "ssh_port": port})
        entries[mute][1]["ssh_paramiko_connect_kwargs"] = {"banner_timeout": 1}  # paramiko waits for 15 s
        entries[stuck][1]["fake_delay"] = 3600
        entries[drifted][1]["mtu"] = entries["spark-00b"][1]["mtu"] = 8000
        done = drift(tmp_path, list(entries.values()), "--timeout", str(GIVEN_UP_S))
    hosts = done.hosts()
    lost = {name for name, host in hosts.items() if host["unread"]}
    assert list(hosts) == list(entries)
    assert lost == {*down, mute, stuck}
    assert all("Connection refused" in hosts[name]["unread"] for name in down)
    assert hosts[mute]["unread"] == "Could not connect (its sshd does not answer)"
    assert hosts[stuck]["unread"] == f"@fake/{stuck} does not answer within {GIVEN_UP_S} s"
    assert done.code == 3
    assert "net.enp1s0f0np0.mtu" in {row["id"] for row in hosts[drifted]["rows"] if row["status"] == "drift"}
    assert done.report["seconds"] < GIVEN_UP_S + 30, "nobody waits for one that hangs longer than for its own time"
    assert "may be rebooting" not in done.said, "a look is not worth to wait for a reboot"
    for name, host in hosts.items():  # whose peer is lost is no worse for it
        peer = name[:-1] + ("b" if name.endswith("a") else "a")
        if peer in lost and name not in lost:
            assert {row["id"]: row["status"] for row in host["rows"]}["deploy.plan"] == "skipped"
            assert host["exit"] == 0, [row for row in host["rows"] if row["status"] == "drift"]


@pytest.mark.slow  # 64 logins cost seconds of processor time; test_execs.py has the same of two hosts
def test_64_hosts_behind_sshd_are_one_report(tmp_path: Path) -> None:
    """Real ssh to real sshds on loopback, which answer with what a Spark was recorded to print.

    One of them is down. Each of the others is asked once.
    """
    with fleet.served(tmp_path / "sshd", SIZE) as entries:
        few = drift(tmp_path / "few", entries[:4])
        fleet.asked(tmp_path / "sshd")
        (gone,) = free_ports(1)
        entries[7][1]["ssh_port"] = gone
        done = drift(tmp_path / "all", entries)
    assert fleet.asked(tmp_path / "sshd") == [1] * (SIZE - 1), done.said
    assert (few.code, done.code) == (0, 3), done.said
    assert [name for name, host in done.hosts().items() if host["unread"]] == ["spark-03b"]
    assert done.report["counts"]["drift"] == 0
    assert (done.peak_kib - few.peak_kib) / (SIZE - 4) < MEMORY_KIB


def test_pyinfra_works_its_arguments_out_twice_for_a_host_and_a_plan_gets_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the 29 deploys and operations of a plan, whose arguments take a third of the time of a fleet's plan."""
    data = {"spark-a": {**fleet.settings(0, "a"), "_sudo": True, "_retries": 2}, "spark-b": fleet.settings(0, "b")}
    seen = {name: Spark().process(converged(name[-1]).splitlines()) for name in data}
    asked: list[str] = []
    same: list[bool] = []
    ask, once = dry._popped, dry._arguments_once

    def counted(*words: Any) -> Any:
        asked.append("once")
        return ask(*words)

    def compared(known: Any, state: Any, host: Any, kwargs: dict[str, Any]) -> Any:
        theirs, ours = dict(kwargs), known(state, host, kwargs)
        same.append(ask(state, host, theirs)[0] == ours[0] and theirs == kwargs)
        return ours

    @contextmanager
    def entered() -> Iterator[None]:
        with once(), pytest.MonkeyPatch.context() as patch:
            for module in dry._CALLERS:
                patch.setattr(module, "pop_global_arguments", partial(compared, module.pop_global_arguments))
            yield

    monkeypatch.setattr(dry, "_popped", counted)
    monkeypatch.setattr(dry, "_arguments_once", entered)
    assert dry.plan(data, Fleet.parse(data), seen).keys() == data.keys()
    assert len(same) > 40 and all(same)
    assert len(asked) <= 2 * len(data)


def test_the_plan_of_the_deploy_asks_no_host() -> None:
    """There is nobody at that address; a plan that wanted to look would raise."""
    data = {"spark-a": {"fabric": {}, "ssh_hostname": "127.0.0.1", "ssh_port": 9, "allow_non_spark": True}}
    planned = dry.plan(data, Fleet.parse(data), {"spark-a": Spark().process(converged("a").splitlines())})
    assert planned["spark-a"] != []
