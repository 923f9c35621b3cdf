"""T2: a virtual Spark that serves is made anew, and one command brings it back to serving.

Its image and its weights stand on the new one for a registry and a hub: neither is in reach.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab import SOLO
from lab import pair as lab
from lab.paths import home
from lab.standin_image import build, weights
from sparkrig.onboarding.io import kept_files
from tests.faults.record import Seen
from tests.lab.commands import BIN, ROOT, STATE, deploy, run
from tests.lab.factory import PASSWORD, unpack
from tests.lab.guests import Guest
from tests.lab.serving import IDS, ONE, SETTINGS, models, serve

pytestmark = pytest.mark.exhaustive  # two deploys and three servers under emulation

RECOVERED = "tests-recovered"
INVENTORY = """from lab import SOLO as _SOLO
from lab.inventory import host_data as _host_data
from sparkrig.inventory import checked as _checked

_data = {{**_host_data(_SOLO), "memory_gib": 121.7, "ssh_known_hosts_file": {known!r}, {settings}}}
sparks = _checked([(_SOLO, _data)], __file__)
"""


def killed(log: Path, *words: str) -> None:
    """The command, until it starts the server."""
    env = {**os.environ, "PYINFRA_PROGRESS": "off", "NO_COLOR": "1", "XDG_STATE_HOME": STATE}
    command, end = [str(BIN / "sparkrig"), *words], time.monotonic() + 1500
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=out, start_new_session=True)
        while "Starting operation: Serve | server" not in log.read_text():
            assert process.poll() is None and time.monotonic() < end, log.read_text()[-4000:]
            time.sleep(0.5)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    known = tmp_path / "known_hosts"
    shutil.copy(home() / "known_hosts", known)
    shutil.copytree(ROOT / "inventories" / "group_data", tmp_path / "inventories" / "group_data")
    file = tmp_path / "inventories" / "mine.py"
    file.write_text(INVENTORY.format(known=str(known), settings=SETTINGS))
    return str(file)


@pytest.mark.fault(54)
@pytest.mark.promise(3, 4)
def test_a_guest_made_anew_serves_again_by_one_command(
    solo: Guest, inventory: str, tmp_path: Path, seen: Seen
) -> None:
    """Killed while its server starts, too: docker, systemd and the trial are real, and what they had is gone."""
    build(SOLO)
    weights(SOLO, f"/srv/models/{IDS[ONE]}")
    lab.save([SOLO], RECOVERED)
    for done in (deploy(inventory=inventory), serve(inventory, ONE)):
        assert done.code == 0, done.stderr[-3000:]
    assert ONE in models(solo)
    kept = json.loads(kept_files.path(Path(inventory), SOLO).read_text())
    assert kept["servers"][0]["weights"] == IDS[ONE] and kept["servers"][0]["image_id"].startswith("sha256:")

    lab.reset([SOLO], RECOVERED)
    fresh = unpack(solo)
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    words = ["onboard", "--replace", SOLO, "--inventory", inventory, "--yes"]
    log, began = tmp_path / "killed.log", time.monotonic()
    killed(log, *words, "--fingerprint", fresh.fingerprint, "--password-file", str(password))
    done = run("sparkrig", *words, timeout=1500)  # neither fingerprint nor password: it got that far
    assert done.code == 0, done.stdout[-3000:] + done.stderr[-3000:]
    took = time.monotonic() - began
    (parts,) = [line for line in done.stdout.splitlines() if line.startswith("Took ")]
    assert all(f" {part} " in parts for part in ("look", "deploy", "serve", "verify"))
    with fresh.login() as entered:
        assert entered.root("systemctl is-active sparkrig-serve").strip() == "active"
        assert ONE in entered.shell("curl -s http://127.0.0.1:8000/v1/models")
    assert run("sparkrig", "drift", inventory).code == 0
    again = run("sparkrig", *words)
    assert again.code == 1 and "nothing was replaced" in again.stderr, again.stderr
    assert PASSWORD not in log.read_text() + done.stdout + done.stderr
    seen(f"killed once, back in {took / 60:.0f} min by the same command twice; the second: {parts}")
