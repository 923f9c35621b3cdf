"""The host that a deploy is about: its settings, and its facts, read once and judged before any change."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property
from ipaddress import IPv4Interface
from typing import Any

from pydantic import SecretStr
from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import BaseStateCallback, Host
from pyinfra.api import State as RunState
from pyinfra.api.exceptions import DeployError

from sparkrig import login, settings
from sparkrig.checks import last_declaration, resources
from sparkrig.cure import look_at, over_ssh, verb
from sparkrig.deploys import witnessed
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.facts.resources import FACTS
from sparkrig.facts.spark import Spark as SparkFact
from sparkrig.files import DECLARED, MEASURED
from sparkrig.fleet import Fleet, Rail
from sparkrig.host import identity, preflight
from sparkrig.host.armed import awaited
from sparkrig.network import plan
from sparkrig.network.witness import unwitnessed
from sparkrig.operations import guard
from sparkrig.operations.again import again
from sparkrig.operations.journal import close, current
from sparkrig.operations.network import planned
from sparkrig.operations.of_run import of_run
from sparkrig.operations.refusal import say
from sparkrig.operations.secrets import gathered
from sparkrig.operations.subject import over, subject
from sparkrig.refusal import SAID, Refusal
from sparkrig.resources import network
from sparkrig.resources.check import Subject
from sparkrig.resources.resource import Resource
from sparkrig.resources.state import RESOURCES, State
from sparkrig.settings import Settings
from sparkrig.ssh import remote
from sparkrig.ssh.waiting import Watching, watched
from sparkrig.terminal import terminal

terminal.clean_pyinfra()  # here too, for an inventory of the user's own that does not check itself


@dataclass(frozen=True)
class Spark:
    """One host in this run. `found` is what the one look before any change saw."""

    name: str
    fleet: Fleet
    found: State

    @property
    def settings(self) -> Settings:
        return self.fleet[self.name]

    def as_seen(self, state: State) -> Spark:
        """The same by another look at it."""
        return replace(self, found=state)

    @property
    def peers(self) -> tuple[str, ...]:
        return self.fleet.peers(self.name)

    @property
    def rails(self) -> list[Rail]:
        return self.fleet.rails(self.name)

    @property
    def cabled(self) -> dict[str, IPv4Interface]:
        """The fabric netdevs that are declared and can be used now; fewer than declared only on a lone Spark."""
        idle = self.network_plan.uncabled
        return {netdev: address for netdev, address in self.settings.fabric.items() if netdev not in idle}

    @cached_property
    def subject(self) -> Subject:
        """What its checks are made from; its peers are judged by themselves."""
        return subject(self.name, self.fleet, {self.name: self.found})

    @cached_property
    def network_plan(self) -> plan.Plan:
        return planned(self.found.network, self.settings)

    @cached_property
    def secrets(self) -> dict[str, SecretStr | None]:
        """The value of each secret from its source on this machine; Refusal where one cannot be read."""
        return gathered(self.settings.secrets)

    @cached_property
    def network_moves(self) -> bool:
        """Whether this run changes the fabric, so that GIDs and bandwidth must be looked at again."""
        return network.moves(self.subject)

    @cached_property
    def guarded_moves(self) -> bool:
        """Whether this run changes what can strand the host, so that it is to be proven from outside."""
        return self.network_moves or any(
            _moves(resource, self.subject) for resource in RESOURCES if resource.guard
        )

    @property
    def group(self) -> list[Spark]:
        """This host, and each peer once that was looked at; they begin and end a run together."""
        return [self, *filter(None, map(looked_at, self.peers))]

    @property
    def unkept(self) -> str:
        """Why the end of the last run is not kept, here or on a peer: it broke off, or is gone; else empty."""
        if any(spark.found.preflight.open_run for spark in self.group):
            return "of a run that broke off"
        return "of a journal that is gone" if any(spark.found.preflight.lost for spark in self.group) else ""


class _Looked(dict[str, Spark]):
    """What each host of a run looked like; hosts are looked at side by side, so a peer may be missing for now."""


class _Heard(dict[str, Neighbours]):
    """By whom hosts are reached below IP, of those whose network a run changes."""


def heard(spark: Spark) -> dict[str, Neighbours]:
    """By whom this host and its peers are reached, of those that heard a peer on each rail before any change.

    A netdev that was down then, or whose peer was, is to be asked again.
    """
    told = of_run(_Heard)
    return {
        each.name: told[each.name]
        for each in spark.group
        if each.name in told
        and {rail.netdev for rail in each.rails} <= {row.netdev for row in told[each.name].heard}
    }


def _moves(resource: Resource[Any], subject: Subject) -> bool:
    try:
        return bool(resource.changes(subject))
    except Refusal:  # another judgement has it
        return False


def looked_at(name: str) -> Spark | None:
    """The Spark of another host of this run, once it was looked at."""
    return of_run(_Looked).get(name)


def remember(spark: Spark) -> None:
    """Let its peer see a Spark that was looked at."""
    of_run(_Looked)[spark.name] = spark


def alone(name: str, deploy: Callable[..., Any], *, network: bool = True, **arguments: Any) -> None:
    """Apply one noun by itself, where pyinfra was given its file: pyinfra INVENTORY deploys/driver.py

    pyinfra executes such a file without a name of its own; imported by another deploy it has one, and
    nothing happens here. network: as of `look`.
    """
    if name == "builtins" and (spark := look(network=network)):
        deploy(spark=spark, **arguments)
        close(name="close the run", unkept=lambda: spark.unkept, simulated=lambda: spark.found.driver.kept)


def look(*, network: bool = True) -> Spark | None:
    """This host's Spark, or None where it is refused; its peer is refused with it.

    Everything is judged before the first change of the run. network: whether the run may change it.
    """
    fleet = _fleet()
    mine = fleet[host.name]
    found = _read(_weights(mine), mine.serve_name)
    if isinstance(found, State) and found.preflight.armed:
        found = _settled(found, mine)
    if isinstance(found, Refusal):
        refuse([found], fleet)
        return None
    spark = Spark(host.name, fleet, over(found, mine))
    for line in preflight.warnings(found.preflight, found.time.synchronised):
        host.log_styled(line, fg="yellow", log_func=logger.warning)
    absent = [peer for peer in spark.peers if not inventory.get_host(peer).connected]
    refusals = judge(spark, absent=absent, network=network)
    if not refusals:
        remember(spark)
        refusals = [*_twice(spark), *_cabling(spark), *(witnessed.refusals(spark) if network else [])]
    if refusals:
        refuse(refusals, fleet)
    return None if refusals else spark


def _twice(spark: Spark) -> list[Refusal]:
    """Why this machine cannot be two hosts: an inventory of one Spark that came to another one, say."""
    others = [name for name, other in of_run(_Looked).items() if name != spark.name and witnessed.is_here(other)]
    if not others or not witnessed.is_here(spark):
        return []
    return [
        Refusal(
            f"{others[0]} and {spark.name} are both the machine that sparkrig runs on; two machines are expected",
            "give @here/ in the inventory to the Spark that you type this on, and ssh_hostname to each other one",
        )
    ]


def _cabling(spark: Spark) -> list[Refusal]:
    """Why the network of a cluster cannot be changed, by who hears whom; asked once all hosts were looked at.

    One whose network stands is not asked: that costs each host one exec and two seconds.
    """
    group = {each.name: each for each in spark.group}
    names = spark.fleet.group(spark.name)
    if len(names) < 2 or len(group) < len(names) or not any(each.network_moves for each in group.values()):
        return []
    # here, because a pair whose network stands does not need all that they judge
    from sparkrig.fabric import topology
    from sparkrig.fabric.io import survey

    patience = max(spark.fleet[name].patience for name in names)
    hosts = {name: inventory.get_host(name) for name in names}
    with ExitStack() as watching:
        for at in hosts.values():
            watching.enter_context(watched(at, "See which cage reaches which"))
        told = survey.hear(hosts, patience, spark.fleet.fan(spark.name))
    of_run(_Heard).update(told)
    seen = {name: topology.Seen(each.found.network, each.found.rdma, told[name]) for name, each in group.items()}
    return topology.obstacles(spark.fleet, names, seen)


def _weights(mine: Settings) -> str:
    """Their folder, where a model is asked for; a service that is named alone has it in its record."""
    typed = inventory.get_override_data()
    if "serve_name" in typed and not typed.keys() & {"model", "recipe", "weights"}:
        return ""
    return mine.weights if mine.model or mine.recipe else ""


def _read(weights: str, service: str) -> State | Refusal:
    """The one look, or why it could not be taken; pyinfra has then printed the host's own words."""
    user = login.user_of(host.data.dict())
    try:
        with watched(inventory.get_host(host.name), "Look at the host"):
            state: State | None = host.get_fact(SparkFact, weights=weights, service=service, _ignore_errors=True)
    except EOFError:  # pyinfra asks for a sudo password, and there is no terminal to type one
        return Refusal(
            f"the host cannot be read as root; sudo without a password is expected for {user}",
            over_ssh(host.name, "sudo -n true"),
        )
    return state or Refusal(
        f"the host cannot be read (the lines above say what went wrong); {user} needs sudo without a password",
        look_at(host.name),
    )


