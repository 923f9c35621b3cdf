"""Running workloads against a server, one after the other, and reading its own counters around each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from time import monotonic
from typing import Protocol

from sparkrig.io.bench_client import Served, Server
from sparkrig.serving.bench import counters
from sparkrig.serving.bench.answer import Answer, figures, spread
from sparkrig.serving.bench.beside import told
from sparkrig.serving.bench.report import Left, Measured
from sparkrig.serving.bench.workload import Prompt, Workload, prose
from sparkrig.serving.model import Model

_SAMPLE = 600  # words by which a tokenizer is measured
_WORDS_PER_TOKEN = 0.8  # of English, where the server reports none
_PATIENCE = 2  # requests of each seat that may fail one after the other until a workload is given up
_SETTLE_S = 3.0  # a server counts a request's end a little after its answer has come
_LOOK_S = 0.1
_WATCH_S = 0.02


class Tell(Protocol):
    """Receives the step that a workload is at, as sparkrig.io.progress.Told does."""

    def __call__(self, name: str, step: str, *, until: float | None = None) -> None: ...

    def done(self, name: str) -> None: ...


@dataclass
class _Seats:
    """What requests at the same time share. tried: failures in a row, over all seats."""

    most: int
    answers: list[Answer] = field(default_factory=list)
    tried: int = 0

    @property
    def over(self) -> bool:
        return self.tried >= self.most

    def add(self, answer: Answer) -> None:
        self.answers.append(answer)
        self.tried = self.tried + 1 if answer.error else 0


class Lateness:
    """How late this machine wakes a waiting task while the block runs: its times are too long by that much.

    p95: of some fifty looks a second, in seconds.
    """

    async def __aenter__(self) -> Lateness:
        self._seen: list[float] = []
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()

    async def _watch(self) -> None:
        while True:
            due = monotonic() + _WATCH_S
            await asyncio.sleep(_WATCH_S)
            self._seen.append(max(0.0, monotonic() - due))

    @property
    def p95(self) -> float:
        found = spread(self._seen, low=True)
        return found.p95 if found else 0.0


class Bench:
    """One run. mark: of it alone, so that its long prompts were never seen before; model: of the catalogue."""

    def __init__(self, server: Server, served: Served, model: Model | None, *, mark: str, tell: Tell) -> None:
        self._server, self._served, self._model = server, served, model
        self._mark, self._tell = mark, tell
        self._words_per_token = 0.0

    async def run(self, workloads: Sequence[Workload]) -> tuple[list[Measured], list[Left]]:
        """Measure each of them, until the server is silent; return the measured ones and those left out."""
        measured: list[Measured] = []
        left: list[Left] = []
        for workload in workloads:
            if measured and measured[-1].silent:
                left.append(
                    Left(name=workload.name, why=f"the server said nothing more since {measured[-1].name}")
                )
            elif not workload.fits(self._served.longest):
                left.append(Left(name=workload.name, why=too_long(workload, self._served)))
            else:
                measured.append(await self._measure(workload))
                self._tell.done(workload.name)
        return measured, left

    async def _measure(self, workload: Workload) -> Measured:
        if any(each.context for seat in workload.seats for each in seat) and not self._words_per_token:
            await self._measure_tokenizer(workload)
        mark = f"{self._mark}-{workload.name}"
        texts = {each: each.text(self._words_per_token, mark) for seat in workload.seats for each in seat}
        before = await self._server.counters()
        seats = _Seats(_PATIENCE * workload.concurrency + 1)
        warm: list[Answer] = []
        async with Lateness() as late:
            if workload.seconds is None:
                self._tell(workload.name, "warming up")
                warm = await self._asked(workload, texts, seats, 1)
                seats.answers = []
            answers = await self._asked(workload, texts, seats, workload.runs)
        found = figures(answers, warm)
        ours = None if found.errors else sum(each.tokens for each in (*warm, *answers))
        return Measured(
            name=workload.name,
            meaning=workload.meaning,
            concurrency=workload.concurrency,
            figures=found,
            cold_first_token_s=_cold(workload, warm),
            late_s=late.p95,
            given_up=f"after {seats.tried} failures one after the other" if seats.over else "",
            counted=counters.between(before, await self._counted(before, ours), ours),
            others=told(self._model, workload) if self._model else [],
        )

    async def _measure_tokenizer(self, workload: Workload) -> None:
        """How many words a token of this model has; its error is met again by the workload, which counts it."""
        self._tell(workload.name, "measuring the tokenizer")
        sample = await self._server.ask(self._served.name, prose(_SAMPLE, self._mark), 1, "tokenizer")
        self._words_per_token = _SAMPLE / sample.prompt_tokens if sample.prompt_tokens else _WORDS_PER_TOKEN

    async def _asked(
        self, workload: Workload, texts: Mapping[Prompt, str], seats: _Seats, runs: int
    ) -> list[Answer]:
        """The answers to all seats, `runs` requests each or until the workload's time is over."""
        until = monotonic() + workload.seconds if workload.seconds else None
        self._tell(workload.name, f"asking, {_together(workload)}", until=until)

        async def sit(prompts: Sequence[Prompt]) -> None:
            for turn, prompt in enumerate(cycle(prompts)):
                if seats.over or (turn >= runs if until is None else monotonic() >= until):
                    return
                seats.add(await self._server.ask(self._served.name, texts[prompt], prompt.answer, prompt.name))

        await asyncio.gather(*map(sit, workload.seats))
        return seats.answers

    async def _counted(self, before: counters.Counters, ours: int | None) -> counters.Counters:
        """What the server counted, once it includes all tokens that we received."""
        until = monotonic() + _SETTLE_S
        while True:
            after = await self._server.counters()
            behind = after.get("generated", 0.0) - before.get("generated", 0.0) < (ours or 0)
            if not behind or "generated" not in after or monotonic() >= until:
                return after
            await asyncio.sleep(_LOOK_S)


def too_long(workload: Workload, served: Served) -> str:
    """Why it does not fit."""
    return f"it takes about {workload.longest:,} tokens, and the server {served.longest:,} at most"


def _together(workload: Workload) -> str:
    return f"{workload.concurrency} at a time" if workload.concurrency > 1 else "one after the other"


def _cold(workload: Workload, warm: Sequence[Answer]) -> float | None:
    """The first-token time of a lone seat, before any of its context can be in a cache."""
    asked_alone = workload.concurrency == 1 and bool(workload.seats[0][0].context)
    return warm[0].time_to_first if asked_alone and warm and not warm[0].error else None
