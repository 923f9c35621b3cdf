"""A firewall of sparkrig's own: setting `firewall_allow`.

One table of nftables has all its rules, and is loaded as a whole; no other table is touched. A port that docker
publishes is led on before the chain of input sees it [@ufw-docker], so the same list counts in a chain of
forward, by the port that was asked for. Sources: nft(8) of nftables 1.0.6; systemd.unit(5).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import advice, as_root, on_host
from sparkrig.files import File, Managed
from sparkrig.host.apt import install_past_the_hold
from sparkrig.network import openings
from sparkrig.network.openings import Opening
from sparkrig.parsing import bounds
from sparkrig.parsing.rows import told
from sparkrig.refusal import Refusal
from sparkrig.resources import file_diff
from sparkrig.resources.check import Check, Subject, check, refused
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Guard, Resource, on_paths
from sparkrig.settings import Settings
from sparkrig.text import listed, plain, some
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

RULES = "/etc/sparkrig/firewall.nft"
UNIT = "sparkrig-firewall.service"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
LINK = f"/etc/systemd/system/sysinit.target.wants/{UNIT}"  # by which it starts with the host
METRICS_PORT = 9100  # of node_exporter
SSH_PORT = 22  # where sshd's files name none

_ALLOW = "# firewall_allow = "
_COUNTED = re.compile(r"packets ([0-9]{1,20}) bytes [0-9]{1,20}")
_PAGE = "docs/access.md#firewall"
# other firewalls, and what ends each
_OTHERS = {"ufw": "ufw disable", "firewalld": "systemctl disable --now firewalld"}
_SHOWN = 3  # rules that a check names


@dataclass(frozen=True)
class Firewall(Value):
    """What filters packets on a host.

    nft: whether that program is there; other: a firewall that runs and is none of ours, empty for none; closed:
    tables and chains of others that drop what they do not take; sshd: the ports in its files; live: the rules of
    our table, each behind its chain, None where it is not there; filed: those that our file makes, None where it
    is not there or makes none; refused, published: packets that were dropped since the rules were loaded, to the
    host itself and to ports that docker publishes.
    """

    nft: bool = False
    other: str = ""
    closed: tuple[str, ...] = ()
    sshd: tuple[int, ...] = ()
    live: tuple[str, ...] | None = None
    filed: tuple[str, ...] | None = None
    refused: int = field(default=0, compare=False)
    published: int = field(default=0, compare=False)

    @property
    def follows(self) -> bool:
        """Whether the rules that run are those of the file."""
        return self.live == self.filed

    @property
    def astray(self) -> str:
        """In words: how the rules that run differ from those of the file, empty where they do not."""
        if self.follows:
            return ""
        if self.live is None:
            return "no rule of it is loaded"
        live, filed = Counter(self.live), Counter(self.filed or ())
        added, lost = [*(live - filed)], [*(filed - live)]
        parts = [f"not declared: {some(map(plain, added), _SHOWN)}"] if added else []
        parts += [f"missing: {some(map(plain, lost), _SHOWN)}"] if lost else []
        return "; ".join(parts) or "its rules stand in another order"


class OwnFirewall(Resource[Firewall]):
    """What reaches the host, and what docker publishes, from networks other than the fabric."""

    name, title = "firewall", "Firewall"
    step = "rules and unit"
    files = (Managed(RULES), Managed(UNIT_FILE), Managed(LINK, "seen"))
    guard = Guard(
        what="firewall",
        test=f"[ ! -e {RULES} ] || nft -c -f {RULES}",
        live=programs.text("operations/firewall_load.sh"),
        verify=programs.text("operations/firewall_verify.sh"),
        units=(UNIT,),
    )
    script = on_paths(programs.text("facts/firewall.sh"), files[:1])
    absent = Firewall()
    kinds = (
        Kind(
            "firewall.files",
            "network",
            "rules and unit of the firewall are as declared",
            "they were edited or removed by hand, or the inventory changed since the last deploy",
            _PAGE,
        ),
        Kind(
            "firewall.rules",
            "network",
            "the rules that run are those of the file, and load at each start",
            "a rule was added or removed by hand, or another program flushed all tables",
            _PAGE,
        ),
        Kind(
            "firewall.ports",
            "network",
            "what sparkrig opens on the management network is let in",
            "a server or the metrics answer on a port that firewall_allow does not have",
            _PAGE,
        ),
    )

    def parse(self, lines: Iterable[str]) -> Firewall:
        rows = told(lines, "sshd", "other", "nft", "closed", "live", "file")
        words = dict(rows)
        live = [rest for word, rest in rows if word == "live"]
        if (other := words.get("other", "")) not in ("", *_OTHERS):
            raise ValueError(f"{other[:60]!r} is no firewall that is known")
        return Firewall(
            nft="nft" in words,
            other=other,
            closed=tuple(rest for word, rest in rows if word == "closed"),
            sshd=tuple(sorted({int(rest) for word, rest in rows if word == "sshd"})),
            live=_rules(live),
            filed=_rules(rest for word, rest in rows if word == "file"),
            refused=_dropped(live, "refused"),
            published=_dropped(live, "published"),
        )

    def changes(self, subject: Subject) -> Changes:
        """Raises Refusal where the firewall would mix with another one, or shut this run out."""
        state, there = self.seen(subject), subject.found.files
        wanted = _files(subject, state)
        lacks = bool(wanted) and not (state.follows and LINK in there)
        left = not wanted and state.live is not None
        changes = Changes.of(wanted, there, self.files[:2], unread=lacks)
        return Changes(remove=(RULES,)) if left and not changes else changes

    def settings_of(self, found: State) -> Mapping[str, Any]:
        """Of what stands in the first row that has it; nothing of a file that is not understood."""
        rows = found.files[RULES].content.splitlines() if RULES in found.files else []
        text = next((row.removeprefix(_ALLOW) for row in rows if row.startswith(_ALLOW)), "")
        try:
            entries = bounds.loads(text) if text else None
            for entry in entries or ():
                openings.parse(entry)
        except (ValueError, TypeError, AttributeError):
            return {}
        return {} if entries is None else {"firewall_allow": entries}

    def checks(self, subject: Subject) -> Iterator[Check]:
        declared = subject.settings.firewall_allow is not None
        want = "a firewall of sparkrig's" if declared else "no firewall of sparkrig's"
        try:
            changes = self.changes(subject)
        except Refusal as refusal:
            yield refused("firewall.files", want, refusal)
            return
        state, there = self.seen(subject), subject.found.files
        if declared or changes:
            odd = file_diff.differences(changes.write, filter(there.__contains__, changes.remove), there)
            yield check("firewall.files", not odd, want, listed(odd) or want, subject.apply)
        if declared or state.live is not None:
            yield _loaded(subject, state, declared=declared)
        if declared:
            yield from _ports(subject)


FIREWALL = OwnFirewall()


def _rules(rows: Iterable[str]) -> tuple[str, ...] | None:
    """Each rule of a listing behind its chain, and each other row as it is; without what the counters have."""
    rules, chain = [], ""
    for row in rows:
        words = row.split(" ")
        if words[-1] == "{":
            chain = f"{words[1]}: " if words[0] == "chain" else ""
        elif row != "}" and (text := _COUNTED.sub("", row).strip()):
            rules.append(chain + text)
    return tuple(rules) or None


def _dropped(rows: Sequence[str], counter: str) -> int:
    """The packets that a named counter has, in the row behind its name."""
    for name, row in pairwise(rows):
        if name == f"counter {counter} {{" and (found := _COUNTED.fullmatch(row)):
            return int(found[1])
    return 0


def _loaded(subject: Subject, state: Firewall, *, declared: bool) -> Check:
    want = "the rules of its file, now and at each start" if declared else "no rule of sparkrig's"
    lack = "" if LINK in subject.found.files else "it does not start with the host"
    odd = (state.astray or lack) if declared else "its rules are still loaded"
    dropped = f"{state.refused} packets refused since, and {state.published} to ports of containers"
    return check("firewall.rules", not odd, want, odd or f"loaded; {dropped}", subject.apply)


def _ports(subject: Subject) -> Iterator[Check]:
    """Whether what answers on the management network is let in; nothing where nothing does."""
    settings, serving = subject.settings, subject.found.serving
    own = [serving, *serving.named.values()]
    places = [place.rpartition(":") for each in own for place in each.bound]
    answers = {int(port): f"port {port} of a server" for at, _, port in places if not _local(at)}
    if settings.watch_metrics:
        answers[METRICS_PORT] = f"port {METRICS_PORT} of the metrics"
    shut = [said for port, said in sorted(answers.items()) if not _open(port, _entries(settings), settings)]
    want = f"{listed(said for _, said in sorted(answers.items()))} let in"
    if answers:
        cure = advice(f"add to firewall_allow what should be reached: {listed(shut)}")
        found = f"not let in: {listed(shut)}" if shut else want
        yield check("firewall.ports", not shut, want, found, cure, environment=True)


def _local(address: str) -> bool:
    return address.strip("[]").startswith("127.") or address.strip("[]") == "::1"


def _open(port: int, entries: Iterable[Opening], settings: Settings) -> bool:
    """Whether an entry lets a port of TCP in, for anyone."""
    return any(not entry.udp and _number(entry, settings) in (port, None) for entry in entries)


def _entries(settings: Settings) -> list[Opening]:
    return [*map(openings.parse, settings.firewall_allow or ())]


def _number(entry: Opening, settings: Settings) -> int | str | None:
    """The port of an entry, None for every one; ssh's is the host's to tell."""
    named: dict[int | str, int | str | None] = {"serve": settings.serve_port, "metrics": METRICS_PORT, "": None}
    return named.get(entry.what, entry.what)


def _files(subject: Subject, state: Firewall) -> list[File]:
    """Rules and unit, none without the setting. Raises Refusal."""
    if subject.settings.firewall_allow is None:
        return []
    _judge(subject, state)
    network = subject.found.network
    doors = {*(state.sshd or (SSH_PORT,)), *([network.door] if network.door else [])}
    return [
        File(RULES, _text(subject, sorted(doors))),
        File(UNIT_FILE, programs.file(UNIT)),
    ]


def _judge(subject: Subject, state: Firewall) -> None:
    if not state.nft:
        cure = on_host(install_past_the_hold("nftables"))
        raise Refusal("nft is not installed, which loads the firewall", cure)
    if state.other:
        raise Refusal(
            f"{state.other} is this host's firewall, and two would not know of each other",
            as_root(_OTHERS[state.other]),
        )
    if state.closed:
        raise Refusal(
            f"another firewall drops what it does not take ({listed(map(plain, state.closed))})",
            advice("leave out firewall_allow, or take that chain's policy away where it comes from"),
        )
    _let_in(subject)
    _members(subject)


def _let_in(subject: Subject) -> None:
    """Raises Refusal where the new rules would not take the connection that this run came by."""
    network, entries = subject.found.network, _entries(subject.settings)
    if not network.caller or _local(network.caller) or network.ssh in subject.settings.fabric:
        return
    limits = [entry for entry in entries if entry.what == "ssh"]
    ways = [entry for entry in entries if not entry.udp and entry.what in ("ssh", "", network.door)]
    if limits and not any(entry.admits(network.caller) for entry in ways):
        raise Refusal(
            f"this run comes from {network.caller}, which is in no network that firewall_allow has for ssh",
            advice(f"add that address to its entries, as in {json.dumps(' from '.join(('ssh', network.caller)))}"),
        )


def _members(subject: Subject) -> None:
    """Raises Refusal where NCCL, Gloo and Ray of the members meet on the management network, and could not."""
    settings, management = subject.settings, subject.found.network.management
    meet = settings.form == "ring" or settings.socket_interface == "management"
    if not subject.fleet.peers(subject.name) or not meet or management is None:
        return
    netdev, address = management
    if not any(entry.what == "" and entry.admits(str(address.ip)) for entry in _entries(settings)):
        raise Refusal(
            f"NCCL, Gloo and Ray of its members meet on {netdev}, and firewall_allow does not let them in",
            advice(f'add "from {address.network}" to it, or the addresses of the members'),
        )


def _text(subject: Subject, doors: Sequence[int]) -> str:
    """The file of the rules."""
    network, settings = subject.found.network, subject.settings
    outward = {route.netdev for route in network.routes if route.outward}
    entries = _entries(settings)
    return programs.rendered(
        "firewall.nft.j2",
        allow=json.dumps(settings.firewall_allow, ensure_ascii=False),
        fabric=[*settings.fabric],
        # what comes in by a bridge that leads outward is none of docker's own
        outer=sorted(outward & {link.master for link in network.links.values()}),
        ssh=[*dict.fromkeys(_ssh(entries, doors))],
        ports=[*dict.fromkeys(_rule(entry, settings) for entry in entries if entry.what != "ssh")],
    )


def _ssh(entries: Iterable[Opening], doors: Sequence[int]) -> Iterator[str]:
    """By the packet's own port, whatever connection tracking knows."""
    limits = [entry for entry in entries if entry.what == "ssh"] or [Opening("ssh")]
    for entry in limits:
        yield f"{_from(entry)}tcp dport {{ {', '.join(map(str, doors))} }} accept"


def _rule(entry: Opening, settings: Settings) -> str:
    port = _number(entry, settings)
    protocol = "udp" if entry.udp else "tcp"
    to = "" if port is None else f"meta l4proto {protocol} ct original proto-dst {port} "
    return f"{_from(entry)}{to}accept"


def _from(entry: Opening) -> str:
    if entry.source is None:
        return ""
    return f"{'ip' if entry.source.version == 4 else 'ip6'} saddr {entry.source} "
