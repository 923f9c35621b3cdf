"""What a look at the hosts of a cluster shows of its fabric: which rails can be measured, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from sparkrig.bandwidth import measurement
from sparkrig.bandwidth.measurement import End
from sparkrig.cure import cure_of, deploy, on_host, verb
from sparkrig.fabric import cabling, switch_judge
from sparkrig.fabric import topology as cages
from sparkrig.fabric.cabling import Cable, Topology
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.fleet import Fleet, Rail
from sparkrig.host import condition, nic
from sparkrig.network import environment, gid, gid_table, rdma
from sparkrig.network.differences import Aspect, Part, differences
from sparkrig.resources.state import State
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict, worst


@dataclass(frozen=True)
class Group:
    """A pair, or a Spark on its own. gids: the RDMA devices and GIDs of each host that could be read."""

    hosts: tuple[str, ...]
    topology: Topology
    gids: Mapping[str, rdma.Rdma]
    findings: list[Finding]


@dataclass(frozen=True, kw_only=True)
class Topologies:
    """Which cage reaches which, as it is and as it is declared."""

    schema: Literal["sparkrig.topology/1"] = "sparkrig.topology/1"
    groups: list[Group]


@dataclass(frozen=True)
class Survey:
    """One look at the hosts of a group (Fleet.groups): a cluster, or a Spark on its own.

    names: those hosts, the leading one first; found, heard: by host, absent where it could not be read;
    unread: why not, by host.
    """

    fleet: Fleet
    names: tuple[str, ...]
    found: Mapping[str, State]
    heard: Mapping[str, Neighbours]
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def rails(self) -> list[Rail]:
        """As the leading host sees them."""
        return self.fleet.rails(self.names[0])

    @property
    def virtual(self) -> bool:
        """Whether the rails are those of virtual machines."""
        return any(found.condition.virtual for found in self.found.values())

    @property
    def cables(self) -> tuple[Cable, ...]:
        """The cables that are there, whatever is wanted."""
        return cages.cables(self.names, {name: self._seen(name) for name in self.names})

    @cached_property
    def topology(self) -> Topology:
        seen = {name: self._seen(name) for name in self.names}
        built = cages.build(self.fleet, self.names, seen)
        unread = [
            Finding(name, Verdict("unknown", "unread", why, verb("doctor", "access")))
            for name, why in self.unread.items()
        ]
        told = [finding for finding in built.findings if finding.verdict.cause != "unread"]
        return replace(built, findings=(*unread, *told))

    def _seen(self, name: str) -> cages.Seen | None:
        found = self.found.get(name)
        if found is None:
            return None
        nics = [*found.nics.values()]
        return cages.Seen(
            found.network,
            found.rdma,
            self.heard.get(name),
            {each.netdev: each.speed_mbps for each in nics},
            {each.netdev: each.cable or "" for each in nics},
            {each.netdev: count for each in nics if (count := nic.lost(each)) is not None},
        )

    def fabric(self) -> list[Finding]:
        """The findings about cabling and GIDs, and about hosts that could not be read."""
        return [*self.topology.findings, *self.gids()]

    @property
    def group(self) -> Group:
        """What of it a document has."""
        gids = {name: found.rdma for name, found in self.found.items()}
        return Group(self.names, self.topology, gids, self.fabric())

    def health(self) -> list[Finding]:
        """The findings about the hosts themselves."""
        each = [
            finding for name, found in self.found.items() for finding in condition.findings(found.condition, name)
        ]
        perftest = self.perftest()
        return each if perftest.healthy else [*each, Finding(self.fleet.label(self.names[0]), perftest)]

    def perftest(self) -> Verdict:
        """Two versions work together as a rule, but what one of them cannot do is documented nowhere."""
        versions = {name: found.health.perftest for name, found in self.found.items()}
        known = {version for version in versions.values() if version}
        if len(known) < 2:
            return Verdict("healthy", evidence=f"perftest {min(known)}" if known else "")
        said = listed(f"{version} on {name}" for name, version in versions.items() if version)
        where = "both" if len(self.names) < 3 else "all"
        cure = on_host("sudo apt-get install --only-upgrade perftest", f", on {where} hosts")
        return Verdict("degraded", "versions-differ", f"perftest is {said}", cure)

    def gids(self) -> list[Finding]:
        """The GID of each declared netdev, against the one that the host's environment files carry."""
        return [
            Finding(f"{name} {netdev}", self.gid(name, netdev))
            for name, found in self.found.items()
            for netdev in self.fleet[name].fabric
            if found.network.has_carrier(netdev)
        ]

    def gid(self, name: str, netdev: str) -> Verdict:
        """The GID of one declared netdev, against the index that the environment files carry."""
        found, address = self.found[name], self.fleet[name].fabric[netdev].ip
        file = found.files.get(environment.CONTAINER_ENV)
        try:
            written = gid_table.written_index(file.content) if file else None
        except ValueError as error:
            return Verdict("unknown", "env-unreadable", f"{environment.CONTAINER_ENV}: {error}", deploy())
        verdict = gid_table.judge(found.rdma.gids, netdev, address, written)
        if verdict.cause == "gid-missing" and (absent := self._no_address(name, netdev)):
            return replace(verdict, evidence=f"{verdict.evidence}; {absent}", cure=absent.cure)
        if verdict.healthy and file is None and self.fleet.declared:
            return Verdict("degraded", "env-missing", f"no {environment.CONTAINER_ENV} carries it", deploy())
        return verdict

    def about(self, rail: Rail) -> list[Finding]:
        """The findings of the cabling that are about a rail.

        On a switch all edges of a subnet have one number, so only those of its two ports count, or of all.
        """
        mine = [finding for finding in self.topology.findings if rail.number in finding.rails]
        if self.topology.form != "switch":
            return mine
        networks = {name: found.network for name, found in self.found.items()}
        ends = [(name, cages.cage_of(netdev, networks.get(name))) for name, netdev in self._netdevs(rail)]
        subjects = {"cluster", *(switch_judge.subject(cabling.End(*end)) for end in ends)}
        return [each for each in mine if each.subject in subjects]

    def blocked(self, rail: Rail) -> Verdict | None:
        """Why a rail cannot be measured, or None. The cabling is asked first, for all else follows from it."""
        cabling = [each.verdict for each in self.about(rail) if each.verdict.level == "fault"]
        if cabling:
            return worst(cabling)
        ends = [self._unready(name, netdev) for name, netdev in self._netdevs(rail)]
        return next((verdict for verdict in ends if verdict), None)

    def _unready(self, name: str, netdev: str) -> Verdict | None:
        address = self.fleet[name].fabric[netdev]
        found = self.found[name].rdma
        if carrier := self._differs(name, netdev).get("carrier"):
            cause = "no-carrier" if netdev in self.found[name].network.links else "netdev-missing"
            return Verdict("fault", cause, f"on {name}, {carrier.found}", carrier.cure)
        if absent := self._no_address(name, netdev):
            return Verdict("fault", "no-address", f"on {name}, {absent}", absent.cure)
        if bare := rdma.no_device(found, [netdev]):
            return Verdict("fault", "no-rdma", f"on {name}, {bare.what}", cure_of(bare.cure).for_host(name))
        if gid.find(found.gids, netdev, address.ip) is None:
            return self.gid(name, netdev)
        return None

    def _differs(self, name: str, netdev: str) -> dict[Part, Aspect]:
        """What of a declared netdev is not as declared, by what it is."""
        differs = differences(self.found[name].network, self.fleet[name])
        return {aspect.part: aspect for aspect in differs if aspect.netdev == netdev}

    def _no_address(self, name: str, netdev: str) -> Aspect | None:
        """What is wrong with the addresses of a link that does not have the declared one."""
        link = self.found[name].network.links[netdev]
        has = self.fleet[name].fabric[netdev] in link.addresses
        return None if has else self._differs(name, netdev).get("address")

    def ends(self, rail: Rail) -> dict[str, End]:
        """The ends of a rail that is not blocked, by host."""
        found = {}
        for name, netdev in self._netdevs(rail):
            address, rdma = self.fleet[name].fabric[netdev].ip, self.found[name].rdma
            device, slot = rdma.on(netdev), gid.find(rdma.gids, netdev, address)
            if device and slot:
                found[name] = End(device.name, slot.index, netdev, str(address))
        return found

    def suspects(self, rail: Rail) -> list[Verdict]:
        """What is known of a rail and its hosts that would explain a reduced figure."""
        found = []
        for name, netdev in self._netdevs(rail):
            state, mtu = self.found[name], self._differs(name, netdev).get("mtu")
            if mtu and state.network.links[netdev].mtu < self.fleet[name].mtu:
                found.append(Verdict("degraded", "mtu", f"on {name}, {mtu}", mtu.cure))
            found += [nic.pcie(state.nics[netdev])] if netdev in state.nics else []
            found.append(condition.load(state.condition))
        return found

    def pcie_links(self, name: str) -> dict[int, str]:
        """The PCIe link of each rail of a host, by number: the address of its NIC without the function.

        Left out for virtual machines, whose NICs share no link.
        """
        nics, rails = self.found[name].nics, self.fleet.rails(name)
        addresses = {rail.number: nics[rail.netdev].pcie.address for rail in rails if rail.netdev in nics}
        return {} if self.virtual else {rail: each.rpartition(".")[0] for rail, each in addresses.items()}

    def hosts(self) -> dict[str, measurement.Host]:
        """What each host was when it was looked at."""
        return {name: _host(found) for name, found in self.found.items()}

    def _netdevs(self, rail: Rail) -> Iterable[tuple[str, str]]:
        return ((end.host, end.netdev) for end in (rail.near, rail.far))


def _host(state: State) -> measurement.Host:
    firmwares = dict.fromkeys(nic.firmware for nic in state.nics.values() if nic.firmware)
    return measurement.Host(
        boot_id=state.health.boot_id,
        kernel=state.health.kernel,
        driver=state.gpu.driver or state.health.driver,
        firmware=", ".join(firmwares),
        perftest=state.health.perftest,
    )
