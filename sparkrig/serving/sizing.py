"""How much of a Spark's memory a server takes, and how long its sequences may be: decided once, before it starts.

vLLM takes `--gpu-memory-utilization` x all memory, and ends at once where less is free ("Free memory on device ...
is less than desired GPU memory utilization"). On a Spark its free memory is the kernel's MemAvailable
(vllm/utils/mem_utils.py, read 2026-11-24). Its default of 0.92 is more than a Spark has free: 101 to 111 of
121.6 GiB [@mia-exl3-47].
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from sparkrig.cure import advice, local, on_host, quoted
from sparkrig.refusal import Refusal
from sparkrig.serving.arguments import whole_number
from sparkrig.serving.budget import BESIDE_GIB, GIB, MEMORY_GIB, MOST_UTILIZATION, Budget, Use, spread
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.runtimes import VLLM, runtime
from sparkrig.serving.runtimes.runtime import Flags, Free
from sparkrig.serving.served import ASIDE, Service, Serving
from sparkrig.serving.wish import Sizing, Wish
from sparkrig.text import listed

_CONTEXTS = (131072, 65536, 32768, 16384, 8192, 4096)
_SHORT = 32768  # a context of less is worth a higher utilization
_AUTO = ("auto", -1)  # of a launch of the catalogue: as long as fits, which is chosen here
_UNKNOWN = 32768  # where the KV cache of a model is not known
_ROUNDING = 1e-9  # of floats
_MIB_OF_GIB = 1024


@dataclass(frozen=True)
class Beside:
    """Another server of ours on a host.

    share: GiB that it takes; loaded: whether it has taken them; flag: what makes that less.
    """

    service: Service
    share: float
    loaded: bool
    flag: str = VLLM.share

    @property
    def whole(self) -> float:
        """With its own processes."""
        return self.share + BESIDE_GIB

    def __str__(self) -> str:
        return f"{self.service} ({self.share:.1f} GiB)"


def beside(serving: Serving, others: Mapping[str, Record], memory_gib: float | None = None) -> tuple[Beside, ...]:
    """The servers that a host has, or will have after a reboot, by their records. memory_gib: as `room` has it."""
    total = memory_gib or (serving.memory.total if serving.memory else MEMORY_GIB)
    there = []
    for name, record in others.items():
        if record.rank != ASIDE:
            seen = serving.of(Service(name))
            loaded = (seen.active or seen.part) and seen.health in (None, 200)
            engine = runtime(record.engine)
            share = record.utilization * total
            there.append(Beside(Service(name), share, loaded, engine.share or engine.context))
    return tuple(there)


@dataclass(frozen=True)
class Room:
    """The memory of a host, in GiB.

    total: all that CPU and GPU share; free: what is available once our own server has stopped; where: of which
    host, in words; others: what else runs there, as far as it was seen; draft: weights of a draft model; services:
    the other servers of ours; weights: of a GGUF file, None where the catalogue has their size.
    """

    total: float
    free: float
    where: str = "this host"
    others: tuple[str, ...] = ()
    draft: float = 0.0
    services: tuple[Beside, ...] = ()
    weights: float | None = None

    @property
    def said(self) -> str:
        there = [*self.others, *map(str, self.services)]
        running = f", beside {listed(there)}" if there else ""
        return f"{self.free:.1f} of {self.total:.1f} GiB are free on {self.where}{running}"

    @property
    def at_start(self) -> Free:
        """What a server finds free: the others of ours may not be loaded yet after a boot."""
        return Free(self.free, min(self.total, self.free + sum(service.whole for service in self.services)))

    @property
    def most(self) -> float:
        """The highest utilization that passes vLLM's check, with room for the container's own processes."""
        return min(MOST_UTILIZATION, math.floor((self.free - BESIDE_GIB) / self.total * 100 + _ROUNDING) / 100)


def room(
    serving: Serving,
    memory_gib: float | None,
    where: str = "this host",
    draft: str = "",
    others: Sequence[Beside] = (),
    record: Record | None = None,
    gguf: str = "",
) -> Room:
    """The memory of a host as it was seen.

    memory_gib: counted in place of the host's; draft: OWNER/NAME of a draft model; others: the other servers of
    ours. What of them is not loaded yet is taken all the same, and together they never count as less than their
    shares. record: of our own server; gguf: OWNER/NAME/FILE of the weights.
    """
    seen = serving.memory
    total = memory_gib or (seen.total if seen else MEMORY_GIB)
    taken = seen.total - seen.available - _held(serving, record) if seen else 0.0
    free = min(
        min(total, max(0.0, total - taken)) - sum(each.whole for each in others if not each.loaded),
        total - sum(each.whole for each in others),
    )
    return Room(
        total,
        max(0.0, free),
        where,
        serving.others,
        draft=serving.weights[draft].size / GIB if draft in serving.weights else 0.0,
        services=tuple(others),
        weights=(serving.gguf(gguf) or 0) / GIB if gguf else None,
    )


def _held(serving: Serving, record: Record | None) -> float:
    """GiB that our own server gives back when it stops.

    One that has not loaded yet has not taken it: then that much more would be more than there is.
    """
    up = serving.active or serving.part
    if serving.memory is None or record is None or not up or serving.health not in (None, 200):
        return 0.0
    # of a cache whose size vLLM was told, what `_cache` kept spare was never taken
    never = spread(record.nodes) if record.cache else 0.0
    share = record.held or record.utilization * serving.memory.total - never
    return share if serving.memory.available + share <= serving.memory.total else 0.0


def decide(asked: Wish, use: Use, given: Flags, rooms: Room, *, named: bool = False) -> Sizing:
    """Share and context for that server. Raises Refusal with the figures.

    use: what the budget makes of all flags; given: those of the user, which are kept or refused; those of the
    catalogue are kept where they fit. named: it stands beside another server, and takes no more than it needs.
    """
    engine = asked.runtime
    own = {name: value for name, value in engine.whole(given).items() if value is not False}
    firm = _number(engine.share, own[engine.share]) if engine.share in own else None
    known = _made(asked, use, 1.0, use.context, rooms)
    fixed = None if firm is None else _fixed(asked, firm, known, rooms)
    contexts = [_tokens(asked, own[engine.context])] if engine.context in own else [*_contexts(asked)]
    if engine.context in own:
        _reaches(asked, contexts[0])
    small = named and firm is None and engine.share and known.kv is not None and known.needed is not None
    if small:
        tried = _least(asked, contexts, _rungs(asked, known, rooms))
    else:
        tried = _candidates(asked, _ladder(asked, known, rooms) if fixed is None else [fixed], contexts, own)
    for utilization, context, spare in tried:
        made = _made(asked, use, utilization, context, rooms)
        if utilization > 0 and _fits(made, spare + rooms.draft):
            return _chosen(asked, made, firm, rooms, use)
    raise _too_little(asked, use, fixed, min(contexts), rooms)


def _made(asked: Wish, use: Use, utilization: float, context: int, rooms: Room) -> Budget:
    """The budget of one sequence of that context. A GGUF file has the size that the host shows."""
    checkpoint = asked.checkpoint
    if rooms.weights is not None:
        changed: dict[str, object] = {"weights_gib": rooms.weights or None, "resident_gib": {}, "format": "gguf"}
        checkpoint = checkpoint.model_copy(update=changed)
    one = replace(use, utilization=utilization, context=context, sequences=1)
    return asked.runtime.budget(asked.model, checkpoint, one)


def _chosen(asked: Wish, made: Budget, firm: float | None, rooms: Room, use: Use) -> Sizing:
    engine, context = asked.runtime, made.use.context
    if not engine.share:  # it takes what it needs, and no share of what there is
        least = (made.share - (made.kv or 0.0) + (made.needed or spread(asked.nodes))) / rooms.total
        made = _made(asked, use, math.ceil(least * 100) / 100, context, rooms)
    given = firm if firm is not None else engine.given(made, rooms.at_start)
    most = engine.most(made.use.utilization, made, rooms.at_start)
    return _sizing(asked, most, context, given, engine.held(made), _cache(asked, made, rooms))


def _cache(asked: Wish, made: Budget, rooms: Room) -> int:
    """MiB of the KV cache that a start has in any case, so that all have the same; 0 where vLLM is to profile.

    It is to where one sequence takes more than is left with what stays spare.
    """
    if asked.engine != VLLM.id or VLLM.cache in asked.flags or made.kv is None or made.needed is None:
        return 0
    sure = made.kv - spread(asked.nodes) - rooms.draft
    return math.floor(sure * _MIB_OF_GIB) if sure >= made.needed else 0


def _sizing(asked: Wish, utilization: float, context: int, given: float, held: float, cache: int = 0) -> Sizing:
    if asked.engine == VLLM.id:
        return Sizing(utilization, context, cache=cache)
    return Sizing(round(utilization, 4), context, asked.engine, given, round(held, 2))


def _reaches(asked: Wish, context: int) -> None:
    """Raise Refusal for a context beyond what the model was made for: vLLM ends at once [@vllm-source]."""
    longest, engine = asked.model.context, asked.runtime
    set_ = {*asked.flags, *(name for name, value in asked.environment.items() if value == "1")}
    if longest and context > longest and not engine.stretches & set_:
        ways = " or ".join(sorted(stretch for stretch in engine.stretches if not stretch.isupper()))
        raise Refusal(
            f"--{engine.context} is {context}, and {asked.model.title} was made for {longest} tokens: "
            f"{engine.name} {engine.beyond}",
            advice(f"that many at most, or {ways} in serve_flags, which stretches its positions"),
        )


def passes(sizing: Sizing, rooms: Room) -> None:
    """Raise Refusal where the engine would take more than is free, as vLLM's own check does."""
    wanted, engine = sizing.utilization * rooms.total, runtime(sizing.engine)
    if wanted > rooms.free:
        least = max(0.0, math.floor(rooms.free / rooms.total * 100) / 100)
        asks = (
            f"--{engine.share} {sizing.share or sizing.utilization:g} asks for"
            if engine.share
            else f"{engine.name} takes"
        )
        raise Refusal(
            f"{asks} {wanted:.1f} GiB, and {rooms.said}: {engine.name} would not start",
            _stop(rooms, f"; or give it {least:g} at most" if engine.share else ""),
        )