def _settled(found: State, mine: Settings) -> State | Refusal:
    """The look once no network change awaits its confirmation; until then the host is not what it will be."""
    at, armed = inventory.get_host(host.name), found.preflight.armed
    at.log_styled(f"{awaited(armed)}; this run goes on after that", fg="yellow", log_func=logger.warning)
    why = "" if "--dry" in sys.argv else f"superseded by run {current().id}"
    try:
        with watched(at, "Wait until the network is settled"):
            guard.settle(at, armed, mine.patience, why)
    except (remote.Failed, remote.Lost) as error:
        return Refusal(str(error), verb("status"))
    return _read(_weights(mine), mine.serve_name)


def declaration(spark: Spark) -> str:
    """What was declared of a host, as it is kept there.

    What the files should be is known once the GIDs are; for all else the first look is enough.
    """
    state = replace(spark.found, rdma=again(FACTS["rdma"])) if spark.network_moves else spark.found
    kept = last_declaration.of(
        resources.checks(subject(spark.name, spark.fleet, {spark.name: state})), time.time()
    )
    return last_declaration.dump(kept)


def judge(spark: Spark, *, absent: Sequence[str], network: bool = True) -> list[Refusal]:
    """Every reason why nothing may be done to this host; the first alone where it is no Spark.

    absent: its peers that are not in this run; network: as of `look`.
    """
    mine, state = spark.settings, spark.found
    try:
        identity.judge(state.identity, allow_non_spark=mine.allow_non_spark)
    except Refusal as refusal:
        return [refusal]
    refusals = preflight.judge(
        state.preflight,
        fabric=bool(mine.fabric),
        running=state.network.running,
        installs=state.containers.toolkit is None,
        due=due(spark) if state.preflight.barred else (),
        kept=state.time.synchronised,
    )
    if state.preflight.read_only:
        return refusals
    refusals += [
        Refusal(
            f"its peer {peer} is not in this run, and {_as_one(spark)}",
            f"{over_ssh(peer, 'true')}, and run without --limit",
        )
        for peer in absent
    ]
    alone_here = network and not spark.peers and witnessed.is_here(spark)
    if alone_here and spark.guarded_moves and not mine.allow_unwitnessed:
        refusals.append(unwitnessed(spark.name))
    return [*refusals, *resources.refusals(spark.subject)]


