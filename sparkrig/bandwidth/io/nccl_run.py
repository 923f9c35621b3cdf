"""NCCL over a pair: one rank in a container on each host, from the first look to the last container's end.

sparkrig.bandwidth.nccl has the scripts, their words, and the judgement. Nothing is written to a disk of a host,
and a rank ends itself, so a controller that dies leaves nothing behind for long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import gevent
from gevent import Greenlet
from pyinfra.api import Host

from sparkrig import programs
from sparkrig.bandwidth import nccl, nccl_preflight
from sparkrig.bandwidth.nccl_preflight import Preflight
from sparkrig.cure import over_ssh, quoted
from sparkrig.facts.gpu import Gpu
from sparkrig.facts.nic import Nics
from sparkrig.fleet import Fleet
from sparkrig.host import gpu, nvidia_smi
from sparkrig.host.nic import Nic
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.verdict import Finding, Verdict

# In seconds, times `patience`.
_LOOK_S = 90  # at docker, the GPU, the counters
_END_S = 30
_SPARE_S = 60  # of a rank's host beyond the rank's own limit

_PAUSE_S = 1.0  # between two looks at a GPU; it is under load for ten seconds
_SETTLE_S = 5.0  # from a container's end to its rank's, times _ATTEMPTS
_ATTEMPTS = 4


@dataclass(frozen=True)
class NcclBench:
    """A pair to check. hosts: rank 0 first; address: where rank 0 is met; run: the run's id."""

    hosts: Mapping[str, Host]
    fleet: Fleet
    address: str
    run: str

    @property
    def leader(self) -> str:
        return next(iter(self.hosts))

    @property
    def image(self) -> str | None:
        return self.fleet[self.leader].nccl_image

    @property
    def patience(self) -> float:
        return max(self.fleet[name].patience for name in self.hosts)

    def seconds(self, base: int) -> int:
        return int(base * self.patience)


@dataclass(frozen=True)
class Outcome:
    """The result of a check. fabric: verdicts on the pair; health: on hosts, which only a load can show."""

    fabric: tuple[Finding, ...] = ()
    health: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Rank:
    """One rank as it ended. status: None where it was ended with the other; why: no word came of it, and why."""

    printed: str = ""
    status: int | None = None
    why: str = ""


@dataclass(frozen=True)
class _Gathered:
    """An all_gather as it ended, by host. left: why a container may still be there."""

    ranks: Mapping[str, _Rank]
    left: Mapping[str, str]
    looks: Mapping[str, list[nvidia_smi.Gpu]]


def check(bench: NcclBench, rails: Verdict, step: Callable[[str], None]) -> Outcome:
    """Gather with NCCL over both hosts, where the setting nccl_image names an image to do it with.

    rails: the verdict on the rails alone; step: receives what begins. Whatever keeps it from being done is a
    verdict; it raises nothing, and leaves no container behind.
    """
    image = bench.image
    if image is None:
        return Outcome(health=(Finding("pair", nccl_preflight.NOT_ASKED_FOR),))
    step("NCCL: see what both hosts have for it")
    looks = remote.each(bench.hosts, partial(_preflight, bench, image))
    found = {name: look for name, look in looks.items() if isinstance(look, Preflight)}
    unread = {name: _said(name, look) for name, look in looks.items() if isinstance(look, Exception)}
    refused = _lost(unread) or nccl_preflight.obstacle(found, image)
    if refused:
        return Outcome((Finding("pair", refused),))
    size, port = nccl_preflight.message_size(found.values()), found[bench.leader].port
    assert size and port  # obstacle() asked for both
    before = _counters(bench)
    step(f"NCCL: gather {size // nccl_preflight.GIB} GiB (at most {nccl.limit(bench.patience)} s)")
    words = {
        name: nccl.rank_words(bench.run, image, number, bench.address, port, size, bench.patience)
        for number, name in enumerate(bench.hosts)
    }
    gathered = _gather(bench, words)
    moved = _moved(bench, before, _counters(bench))
    fabric = (Finding("pair", _judge(gathered.ranks, moved, rails)), *_left(bench, gathered.left))
    return Outcome(fabric, tuple(_clamps(gathered.looks)))


def _preflight(bench: NcclBench, image: str, at: Host) -> Preflight:
    words = nccl_preflight.preflight_words(image)
    printed = remote.shell(at, nccl_preflight.PREFLIGHT, *words, seconds=bench.seconds(_LOOK_S))
    try:
        return nccl_preflight.parse_preflight(printed.splitlines())
    except ValueError as error:
        raise Failed(str(error)) from None


def _counters(bench: NcclBench) -> dict[str, dict[str, Nic] | Failed | Lost]:
    return remote.each(bench.hosts, lambda at: remote.read(at, Nics(), seconds=bench.seconds(_LOOK_S)))


