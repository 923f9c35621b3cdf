"""What is wrong with the ports of a switch that joins a cluster, port by port, and what to do about each.

A port of the switch is named by the cage that is plugged into it. Sources: NVIDIA's playbook [@nvidia-switch] for
speed, bridge and subnets; [@capetron] for MTU, a second bridge and sequence errors; the way to tell which port
drops large frames is our own reasoning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sparkrig.cure import deploy
from sparkrig.fabric import cage_judge
from sparkrig.fabric.cabling import CAGE_SPEED_MBPS, Cage, End, State, Topology
from sparkrig.text import listed
from sparkrig.verdict import Finding, Level, Verdict

_LOST = 100  # packets out of order; a handful comes with each start of a link (our own limit)
_TIMES = 10  # as many as at the port that misses fewest; at a slow one it was a hundred times in the lab (our own)


@dataclass(frozen=True)
class Signs:
    """What hosts show of their ports beside whom they hear.

    passed, dropped: ways from one end to another, of those that passed small frames, on which large ones came
    through or did not; size: of those, in bytes; sharing: addresses of twins that share a subnet, in words, by
    end; lost: packets that came out of order, by end, of ends that count them.
    """

    passed: frozenset[tuple[End, End]] = frozenset()
    dropped: frozenset[tuple[End, End]] = frozenset()
    size: int = 0
    sharing: Mapping[End, str] = field(default_factory=dict)
    lost: Mapping[End, int] = field(default_factory=dict)


def findings(shown: Topology, signs: Signs) -> Iterator[Finding]:
    """The findings on a switch, causes first; nothing where all is well."""
    ends = [end for end in wanted(shown) if shown.read(end)]
    unfit = {end: verdict for end in ends if (verdict := _unfit(shown, end))}
    all_dark = len(unfit) > 1 and [each.cause for each in unfit.values()] == ["cable-out"] * len(ends)
    yield from [_all_dark(shown, ends)] if all_dark else [_at(shown, end, each) for end, each in unfit.items()]
    astray = [end for end in ends if end not in unfit and _leads_elsewhere(shown, end)]
    yield from (_at(shown, end, verdict) for end in astray if (verdict := _astray(shown, end, unfit)))
    lit = [end for end in ends if end not in unfit and end not in astray]
    if silent := cage_judge.not_probed(shown.hosts):
        yield Finding("cluster", silent)
    else:
        for plane in _planes(shown, lit):
            yield from _apart(shown, plane)
    yield from _deaf_twins(shown, lit)
    yield from _short(shown, lit, signs)
    yield from _slow(shown, lit)
    for judged in (_lossy(lit, signs), _one_subnet(ends, signs)):
        yield from (_at(shown, end, verdict) for end, verdict in judged)


def wanted(shown: Topology) -> list[End]:
    """The cages that the inventory wants on the switch, host by host."""
    return [End(host.name, cage.name) for host in shown.hosts for cage in host.cages if cage.rails]


def all_well(shown: Topology) -> Finding:
    ends = wanted(shown)
    speeds = [cage.speed_mbps for end in ends if (cage := shown.at(end)).speed_mbps]
    speed = f", {min(speeds) / 1000:g} Gb/s" if speeds else ""
    planes = "; ".join(f"{listed(map(str, plane))} reach one another" for plane in _planes(shown, ends))
    text = f"{planes} as wanted (heard both ways{speed})"
    return Finding("cluster", Verdict("healthy", evidence=text))


def subject(end: End) -> str:
    """What a finding on the port that a cage is plugged into is about."""
    return f"{end.host} {end.cage}"


def _at(shown: Topology, end: End, verdict: Verdict) -> Finding:
    return Finding(subject(end), verdict, shown.at(end).rails)


# --- a cage by itself


def _unfit(shown: Topology, end: End) -> Verdict | None:
    """Why nothing can reach a cage, or None."""
    cage = shown.at(end)
    if missing := _in_state(cage, "missing"):
        return cage_judge.missing(shown, {end: missing}, between=f"{end} and in the switch")
    if down := _in_state(cage, "down"):
        return cage_judge.down(end, down)
    if dark := _in_state(cage, "no carrier"):
        return cage_judge.half_lit(end, dark) if cage.state == "link" else _dark(shown, end)
    return None


def _in_state(cage: Cage, state: State) -> list[str]:
    return [twin.netdev for twin in cage.twins if twin.rail is not None and twin.state == state]


def _dark(shown: Topology, end: End) -> Verdict:
    host = next(each for each in shown.hosts if each.name == end.host)
    other = next(
        (End(end.host, cage.name) for cage in host.cages if cage.state == "link" and not cage.rails), None
    )
    if other and shown.reached(other):
        return Verdict(
            "fault",
            "cable-crossed",
            f"{other} reaches {listed(map(str, shown.reached(other)))}, and wanted is {end.cage}: the plug sits "
            f"in the other cage of {end.host}",
            f"move the plug on {end.host} from {other.cage} to {end.cage}, or name the netdevs of {other.cage} "
            "in its fabric setting (fabric_cage)",
        )
    return Verdict(
        "fault",
        "cable-out",
        f"{end} has no carrier: no cable, a plug that is not seated, or a port of the switch that is off",
        f"seat the plugs in {end} and in the switch until they click, and enable the port of the switch",
    )


def _all_dark(shown: Topology, ends: Sequence[End]) -> Finding:
    """The finding where no port has a carrier: what they share comes before eight plugs."""
    text = f"none of {listed(map(str, ends))} has a carrier: the switch is off, or no cable is in it"
    cure = "switch the switch on, and seat the plugs in it and in the Sparks until they click"
    return _on_all(shown, ends, Verdict("fault", "cable-out", text, cure))


def _on_all(shown: Topology, ends: Iterable[End], verdict: Verdict) -> Finding:
    """What no port by itself is to blame for."""
    numbers = sorted({rail for end in ends for rail in shown.at(end).rails})
    return Finding("cluster", verdict, tuple(numbers))


def _leads_elsewhere(shown: Topology, end: End) -> bool:
    """Whether a cage reaches nothing but cages that are not wanted on the switch."""
    reached = shown.reached(end)
    return bool(reached) and not {*reached} & {*wanted(shown)}


def _astray(shown: Topology, end: End, unfit: Collection[End]) -> Verdict | None:
    """What is said of a cage that leads elsewhere; None where the finding on the host at its far end says it."""
    reached = shown.reached(end)
    if any(at.host in {far.host for far in reached} for at in unfit):
        return None
    if [far.host for far in reached] == [end.host]:
        text = f"{end} reaches {reached[0]}: both plugs of one cable sit in the same Spark"
        return Verdict("fault", "loop", text, f"move the plug from {reached[0]} to the switch")
    return Verdict(
        "fault",
        "cable-crossed",
        f"{end} reaches {listed(map(str, reached))} alone, and wanted is the switch",
        f"seat the plug at the far end of the cable in {end} in the switch, or declare what the cables join "
        "(docs/clusters.md)",
    )


# --- who reaches whom


def _heard(shown: Topology) -> set[tuple[End, End]]:
    """Ways on which small frames pass, from one end to another."""
    return {(each.sender, each.listener) for cable in shown.cables for each in cable.heard}


def _planes(shown: Topology, ends: Iterable[End]) -> list[list[End]]:
    """Ends that have subnets in common, so that each must reach the others.

    With both cages of each Spark on a switch these are two, which may have a VLAN or a switch each.
    """
    found: list[list[End]] = []
    for end in ends:
        near = [plane for plane in found if any(_share(shown, end, other) for other in plane)]
        joined = [each for plane in near for each in plane]
        found = [*(plane for plane in found if plane not in near), [*joined, end]]
    return sorted(found)


def _apart(shown: Topology, ends: Sequence[End]) -> Iterator[Finding]:
    """Ports that the frames of the others do not reach: those of another VLAN or bridge. ends: of one plane."""
    if len(ends) < 2:
        return
    ways = _heard(shown)
    groups = _groups(ends, ways)
    if len(groups) == len(ends):
        text = f"{listed(map(str, ends))} have a carrier and hear nothing of one another"
        yield _on_all(shown, ends, Verdict("fault", "switch-apart", text, _ONE_BRIDGE))
        return
    first, *others = groups
    for group in others:
        for end in group:
            yield _at(shown, end, _alone(shown, end, group, first))
    for group in groups:
        half_dead = {end: verdict for end in group if (verdict := _one_direction(end, group, ways))}
        yield from (_at(shown, end, verdict) for end, verdict in half_dead.items())
        yield from _unheard([end for end in group if end not in half_dead], ways)


_ONE_BRIDGE = "put all ports of the Sparks into one bridge and one VLAN of the switch, without port isolation"


def _groups(ends: Sequence[End], ways: set[tuple[End, End]]) -> list[list[End]]:
    """Ends that reach one another, directly or by others; the largest group first, else the first one."""
    left, found = [*ends], []
    while left:
        group, grown = [left.pop(0)], True
        while grown:
            more = [end for end in left if any((end, at) in ways or (at, end) in ways for at in group)]
            left = [end for end in left if end not in more]
            group, grown = group + more, bool(more)
        found.append(sorted(group, key=[*ends].index))
    return sorted(found, key=len, reverse=True)


def _alone(shown: Topology, end: End, group: Sequence[End], others: Sequence[End]) -> Verdict:
    if astray := [far for far in shown.reached(end) if far in wanted(shown) and not _share(shown, end, far)]:
        return _other_plane(end, astray, others)
    reach = listed(str(each) for each in group if each != end)
    stranger = shown.at(end).stranger
    beside = f", only {reach}" if reach else f", and hears {stranger}" if stranger else ""
    text = (
        f"{end} reaches none of {listed(map(str, others))}{beside}: its port of the switch is in another VLAN "
        "or bridge"
    )
    return Verdict("fault", "switch-apart", text, _ONE_BRIDGE)


def _share(shown: Topology, one: End, other: End) -> bool:
    """Whether two ends have a subnet in common."""
    return bool({*shown.at(one).rails} & {*shown.at(other).rails})


def _other_plane(end: End, astray: Sequence[End], others: Sequence[End]) -> Verdict:
    return Verdict(
        "fault",
        "cable-crossed",
        f"{end} reaches {listed(map(str, astray))}, and wanted is to reach {listed(map(str, others))}: the plugs "
        f"of {end.host} have changed places, or its port of the switch is in the VLAN of the other cages",
        f"swap the two plugs of {end.host}, or move its ports into the VLANs of their cages",
    )


def _one_direction(end: End, group: Sequence[End], ways: set[tuple[End, End]]) -> Verdict | None:
    """Where one of three ports or more hears all others and none hears it, or the other way round; else None."""
    others = [far for far in group if far != end]
    hears, heard = {far for far in others if (far, end) in ways}, {far for far in others if (end, far) in ways}
    if len(others) < 2 or sorted(map(len, (hears, heard))) != [0, len(others)]:
        return None
    far = listed(map(str, others))
    said = (
        f"{end} hears {far}, which hear nothing of it" if hears else f"{end} hears nothing of {far}, which hear it"
    )
    return Verdict(
        "fault",
        "one-way",
        f"{said}: one direction of its cable, or of its port of the switch, is dead",
        f"seat the plugs in {end} and in the switch again; if that does not help, use another cable or port",
    )


def _unheard(group: Sequence[End], ways: set[tuple[End, End]]) -> Iterator[Finding]:
    """Two ports of which one does not hear the other, though both reach a third."""
    for place, one in enumerate(group):
        for other in group[place + 1 :]:
            there, back = (one, other) in ways, (other, one) in ways
            if there and back:
                continue
            if there or back:
                sender, listener = (one, other) if there else (other, one)
                text = (
                    f"{listener} hears {sender}, which hears nothing of it: the switch passes one direction alone"
                )
                yield Finding("cluster", Verdict("fault", "one-way", text, _ONE_BRIDGE))
            else:
                text = (
                    f"{one} and {other} hear nothing of one another, and both reach other ports: they are isolated"
                )
                yield Finding("cluster", Verdict("fault", "switch-apart", text, _ONE_BRIDGE))


def _deaf_twins(shown: Topology, ends: Iterable[End]) -> Iterator[Finding]:
    """A twin that hears nothing and is heard by none, while its twin does."""
    alive = shown.alive
    for end in ends:
        twins = [twin for twin in shown.at(end).twins if twin.rail is not None]
        mute = [twin for twin in twins if (end.host, twin.netdev) not in alive]
        if mute and len(mute) < len(twins):
            names = listed(twin.netdev for twin in mute)
            text = f"{names} of {end.host} hears nothing and is heard by none, while its twin does"
            cure = f"reboot {end.host} with the cable attached"
            rails = tuple(twin.rail for twin in mute if twin.rail is not None)
            yield Finding(subject(end), Verdict("fault", "no-answer", text, cure), rails)


# --- how well a port does


def _slow(shown: Topology, ends: Sequence[End]) -> Iterator[Finding]:
    """Links that are slow; where all are alike, one finding names the switch and its cables."""
    slow = {end: mbps for end in ends if (mbps := shown.at(end).speed_mbps) and mbps < CAGE_SPEED_MBPS}
    if len(slow) == len(ends) > 1 and len({*slow.values()}) == 1:
        who, ports = f"all of {listed(map(str, ends))} and the switch", "these ports of the switch"
        yield _on_all(shown, ends, _slow_link(who, ports, slow[ends[0]]))
        return
    for end, mbps in slow.items():
        yield _at(shown, end, _slow_link(f"{end} and its port of the switch", _port(end), mbps))


def _slow_link(who: str, port: str, mbps: int) -> Verdict:
    expected = f"{CAGE_SPEED_MBPS // 1000} Gb/s"
    return Verdict(
        "degraded",
        "switch-speed",
        f"{who} negotiated {mbps / 1000:g} Gb/s, where {expected} is expected",
        f"set {port} to {expected} without auto-negotiation (200G-baseCR4), "
        "or use a switch and cables made for it",
    )


def _port(end: End) -> str:
    return f"the switch's port for {end}"


def _short(shown: Topology, ends: Sequence[End], signs: Signs) -> Iterator[Finding]:
    """Ports that drop large frames; where none pass at all, the bridge, or one port of two, which nothing tells.

    A bridge drops a frame that is larger than the port takes through which it leaves, so the port is that of the
    end to which none comes through; Linux's, on virtual netdevs, also drops one that comes in through such a port
    (tests/unit/fabric/test_neighbours.py). One way alone, between ends whose large frames pass elsewhere, is no
    port's: the probe's few frames got lost on a busy host.
    """
    judged, size = signs.passed | signs.dropped, f"frame of {signs.size} bytes"
    between = [way for way in judged if {*way} <= {*ends}]
    if between and not signs.passed.intersection(between):
        said = f"no {size} passes between any of {listed(map(str, ends))}"
        where = "the bridge of the switch, or a port of theirs,"
        yield _on_all(shown, ends, _drops(said, where, "the switch's port for each of them"))
        return
    blamed = [
        end for end in ends if (there := {way for way in judged if way[1] == end}) and there <= signs.dropped
    ]
    for end in ends:
        sent = {way for way in judged if way[0] == end and way[1] not in blamed}
        if end in blamed:
            said = f"{end} gets no {size} from any other"
        elif sent and sent <= signs.dropped:
            said = f"no other end gets a {size} from {end}"
        else:
            continue
        yield _at(shown, end, _drops(said, "its port of the switch", _port(end)))


def _drops(said: str, where: str, port: str) -> Verdict:
    return Verdict(
        "fault",
        "switch-mtu",
        f"{said}, and small ones pass: {where} drops what is larger than 1500 bytes or so",
        f"set an L2 MTU of 9216 on {port}, and on its bridge",
    )


def _lossy(ends: Sequence[End], signs: Signs) -> Iterator[tuple[End, Verdict]]:
    """Ports whose end misses packets, while another one's misses few: the switch drops what it passes slowly."""
    counted = {end: signs.lost[end] for end in ends if end in signs.lost}
    if not counted:
        return
    least = min(counted, key=counted.__getitem__)
    for end, count in counted.items():
        if count >= max(_LOST, _TIMES * counted[least]):
            level: Level = "degraded"
            text = (
                f"{count} packets came out of order to {end} since its link came up, and "
                f"{counted[least] or 'none'} to {least}: its port of the switch is slow, and drops some"
            )
            cure = (
                f"keep all ports in the one bridge with hardware offloading, and compare {_port(end)} with the "
                "others by its counters of drops; then another cable"
            )
            yield end, Verdict(level, "switch-slow", text, cure)


def _one_subnet(ends: Sequence[End], signs: Signs) -> Iterator[tuple[End, Verdict]]:
    """Twins that share a subnet; those of a cage that the inventory does not name belong to others."""
    for end, said in ((end, signs.sharing[end]) for end in ends if end in signs.sharing):
        text = f"{said} on {end}, as from the switch's DHCP: NCCL cannot tell such twins apart"
        yield end, Verdict("fault", "switch-subnet", text, deploy(what="network"))
