"""T1: the time servers, as a whole deploy and its own file have them."""

from __future__ import annotations

import base64

from sparkrig.resources.time import TIMESYNCD_PATH
from tests.plan.conftest import A, B, Deploy, Host, converged, pair, well

SERVERS = ["192.0.2.10", "time.example.org"]
STEPS = {"Time | time servers", "Time | let the service read them"}
ASKED = 'service systemd-timesyncd\nrunning\nservers as 2 "192.0.2.10" "time.example.org"\n'
HEAD = "# sparkrig: deploys/time.py writes this file; its servers are the setting ntp.\n"
PLAIN = "service systemd-timesyncd\nrunning\n"


def asking(letter: str, *servers: str, rows: str = ASKED) -> str:
    """A converged host with our file for these servers. rows: what its service says."""
    text = f"{HEAD}[Time]\nNTP=\nNTP={' '.join(servers)}\n"
    row = f"{TIMESYNCD_PATH} 644 root:root {base64.b64encode(text.encode()).decode()}\n"
    seen = converged(letter)
    assert PLAIN in seen and "\n#sparkrig:end files 0" in seen
    return seen.replace(PLAIN, rows).replace("\n#sparkrig:end files 0", f"{row}\n#sparkrig:end files 0")


def half(run: list[tuple[str, str]], text: str) -> set[str]:
    return {host for host, command in run if text in command}


def test_the_half_that_asks_others_is_told_once(deploy: Deploy) -> None:
    run = well(deploy(pair(asking("a", *SERVERS), converged("b"), ntp=SERVERS), "-y"))
    assert half(run.changes, "while read -r folder name mode content") == {"spark-b"}
    assert half(run.changes, "systemctl try-restart systemd-timesyncd.service") == {"spark-b"}
    planned = deploy(pair(asking("a", *SERVERS), converged("b"), ntp=SERVERS), "--json", "--dry")
    assert {step: hosts for step, hosts in planned.plan.items() if hosts} == {step: {B} for step in STEPS}


def test_a_file_that_the_service_has_not_read_is_read(deploy: Deploy) -> None:
    unread = asking("b", *SERVERS, rows=f"{PLAIN}servers as 0\n")
    run = well(deploy(pair(asking("a", *SERVERS), unread, ntp=SERVERS), "-y"))
    assert half(run.changes, TIMESYNCD_PATH) == set()
    assert half(run.changes, "systemctl try-restart systemd-timesyncd.service") == {"spark-b"}


def test_servers_that_left_the_inventory_leave_the_host(deploy: Deploy) -> None:
    run = well(deploy(pair(asking("a", *SERVERS), converged("b")), "-y"))
    assert half(run.changes, TIMESYNCD_PATH) == {"spark-a"} == half(run.changes, "rm -f")
    assert half(run.changes, "systemctl try-restart systemd-timesyncd.service") == {"spark-a"}


def test_what_is_no_server_is_refused_by_its_setting(deploy: Deploy) -> None:
    run = deploy(pair(converged("a"), converged("b"), ntp=["192.0.2.1\nRemote=x"]), "-y")
    assert run.code == 1 and run.commands == []
    assert "setting ntp" in run.stderr


def test_it_can_be_deployed_by_itself(deploy: Deploy) -> None:
    run = well(deploy([Host(A, converged("a"), data={"ntp": SERVERS})], "-y", file="deploys/time.py"))
    assert half(run.changes, "systemctl try-restart systemd-timesyncd.service") == {"spark-a"}
