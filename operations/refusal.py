"""Saying no to one host, and to the pair that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any

from pyinfra import logger
from pyinfra.api import FunctionCommand, Host, State

from sparkrig.operations import plan
from sparkrig.refusal import SAID, Refusal
from sparkrig.terminal.frame import SENTENCES

Commands = Generator[Any, None, None]


def refusing(function: Callable[..., Commands]) -> Callable[..., Commands]:
    """Let an operation's generator raise Refusal: it then fails its own host, in words.

    An exception would end the run for every host of a fleet, with a traceback.
    """

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Commands:
        try:
            yield from function(*args, **kwargs)
        except Refusal as refusal:
            plan.refused(refusal)
            yield FunctionCommand(_fail, (refusal,), {})

    return wrapped


def _fail(state: State, host: Host, refusal: Refusal) -> bool:  # noqa: ARG001 - pyinfra passes both, by name
    say(host, refusal)
    return False


def say(host: Host, why: Refusal | str) -> None:
    """Print why a host is refused, where pyinfra prints its own errors; its cure as one types it from here."""
    sentence = str(why.of(host.name)) if isinstance(why, Refusal) else why
    SENTENCES.append((host.name, sentence))
    host.log_styled(f"{SAID}{sentence}", fg="red", log_func=logger.error)
