"""`sparkrig doctor` on fake hosts: what real hosts printed goes in, lines and a report come out."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import DECLARED
from tests import warm
from tests.plan.conftest import PING, ROOT
from tests.plan.desk import write
from tests.plan.examined import CROSSES, changed, doctor, entries, examined, hosts

SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))


def well() -> list[tuple[str, dict[str, Any]]]:
    return entries(hosts(examined("a"), examined("b")))


def test_a_healthy_pair(tmp_path: Path) -> None:
    done = doctor(tmp_path, well())
    assert (done.code, done.stderr) == (0, "")
    *categories, blank, verdict = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in categories] == [
        "✓ access", "✓ time", "✓ packages and driver", "✓ containers", "✓ network", "✓ RDMA", "✓ cluster",
        "✓ health",
    ]  # fmt: skip
    assert blank == "" and re.fullmatch(
        r"✓ Your pair is ready \(142 checks, \d+ s\)\. Next: sparkrig bandwidth sparks\.py", verdict
    )


def test_every_check_of_a_healthy_pair_is_told_with_v_and_to_programs(tmp_path: Path) -> None:
    shown, document = doctor(tmp_path, well(), "-v"), doctor(tmp_path, well(), "--json")
    ids = {row["id"] for host in document.report["hosts"] for row in host["rows"]}
    assert document.report["schema"] == "sparkrig.doctor/1" and document.stderr == ""
    for id in ids:
        assert re.search(rf"^  [✓·] {re.escape(id)}\b", shown.stdout, re.MULTILINE), id
    assert "identity.kernel: 6.12" in shown.stdout and "the next boot takes" in shown.stdout


def test_a_spark_on_its_own(tmp_path: Path) -> None:
    (name, data), _ = well()
    done = doctor(tmp_path, [(name, {**data, "pair": None})])
    assert done.code == 0
    assert "✓ Your Spark is ready" in done.stdout and "Next: sparkrig drift sparks.py" in done.stdout


CUT = {
    "a": ["ping enp1s0f0np0 8972 5 0 ", "ping enp1s0f0np0 56 5 5 ", *CROSSES[2:]],
    "b": [
        "ping enp1s0f0np0 8972 5 0 local error: message too long, mtu=1500",
        "ping enp1s0f0np0 56 5 5 ",
        *CROSSES[2:],
    ],
}


@pytest.mark.slow
def test_an_mtu_changed_by_hand(tmp_path: Path) -> None:
    b = examined(
        "b",
        network=changed("b", "network", (r'("ifname":"enp1s0f0np0".*?"mtu":)9000', r"\g<1>1500")),
        rdma=changed("b", "rdma", (r"^mtu rocep1s0f0 4096$", "mtu rocep1s0f0 1024")),
    )
    ill = entries(hosts(examined("a"), b, pings=CUT))
    done = doctor(tmp_path, ill, "--json")
    mtu = {"host": "@fake/spark-b", "id": "net.enp1s0f0np0.mtu"}
    assert done.code == 2
    assert done.told == {
        "spark-a": {"pair.enp1s0f0np0.mtu", "pair.enp1s0f0np0.ping"},
        "spark-b": {mtu["id"], "rdma.enp1s0f0np0.path-mtu", "pair.enp1s0f0np0.mtu", "pair.enp1s0f0np0.ping"},
    }
    assert done.row("spark-b", mtu["id"])["follows"] is None
    for host in ("spark-a", "spark-b"):
        for id in done.told[host] - {mtu["id"]}:
            assert done.row(host, id)["follows"] == mtu, (host, id)
    assert done.report["next"] == "Next: pyinfra sparks.py deploys/cluster.py"
    seen = doctor(tmp_path, ill)
    assert seen.code == 2 and "    read      1500\n    expected  9000\n    cause     the link was" in seen.stdout
    assert seen.stdout.count("try  ") == 1 and "✗ 1 thing is wrong" in seen.stdout


def test_no_hand_is_blamed_for_what_was_never_deployed(tmp_path: Path) -> None:
    b = examined("b", network=changed("b", "network", (r'("ifname":"enp1s0f0np0".*?"mtu":)9000', r"\g<1>1500")))
    for text, cause in ((b, "the link was changed by hand"), (without_deploy(b), "no deploy is recorded")):
        done = doctor(tmp_path, entries(hosts(examined("a"), text)), "--json", "net.enp1s0f0np0.mtu")
        assert done.row("spark-b", "net.enp1s0f0np0.mtu")["cause"].startswith(cause)


def without_deploy(look: str) -> str:
    made, count = re.subn(rf"(?m)^{DECLARED} .*\n", "", look)
    assert count
    return made


def test_a_cable_that_is_out(tmp_path: Path) -> None:
    def dark(letter: str) -> str:
        return examined(
            letter,
            network=changed(letter, "network", (r"^port (en\S+f0np0) p0 1", r"port \1 p0 0")),
            nics=changed(letter, "nics", (r"^(en\S+f0np0) carrier 1", r"\1 carrier 0")),
        )

    silent = {"SPARKRIG_PROBE": ["sent enp1s0f0np0 40", "sent enP2p1s0f0np0 40", "end"]}
    ill = [replace(host, first={**host.first, **silent}) for host in hosts(dark("a"), dark("b"))]
    done = doctor(tmp_path, entries(ill), "--json")
    carriers = {"net.enp1s0f0np0.carrier", "net.enP2p1s0f0np0.carrier"}
    assert (done.code, done.told) == (2, {host: {"pair.cabling", *carriers} for host in ("spark-a", "spark-b")})
    assert done.row("spark-a", "pair.cabling")["cause"] == "cable-out"
    assert done.row("spark-a", "pair.enp1s0f0np0.ping")["status"] == "skipped"
    assert done.row("spark-b", "net.enp1s0f0np0.carrier")["follows"]["id"] == "pair.cabling"
    assert done.report["next"].startswith("Next: seat a QSFP cable in p0 of ")


ONE_FAULT = {
    "docker stopped": (
        "containers",
        (r"^info .*$", "trouble Cannot connect to the Docker daemon"),
        "containers.docker",
        "pyinfra sparks.py --limit @fake/spark-b -y exec -- systemctl start docker",
    ),
    "clock wrong": (
        "preflight",
        (r"^clock .*$", "clock 1000.5"),
        "host.clock",
        "ssh spark-b 'timedatectl; sudo systemctl restart",
    ),
    "a driver that is not loaded": (
        "gpu",
        (r"(?s)\A.*\Z", "trouble Failed to initialize NVML: Driver/library version mismatch"),
        "gpu.answers",
        "reboot, so that",
    ),
    "its name is a trap": (
        "files",
        (r"^/etc/sparkrig/container.env .*$", ""),
        "environment.container.env",
        "pyinfra",
    ),
}


@pytest.mark.parametrize(("noun", "change", "id", "cure"), ONE_FAULT.values(), ids=ONE_FAULT)
def test_one_fault_is_told_with_its_cause_and_cure(
    tmp_path: Path, noun: str, change: tuple[str, str], id: str, cure: str
) -> None:
    done = doctor(tmp_path, entries(hosts(examined("a"), examined("b", **{noun: changed("b", noun, change)}))))
    assert done.code == 2
    told = re.findall(r"^  ✗ (\S+) on @fake/spark-b$", done.stdout, re.MULTILINE)
    assert told == [id]
    assert re.search(rf"^    try       {re.escape(cure)}", done.stdout, re.MULTILINE)
    assert re.search(r"^    cause     \S", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1].startswith("✗ 1 thing is wrong")


def test_the_command_that_drift_prints_for_hosts_that_differ(tmp_path: Path) -> None:
    other = changed("b", "identity", (r"^kernel=.*$", "kernel=6.17.0-1029-nvidia"))
    done = doctor(tmp_path, entries(hosts(examined("a"), examined("b", identity=other))), "identity.kernel")
    assert done.code == 2
    text = " ".join(done.stdout.split())
    assert "read 6.12.107+deb13-amd64 on @fake/spark-a 6.17.0-1029-nvidia on @fake/spark-b" in text
    assert "besides the next boot takes 6.17.0-1029-nvidia installed: linux-image-6.12.107+deb13-amd64" in text
    assert "try reboot @fake/spark-a; it boots 6.17.0-1029-nvidia then" in text


GONE = ("spark-b", {"pair": "sparks", "ssh_hostname": "127.0.0.1", "ssh_port": 9, "ssh_user": "nvidia"})


def with_gone() -> list[tuple[str, dict[str, Any]]]:
    first, (_, data) = well()
    return [first, (GONE[0], {**GONE[1], "fabric": data["fabric"]})]


def test_a_host_that_is_gone_hides_nothing_of_the_other(tmp_path: Path) -> None:
    done = doctor(tmp_path, with_gone())
    assert (done.code, "Traceback" in done.stderr) == (3, False)
    assert "  ✗ access.ssh on spark-b\n    read      Could not connect (127.0.0.1 port 9:" in done.stdout
    assert "✓ network              14 checks, spark-b not read\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("? spark-b could not be read")
    document = doctor(tmp_path, with_gone(), "--json")
    assert document.code == 3
    assert [(host["exit"], host["read"]) for host in document.report["hosts"]] == [(0, True), (3, False)]
    assert document.row("spark-a", "pair.cabling")["found"] == "spark-b was not read"


def test_one_check_of_a_host_alone_and_of_one_beside_a_gone_one(tmp_path: Path) -> None:
    (name, data), _ = well()
    done = doctor(tmp_path, [(name, {**data, "pair": None})], "net.enp1s0f0np0.mtu", "gpu", "--json")
    assert done.code == 0
    ids = [row["id"] for host in done.report["hosts"] for row in host["rows"]]
    assert ids == ["net.enp1s0f0np0.mtu", "gpu.answers", "gpu.clock", "gpu.gsp", "gpu.temperature"]
    assert done.report["verdict"] == "net.enp1s0f0np0.mtu and gpu: as it should be"
    gone = doctor(tmp_path, with_gone(), "net.enp1s0f0np0.mtu")
    assert gone.code == 3 and "net.enp1s0f0np0.mtu on @fake/spark-a: 9000" in gone.stdout


@pytest.mark.parametrize("name", ["net", "driver.hold"])
def test_who_does_not_ask_for_the_pair_lets_nobody_listen(tmp_path: Path, name: str) -> None:
    """A probe or a ping that nobody asked for would fail here."""
    broken = {"SPARKRIG_PROBE": ["nonsense"], PING: ["ping nonsense"]}
    ill = [replace(host, first={**host.first, **broken}) for host in hosts(examined("a"), examined("b"))]
    assert doctor(tmp_path, entries(ill), name).code == 0
    assert doctor(tmp_path, entries(ill), "pair").code == 3


WRONG_WORDS = {
    "no such check": (
        ("net.enp1s0f0np0.mtv",),
        "no check is called net.enp1s0f0np0.mtv. Try: sparkrig doctor --list",
    ),
    "misspelt": (("netwrok",), "no check is called netwrok (did you mean network?). Try: sparkrig doctor --list"),
    "nobody has it": (("trust",), "no host has a check trust; "),
    "no such netdev": (("net.enp9s0",), "no host has a check net.enp9s0; "),
}


@pytest.mark.parametrize(("words", "said"), WRONG_WORDS.values(), ids=WRONG_WORDS)
def test_a_name_that_fits_nothing_is_an_error(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = doctor(tmp_path, well(), *words)
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {said}") and done.stderr.count("\n") == 1


def test_the_list_asks_nobody() -> None:
    done = warm.run("sparkrig", "doctor", "--list")
    assert re.search(r"^network$", done.stdout, re.MULTILINE)
    assert re.search(r"^  net\.NETDEV\.mtu +the link itself has the declared MTU$", done.stdout, re.MULTILINE)
    assert len(done.stdout.splitlines()) > 55 and max(map(len, done.stdout.splitlines())) <= 100


def test_a_terminal_that_has_no_signs(tmp_path: Path) -> None:
    done = doctor(tmp_path, well(), PYTHONIOENCODING="ascii")
    assert done.code == 0 and done.stdout.isascii()
    assert done.stdout.splitlines()[0] == "ok access               8 checks"


@pytest.mark.slow  # starts a process
def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    file = write(tmp_path, well())
    done = subprocess.run(
        ["sh", "-c", f"{SPARKRIG} doctor {file} -v | head -n 1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "✓ access               8 checks\n" and "Traceback" not in done.stderr
