"""Fake hosts of a ring and a switch: what the virtual pair printed, with the addresses and ports of a cluster."""

from __future__ import annotations

import ast
import base64
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface
from typing import Any

from sparkrig.bandwidth import records
from sparkrig.bandwidth.records import Record
from sparkrig.checks import last_declaration
from sparkrig.checks.last_declaration import Declared
from sparkrig.facts.examination import Examination
from sparkrig.facts.fabric import Fabric
from sparkrig.files import DECLARED, MEASURED, File
from sparkrig.fleet import Fleet
from sparkrig.host import branches
from sparkrig.network import environment, profiles, rdma
from sparkrig.network import seen as network
from sparkrig.resources.environment import wanted as environment_files
from tests.plan.conftest import MEASUREMENT, PING, ROOT, USERS, Host, joined, recorded, sections
from tests.plan.desk import Desk, commands
from tests.plan.guarded import GUARDED
from tests.plan.states import perftest

NETDEVS = ("enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1")
DEVICES = dict(zip(NETDEVS, ("rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"), strict=True))
MEASURES, SERVES, ENDS = "ping=$1 limit=$2", "life=$1 wait=$2", "run=$1 why=$2"  # of a trial of ib_write_bw
LATENCY = "sparkrig 5 17 'ib_write_lat"  # in the words of a client, where a test takes two seconds
Figure = Callable[[str, str, int], float]
"""Gb/s of a rail: sender, receiver, its number."""
PROBE = "trouble python3 is not installed"  # of the neighbour probe; weighs more than what every fake host hears