def _as_one(spark: Spark) -> str:
    return "a pair is set up as a pair" if len(spark.peers) == 1 else "a cluster is set up as one"


def due(spark: Spark) -> set[str]:
    """The paths of the files that a deploy would write on this host, those that it keeps of the run among them."""
    paths = resources.due(spark.subject)
    if paths or spark.network_moves:
        paths |= {MEASURED, DECLARED} if spark.peers else {DECLARED}
    return paths


class _Together(BaseStateCallback):
    """A host that fails in mid-run takes its peer along, also in a fleet where other pairs go on."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.together: set[Host] = set()

    def operation_host_error(self, _state: RunState, host: Host, *_: Any) -> None:  # type: ignore[override]
        _say_if_lost(host)
        self.together |= set(map(inventory.get_host, self.fleet.peers(host.name)))

    def operation_end(self, state: RunState, _op_hash: str) -> None:  # type: ignore[override]
        state.fail_hosts(self.together & state.active_hosts)


def _say_if_lost(at: Host) -> None:
    """Report of a step that lost its connection that it may have ended well all the same."""
    answer = remote.each({at.name: at}, lambda each: remote.shell(each, ":", seconds=10))[at.name]
    if isinstance(answer, remote.Lost):
        at.log_styled(
            f"{SAID}the connection was lost in the middle of this step, so its state is unknown ({answer}). Try: "
            f"{over_ssh(at.name, 'true')}, and run the same again; it reads the host anew and does what is left",
            fg="red",
            log_func=logger.error,
        )


@cache
def _fleet() -> Fleet:
    """The checked settings of the whole inventory, `--data` included, once for all hosts of a run.

    Raises pyinfra's own error with one sentence; nothing has been changed by then.
    """
    data: Mapping[str, Mapping[str, Any]] = {each.name: each.data.dict() for each in inventory}
    try:
        fleet = Fleet.parse(data)
        login.judge(data, fleet)
    except settings.SettingsError as error:
        raise DeployError(f"{error}. sparkrig docs settings explains each setting") from None
    if "--no-wait" in sys.argv and any(map(fleet.peers, fleet)):
        raise DeployError(
            "--no-wait lets one host run ahead of its peers, and their network changes together; "
            "nothing was changed. Try: the same without --no-wait"
        )
    run.add_callback_handler(_Together(fleet))
    run.add_callback_handler(Watching())
    return fleet


def refuse(refusals: list[Refusal], fleet: Fleet) -> None:
    """Report why nothing is done to this host, and leave its peer out too."""
    for refusal in refusals:
        say(host, refusal)
    together = {host, *map(inventory.get_host, fleet.peers(host.name))}
    logger.debug("refusing %s together", ", ".join(each.name for each in together))
    run.fail_hosts(together & run.active_hosts)
