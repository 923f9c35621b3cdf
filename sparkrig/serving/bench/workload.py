"""What a server is asked: so many random tokens, and an answer of so many, by so many at a time.

The lengths are those of [@docai-122b] and [@conselara-benchmarks], whose figures stand beside ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Workload:
    """One run of the engine's tool.

    prompt, answer: tokens of each request; concurrency: requests at a time; figures: what the catalogue calls
    requests of that kind; runs: how many requests follow each other at each place.
    """

    name: str
    prompt: int
    answer: int
    concurrency: int
    figures: tuple[str, ...]
    runs: int = 3

    @property
    def meaning(self) -> str:
        many = f", {self.concurrency} at a time" if self.concurrency > 1 else ""
        return f"{self.prompt:,} tokens in, {self.answer} out{many}"

    @property
    def longest(self) -> int:
        """Tokens of a request with its answer."""
        return self.prompt + self.answer

    @property
    def requests(self) -> int:
        return self.runs * self.concurrency

    @property
    def long(self) -> bool:
        """Whether it matters that its prompt is in no cache."""
        return self.prompt > _SHORT

    def fits(self, context: int | None) -> bool:
        """Whether a server takes it whose requests have at most that many tokens. None: unknown, so it does."""
        return context is None or self.longest <= context

    def asked(self, *, runs: int | None, at: int | None) -> Workload:
        """The same with other numbers where they are given; at: for those with several requests at a time."""
        many = at if at and self.concurrency > 1 else self.concurrency
        return replace(self, runs=runs or self.runs, concurrency=many)


_SHORT = 64
_EACH = (
    Workload("short", _SHORT, 256, 1, ("qa", "code", "json", "hungarian", "256 tokens")),
    Workload("batch", _SHORT, 256, 4, ("256 tokens", "uniform_short")),
    Workload("long-8k", 7_500, 256, 1, ("long 8K",)),
    Workload("long-32k", 30_000, 256, 1, ("long 32K",)),
    Workload("long-128k", 108_000, 256, 2, ("long_only_128k",), runs=1),
)
WORKLOADS = {each.name: each for each in _EACH}
USUAL = ("short", "batch", "long-8k")
