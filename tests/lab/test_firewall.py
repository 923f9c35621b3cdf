"""T3: the firewall on the virtual pair, with real nftables, systemd and docker.

Each port is tried from the other guest. What docker publishes is a container that has Python of its host.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lab import pair
from tests.faults.record import Seen
from tests.lab.commands import assert_state, deploy, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with

pytestmark = pytest.mark.exhaustive

FILE = "deploys/firewall.py"
ALLOW = "'firewall_allow': ['8000', '8081', 'ssh from 10.0.2.0/24']"
A = "10.0.2.11"  # of spark-a on the management network
PORTS = {"ssh": 22, "let in": 8000, "not let in": 5000, "published": 8081, "published, not let in": 8080}
OPEN = {"ssh", "let in", "published"}
CONTAINER = (
    "mkdir -p root && ln -sfn usr/lib root/lib && ln -sfn usr/lib64 root/lib64 && tar -C root -cf - lib lib64"
    " | sudo docker import - bare >/dev/null && sudo docker run -d --name web -v /usr:/usr:ro"
    " -v /etc/alternatives:/etc/alternatives:ro -p 8080:80 -p 8081:80 bare /usr/bin/python3 -m http.server 80"
)


def reached(guest: Guest, address: str = A) -> set[str]:
    """The ports of spark-a that another guest reaches."""
    words = " ".join(map(str, PORTS.values()))
    program = (
        "import socket, sys\n"
        "for port in map(int, sys.argv[2:]):\n"
        "    try: socket.create_connection((sys.argv[1], port), 3); print(port)\n"
        "    except OSError: pass\n"
    )
    told = guest.output(f"python3 -c '{program}' {address} {words}").split()
    return {name for name, port in PORTS.items() if str(port) in told}


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> str:
    return inventory_with(tmp_path_factory.mktemp("firewall"), ALLOW)


@pytest.fixture
def serving(deployed: Pair) -> Iterator[Pair]:
    """The pair, of which the first answers on each of the ports."""
    for port in (8000, 5000):
        deployed.a.output(f"sudo systemd-run --quiet --collect --unit=web-{port} python3 -m http.server {port}")
    deployed.a.output(CONTAINER)
    assert reached(deployed.b) == {*PORTS}, "without a firewall all of it answers"
    yield deployed


def found(inventory: str) -> dict[tuple[str, str], str]:
    """What drift says of the firewall that is not as declared."""
    report = json.loads(run("sparkrig", "drift", inventory, "--json").stdout)
    return {
        (host["name"], row["id"]): row["found"]
        for host in report["hosts"]
        for row in host["rows"]
        if row["status"] not in ("ok", "skipped") and row["id"].startswith("firewall.")
    }


def test_it_stands_alone_is_told_when_broken_and_goes_with_its_undo(
    serving: Pair, inventory: str, seen: Seen
) -> None:
    done = deploy(inventory=inventory, file=FILE)
    assert done.code == 0, done.stderr[-3000:]
    assert reached(serving.b) == OPEN
    assert reached(serving.b, "192.168.100.11") == {*PORTS}, "the fabric is open"
    assert planned(inventory) == {} and found(inventory) == {}
    assert_state(inventory, "tests/state/test_firewall.py")

    serving.a.output("sudo nft insert rule inet sparkrig input tcp dport 5000 accept")
    assert "not let in" in reached(serving.b)
    assert found(inventory) == {("spark-a", "firewall.rules"): "not declared: input: tcp dport 5000 accept"}
    assert deploy(inventory=inventory, file=FILE).code == 0 and reached(serving.b) == OPEN

    done = run("sparkrig", "undo", inventory, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    done = run("sparkrig", "undo", inventory, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert reached(serving.b) == {*PORTS}
    assert "sparkrig" not in serving.a.output("sudo nft list tables")
    seen("open ports, empty second run, a rule by hand named and mended, all open again after the undo")


def test_it_is_back_after_a_power_cut_and_the_restarts_of_others(
    serving: Pair, inventory: str, seen: Seen
) -> None:
    assert deploy(inventory=inventory, file=FILE).code == 0
    serving.a.output("sudo systemctl start nftables && sudo systemctl restart sparkrig-firewall")
    serving.a.output("sudo systemctl restart nftables")
    assert reached(serving.b) == OPEN, "nftables.service flushes every table when it is restarted"
    serving.a.output("sudo systemctl reload nftables")
    assert reached(serving.b) == OPEN
    serving.a.output("sudo systemctl restart docker && sudo docker start web")
    assert reached(serving.b) == OPEN
    pair.cut_power("spark-a")
    serving.a.output("sudo docker start web")
    assert reached(serving.b) == {"ssh", "published"}
    assert found(inventory) == {}
    seen("rules as declared after nftables and docker were restarted, and after a power cut")


def test_the_rails_measure_as_before(serving: Pair, inventory: str) -> None:
    assert deploy(inventory=inventory, file=FILE).code == 0
    done = run("sparkrig", "bandwidth", inventory, "--quick")
    assert done.code == 0, done.stdout + done.stderr
