"""T3: the Containerfile, built and run by a guest's docker, without network.

Its base is made as the lab's own root file system is, with Python alone; all wheels lie in dist/. That the image
has what `sparkrig drift` needs, and reads keys that are mounted, only a container engine can prove.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from lab import host, ssh
from lab.mirror import mirror
from tests import wheels
from tests.lab.commands import ROOT
from tests.lab.guests import Pair

pytestmark = [pytest.mark.exhaustive]  # 150 MB and thirty wheels are read under emulation

SUITE, PYTHON = "trixie", "3.13"  # which has this Python
INVENTORY = """
from sparkrig.inventory import checked

sparks = checked(
    [("spark-a", {"ssh_hostname": "127.0.0.1", "ssh_user": "nvidia"})],
    __file__,
)
"""
# a key of its own for the guest, which is controller and host at once
PREPARE = r"""
set -e
mkdir -m 700 keys
ssh-keygen -q -t ed25519 -N '' -f keys/id_ed25519
cat keys/id_ed25519.pub >>.ssh/authorized_keys
sed 's/^/127.0.0.1 /' /etc/ssh/ssh_host_ed25519_key.pub >keys/known_hosts
"""
# as docs/drift.md has it, without network
BUILD = (
    "cd context && sudo docker build --network none --build-arg BASE=base --build-arg PIP_NO_INDEX=1"
    " -f Containerfile -t sparkrig ."
)
RUN = (
    "sudo docker run --rm --network host --user $(id -u):$(id -g)"
    " -v $HOME/sparks:/sparks:ro -v $HOME/keys:/home/sparkrig/.ssh:ro sparkrig inventories/sparks.py --json"
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system with Python, by the lab's tool and from the lab's mirror."""
    made = tmp_path_factory.mktemp("base") / "base.tar"
    words = [
        "mmdebstrap",
        "--mode=unshare",
        "--variant=minbase",
        f"--keyring={host.KEYRING}",
        "--include=python3-venv",
    ]
    subprocess.run([*words, SUITE, str(made), mirror()], check=True, capture_output=True, timeout=600)
    return made


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The folder that the image is built in, as a tar archive: our files, and dist/ with every wheel."""
    folder = tmp_path_factory.mktemp("context")
    wheels.download(folder, PYTHON, extra="[report]")
    return _archive(ROOT / "Containerfile", ROOT / ".dockerignore", folder / "dist")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A project as `sparkrig init` makes it, with an inventory of the guest itself, as a tar archive."""
    folder = tmp_path_factory.mktemp("project")
    subprocess.run([Path(sys.executable).with_name("sparkrig"), "init", "sparks"], check=True, cwd=folder)
    (folder / "sparks" / "inventories" / "sparks.py").write_text(INVENTORY)
    return _archive(folder / "sparks")


def _archive(*files: Path) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for file in files:
            tar.add(file, file.name)
    return archive.getvalue()


def fed(node: str, line: str, data: bytes) -> str:
    """What a line on a guest prints that reads this."""
    done = subprocess.run(ssh.command(node, line), input=data, capture_output=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.decode()


def test_the_container_reads_a_spark_with_mounted_keys(
    pristine: Pair, base: Path, context: bytes, project: bytes
) -> None:
    guest = pristine.a
    fed(guest.node, "sudo docker import - base", base.read_bytes())
    fed(guest.node, "mkdir context && tar x -C context", context)
    guest.output(BUILD, 1200)
    guest.output(PREPARE)
    fed(guest.node, "tar x", project)
    done = guest.run(RUN, 600)
    (spark,) = json.loads(done.stdout)["hosts"]
    assert spark["name"] == "spark-a" and len(spark["rows"]) > 10, done.stderr
    assert guest.output("sudo docker run --rm --entrypoint ls sparkrig -A /home/sparkrig") == ""
