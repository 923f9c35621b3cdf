"""T2: on a guest, by its own systemd and a real login session, drift of that guest runs by a timer and notifies.

What no other test proves: that a user manager as PAM and logind start it runs the units after a logout (linger),
and that a changed MTU of a real link is one notice, none while it stays so, and one when it is mended. The wheel
is carried there with all that it asks for, apprise too, since guests have no way out.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from lab import ssh
from lab.inventory import settings
from tests.lab.carried import INSTALL, archive
from tests.lab.guests import Guest, Pair

pytestmark = [pytest.mark.exhaustive]  # pip installs forty wheels under emulation

NETDEV = "enp1s0f0np0"
SPARKS = "sparks/inventories/sparks.py"
INVENTORY = """
from sparkrig.inventory import checked as _checked

sparks = _checked([("@here/spark-a", {"fabric": FABRIC, **SETTINGS})], __file__)
"""
# a webhook that writes a line of JSON for each notice
WEBHOOK = """
import http.server, json, sys

class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("notices", "a") as file:
            file.write(json.dumps(body) + "\\n")
        self.send_response(200); self.end_headers()

http.server.HTTPServer(("127.0.0.1", 8901), Hook).serve_forever()
"""
# As DGX OS has it: each login gets a session, and the user a manager. The guests go without, since it makes every
# login slower under emulation.
SESSIONS = "sudo apt-get -qq install libpam-systemd dbus-user-session >/dev/null"
BEGIN = """
(setsid python3 webhook.py >/dev/null 2>&1 </dev/null &)
(umask 077; echo json://127.0.0.1:8901/s3cret >addresses)
sudo loginctl enable-linger $(id -un)
"""


@pytest.fixture
def here(deployed: Pair) -> Guest:
    """spark-a of a deployed pair, with sparkrig on it and a webhook beside it."""
    a = deployed.a
    fabric = {NETDEV: "192.168.100.11/24", "enP2p1s0f0np0": "192.168.101.11/24"}
    inventory = INVENTORY.replace("FABRIC", repr(fabric)).replace("SETTINGS", repr(settings()))
    carried = archive({"sparks.py": inventory, "webhook.py": WEBHOOK}, "[watch]")
    subprocess.run(ssh.command(a.node, "tar x"), input=carried, check=True, capture_output=True, timeout=600)
    a.output(SESSIONS, 600)
    a.output(f"{INSTALL.replace('EXTRA', '[watch]')}{BEGIN}", 1200)
    return a


def typed(here: Guest, words: str, code: int = 0) -> str:
    return logged_in(here, f"NO_COLOR=1 venv/bin/sparkrig {words}", code)


def logged_in(here: Guest, line: str, code: int = 0) -> str:
    """What a line prints in a login of its own: the lab's shared connection is from before the sessions."""
    words = ["-o", "ControlMaster=no", "-o", "ControlPath=none", here.node, line]
    done = subprocess.run([*ssh.command(here.node)[:-1], *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, f"{line}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def notices(here: Guest) -> list[str]:
    """The titles and texts since the last call."""
    said = here.output("cat notices 2>/dev/null; rm -f notices")
    return [f"{each['title']}\n{each['message']}" for each in map(json.loads, said.splitlines())]


def again(here: Guest) -> list[str]:
    """What is sent once the timer's service ran."""
    unit = here.output("cd .config/systemd/user && ls sparkrig-drift-sparks-*.service")
    logged_in(here, f"systemctl --user start {unit}")
    return notices(here)


def test_a_guest_watches_itself(here: Guest) -> None:
    typed(here, f"schedule {SPARKS} --every 5m --notify addresses")
    first, *more = notices(here)
    assert first.startswith("sparks.py: watched\n")
    assert len(more) <= 1, "what was wrong already, in one notice"
    assert again(here) == []
    here.output(f"sudo ip link set {NETDEV} mtu 1500")
    (said,) = again(here)
    assert f"NEW spark-a net.{NETDEV}.mtu: 1500; want: 9000" in said
    assert again(here) == []
    here.output(f"sudo ip link set {NETDEV} mtu 9000")
    (said,) = again(here)
    assert f"OVER spark-a net.{NETDEV}.mtu" in said

    logged_in(here, "systemctl --user stop 'sparkrig-drift-*.timer'")
    assert "! the timer that runs drift was stopped" in typed(here, f"status {SPARKS}", code=3)
    typed(here, f"schedule {SPARKS} --remove")
    assert (
        logged_in(here, "systemctl --user list-unit-files --no-legend 'sparkrig-*'; find .config/systemd -type f")
        == ""
    )
    assert "s3cret" not in logged_in(here, "journalctl --user --no-pager; systemctl --user show-environment")
