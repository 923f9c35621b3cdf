"""A FIFO, a socket, a device or a folder in the place of a file: nothing waits for it, and nothing is lost by it.

Who opens a FIFO to read waits for whoever writes, for ever (fifo(7)). Each script here has a deadline.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sparkrig.facts.evidence import TOOLS, Identifiers
from sparkrig.facts.examination import Examination
from sparkrig.facts.first_upgrade import FirstUpgrade
from sparkrig.facts.journal import Journal
from sparkrig.facts.noun import Noun
from sparkrig.facts.serving import Serving
from sparkrig.facts.startup import Startup
from sparkrig.operations.files import WRITE
from sparkrig.runs import journal, lock, undo
from sparkrig.runs.managed_files import WRITTEN
from sparkrig.serving import served
from tests.tables import each_row
from tests.unit.shells import sh, tool, well
from tests.unit.undo_host import DAEMON, NCCL, Spark

DEADLINE_S = 10  # a script that waits for a FIFO is ended then; each takes a hundredth of it
RUN = f"{lock.RUNS}/20261122T120000Z-1"
EMPTY = ("/etc", "/run", "/var/lib")  # folders that are others for a test; nothing outside of them is made
# Every file that a look reads there, and is none of the kernel's
READ = (
    *(path for path in WRITTEN if path.startswith(EMPTY)),
    *(f"{RUN}/{name}" for name in ("run.json", "steps", "before/state", "after", "number", "wrote/state")),
    *(f"{RUN}/guard/{name}" for name in ("state", "deadline", "before/links.json")),
    *(f"{lock.FOLDER}/lock/{name}" for name in ("owner.json", "run", "holder")),
    *("/etc/machine-id", "/etc/dgx-release", "/etc/os-release", "/etc/hostname", "/etc/machine-info"),
    *("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf", "/run/systemd/shutdown/scheduled"),
    *("/etc/netplan/a.yaml", "/run/netplan/b.yaml", "/etc/cdi/a.yaml", "/run/cdi/b.json", "/run/docker.pid"),
    *("/etc/apt/sources.list", "/etc/apt/sources.list.d/a.list", "/etc/apt/sources.list.d/a.sources"),
    *("/etc/ssh/ssh_host_a_key.pub", "/etc/NetworkManager/system-connections/a", served.RAY_ENV),
    *("/var/lib/home/.ssh/authorized_keys", "/var/lib/home/.ssh/id_ed25519_sparkrig.pub"),
    "/var/lib/dbus/machine-id",
    *(
        f"/var/lib/weights/a/b/{name}"
        for name in (served.MANIFEST, served.REVISION, "model.safetensors.index.json")
    ),
    "/var/lib/weights/a/c/config.json",
    "/var/lib/weights/a/c/model.safetensors.index.json",
)


def apart(lines: str, *words: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run lines with empty folders of their own in the place of /etc, /run and /var/lib."""
    mounts = "".join(f"mount -t tmpfs tmpfs {folder}\n" for folder in EMPTY)
    return subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", f"set -e\n{mounts}{lines}", "sparkrig", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "HOME": "/var/lib/home"},
    )


@pytest.mark.slow
def test_no_look_waits_for_a_fifo(tmp_path: Path) -> None:
    assert all(path.startswith(EMPTY) for path in READ)
    tool(tmp_path, "getent", "echo root:x:0:0:root:/var/lib/home:/bin/sh")
    for name in ("apt-get", "nvidia-smi", "docker", "systemctl", "journalctl"):
        tool(tmp_path, name, "exit 1")
    nouns: dict[str, Noun[Any]] = {name: noun() for name, noun in Examination.nouns.items()}
    nouns |= {"journal": Journal(), "upgrade": FirstUpgrade(), "startup": Startup()}
    nouns |= {"identifiers": Identifiers()}
    looks = {name: noun.command() for name, noun in nouns.items()}
    looks |= {"weights": Serving().command("/var/lib/weights"), "evidence": TOOLS["system"]}
    names, scripts = zip(*looks.items(), strict=True)
    lines = f"""
for path in {shlex.join(READ)}; do mkdir -p "${{path%/*}}"; [ -e "$path" ] || mkfifo "$path"; done
set +e
number=0
for script; do
  number=$((number + 1))
  {{ timeout -k 1 {DEADLINE_S} sh -c "$script" </dev/null >/dev/null 2>&1; echo $number $?; }} &
done
wait
"""
    done = well(apart(lines, *scripts, path=tmp_path))
    codes = dict(row.split() for row in done.stdout.splitlines())
    late = [name for number, name in enumerate(names, 1) if codes[str(number)] in ("124", "137")]
    assert not late, late


