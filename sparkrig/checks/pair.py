"""What only all hosts of a cluster show together: what joins them, and whether frames cross each rail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sparkrig.checks import clones
from sparkrig.checks.condition import judged
from sparkrig.cure import in_turn, on_host, quoted, verb
from sparkrig.fabric.survey import Survey
from sparkrig.fleet import Rail
from sparkrig.network.ping import NOT_INSTALLED, Ping
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.network import cabled
from sparkrig.resources.state import State
from sparkrig.runs.journal import Journal
from sparkrig.runs.partial import partial_runs
from sparkrig.text import bare_name, listed
from sparkrig.verdict import Verdict, worst

KINDS = (
    Kind(
        "pair.cabling",
        "cluster",
        "frames show that each cage reaches the declared one",
        "a cable is out, half seated, dead, or in another cage",
        "docs/fabric.md#cabling",
    ),
    Kind(
        "pair.halves",
        "cluster",
        "what a run did stands on all hosts of the cluster, or on none",
        "a controller died between the commits of two hosts, or some hosts alone were undone",
        "docs/safety.md#one-host-alone",
    ),
    Kind(
        "pair.NETDEV.mtu",
        "cluster",
        "all ends of the rail have one MTU",
        "one end was changed by hand, or deployed without the others",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "pair.NETDEV.ping",
        "cluster",
        "frames of full size reach the peer over the rail",
        "a switch in between takes no large frames, or a firewall drops pings",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "pair.name",
        "cluster",
        "the host's own name is no trap for Ray and PyTorch",
        "DGX OS maps the name to loopback, and no file gives an address instead",
        "docs/troubleshooting.md",
    ),
    Kind(
        "pair.perftest",
        "cluster",
        "all hosts of the cluster have one version of perftest",
        "one host was updated and another was not",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "pair.machine-id",
        "cluster",
        "the host has a machine-id that no other one has",
        "one disk image was copied to several Sparks, by the maker or later (CVE-2026-24218)",
        "docs/doctor.md#sparks-from-one-image",
    ),
    Kind(
        "pair.host-keys",
        "cluster",
        "the host has ssh host keys that no other one has",
        "one disk image was copied to several Sparks, by the maker or later (CVE-2026-24218)",
        "docs/doctor.md#sparks-from-one-image",
    ),
)

Pings = Mapping[str, Sequence[Ping]]

_CABLING = "each cage reaches the one that is declared"


def checks(
    subject: Subject,
    survey: Survey | None,
    pings: Pings | str | None,
    group: Mapping[str, State] | None = None,
) -> Iterator[Check]:
    """Of one host. survey: None where no host listened; pings: by netdev, or why not; None: not asked.

    group: all hosts that were read, by name; its cluster alone where it is not given.
    """
    yield from _of_its_own(subject, group or _pair(subject))
    if not subject.peers:
        yield from _without_peer(subject)
        return
    if survey:
        yield judged("pair.cabling", _CABLING, _cabling(survey))
        yield judged("pair.perftest", "one version of perftest", survey.perftest())
    for netdev, rails in _by_netdev(subject).items():
        yield _mtu(subject, netdev, rails)
        if pings is not None:
            yield _ping(subject, netdev, rails, pings)


def _by_netdev(subject: Subject) -> dict[str, list[Rail]]:
    """The rails that begin at each netdev: one over a cable, and one to each other host on a switch."""
    found: dict[str, list[Rail]] = {}
    for rail in subject.fleet.rails(subject.name):
        found.setdefault(rail.netdev, []).append(rail)
    return found


def partial(subject: Subject, journals: Mapping[str, Journal | str]) -> Iterator[Check]:
    """Whether a run was committed, or taken back, on one host alone. journals: by name, or why one was not read.

    Each host has the same row, since both take part in the cure; nothing where no host was asked.
    """
    names = subject.fleet.group(subject.name)
    if len(names) < 2 or not all(name in journals for name in names):
        return
    many = len(names) > 2
    id, want = "pair.halves", f"what a run did stands on {'all hosts' if many else 'both hosts'}, or on none"
    found = {name: journals[name] for name in names}
    read = {name: journal for name, journal in found.items() if isinstance(journal, Journal)}
    unread = [f"the journal of {name} was not read: {why}" for name, why in found.items() if name not in read]
    if unread:
        yield Check(id, want, "; ".join(unread), "unknown", verb("status"), environment=True)
    elif alone := partial_runs(read):
        yield Check(
            id,
            want,
            "; ".join(partial_run.said for partial_run in alone),
            "drift",
            alone[0].cure,
            environment=True,
        )
    else:
        alone_on = "some hosts" if many else "one host"
        yield Check(id, want, f"no run was committed or undone on {alone_on} alone", environment=True)


def _pair(subject: Subject) -> dict[str, State]:
    found = {subject.name: subject.found, **subject.peers}
    return {name: found[name] for name in subject.fleet if name in found}


def _of_its_own(subject: Subject, group: Mapping[str, State]) -> Iterator[Check]:
    shared = clones.clones(subject.name, group)
    here, new_id = subject.found, clones.NEW_MACHINE_ID.for_host
    for id, want, own, others, cure in (
        ("pair.machine-id", "a machine-id of its own", here.identity.machine_id, shared.machine_id, new_id),
        ("pair.host-keys", "ssh host keys of its own", here.trust.host_keys, shared.host_keys, _new_keys),
    ):
        if one := [name for name in others if clones.are_one(here, group[name])]:
            found = f"{listed([subject.name, *one])} are one Spark, by the id of its boot"
            yield Check(id, want, found, "drift", _one_name([subject.name, *one]), environment=True)
        elif others:
            found = f"shared with {listed(others)}, as on units made from one image"
            yield Check(id, want, found, "drift", cure(_later(subject.name, others, group)), environment=True)
        elif own and len(group) > 1:
            yield Check(id, want, "no other host has it", environment=True)
        else:
            why = "no other host was read" if own else "the host shows none"
            yield Check(id, want, why, "skipped", environment=True)


def _later(name: str, others: Sequence[str], group: Mapping[str, State]) -> str:
    """Which of two hosts that share a thing gets a new one: both name the same, so that one is changed."""
    first = next(each for each in group if each in (name, *others))
    return others[0] if first == name else name


def _one_name(names: Sequence[str]) -> str:
    where = "compare their addresses in the inventory (ssh_hostname) and in ~/.ssh/config"
    return f"{where}: {listed(sorted(names))} lead to one Spark"


def _new_keys(host: str) -> str:
    forget = f"ssh-keygen -R {quoted(bare_name(host))}"
    return clones.NEW_HOST_KEYS.for_host(host).then(f"; then here, by its name or address: {forget}")


def _without_peer(subject: Subject) -> Iterator[Check]:
    peers = subject.fleet.peers(subject.name)
    why = f"{listed(peers)} was not read" if peers else "a Spark on its own has no peer"
    for id in (
        "pair.cabling",
        "pair.halves",
        *(f"pair.{netdev}.ping" for netdev in _by_netdev(subject)),
    ):
        which = "all hosts" if len(peers) > 1 else "both hosts"
        yield Check(id, f"{which}, to be asked together", why, "skipped", environment=True)


def _cabling(survey: Survey) -> Verdict:
    """The weightiest verdict, with all of the evidence, and what is to be done about each fault."""
    found = [finding.verdict for finding in survey.topology.findings]
    first = worst(found)
    others = [each for each in found if each is not first and not each.healthy]
    evidence = "; ".join(dict.fromkeys(verdict.evidence for verdict in (first, *others)))
    known = [each.cure for each in others if each.level != "unknown" and each.cure != first.cure]
    return Verdict(first.level, first.cause, evidence, in_turn(first.cure, *dict.fromkeys(known)))


def _mtu(subject: Subject, netdev: str, rails: Sequence[Rail]) -> Check:
    """The two ends against each other: both may be wrong alike, which `net.NETDEV.mtu` of each shows."""
    id, ends = f"pair.{netdev}.mtu", "both ends" if len(rails) == 1 else "all ends"
    want = f"the same MTU at {ends}"
    here = subject.found.network.links.get(netdev)
    there = {rail: _far_mtu(subject, rail) for rail in rails}
    gone = [f"{rail.far.netdev} of {rail.far.host} is not there" for rail, mtu in there.items() if mtu is None]
    if here is None or gone:
        missing = f"{netdev} is not there" if here is None else listed(gone)
        return Check(id, want, missing, "skipped", environment=True)
    other = [f"{mtu} at {rail.far.netdev} of {rail.far.host}" for rail, mtu in there.items() if mtu != here.mtu]
    if not other:
        return Check(id, want, f"{here.mtu} at {ends}", environment=True)
    return Check(id, want, f"{here.mtu} here, {listed(other)}", "drift", subject.apply, environment=True)


def _far_mtu(subject: Subject, rail: Rail) -> int | None:
    peer = subject.peers.get(rail.far.host)
    link = peer.network.links.get(rail.far.netdev) if peer else None
    return link.mtu if link else None


def _ping(subject: Subject, netdev: str, rails: Sequence[Rail], pings: Pings | str) -> Check:
    id, whom = f"pair.{netdev}.ping", listed(str(rail.far.address.ip) for rail in rails)
    want = f"frames of {subject.settings.mtu} bytes reach {whom}"
    if netdev not in cabled(subject.settings, subject.found.network):
        return Check(id, want, f"{netdev} has no carrier", "skipped", environment=True)
    went = {rail: [] if isinstance(pings, str) else _of(rail, pings.get(netdev, ()), len(rails)) for rail in rails}
    again = verb("doctor", id)
    if any(len(each) < 2 for each in went.values()):
        why = pings if isinstance(pings, str) else "ping told nothing"
        return Check(id, want, why, "unknown", again, environment=True)
    if lacking := next((small for _, small in went.values() if small.said == NOT_INSTALLED), None):
        install = on_host("sudo apt-get install iputils-ping")
        return Check(id, want, str(lacking), "unknown", install, environment=True)
    stopped = {rail: pair for rail, pair in went.items() if not pair[0].crosses}
    if not stopped:
        return Check(id, want, str(went[rails[0]][0]), environment=True)
    short = all(small.crosses for _, small in stopped.values())
    cause, cure = _blocked(netdev, short=short, many=len(subject.fleet.group(subject.name)) > 2)
    found = "; ".join(
        f"{f'{rail.far.host}: ' if len(rails) > 1 else ''}{large}, {small}"
        for rail, (large, small) in stopped.items()
    )
    return Check(id, want, found, "drift", cure, environment=True, cause=cause)


def _of(rail: Rail, pings: Sequence[Ping], rails: int) -> list[Ping]:
    """The pings of a netdev that went over one of its rails, the largest first; with one rail, all."""
    return [ping for ping in pings if rails == 1 or ping.address == str(rail.far.address.ip)]


def _blocked(netdev: str, *, short: bool, many: bool) -> tuple[str, str]:
    """Why a rail carries no large frame: cause, cure. short: whether it carries small ones."""
    if short:
        return (
            "short-frames",
            "join the Sparks by a cable, or set MTU 9216 on every port of the switch between them",
        )
    look = f"ip neigh show dev {quoted(netdev)}; sudo nft list ruleset"
    return "unreachable", on_host(look, f", on {'all hosts' if many else 'both'}")
