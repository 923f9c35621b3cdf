"""One request and how it ended, and what many of them come to.

An error is an error: a request counts as answered only where the whole answer came, with the server's own count of
its tokens. What it took until an error is in no figure.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

UNREACHABLE = ("no connection", "timeout")
"""Errors of a server that does not answer at all."""


@dataclass(frozen=True)
class Answer:
    """One request; times in seconds of time.monotonic.

    first, last: when the first and the last piece of text came; tokens: of the answer, prompt: of the question,
    both as the server counted; error: its kind (docs/bench.md), empty where there is none; said: the server's
    words on it.
    """

    prompt: str
    began: float
    ended: float
    first: float = 0.0
    last: float = 0.0
    tokens: int = 0
    prompt_tokens: int = 0
    error: str = ""
    said: str = ""

    @property
    def time_to_first(self) -> float:
        return self.first - self.began

    @property
    def rate(self) -> float | None:
        """Tokens a second after the first one; None where all came at once, which gives no rate."""
        took = self.last - self.first
        return (self.tokens - 1) / took if self.tokens > 1 and took > 0 else None


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Spread(_Model):
    """Of some values: their median, and what 95 of 100 are at least as good as: the bad end.

    Between two values it is interpolated.
    """

    p50: float
    p95: float


class Error(_Model):
    """Requests that failed alike. said: the server's words on the first of them, or what happened to it."""

    kind: str
    count: int
    said: str


class Figures(_Model):
    """What requests come to.

    asked, done: how many, and how many were answered; seconds: from the first that was begun to the last that
    ended; tokens: of all answers; prompt_tokens: of the median prompt; first_token_s; decode_rate: tokens a second
    of one request after its first; aggregate: tokens a second of all of them together. None where it is
    unknown.
    """

    asked: int
    done: int
    errors: list[Error]
    seconds: float
    tokens: int
    prompt_tokens: float | None
    first_token_s: Spread | None
    decode_rate: Spread | None
    aggregate: float | None


def figures(answers: Sequence[Answer], warm_up: Sequence[Answer] = ()) -> Figures:
    """What they come to. warm_up: requests whose errors count, and their times do not."""
    done = [each for each in answers if not each.error]
    took = max((each.ended for each in answers), default=0.0) - min((each.began for each in answers), default=0.0)
    tokens = sum(each.tokens for each in done)
    everyone = [*warm_up, *answers]
    return Figures(
        asked=len(everyone),
        done=sum(not each.error for each in everyone),
        errors=_errors(everyone),
        seconds=took,
        tokens=tokens,
        prompt_tokens=statistics.median(each.prompt_tokens for each in done) if done else None,
        first_token_s=spread((each.time_to_first for each in done), low=True),
        decode_rate=spread((each.rate for each in done if each.rate is not None), low=False),
        aggregate=tokens / took if done and took > 0 else None,
    )


def spread(values: Iterable[float], *, low: bool) -> Spread | None:
    """None where there is no value. low: whether a low value is a good one."""
    found = list(values)
    if len(found) < 2:
        return Spread(p50=found[0], p95=found[0]) if found else None
    twentieths = statistics.quantiles(found, n=20, method="inclusive")
    return Spread(p50=statistics.median(found), p95=twentieths[-1 if low else 0])


def _errors(answers: Iterable[Answer]) -> list[Error]:
    failed = [each for each in answers if each.error]
    first = {each.error: each.said for each in reversed(failed)}
    counts = Counter(each.error for each in failed)
    return [Error(kind=kind, count=count, said=first[kind]) for kind, count in counts.most_common()]
