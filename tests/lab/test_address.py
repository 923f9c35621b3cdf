"""T3: the wheel looks at a Spark of no inventory: by its address from an empty folder, and as `here` on itself.

What no other test proves: that a look without a declaration works on a host as it comes, both ways, and writes
nothing there: every file of it has the same hash before and after. Run it alone by
`pytest -m lab tests/lab/test_address.py`; the guests have no way out, so the wheel is carried there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from lab import USER, ssh, ssh_data
from tests.lab import installed
from tests.lab.carried import INSTALL, archive
from tests.lab.commands import Done
from tests.lab.guests import Guest, Pair

pytestmark = [pytest.mark.exhaustive]  # pip installs thirty wheels under emulation

# what a running system writes by itself, and what the installed program is made of
MOVES = ("/var/lib/systemd/", "/var/lib/NetworkManager/", f"/home/{USER}/venv/", "/var/log/", "/var/tmp/")
HASHES = "sudo find /boot /etc /home /opt /root /srv /usr/local /var -xdev -type f -exec sha256sum {} +"


OTHERS = ("status", "topology", "storage", "blackbox", "startup --once", "update --check", "support --yes")


def hashes(guest: Guest) -> dict[str, str]:
    rows = (row.split(maxsplit=1) for row in guest.output(HASHES, 900).splitlines())
    return {file: digest for digest, file in rows if not file.startswith(MOVES)}


def judged(code: int, stdout: str) -> None:
    """A Spark of the lab as it comes lacks one thing that a Spark has: the toolkit for containers."""
    report = json.loads(stdout)
    rows = [row for host in report["hosts"] for row in host["rows"]]
    assert {row["id"] for row in rows if row["status"] not in ("ok", "skipped")} == {"containers.toolkit"}, stdout
    assert code == 2 and report["left_out"] > 0 and len(rows) > 20


def desk(folder: Path) -> dict[str, str]:
    """An empty folder to type in, and the environment of a home whose key and known hosts are the lab's."""
    home = folder / "me"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    ssh.public_key()
    shutil.copy(ssh.known_hosts(), home / ".ssh" / "known_hosts")
    shutil.copy(ssh.known_hosts().with_name("id_ed25519"), home / ".ssh" / "id_ed25519")
    (folder / "empty").mkdir()
    return installed.environ(home)


def looked_at(programs: Path, where: str, folder: Path) -> None:
    """Every verb that looks, by the package alone; then a project that declares it as it is, which has a plan."""
    env, empty = desk(folder), folder / "empty"
    installed.assert_hidden(programs, empty, env)

    def typed(*words: str, place: Path = empty) -> Done:
        return installed.run(programs / "sparkrig", *words, place=place, env=env)

    done = typed("doctor", where, "--json")
    judged(done.code, done.stdout)
    for line in OTHERS:
        verb, *more = line.split()
        done = typed(verb, where, *more)
        assert done.code in (0, 2, 3) and "not read" not in done.stdout, f"{line}: {done.stdout}{done.stderr}"
    done = typed("init", "sparks", "--from", where)
    assert done.code == 0, done.stdout + done.stderr
    inventory = empty / "sparks" / "inventories" / "sparks.py"
    assert f'"ssh_port": {where.rpartition(":")[2]}' in inventory.read_text()
    done = typed("plan", "inventories/sparks.py", place=empty / "sparks")
    assert done.code in (0, 2) and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert "could not be read" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_a_look_without_an_inventory_leaves_no_trace(pristine: Pair, tmp_path: Path) -> None:
    a, _ = pristine
    before = hashes(a)
    assert len(before) > 100, "hashes of nothing prove nothing"
    where = f"{USER}@127.0.0.1:{ssh_data('spark-a')['ssh_port']}"
    looked_at(installed.programs(tmp_path), where, tmp_path)
    assert hashes(a) == before
    carried = archive({"sparks.py": ""})
    subprocess.run(ssh.command(a.node, "tar x"), input=carried, check=True, capture_output=True, timeout=600)
    a.output(INSTALL.replace("EXTRA", "") + "mkdir empty", 1200)
    before = hashes(a)
    here = a.run("cd empty && NO_COLOR=1 ../venv/bin/sparkrig doctor here --json", 600)
    judged(here.rc, here.stdout)
    assert hashes(a) == before
