"""What a server is asked: the workloads of [@docai-122b], and the batches of [@conselara-benchmarks].

The articles give the kind and length of their prompts, not their words. The words here are our own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import islice

_PLAIN = """
water pump valve north south meter pressure engine report crew morning evening number station river bridge
winter summer repair part order stock letter road house field market paper glass stone iron copper light dark
small large early late open closed first second third full empty clean heavy long short new old red green blue
"""
_WORDS = tuple(_PLAIN.split())
_SENTENCE = 12  # words


@dataclass(frozen=True)
class Prompt:
    """One question. answer: its most tokens; context: about how many tokens stand before it."""

    name: str
    question: str
    answer: int
    context: int = 0

    def text(self, words_per_token: float, mark: str) -> str:
        """The whole of it.

        mark: what it begins with where it has a context, so that no cache has it from an earlier run.
        """
        if not self.context:
            return self.question
        return f"Report {mark}.\n{prose(round(self.context * words_per_token), mark)}\n\n{self.question}"


@dataclass(frozen=True)
class Workload:
    """Which clients send which prompts, and for how long.

    seats: the prompts of each client that asks at the same time, sent one after the other, over and over; seconds:
    after how many no new request is begun; runs: how often each seat asks instead, after one time that only warms
    up; figures: what the catalogue calls it.
    """

    name: str
    meaning: str
    seats: tuple[tuple[Prompt, ...], ...]
    figures: tuple[str, ...]
    runs: int = 3
    seconds: float | None = None

    @property
    def concurrency(self) -> int:
        return len(self.seats)

    @property
    def longest(self) -> int:
        """Tokens of its longest request, about."""
        return max(each.context + each.answer for seat in self.seats for each in seat)

    def fits(self, longest: int | None) -> bool:
        """Whether a server takes it whose requests have at most that many tokens. None: unknown, so it does."""
        return longest is None or self.longest <= longest

    def asked(self, *, runs: int | None, seconds: float | None, at: int | None) -> Workload:
        """The same with other numbers where they are given; at: seats, where it has several."""
        many = self.concurrency > 1
        seats = tuple(self.seats[number % len(self.seats)] for number in range(at)) if at and many else self.seats
        over = seconds if seconds and self.seconds else self.seconds
        return replace(self, seats=seats, seconds=over, runs=runs or self.runs)


QA = Prompt("qa", "Explain in a few paragraphs why the sky is blue at noon and red in the evening.", 256)
CODE = Prompt(
    "code", "Write a Python function for binary search in a sorted list, with type hints and a docstring.", 300
)
JSON = Prompt(
    "json",
    """\
Extract this invoice as JSON with the keys number, issued, due, seller, buyer, items (name, quantity, unit, \
price, total), net, tax, gross, currency. Answer with the JSON alone.

Invoice 2026/0417. Issued 3 April 2026, due 18 April 2026.
Seller: Duna Metal Works Ltd., 12 Harbour Street, Budapest, tax number 12345678-2-41.
Buyer: Northern Pumps Inc., 7 Mill Road, Szeged, tax number 87654321-2-06.
1. Steel pipe, 40 mm, 120 m at 1 850 HUF: 222 000 HUF
2. Flange, DN40, 24 pieces at 3 200 HUF: 76 800 HUF
3. Delivery, 1 piece at 18 000 HUF: 18 000 HUF
Net 316 800 HUF, tax of 27 %: 85 536 HUF, gross 402 336 HUF.""",
    300,
)
HUNGARIAN = Prompt(
    "hungarian", "Foglald össze körülbelül 200 szóban magyarul, hogyan működik egy vízerőmű, és mire jó.", 300
)
_LONG = "Summarise the report above in one paragraph, then name the three words that it has most often."
LONG_8K = Prompt("long 8K", _LONG, 256, 7_500)
LONG_32K = Prompt("long 32K", _LONG, 256, 30_000)
LONG_128K = Prompt("long 128K", _LONG, 256, 108_000)

_SHORT = (QA, CODE, JSON, HUNGARIAN)
_ROUNDS = tuple(_SHORT[first:] + _SHORT[:first] for first in range(len(_SHORT)))

WORKLOADS = (
    Workload("qa", "a question, 256 tokens", ((QA,),), ("qa", "256 tokens")),
    Workload("code", "a function in Python, 300 tokens", ((CODE,),), ("code",)),
    Workload("json", "an invoice into JSON, 300 tokens", ((JSON,),), ("json",)),
    Workload("hungarian", "200 words of Hungarian", ((HUNGARIAN,),), ("hungarian",)),
    Workload("long-8k", "7,500 tokens and a question", ((LONG_8K,),), ("long 8K",)),
    Workload("long-32k", "30,000 tokens and a question", ((LONG_32K,),), ("long 32K",)),
    Workload("batch", "the question of qa by several at a time", ((QA,),) * 4, ("256 tokens",)),
    Workload("uniform-short", "the four short ones in turn", _ROUNDS, ("uniform_short",), seconds=90),
    Workload(
        "mixed-typical",
        "three ask short ones, one long-8k",
        (*_ROUNDS[:3], (LONG_8K,)),
        ("mixed_typical",),
        seconds=90,
    ),
    Workload("long-only-128k", "108,000 tokens each", ((LONG_128K,),) * 2, ("long_only_128k",), seconds=180),
)
USUAL = ("qa", "code", "json", "hungarian", "long-8k", "uniform-short", "mixed-typical")


def prose(words: int, seed: str) -> str:
    """As many words of no meaning, in sentences; the same for the same seed."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    left = iter(dice.choices(_WORDS, k=words))
    sentences = iter(lambda: list(islice(left, _SENTENCE)), [])
    return " ".join(f"{' '.join(each).capitalize()}." for each in sentences)