SPECIAL = {"fifo": "fifo", "socket": "socket", "device": "character special file", "folder": "directory"}


def make(kind: str, path: Path) -> None:
    """What is no file. A link to a device stands for the device, which only root of the machine may make."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as place:
            here = os.open(path.parent, os.O_RDONLY)
            place.bind(f"/proc/self/fd/{here}/{path.name}")  # an address has 108 bytes
            os.close(here)
    elif kind == "device":
        path.symlink_to("/dev/null")
    else:
        path.mkdir()


def test_the_writer_puts_nothing_in_the_place_of_what_is_no_file(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "chown", "")

    def refused(kind: str, what: str) -> None:
        folder = tmp_path / kind
        make(kind, folder / "nccl.conf")
        done = sh(WRITE, "", path=tmp_path / "bin", stdin=f"{folder} nccl.conf 0644 QQ==\n")
        assert done.returncode == 1 and f"{folder}/nccl.conf is a {what}" in done.stderr, done.stderr
        assert not (folder / "nccl.conf").is_file() and len([*folder.iterdir()]) == 1

    each_row([*SPECIAL.items()], refused)


def test_a_journal_keeps_files_alone_and_says_what_else_stands_there(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    paths = {kind: f"/etc/{kind}.conf" for kind in SPECIAL}
    for kind, path in paths.items():
        make(kind, spark.at(path))
    spark.holders.start("1")
    well(spark.sh(journal.BEGIN, "1", lock.given("1", "ann@laptop", "x", "0"), "", *paths.values()))
    assert spark.sh(journal.END, "1", "", *paths.values()).returncode == 0
    (run,) = spark.look().runs
    spark.holders.cut()
    assert run.lacks == () and run.before == run.after
    stood = {kind: run.before[f"file {path}"] for kind, path in paths.items()}
    assert stood.pop("device").startswith("link ")
    assert stood == {kind: word for kind, word in SPECIAL.items() if kind != "device"}
    kept = [each.name for each in (spark.root / "var/lib/sparkrig/runs/1/before/files").rglob("*.conf")]
    assert kept == ["device.conf"]


def test_an_undo_waits_for_no_fifo_that_took_a_file_s_place(tmp_path: Path) -> None:
    """It is another one's change, and is left alone; so is one that comes while the undo is under way."""
    spark = Spark(tmp_path)
    spark.begin("1")
    spark.write("1", NCCL, "A=1\n")
    spark.end("1")
    spark.at(NCCL).unlink()
    make("fifo", spark.at(NCCL))
    (change,) = spark.plan("1").changes
    done = spark.sh(undo.RESTORE, f"{lock.RUNS}/1/before/files", stdin=f"merge {NCCL} 00 QQ==\n")
    spark.holders.cut()
    assert (change.act, change.why) == ("foreign", "it is fifo now")
    assert (done.returncode, done.stdout) == (0, f"changed {spark.at(NCCL)}\n")
    assert spark.at(NCCL).is_fifo()


@pytest.mark.slow
def test_an_undo_puts_back_each_byte_and_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    stood = b'{"label": "caf\xe9"}\r\n'
    spark = Spark(tmp_path)
    (spark.bin / "sync").unlink()
    spark.at(NCCL).symlink_to("/nowhere/at/all")
    spark.at(DAEMON).write_bytes(stood)
    spark.begin("1")
    spark.at(NCCL).unlink()
    spark.write("1", NCCL, "A=1\n")
    spark.write("1", DAEMON, "{}\n")
    spark.end("1")
    spark.undo("1", "2")
    spark.holders.cut()
    assert spark.at(DAEMON).read_bytes() == stood
    assert spark.at(NCCL).readlink() == Path("/nowhere/at/all")
