"""A line of a host that is at something for a while: pyinfra's own screen is silent until a step is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from gevent import Greenlet, sleep, spawn
from pyinfra.api import BaseStateCallback, Host, State

from sparkrig.refusal import BUSY
from sparkrig.terminal.progress import WORTH_S

_AGAIN_S = 15.0  # between two lines about the same step


@contextmanager
def watched(host: Host, step: str) -> Iterator[None]:
    """Print a line once the block takes two seconds, and again from time to time.

    host: itself, and not pyinfra's name for whichever is at work; step: what is done, in words.
    """
    watching = spawn(_watch, host, step)
    try:
        yield
    finally:
        watching.kill()


def _watch(host: Host, step: str) -> None:
    began = monotonic()
    sleep(WORTH_S)
    while True:
        host.log(f"{step} {BUSY} ({monotonic() - began:.0f} s)")
        sleep(_AGAIN_S)


class Watching(BaseStateCallback):
    """Each operation of a run, on each host."""

    def __init__(self) -> None:
        self.watching: dict[Host, Greenlet] = {}

    def operation_host_start(self, state: State, host: Host, op_hash: str) -> None:  # type: ignore[override]
        self._end(host)
        self.watching[host] = spawn(_watch, host, ", ".join(sorted(state.get_op_meta(op_hash).names)))

    def operation_host_success(self, _state: State, host: Host, *_: Any) -> None:  # type: ignore[override]
        self._end(host)

    def operation_host_error(self, _state: State, host: Host, *_: Any) -> None:  # type: ignore[override]
        self._end(host)

    def operation_end(self, _state: State, _op_hash: str) -> None:  # type: ignore[override]
        for host in [*self.watching]:
            self._end(host)

    def _end(self, host: Host) -> None:
        if watching := self.watching.pop(host, None):
            watching.kill()