def _moved(
    bench: NcclBench,
    before: Mapping[str, dict[str, Nic] | Failed | Lost],
    after: Mapping[str, dict[str, Nic] | Failed | Lost],
) -> dict[str, dict[str, int]]:
    """Bytes by device, of the hosts that could be read; judge() reports the others as not read."""
    found = {}
    for name in bench.hosts:
        first, last = before[name], after[name]
        if not isinstance(first, Exception) and not isinstance(last, Exception):
            found[name] = nccl.moved(first, last, bench.fleet[name].fabric)
    return found


def _gather(bench: NcclBench, words: Mapping[str, list[str]]) -> _Gathered:
    """Both ranks from their start to their end; when one fails, or the user has had enough, both are ended."""
    ranks = {name: gevent.spawn(_rank, bench, at, words[name]) for name, at in bench.hosts.items()}
    looks: dict[str, list[nvidia_smi.Gpu]] = {name: [] for name in bench.hosts}
    watchers = [gevent.spawn(_watch, bench, at, ranks.values(), looks[name]) for name, at in bench.hosts.items()]
    late: set[str] = set()
    try:
        first = gevent.wait(list(ranks.values()), count=1)
        if all(rank.get().status == 0 for rank in first):
            gevent.wait(list(ranks.values()))
        late = {name for name, rank in ranks.items() if not rank.ready()}
    finally:
        ends = remote.each(bench.hosts, lambda at: _end(bench, at, ranks[at.name]))
        gevent.joinall(watchers, timeout=_SETTLE_S)
        gevent.killall([*watchers, *ranks.values()])
    left = {name: _said(name, why) for name, why in ends.items() if isinstance(why, Exception)}
    done = {name: _ended(rank, left.get(name, ""), late=name in late) for name, rank in ranks.items()}
    return _Gathered(done, left, looks)


def _rank(bench: NcclBench, at: Host, words: list[str]) -> _Rank:
    seconds = nccl.limit(bench.patience) + bench.seconds(_SPARE_S)
    try:
        printed = remote.shell(at, nccl.RANK, *words, seconds=seconds, stdin=programs.file("all_gather.py"))
    except (Lost, Failed) as error:
        return _Rank(why=_said(at.name, error))
    return _Rank(*nccl.ended(printed))


def _ended(rank: Greenlet, why: str, *, late: bool) -> _Rank:
    """How a rank ended. why: its container could not be ended; late: it was ended with the other."""
    done = rank.get()
    if not isinstance(done, _Rank):  # it was not waited for any longer
        return _Rank(why=why)
    return _Rank(done.printed, None, done.why) if late else done


def _watch(bench: NcclBench, at: Host, ranks: Collection[Greenlet], looks: list[nvidia_smi.Gpu]) -> None:
    """Look at a GPU until both ranks have ended; of a host that cannot be read, its rank reports."""
    while len(gevent.wait(list(ranks), timeout=_PAUSE_S)) < len(ranks):
        try:
            looks.append(remote.read(at, Gpu(), seconds=bench.seconds(_LOOK_S)))
        except (Lost, Failed):
            return


def _end(bench: NcclBench, at: Host, rank: Greenlet) -> None:
    """Remove a host's container; again while its rank goes on, for what is still being made cannot be removed."""
    for _ in range(_ATTEMPTS):
        remote.shell(at, nccl.END, nccl.container(bench.run), seconds=bench.seconds(_END_S))
        rank.join(_SETTLE_S)
        if rank.ready():
            return
    raise Failed("docker run goes on without its container")


def _judge(ranks: Mapping[str, _Rank], moved: Mapping[str, Mapping[str, int]], rails: Verdict) -> Verdict:
    lost = _lost({name: rank.why for name, rank in ranks.items() if rank.why})
    if lost:
        return lost
    try:
        read = {name: nccl.parse(rank.printed, rank.status) for name, rank in ranks.items()}
    except ValueError as error:
        return Verdict("unknown", "nccl-unread", str(error), "repeat the check")
    return nccl.judge(read, moved, rails)


def _lost(why: Mapping[str, str]) -> Verdict | None:
    for name, said in why.items():
        return Verdict(
            "unknown", "host-lost", f"NCCL was not measured, {said}", over_ssh(name, "true").then(", then repeat")
        )
    return None


def _left(bench: NcclBench, why: Mapping[str, str]) -> Iterator[Finding]:
    container = nccl.container(bench.run)
    for name, said in why.items():
        evidence = f"{container} may still be there for {nccl.limit(bench.patience)} s, {said}"
        yield Finding(
            name, Verdict("unknown", "container-left", evidence, f"docker rm -f {quoted(container)}, on {name}")
        )


def _clamps(looks: Mapping[str, list[nvidia_smi.Gpu]]) -> Iterator[Finding]:
    for name, gpus in looks.items():
        verdict = gpu.power_clamp_under_load(gpus)
        if verdict:
            yield Finding(name, verdict)


def _said(name: str, error: Exception) -> str:
    return str(error) if isinstance(error, Lost) else f"{name}: {error}"
