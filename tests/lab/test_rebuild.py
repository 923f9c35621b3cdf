"""T3: a virtual Spark of a pair that serves is made anew, and one command brings it back to serving."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab import pair as lab
from lab.paths import home
from sparkrig.onboarding.io import kept_files
from tests.faults.record import Seen
from tests.lab.commands import BIN, ROOT, STATE, run
from tests.lab.factory import PASSWORD, unpack
from tests.lab.guests import Pair
from tests.lab.inventories import inventory_with
from tests.lab.serving import IDS, SETTINGS, TWO, models, serve

pytestmark = pytest.mark.exhaustive  # two deploys and three servers under emulation


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


@pytest.mark.fault(54)
@pytest.mark.promise(3, 4)
def test_a_guest_made_anew_serves_again_by_one_command(ready: Pair, tmp_path: Path, seen: Seen) -> None:
    """Killed while its half of the model starts, too: that one needs docker, systemd and weights that are gone."""
    known = tmp_path / "known_hosts"
    shutil.copy(home() / "known_hosts", known)
    inventory = inventory_with(tmp_path, f"'node_ssh': True, 'ssh_known_hosts_file': {str(known)!r}, {SETTINGS}")
    done = serve(inventory, TWO)
    assert done.code == 0 and TWO in models(ready.a), done.stderr[-3000:]
    kept = kept_files.path(Path(inventory), "spark-b")
    assert json.loads(kept.read_text())["servers"][0]["weights"] == IDS[TWO]

    lab.reset(["spark-b"])
    fresh = unpack(ready.b)
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    words = ["onboard", "--replace", "spark-b", "--inventory", inventory, "--yes"]
    log, began = tmp_path / "killed.log", time.monotonic()
    killed(log, *words, "--fingerprint", fresh.fingerprint, "--password-file", str(password))
    done = run("sparkrig", *words, timeout=1500)  # neither fingerprint nor password: it got that far
    assert done.code == 0, done.stdout[-3000:] + done.stderr[-3000:]
    took = time.monotonic() - began
    (parts,) = [line for line in done.stdout.splitlines() if line.startswith("Took ")]
    assert TWO in models(ready.a) and all(f" {part} " in parts for part in ("deploy", "serve", "verify"))
    with fresh.login() as entered:
        assert entered.root("systemctl is-active sparkrig-serve").strip() == "active"
    assert run("sparkrig", "drift", inventory).code == 0
    again = run("sparkrig", *words)
    assert again.code == 1 and "nothing was replaced" in again.stderr, again.stderr
    assert PASSWORD not in log.read_text() + done.stdout + done.stderr
    seen(f"killed once, back in {took / 60:.0f} min of two commands; the second: {parts}")