def _fixed(asked: Wish, firm: float, known: Budget, rooms: Room) -> float:
    """The utilization with the user's value of the flag. Raises Refusal where that is more than is free."""
    fixed = asked.runtime.taken(firm, known, rooms.at_start)
    passes(_sizing(asked, asked.runtime.most(fixed, known, rooms.at_start), 0, firm, 0.0), rooms)
    return fixed


def _ladder(asked: Wish, known: Budget, rooms: Room) -> Sequence[float]:
    """Utilizations: the one that a model gets, and the higher ones for a model that needs more."""
    engine = asked.runtime
    highest = engine.within(rooms.most, known, rooms.at_start)
    if not engine.share:
        return [highest]
    wanted = engine.usual
    if _has(asked, engine.share):
        number = _number(engine.share, asked.flags[engine.share])
        kept = engine.taken(number, known, rooms.at_start)
        if engine.most(kept, known, rooms.at_start) * rooms.total <= rooms.free - BESIDE_GIB + _ROUNDING:
            wanted = kept
    begin = min(wanted, highest)
    return [begin, *(rung for rung in _rungs(asked, known, rooms) if rung > begin)]


def _rungs(asked: Wish, known: Budget, rooms: Room) -> Sequence[float]:
    """Each hundredth that leaves room for the container's own processes, and for our other servers."""
    highest = asked.runtime.within(rooms.most, known, rooms.at_start)
    return [each / 100 for each in range(1, 101) if each / 100 <= highest + _ROUNDING]


