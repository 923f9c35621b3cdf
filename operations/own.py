"""Operations of pyinfra's own in a run of ours: they take its locks, and each stands in its journal.

Their commands stay as they are: one may run as another user, who cannot write the journal. So each step is noted
by execs of its own, before its first command and after its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyinfra.api import BaseStateCallback, FunctionCommand, Host, State
from pyinfra.api.command import PyinfraCommand

from sparkrig.operations import journal
from sparkrig.operations.of_run import of_run
from sparkrig.operations.refusal import say
from sparkrig.refusal import Refusal

Commands = Callable[[], Iterator[PyinfraCommand]]


class _Open(dict[str, str]):
    """The step that is at work on each host, by its name; empty where none is."""


class _Failing(BaseStateCallback):
    """Notes how a step ended that failed, after which pyinfra asks its operation for nothing more."""

    def operation_host_error(self, state: State, host: Host, *_: Any) -> None:  # type: ignore[override]
        if name := of_run(_Open, state).get(host.name):
            _note(state, host, "ended 1", name)


def record(run: State, host: Host, known: set[str]) -> None:
    """Have what the operations do that were added to a host noted. known: the hashes of those from before."""
    new = run.ops[host].keys() - known
    if new and not any(isinstance(each, _Failing) for each in run.callback_handlers):
        run.add_callback_handler(_Failing())
    for operation in new:
        data = run.ops[host][operation]
        data.command_generator = _noted(data.command_generator)


def _noted(generate: Commands) -> Commands:
    def commands() -> Iterator[PyinfraCommand]:
        name = ""
        for command in generate():
            if not name:
                name = journal.step()
                yield from journal.beginning()
                yield FunctionCommand(_note, ("begun", name), {})
            yield command
        if name:
            yield FunctionCommand(_note, ("ended 0", name), {})

    return commands


def _note(state: State, host: Host, word: str, name: str) -> bool:
    of_run(_Open, state)[host.name] = name if word == "begun" else ""
    try:
        journal.note(journal.current(), {host.name: host}, word, name)
    except Refusal as refusal:
        say(host, refusal)
        return False
    return True
