"""The one look at each host of an inventory, as drift and plan take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkrig.cure import verb
from sparkrig.fleet import Fleet
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.host.armed import Armed
    from sparkrig.resources.state import State

LOOK_S = 90  # times `patience`; a healthy host answers within a few


def look(
    title: str,
    fleet: Fleet,
    data: Mapping[str, Any],
    meanwhile: Sequence[str],
    *,
    timeout: float | None = None,
    wait_s: float | None = 0,
    serving: bool = False,
) -> tuple[dict[str, State], dict[str, str]]:
    """What was seen of each host that could be read, and why the others could not.

    meanwhile: modules that are loaded while hosts are waited for; timeout: in seconds, for each host; wait_s: for
    how long a host may be rebooting, None for the usual time; serving: with what a new server needs to know.
    """
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.ssh import remote

    limits = {name: timeout or LOOK_S * fleet[name].patience for name in data}

    def read(at: Host) -> State:
        from sparkrig.facts.spark import Spark

        mine = fleet[at.name]
        given = (mine.weights, mine.serve_name) if serving else (mine.weights if mine.model else "",)
        return remote.read(at, Spark(), *given, seconds=int(limits[at.name]))

    answers = session.asked(data, title, read, wait_s=wait_s, limits_s=limits, meanwhile=meanwhile)
    seen = {name: answer for name, answer in answers.items() if not isinstance(answer, Exception)}
    return seen, {name: str(answer) for name, answer in answers.items() if isinstance(answer, Exception)}


def settle(
    fleet: Fleet,
    hosts: Mapping[str, Any],
    armed: Mapping[str, Sequence[Armed]],
    why: str = "",
    *,
    connected: bool = False,
) -> bool:
    """Wait until no network change awaits its confirmation; whether there was one, so that hosts are read again.

    hosts: those that are connected, else the inventory's data of each; armed: what a look saw, by host; why: as of
    `operations.guard.settle`. Raises Refusal where a host is lost.
    """
    due = {name: hosts[name] for name, changes in armed.items() if changes}
    if not due:
        return False
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.host.armed import awaited
    from sparkrig.operations import guard
    from sparkrig.terminal import terminal

    for name in due:
        terminal.echo(f"{name}: {awaited(armed[name])}; this goes on after that", err=True)

    def wait(at: Host) -> None:
        guard.settle(at, armed[at.name], fleet[at.name].patience, why)

    ask = session.ask if connected else session.asked
    for name, answer in ask(due, "Waiting for the network to settle", wait).items():
        if isinstance(answer, Exception):
            raise Refusal(f"{name}: {answer}", verb("status"))
    return True
