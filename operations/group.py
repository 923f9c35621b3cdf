"""The hosts that one server is for: each step of serving is one thing for all of them, which the head leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from sparkrig.checks.server import Server
from sparkrig.cure import on_host, quoted
from sparkrig.facts.serving import Serving as ServingFact
from sparkrig.operations import unit
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing, say
from sparkrig.refusal import Refusal
from sparkrig.resources import trust
from sparkrig.serving.served import Service, Serving
from sparkrig.serving.wish import Wish
from sparkrig.settings import Settings
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.text import bare_name

# In seconds, times `patience`.
LOOK_S = 90
STEP_S = 180


class RolledBack(Exception):
    """A configuration that was tried and taken back; the message is what is known of it, in sentences."""


@dataclass(frozen=True)
class Group:
    """The hosts that one server is for: the server on each, that of the head first, the idle ones last."""

    servers: Sequence[Server]

    @property
    def busy(self) -> list[Server]:
        """The servers of the hosts that have a part in it."""
        return [server for server in self.servers if not server.idle]

    @property
    def names(self) -> list[str]:
        """The hosts that have a part in it."""
        return [server.host.name for server in self.busy]

    @property
    def units(self) -> list[str]:
        """Those of them that run a unit of it."""
        return [server.host.name for server in self.servers if server.has_unit]

    @property
    def all(self) -> list[str]:
        return [server.host.name for server in self.servers]

    @property
    def leader(self) -> Server:
        return self.servers[0]

    @property
    def head(self) -> str:
        return self.leader.host.name

    @property
    def mine(self) -> Settings:
        """What all of them have in common."""
        return self.leader.mine

    @property
    def wish(self) -> Wish:
        return self.leader.wish

    @property
    def service(self) -> Service:
        return self.leader.service

    @property
    def switched(self) -> bool:
        """Whether each host has one link, to a switch."""
        return self.mine.form == "switch"

    def seconds(self, base: float) -> int:
        return int(base * max(server.mine.patience for server in self.servers))


T = TypeVar("T")


@operation()
@refusing
@recorded
def together(
    due: Callable[[], bool], leader: str, act: Callable[[Group], None], group: Callable[[], Group], settled: str
) -> Commands:
    """Something that is one for all hosts of a server, done from the host that leads.

    + due: asked when it is needed
    + leader: the host whose turn it is done in
    + act: what does it
    + group: the hosts, asked when it is done
    + settled: printed where nothing is to be done
    """
    if not due():
        host.noop(settled)
    elif host.name == leader:
        yield FunctionCommand(_lead, (act, group), {})
    elif run.is_executing:
        host.log(f"done together with {leader}, which leads")
    else:
        yield f"# done together with {leader}"


def _lead(state: State, host: Host, act: Callable[[Group], None], group: Callable[[], Group]) -> bool:  # noqa: ARG001
    try:
        act(group())
    except Refusal as refusal:
        say(host, str(refusal))
    except RolledBack as why:
        host.log_styled(f"Changed and rolled back: {why}", fg="red", log_func=logger.error)
    except (Failed, Lost) as error:
        say(host, str(Refusal(f"it broke off ({error})", "the same again, which goes on from there")))
    else:
        return True
    return False


def hosts(names: Sequence[str]) -> dict[str, Host]:
    """Hosts of this run, by name."""
    return {name: inventory.get_host(name) for name in names}


def on_all(names: Sequence[str], ask: Callable[[Host], T]) -> dict[str, T]:
    """Something on several hosts side by side. Raises Failed or Lost with the host's name."""
    return remote.every(hosts(names), ask)


def look(group: Group) -> dict[str, Serving]:
    """What each host has now, as the service of the group sees it. Raises Failed or Lost."""
    fact = ServingFact()
    seconds = group.seconds(LOOK_S)
    return on_all(
        group.all,
        lambda at: remote.read(at, fact, group.mine.weights, seconds=seconds).of(group.service),
    )


def tell(group: Group, text: str) -> None:
    """A line of progress, in the name of the head."""
    inventory.get_host(group.head).log(text)


def long(group: Group, name: str, at: str, words: Sequence[str], base: float, cure: str) -> None:
    """A long command as a unit of its own, which outlives the connection. Raises Failed or Lost."""
    side_by_side(group, name, {at: words}, base, {at: cure})


def side_by_side(
    group: Group, name: str, words: Mapping[str, Sequence[str]], base: float, cures: Mapping[str, str]
) -> None:
    """The same on several hosts at a time, each with its own words. All have ended where one of them failed."""
    seconds = group.seconds(base)
    on_all(
        [*words],
        lambda host: unit.carry_out(host, name, *words[host.name], seconds=seconds, cure=cures[host.name]),
    )


def copied(
    group: Group,
    unit_name: str,
    what: str,
    pairs: Sequence[tuple[str, str]],
    words: Callable[[str, str], Sequence[str]],
    base: float,
) -> None:
    """One round of copies over the fabric, each from one host to another.

    words: what the second one runs, by both names. Raises Refusal before the first one where it cannot log in,
    Failed or Lost.
    """
    commands = {name: words(source, name) for source, name in pairs}
    for source, name in pairs:
        tell(group, f"copy {what} from {source} to {name} over the fabric ...")
    cures = {
        name: on_host(f"ssh {quoted(bare_name(source))} sudo -n true", f", on {name}") for source, name in pairs
    }
    side_by_side(group, unit_name, commands, base, cures)


def user(group: Group, name: str, source: str) -> str:
    """Whom the source knows. Raises Refusal where they do not trust one another."""
    host = next(server.host for server in group.servers if server.host.name == name)
    if not (host.settings.node_ssh and trust.settled(host.found.trust, host.found.files, None)):
        raise Refusal(
            f"{name} would get it from {source} over the fabric, and cannot log in there",
            trust.wanted(len(group.servers)),
        )
    return host.found.trust.user
