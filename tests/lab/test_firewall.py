"""T3: the firewall on the virtual pair, with real nftables, systemd and docker.

Each port is tried from the other guest. What docker publishes is a container
that has Python of its host.
"""

from __future__ import annotations

import json

import pytest

from lab import NODES, layout, pair
from lab.image import Source
from lab.waiting import wait_until
from tests.faults.deploying import deploying
from tests.faults.record import Seen
from tests.lab.commands import assert_state, deploy, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with

pytestmark = pytest.mark.exhaustive

FILE = "deploys/firewall.py"
LAN, DEPLOYED = layout.pair(lan=True), "deployed-lan"
ALLOW = "'firewall_allow': ['8000', '8081', 'ssh from 10.0.2.0/24']"
A = "10.0.2.11"  # of spark-a on the management network
PORTS = {"ssh": 22, "let in": 8000, "not let in": 5000, "published": 8081, "published, not let in": 8080}
OPEN = {"ssh", "let in", "published"}
LISTEN = " && ".join(
    f"sudo systemd-run --quiet --collect --unit=web-{port} python3 -m http.server {port}" for port in (8000, 5000)
)
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


@pytest.fixture(scope="module")
def in_one_lan(source: Source, pair_again: None) -> Pair:
    """The pair with one management network, deployed, with a container whose port is published."""
    pair.lay(LAN, source)
    pair.restore(LAN)
    guests = Pair(*(Guest(node) for node in NODES))
    done = deploy()
    assert done.code == 0, done.stderr[-3000:]
    guests.a.output(CONTAINER)
    pair.save(NODES, DEPLOYED)
    return guests


@pytest.fixture
def serving(in_one_lan: Pair) -> Pair:
    """The first one answers on each of the ports."""
    pair.restore(LAN, DEPLOYED)
    in_one_lan.a.output(LISTEN)
    wait_until(
        lambda: reached(in_one_lan.b) == {*PORTS},
        90,
        happened="without a firewall not all of it answers",
        attempt="sparkrig lab ssh spark-a",
    )
    return in_one_lan


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

    done = run("sparkrig", "undo", inventory, "--yes")  # the run that mended it wrote no file
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


WINDOW = ("--data", "rollback_seconds=60")
BACK_S = 120  # window, dead-man, and what emulated hosts take on top
RULES, UNIT_FILE = "/etc/sparkrig/firewall.nft", "/etc/systemd/system/sparkrig-firewall.service"
DROP_IN, OWN_NFT = f"{UNIT_FILE}.d", "/usr/local/sbin/nft"  # which comes before /usr/sbin
CUTS = (  # another's drop-in, which closes ssh with our unit, as a list that is wrong in a way nobody saw would
    "[Service]\\n"
    "ExecStartPost=/usr/sbin/nft add table inet cut\\n"
    "ExecStartPost=/usr/sbin/nft add chain inet cut input { type filter hook input priority 0; }\\n"
    "ExecStartPost=/usr/sbin/nft add rule inet cut input tcp dport 22 ct state new drop\\n"
    "ExecStopPost=-/usr/sbin/nft delete table inet cut\\n"
)
NFT_REFUSES = '#!/bin/sh\\ncase $1 in -c) echo no rule is taken >&2; exit 1 ;; esac\\nexec /usr/sbin/nft "$@"\\n'


def as_before(serving: Pair) -> bool:
    """Whether spark-a is reached, by its controller and by another guest, and has nothing of a firewall."""
    if serving.a.run("true", 20).rc or reached(serving.b) != {*PORTS}:
        return False
    left = f"ls {RULES} {UNIT_FILE} 2>/dev/null; sudo nft list tables"
    return "sparkrig" not in serving.a.run(left, 20).stdout


def comes_back(serving: Pair) -> None:
    wait_until(lambda: as_before(serving), BACK_S, happened="not as before", attempt="sparkrig lab ssh spark-a")


FAULTS = {
    "rules that cut ssh": (
        f"sudo mkdir -p {DROP_IN} && printf '{CUTS}' | sudo tee {DROP_IN}/cut.conf >/dev/null",
        "cannot be reached",
    ),
    "nft takes no rule": (
        f"printf '%b' '{NFT_REFUSES}' | sudo tee {OWN_NFT} >/dev/null && sudo chmod 755 {OWN_NFT}",
        "the new files are refused",
    ),
    "the unit fails": (
        f"sudo mkdir -p {DROP_IN} && printf '[Service]\\nExecStartPost=/bin/false\\n' | sudo tee {DROP_IN}/x.conf",
        "the files could not be applied",
    ),
    "a rule of another's unit": (
        f"sudo mkdir -p {DROP_IN} && printf '[Service]\\nExecStartPost=/usr/sbin/nft add rule inet sparkrig input"
        f" accept\\n' | sudo tee {DROP_IN}/x.conf",
        "the new files have no effect",
    ),
}


@pytest.mark.fault(56)
@pytest.mark.promise(2)
@pytest.mark.parametrize(("fault", "why"), FAULTS.values(), ids=FAULTS)
def test_what_fails_is_taken_back(serving: Pair, inventory: str, seen: Seen, fault: str, why: str) -> None:
    serving.a.output(fault)
    done = deploy(*WINDOW, inventory=inventory, file=FILE)
    assert done.code == 1 and why in done.stderr, done.stderr[-3000:]
    assert "the firewall of spark-a is as it was before" in done.stderr, done.stderr[-2000:]
    comes_back(serving)
    seen(f"{why}; reached by both, and nothing of it left")


@pytest.mark.fault(56)
@pytest.mark.promise(2, 6)
@pytest.mark.parametrize("cut", [False, True], ids=["controller killed", "power cut"])
def test_it_goes_back_by_itself(serving: Pair, inventory: str, seen: Seen, cut: bool) -> None:
    with deploying(*WINDOW, inventory=inventory, file=FILE) as running:
        running.until("applied; a new ssh connection gets in")
        running.kill()
    if cut:
        pair.cut_power("spark-a")
        serving.a.output("sudo docker start web && " + LISTEN)
    comes_back(serving)
    seen(f"as before after {'a power cut' if cut else 'its controller died'} within the window")