def _candidates(
    asked: Wish, ladder: Sequence[float], contexts: Sequence[int], own: Flags
) -> Iterator[tuple[float, int, float]]:
    """Utilization, context, and GiB that are to stay spare, the best first.

    A context that the user or the catalogue has is kept where it fits exactly. Else as much of the KV cache stays
    spare as published starts on that many Sparks lay from the budget. Where not even the shortest context leaves
    that, the shortest is taken: a longer one would mean that less memory gives more context. For the same reason
    the shortest alone is tried above a recipe's own share, where that is more memory the more is free.
    """
    engine, spare = asked.runtime, spread(asked.nodes)
    begin, *higher = ladder
    above = [min(contexts)] if engine.of_free and _has(asked, engine.share) else contexts
    for context in contexts:
        if context >= _SHORT or engine.context in own:
            yield begin, context, 0.0 if _has(asked, engine.context) and context == contexts[0] else spare
    yield from ((begin, context, spare) for context in contexts)
    yield from ((each, context, spare) for each in higher for context in above)
    yield from ((each, min(contexts), 0.0) for each in ladder)


def _least(asked: Wish, contexts: Sequence[int], rungs: Sequence[float]) -> Iterator[tuple[float, int, float]]:
    """The same for a server beside another one: for each context, the longest first, the lowest utilization."""
    yield from ((rung, context, spread(asked.nodes)) for context in contexts for rung in rungs)
    yield from ((rung, min(contexts), 0.0) for rung in rungs)