@dataclass(frozen=True)
class Cluster:
    """So many hosts of one cluster. number: of it in a fleet; settings: more of each host."""

    count: int
    topology: str
    number: int = 0
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def names(self) -> list[str]:
        prefix = f"spark-{self.number}" if self.number else "spark-"
        return [f"{prefix}{letter}" for letter in "abcdefgh"[: self.count]]

    @property
    def data(self) -> dict[str, Any]:
        network = f"10.{20 + self.number}.0.0/16"
        own = {"cluster": f"lab-{self.number}", "topology": self.topology, "fabric_network": network}
        return {**own, **dict(self.settings)}

    @property
    def fleet(self) -> Fleet:
        return Fleet.parse(dict.fromkeys(self.names, self.data))

    def fresh(self) -> list[Host]:
        """Hosts out of the box, cabled, which answer as they do once their fabric stands."""
        answers = {**GUARDED, MEASURES: [row for rail in range(6) for row in client(rail, 111.8)], **SERVERS}
        return [
            self._host(place, self.printed(place, "fresh-a"), {**answers, **self.surveyed(place)})
            for place in range(self.count)
        ]

    def settled(self, change: Callable[[str, str], str] = lambda _, text: text) -> list[Host]:
        """Hosts as a deploy leaves them. change: is given each host's name and what it prints."""
        return [
            self._host(place, change(name, self.converged(place)), {}) for place, name in enumerate(self.names)
        ]

    def examined(self, pings: Mapping[str, list[str]] | None = None) -> list[Host]:
        """Hosts that answer the looks of doctor and topology. pings: what a host's come to; all come back."""
        hosts = []
        for place, (name, host) in enumerate(zip(self.names, self.settled(), strict=True)):
            fabric = sections(recorded("fabric-a"))
            own_name = f"name {name}\naddress 127.0.0.1\n"
            alone = {"own_address": own_name, "blackbox": "now 1795230000 +0000", "board": "now 1795230000"}
            parts = {**alone, **fabric, **sections(host.seen)}
            look = joined({noun: parts[noun] for noun in Examination.nouns}).splitlines()
            rows = (pings or {}).get(name) or self.pinged(name)
            first = {"#sparkrig:end identity": look, PING: rows}
            hosts.append(replace(host, first=first, responses=self.surveyed(place)))
        return hosts

    def surveyed(self, place: int) -> dict[str, list[str]]:
        """What a host prints of its fabric, whom it hears, and who else measures there: nothing."""
        parts = {**sections(recorded("fabric-a")), **sections(self.converged(place))}
        survey = joined({noun: parts[noun] for noun in Fabric.nouns}).splitlines()
        return {"#sparkrig:end nics": survey, "SPARKRIG_PROBE": self.heard(place), USERS: []}

    def measuring(self, figure: Figure = lambda *_: 111.8) -> list[Host]:
        """The same, and each host is a server and a client of ib_write_bw. figure: what a client reaches."""
        return [
            replace(
                host, first={**self._clients(name, figure), **host.first}, responses={**host.responses, **SERVERS}
            )
            for name, host in zip(self.names, self.examined(), strict=True)
        ]

    def _clients(self, name: str, figure: Figure) -> dict[str, list[str]]:
        """What a host's clients print of all rails to a peer, by the addresses that they are given."""
        late = (
            (ROOT / "tests" / "fixtures" / "perftest" / "lat-iterations.txt").read_text().replace("248.70", "1.61")
        )
        own = sorted({rail.number for rail in self.fleet.rails(name)})
        found = {LATENCY: [row for rail in own for row in client(rail, late)]}
        for peer in self.fleet.peers(name):
            rails = [rail for rail in self.fleet.rails(name) if rail.far.host == peer]
            rows = [row for rail in rails for row in client(rail.number, figure(name, peer, rail.number))]
            found |= {f" {rail.far.address.ip} 185": rows for rail in rails}
        return found

    def records(self, place: int, text: str) -> File:
        """The file of the rails' measurements, all good, in the boot that the host is in. text: what it prints."""
        boot = re.search(r"^boot_id=(.*)$", text, re.M)
        id = boot[1] if boot else ""
        rows = [
            Record(
                *(rail.netdev, str(rail.address.ip), str(rail.far.address.ip), 9000, 111.8, 4096),
                *("2026-11-26T10:00:00+00:00", id, id),
            )
            for rail in self.fleet.rails(self.names[place])
        ]
        return File(MEASURED, records.dump(rows))

    def pinged(self, name: str, lost: str = "") -> list[str]:
        """What a host's pings print. lost: a peer that large ones do not reach."""
        return [
            f"ping {rail.netdev} {size}@{rail.far.address.ip} 5 {0 if size > 56 and rail.far.host == lost else 5} "
            for rail in self.fleet.rails(name)
            for size in (8972, 56)
        ]

    def _host(self, place: int, seen: str, responses: Mapping[str, Any]) -> Host:
        after = sections(self.converged(place))
        return Host(
            f"@fake/{self.names[place]}",
            seen,
            {noun: after[noun] for noun in ("rdma", "driver")},
            self.data,
            responses,
            {PROBE: self.heard(place)},
        )

    def fabric(self, place: int) -> dict[str, IPv4Interface]:
        return dict(self.fleet[self.names[place]].fabric)

    def heard(self, place: int, without: Collection[str] = (), short: Collection[str] | None = None) -> list[str]:
        """What a host's neighbour probe prints: each twin hears both twins at the far end.

        without: not heard; short: those of which it hears no large frame; None where none is sent.
        """
        rows = [f"sent {netdev} 20" for netdev in self.fabric(place)]
        rows += [] if short is None else [f"long {netdev} 9000" for netdev in self.fabric(place)]
        for rail in self.fleet.rails(self.names[place]):
            far = rail.far.host
            cage = [self.mac(far, netdev) for netdev in NETDEVS if netdev[-2:] == rail.far.netdev[-2:]]
            if far not in without:
                rows += [f"heard {rail.netdev} {mac} 19" for mac in cage]
            if far not in without and short is not None and far not in short:
                rows += [f"heard-long {rail.netdev} {mac} 9" for mac in cage]
        return [*dict.fromkeys(rows), "end"]

    def mac(self, name: str, netdev: str) -> str:
        return f"52:54:00:1b:{self.names.index(name):02x}:{NETDEVS.index(netdev) + 1:02x}"

    def printed(self, place: int, recording: str) -> str:
        """A recorded host of its own name, with a carrier on each declared netdev."""
        text = recorded(recording).replace("52:54:00:1b:00:", f"52:54:00:1b:{place:02x}:")
        text = text.replace("10.0.2.11", f"10.0.2.{11 + place}").replace("spark-1b3b", self.names[place])
        text = re.sub(r"^(machine_id=..).", rf"\g<1>{place}", text, flags=re.M)
        text = re.sub(r"^(host \S+ \S{60})..", rf"\g<1>{place:02}", text, flags=re.M)
        for netdev in self.fabric(place):
            text = re.sub(rf"^(port {netdev} p\d) \d", r"\1 1", text, flags=re.M)
            text = text.replace(f"device {netdev}:unavailable:", f"device {netdev}:connecting (getting IP):")
        return text

    def converged(self, place: int) -> str:
        """The same after a deploy, with the files of ours as this very code wants them."""
        mine, name = self.fleet[self.names[place]], self.names[place]
        parts = sections(self.printed(place, "converged-a"))
        parts["network"] = _addressed(parts["network"], self.fabric(place))
        parts["rdma"] = _with_gids(parts["rdma"], self.fabric(place))
        node = environment.node(
            self.fabric(place),
            rdma.parse(parts["rdma"].splitlines()),
            network.parse(parts["network"].splitlines()).management,
            socket_interface=mine.socket_interface,
            form=mine.form,
            merge_nics=mine.merge_nics,
        )
        declared = File(DECLARED, last_declaration.dump(Declared(1763900000.0, {})), "0600")
        ours = environment_files(name, node, self.fabric(place), {})
        measured = self.records(place, parts["identity"])
        files = [branches.pin_file(580), branches.blacklist_file(), *ours, declared, measured]
        parts["files"] = "\n".join(
            f"{file.path} {file.mode} root:root {base64.b64encode(file.content.encode()).decode()}"
            for file in files
        )
        return re.sub(r"^(simulated 0\n)(?!kept)", r"\1kept\n", joined(parts), flags=re.M)


