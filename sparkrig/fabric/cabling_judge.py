"""What is wrong with the cables of a pair or a ring, and what to do about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkrig.cure import verb
from sparkrig.fabric import cage_judge, plugs
from sparkrig.fabric.cabling import CAGE_SPEED_MBPS, Cable, End, State, Topology
from sparkrig.text import listed, rails
from sparkrig.verdict import Finding, Verdict, worst


def findings(shown: Topology) -> Iterator[Finding]:
    """The findings of a pair or a ring, causes first; nothing where all is well."""
    yield from strangers(shown)
    yield from _switch(shown)
    wanted = [cable for cable in shown.cables if cable.wanted]
    if torn := [cable for cable in wanted if _torn(cable, wanted)]:
        yield _torn_apart(torn)
        return
    yield from plugs.findings(shown)
    for cable in wanted:
        if shown.read(*cable.ends) and not shown.explained(cable):
            yield from of_cable(shown, cable)


def judge(shown: Topology, cable: Cable) -> Verdict:
    """The verdict on one cable alone, there or only wanted; its evidence may be empty."""
    if plugs.leads_elsewhere(shown, cable):
        return Verdict("fault", "cable-crossed")
    if not cable.wanted and shown.switched(cable):
        return Verdict("degraded", "switch")
    if not cable.wanted and cable.loops:
        return Verdict("fault", "loop")
    if not cable.wanted:
        return Verdict("healthy", evidence="not declared")
    if not shown.read(*cable.ends):
        return Verdict("unknown", "unread")
    if shown.explained(cable):
        return Verdict("fault", "cable-out")
    verdicts = [finding.verdict for finding in of_cable(shown, cable)]
    return worst(verdicts or [Verdict("healthy", evidence=cable.evidence)])


def unread(shown: Topology) -> Iterator[Finding]:
    """The hosts of which nothing is known."""
    for host in shown.hosts:
        if not host.read:
            text = f"{host.name} could not be looked at, so its ends of the cables are not known"
            yield Finding(host.name, Verdict("unknown", "unread", text, verb("doctor", "access")))


def of_cable(shown: Topology, cable: Cable) -> Iterator[Finding]:
    """The findings of one wanted cable that does not lie elsewhere."""
    lacking = _missing(shown, cable) or _down(shown, cable) or _dark(shown, cable)
    if lacking:
        yield _on_rails(_lame(shown, cable), lacking)
        return
    verdict = _doubtful(shown, cable)
    if verdict is None:
        yield from _silent_rails(shown, cable)
        yield from _swapped_netdevs(shown, cable)
        verdict = _slow(shown, cable)
    if verdict is not None:
        yield _on_rails(cable.rails, verdict)


def _on_rails(numbers: Sequence[int], verdict: Verdict) -> Finding:
    return Finding(rails(numbers), verdict, tuple(numbers))


def _lame(shown: Topology, cable: Cable) -> list[int]:
    """The rails of a cable that have no link at one end or the other."""
    twins = [twin for end in cable.ends for twin in shown.at(end).twins if twin.state != "link"]
    return sorted({twin.rail for twin in twins if twin.rail in cable.rails})


def strangers(shown: Topology) -> Iterator[Finding]:
    """Cages in which a machine is heard that is none of these hosts."""
    for host in shown.hosts:
        for cage in host.cages:
            if cage.stranger:
                lacking = plugs.lacking(shown, [End(host.name, cage.name)])
                yield Finding(f"{host.name} {cage.name}", _stranger(shown, End(host.name, cage.name)), lacking)


def _stranger(shown: Topology, end: End) -> Verdict:
    pair = len(shown.hosts) < 3
    return Verdict(
        "fault" if plugs.lacking(shown, [end]) else "degraded",
        "foreign-neighbour",
        f"{end} hears {shown.at(end).stranger}, "
        f"so its cable leads to {'a third' if pair else 'another'} Spark, or to a switch that has other machines",
        f"follow the cable from {end}, or declare the machine at its far end{' as the peer' if pair else ''}",
    )


def _switch(shown: Topology) -> Iterator[Finding]:
    """A switch between the Sparks: one finding, whatever number of cages it joins."""
    joined = [cable for cable in shown.cables if cable.heard and shown.switched(cable)]
    ends = sorted({end for cable in joined for end in cable.ends})
    if not ends:
        return
    apart = [
        cable
        for cable in shown.cables
        if cable.wanted and not cable.real and {*cable.ends} & {*ends} and shown.read(*cable.ends)
    ]
    numbers = tuple(sorted(rail for cable in apart for rail in cable.rails))
    lacking = f", and not {listed(' to '.join(map(str, cable.ends)) for cable in apart)}" if apart else ""
    verdict = Verdict(
        "fault" if apart else "degraded",
        "switch",
        f"a switch joins {listed(map(str, ends))}{lacking}, and a {shown.form} is wanted",
        "declare topology switch, with one plug of each Spark in it; or join the Sparks by cables",
    )
    yield Finding(_all(shown), verdict, numbers)


def _all(shown: Topology) -> str:
    return "pair" if len(shown.hosts) < 3 else "cluster"


def _torn(cable: Cable, wanted: Iterable[Cable]) -> bool:
    return any(other is not cable and set(other.ends) & set(cable.ends) for other in wanted)


def _torn_apart(cables: Sequence[Cable]) -> Finding:
    what = listed(f"{rails(cable.rails)} to join {_ends(cable)}" for cable in cables)
    verdict = Verdict(
        "fault",
        "rails-crossed",
        f"the inventory wants {what}, and a cage takes one plug only",
        "in the fabric setting, let the subnets of both twins of a cage lead to the same cage of the peer",
    )
    return Finding("pair", verdict, tuple(sorted(rail for cable in cables for rail in cable.rails)))


def _missing(shown: Topology, cable: Cable) -> Verdict | None:
    gone = _in_state(shown, cable, "missing")
    return cage_judge.missing(shown, gone, between=_ends(cable)) if gone else None


def _down(shown: Topology, cable: Cable) -> Verdict | None:
    return next((cage_judge.down(end, names) for end, names in _in_state(shown, cable, "down").items()), None)


def _dark(shown: Topology, cable: Cable) -> Verdict | None:
    """A carrier at neither end, at one end, or on one twin."""
    dark, lit = _in_state(shown, cable, "no carrier"), _in_state(shown, cable, "link")
    for end in dark:
        if end in lit:
            return cage_judge.half_lit(end, dark[end])
    if len(dark) == 1:
        dark_end, lit_end = next(iter(dark)), next(iter(lit))
        return Verdict(
            "fault",
            "half-plugged",
            f"{lit_end} has a carrier and {dark_end} has none: the plug on {dark_end.host} is not seated, "
            f"or the cable from {lit_end.host} leads elsewhere",
            f"seat the plug in {dark_end} until it clicks",
        )
    return _out(cable) if dark else None


def _out(cable: Cable) -> Verdict:
    why = "the same cable is in both, and a plug is not seated or the cable is dead"
    if cable.evidence != "same cable serial":
        why = "no cable, a plug that is not seated, or a dead cable"
    return Verdict(
        "fault",
        "cable-out",
        f"neither {_ends(cable, ' nor ')} has a carrier: {why}",
        f"seat a QSFP cable in {_ends(cable)} until it clicks",
    )


def _doubtful(shown: Topology, cable: Cable) -> Verdict | None:
    """A cable whose ends have a carrier, and over which frames pass in one direction, or in none."""
    if cable.evidence == "heard both ways":
        return None
    at_its_ends = {end.host for end in cable.ends}
    if silent := cage_judge.not_probed(host for host in shown.hosts if host.name in at_its_ends):
        return silent
    if cable.heard:
        sender, listener = cable.heard[0].sender, cable.heard[0].listener
        return Verdict(
            "fault",
            "one-way",
            f"{listener} hears {sender}, which hears nothing: one direction of the cable or of a port is dead",
            f"seat the plugs in {_ends(cable)} again; if that does not help, use another cable",
        )
    same = ", although both show the same cable" if "same cable serial" in (cable.evidence, *cable.notes) else ""
    return Verdict(
        "unknown",
        "no-answer",
        f"{_ends(cable)} have a carrier and hear nothing of one another{same}",
        "follow the cable from end to end; if a switch joins the Sparks, let both ports be in one VLAN",
    )


def _silent_rails(shown: Topology, cable: Cable) -> Iterator[Finding]:
    """Rails with an end that neither hears nor is heard over a cable that works for its twin."""
    alive = shown.alive
    for rail in cable.rails:
        twins = {end: twin.netdev for end in cable.ends for twin in shown.at(end).twins if twin.rail == rail}
        mute = {end: netdev for end, netdev in twins.items() if (end.host, netdev) not in alive}
        if not mute:
            continue
        names = listed(f"{netdev} of {end.host}" for end, netdev in mute.items())
        said = (
            f"{names} hears nothing and is heard by none, while its twin does"
            if len(mute) == 1
            else f"{names} hear nothing of one another, while their twins do"
        )
        cure = f"reboot {listed(end.host for end in mute)} with the cable attached"
        yield _on_rails((rail,), Verdict("fault", "no-answer", said, cure))


def _swapped_netdevs(shown: Topology, cable: Cable) -> Iterator[Finding]:
    """Rails whose two netdevs reach another rail's netdevs at the far end, and never each other.

    The twins of a cage hear both twins at the far end where they share a port, and all is well; links that are
    apart do not.
    """
    reached = {
        frozenset({(each.sender.host, each.sender_netdev), (each.listener.host, each.listener_netdev)})
        for each in cable.heard
    }
    loud = {netdev for pair in reached for netdev in pair}
    apart = {}
    for rail in cable.rails:
        ends = frozenset(
            (end.host, twin.netdev) for end in cable.ends for twin in shown.at(end).twins if twin.rail == rail
        )
        if ends not in reached and ends <= loud:
            apart[rail] = ends
    if not apart:
        return
    met = sorted(sorted(pair) for pair in reached if any(pair & ends for ends in apart.values()))
    said = listed(f"{netdev} of {host} reaches {other} of {there}" for (host, netdev), (there, other) in met)
    mine = [
        listed(netdev for ends in apart.values() for host, netdev in ends if host == end.host)
        for end in cable.ends
    ]
    verdict = Verdict(
        "fault",
        "netdevs-swapped",
        f"{said}: the names or the addresses of the netdevs have changed places on one of the two Sparks",
        f"reboot the Spark whose netdevs were renamed (ls -l /sys/class/net), or swap the addresses of {mine[1]} "
        f"in the fabric setting of {cable.other.host}",
    )
    yield _on_rails(sorted(apart), verdict)


def _slow(shown: Topology, cable: Cable) -> Verdict | None:
    speeds = {end: shown.at(end).speed_mbps for end in cable.ends}
    slow = {end: speed for end, speed in speeds.items() if speed and speed < CAGE_SPEED_MBPS}
    if not slow:
        return None
    what = listed(f"{end} runs at {speed / 1000:g} Gb/s" for end, speed in slow.items())
    return Verdict(
        "degraded",
        "speed-low",
        f"{what}, where {CAGE_SPEED_MBPS // 1000} Gb/s is expected: the cable, or a switch, allows no more",
        "use a QSFP cable that is made for 200 Gb/s or more",
    )


def all_well(shown: Topology) -> Finding:
    """The one finding where there is no other."""
    wanted = [cable for cable in shown.cables if cable.wanted]
    if wanted:
        evidence = listed(
            f"{cable.one} reaches {cable.other} as wanted ({', '.join((cable.evidence, *cable.notes))})"
            for cable in wanted
        )
        return Finding(_all(shown), Verdict("healthy", evidence=evidence))
    host = shown.hosts[0]
    if any(cage.state == "link" for cage in host.cages):
        text = f"{host.name} has a cable, and the inventory declares no peer"
    else:
        text = f"{host.name} has no cable and needs none, for it stands on its own"
    return Finding(host.name, Verdict("healthy", evidence=text))


def _in_state(shown: Topology, cable: Cable, state: State) -> dict[End, list[str]]:
    """The netdevs of its rails that are in that state, by end; only ends that have one."""
    names = {
        end: [twin.netdev for twin in shown.at(end).twins if twin.rail in cable.rails and twin.state == state]
        for end in cable.ends
    }
    return {end: some for end, some in names.items() if some}


def _ends(cable: Cable, word: str = " and ") -> str:
    return f"{cable.one}{word}{cable.other}"