def _has(asked: Wish, name: str) -> bool:
    return asked.flags.get(name, False) is not False


def _contexts(asked: Wish) -> Iterator[int]:
    """The catalogue's, and shorter ones; where it has none, up to what the model was made for."""
    longest, name = asked.model.context or _UNKNOWN, asked.runtime.context
    given = _has(asked, name) and asked.flags[name] not in _AUTO
    first = _tokens(asked, asked.flags[name]) if given else min(longest, _CONTEXTS[0])
    if asked.model.shape is None and not given:
        first = min(first, _UNKNOWN)
    yield first
    yield from (context for context in _CONTEXTS if context < first)


def _fits(made: Budget, spare: float) -> bool:
    if made.kv is None:
        return True  # no source has the size of the weights
    return made.kv > spare and (made.needed or 0.0) + spare <= made.kv


def _too_little(asked: Wish, use: Use, firm: float | None, context: int, rooms: Room) -> Refusal:
    """Why nothing fits: the model is too large for the memory, or too little of that is free."""
    most = firm if firm is not None else MOST_UTILIZATION
    made = _made(asked, use, most, context, rooms)
    least = made.share - (made.kv or 0.0) + (made.needed or 0.0) + rooms.draft
    if firm is not None or not _fits(made, rooms.draft):
        return Refusal(
            f"{asked.gguf or asked.checkpoint.id} does not fit: {made.weights or 0:.1f} GiB of weights a node, "
            f"{least:.1f} GiB with {context} tokens of context, and {made.share:.1f} GiB are for all of it "
            f"({most:g} of {rooms.total:.1f} GiB)",
            local(f"sparkrig models show {quoted(asked.model.name)}"),
        )
    taken = least
    if least + BESIDE_GIB <= rooms.free:  # enough now, and too much where our other servers are not loaded yet
        taken = asked.runtime.most(least / rooms.total, made, rooms.at_start) * rooms.total
    return Refusal(
        f"{asked.gguf or asked.checkpoint.id} takes {taken:.1f} GiB of memory on each Spark, {BESIDE_GIB:g} GiB "
        f"more are for its processes, and {rooms.said}",
        _stop(rooms),
    )


def _stop(rooms: Room, after: str = "") -> str:
    """What shows and stops whatever else holds memory."""
    containers = [each.partition(" ")[2] for each in rooms.others if each.startswith("container ")]
    services = [each for each in rooms.others if each.endswith(".service")]
    words = [f"sudo docker stop {quoted(*containers)}"] if containers else []
    words += [f"sudo systemctl stop {quoted(*services)}"] if services else []
    if words:
        return on_host("; ".join(words), after)
    if rooms.services:
        flags = " or ".join(f"--{service.flag} for {service.service}" for service in rooms.services)
        return advice(f"a smaller {flags} (serve_flags), or --data model=none for it{after}")
    return on_host(
        "nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv; ps -eo rss,args --sort -rss | head",
        f"; then stop what is not needed{after}",
    )


def _number(name: str, value: object) -> float:
    try:
        found = float(str(value))
    except ValueError:
        found = inf
    if not 0 < found <= 1:
        raise Refusal(
            f"--{name} is {value}, and a number above 0 and up to 1 is expected",
            advice("a number such as 0.8, or none: the deploy then chooses one"),
        )
    return found


def _tokens(asked: Wish, value: object) -> int:
    found = whole_number(str(value))
    if found is None or found < 1:
        raise Refusal(
            f"--{asked.runtime.context} is {value}, and a number of tokens is expected",
            advice("a number such as 32768 or 32K, or none: the deploy then chooses one"),
        )
    return found