def client(rail: int, printed: float | str) -> list[str]:
    """What a client prints of one rail. printed: by perftest, or the Gb/s of its ib_write_bw."""
    text = printed if isinstance(printed, str) else perftest(printed)
    table = [f"table {line}" for line in text.splitlines()]
    return [f"rail {rail}", "flaps 0", *table, "table exit 0", "flaps 0"]


# of any rail; a host is asked about some of them
SERVERS = {
    SERVES: [row for rail in range(6) for row in (f"flaps {rail} 0", f"server {rail} {18515 + rail}")],
    ENDS: [f"flaps {rail} 0" for rail in range(6)],
}


def clients_sent(desk: Desk) -> list[tuple[str, str]]:
    """Host and command of each trial's client, in order."""
    return [(host, text) for host, text in map(ast.literal_eval, commands(desk)) if MEASURES in text]


def trials(desk: Desk, cluster: Cluster) -> list[tuple[str, str, str]]:
    """Sender, receiver and the numbers of the rails of each trial, in order."""
    owner = {
        str(address.ip): f"@fake/{name}"
        for name in cluster.names
        for address in cluster.fleet[name].fabric.values()
    }
    found = []
    for host, text in clients_sent(desk):
        peers = {owner[each] for each in re.findall(r" (10\.20\.\d+\.\d+) 185", text)}
        found.append((host, *peers, "".join(re.findall(r" (\d) en\S+ roce", text))))
    return found  # type: ignore[return-value]


def entries(clusters: list[Cluster]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Inventory entries by name, without what only a measurement asks."""
    found = {}
    for cluster in clusters:
        for host in cluster.settled():
            at, data = host.entry()
            answers = {piece: rows for piece, rows in data["fake_responses"].items() if piece not in MEASUREMENT}
            found[at] = at, {**data, "fake_responses": answers}
    return found


def lost(hosts: list[Host], name: str, *pieces: str) -> list[Host]:
    """The same where one host does not answer what has one of these pieces."""
    silent = {piece: {"stderr": ["lost"], "success": False} for piece in pieces}
    return [
        replace(each, responses={**each.responses, **silent}) if each.name.endswith(name) else each
        for each in hosts
    ]


def _addressed(text: str, fabric: Mapping[str, IPv4Interface]) -> str:
    """What a host prints of its network, with our profiles, live, on those netdevs and no other."""
    rows = []
    for row in text.splitlines():
        word, _, rest = row.partition(" ")
        if word == "addr":
            row = f"addr {json.dumps([_link(each, fabric) for each in json.loads(rest)])}"
        elif word == "route":
            row = f"route {json.dumps([each for each in json.loads(rest) if each.get('dev') not in NETDEVS])}"
        elif word == "device" and rest.partition(":")[0] in fabric:
            row = f"device {(netdev := rest.partition(':')[0])}:connected:{profiles.uuid(netdev)}"
        elif word == "profile" and "sparkrig-" in rest:
            continue
        rows.append(row)
    kept, ours, skipping = list[str](), list[str](), False
    for row in rows:
        if row.startswith("property connection.uuid:"):
            skipping = row.partition(":")[2] in {profiles.uuid(netdev) for netdev in NETDEVS}
        if not (row.startswith("property ") and skipping):
            kept.append(row)
    for netdev in fabric:
        place = f"/etc/NetworkManager/system-connections/sparkrig-{netdev}.nmconnection"
        ours.append(f"profile {profiles.uuid(netdev)}:802-3-ethernet:{place}")
    for netdev, address in fabric.items():
        wanted = {"connection.uuid": profiles.uuid(netdev), **profiles.profile(netdev, address, 9000)}
        ours += [f"property {key}:{value}" for key, value in wanted.items()]
    return "\n".join([*(row for row in kept if row.strip()), *ours])


def _link(entry: dict[str, Any], fabric: Mapping[str, IPv4Interface]) -> dict[str, Any]:
    if entry["ifname"] not in NETDEVS:
        return entry
    address = fabric.get(entry["ifname"])
    info = [{"family": "inet", "local": str(address.ip), "prefixlen": 24, "scope": "global"}] if address else []
    return {**entry, "mtu": 9000 if address else 1500, "addr_info": info}


def _with_gids(text: str, fabric: Mapping[str, IPv4Interface]) -> str:
    rows = [row for row in text.splitlines() if not row.startswith("gid|") or ":ffff:" not in row]
    for netdev, address in fabric.items():
        rows.append(f"gid|{DEVICES[netdev]}|1|1|::ffff:{address.ip}|RoCE v2|{netdev}")
        rows = [re.sub(rf"^mtu {DEVICES[netdev]} \d+", f"mtu {DEVICES[netdev]} 4096", row) for row in rows]
    return "\n".join(rows)
