"""The life of the guests together: up, reset, down, and what can befall them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lab import accelerator, host, image, ssh
from lab.errors import LabError
from lab.image import Source
from lab.machine import Machine, State, fingerprint
from lab.nodes import ALL, CAGES, PAIR, check, ssh_port
from lab.paths import home, images
from lab.progress import say, step
from lab.qemu import PRISTINE, Plan
from lab.waiting import cancelled
from lab.wiring import STRAIGHT, Cabling, far_end


@dataclass(frozen=True)
class Status:
    """One line of `lab status`."""

    node: str
    state: str
    pid: int | None
    port: int


def up(nodes: Sequence[str], source: Source, cabling: Cabling = STRAIGHT) -> list[str]:
    """Makes the lab's `nodes` run, from the snapshot where there is one. LabError if that fails.

    Running guests of the same image are left as they are; those of another image are replaced. Returns those that
    are in the pristine state now, since they were booted or resumed.
    """
    host.require_tools(host.TOOLS)
    with host.lock():
        require_ports(nodes)
        folder = ready_image(source)
        ssh.trust(folder)
        image.publish_facts(folder)
        plans = {node: plan(node, folder, cabling) for node in nodes}
        stop_miswired(plans)
        fits = [node for node in nodes if fits_plan(node, plans[node])]
        idle = [node for node in nodes if Machine(node).state() is State.STOPPED and node in fits]
        fresh = [node for node in nodes if node not in fits]
        host.require_room(home(), host.RUN_GIB * len(fresh))
        together("boot", fresh, lambda node: Machine(node).boot(plans[node]))
        together("resume", idle, lambda node: Machine(node).resume(plans[node]))
        if not fresh + idle:
            say(f"{' and '.join(nodes)} already up")
        return fresh + idle


def save(nodes: Sequence[str], snapshot: str) -> None:
    """Keeps `nodes` as they are now under a name, for `reset`. LabError where one does not run."""
    with host.lock():
        plans = {node: known_plan(node, STRAIGHT) for node in nodes}

        def keep(node: str) -> None:
            running(node).save(snapshot)
            Machine(node).wake(plans[node])

        together("save", nodes, keep)


def rewire(nodes: Sequence[str], cabling: Cabling, snapshot: str = PRISTINE) -> None:
    """Lays the cables anew: the guests go on from a snapshot with them. LabError for one that was never up."""
    reset(nodes, snapshot, cabling)


def reset(nodes: Sequence[str], snapshot: str = PRISTINE, cabling: Cabling = STRAIGHT) -> None:
    """Takes `nodes` back to a snapshot, by default to the pristine booted state, stopped ones too.

    The cables lie as they were first laid, or as `cabling` has them. LabError for a node that was never up.
    """
    with host.lock():
        plans = {node: known_plan(node, cabling) for node in nodes}
        require_ports(nodes)
        together("reset", nodes, lambda node: Machine(node).restore(plans[node], snapshot))


def down() -> None:
    """Stops whatever runs; snapshots stay."""
    with host.lock():
        running = [node for node in ALL if Machine(node).pid()]
        together("stop", running, lambda node: Machine(node).stop())
        if not running:
            say("nothing was running")


def status() -> list[Status]:
    """Where each guest stands."""
    return [Status(node, Machine(node).state().value, Machine(node).pid(), ssh_port(node)) for node in ALL]


def cable(node: str, cage: str, *, plugged: bool, cabling: Cabling = STRAIGHT) -> None:
    """Plugs or unplugs the cable in `cage`: both twins, and both ends of it, as with a real one."""
    with host.lock():
        other = far_end((check(node), cage), cabling)
        if other is None:
            raise LabError(
                f"{node} has no cable in {cage}",
                expected=f"a cage of {' or '.join(PAIR)}",
                attempt=f"sparkrig lab cable {PAIR[0]} {cage} plug",
            )
        ends = [(running(end), its_cage) for end, its_cage in ((node, cage), other)]
        for machine, its_cage in ends:
            machine.set_carriers(dict.fromkeys(CAGES[its_cage], plugged))


def cut_power(*nodes: str) -> None:
    """A power cut of `nodes` at once, which boot again by themselves; returns when all have settled."""
    with host.lock():
        machines = [running(node) for node in nodes]
        plans = {node: known_plan(node, STRAIGHT) for node in nodes}
        for machine in machines:
            machine.cut_power()
        together("settle", nodes, lambda node: Machine(node).settle(plans[node]))


def power(node: str, *, on: bool) -> None:
    """Switches `node` off without a shutdown, or boots it from its disk as it was left."""
    with host.lock():
        machine = Machine(check(node))
        its_plan = known_plan(node, STRAIGHT)
        if not on:
            machine.stop()
        elif not machine.pid():
            require_ports([node])
            together("boot", [node], lambda _: machine.power_on(its_plan))


def ready_image(source: Source) -> Path:
    """The folder of the image for `source`, built if need be."""
    staged = image.stage(ssh.public_key())
    folder = images() / image.key(source, staged)
    if not image.complete(folder):
        with step(f"building Debian {source.suite} from {source.mirror}", "image built"):
            image.build(source, staged, folder)
        for node in ALL:
            Machine(node).discard()
        image.discard_others(keep=folder)
    return folder


def plan(node: str, folder: Path, cabling: Cabling) -> Plan:
    """How `node` is started from the image in `folder`."""
    chosen = accelerator.choose(folder / "vmlinuz")
    return Plan(node, chosen, folder, home(), cabling)


def known_plan(node: str, cabling: Cabling) -> Plan:
    """How `node` was started. LabError for one that was never up."""
    made_with = Machine(node).made_with()
    if made_with is None:
        raise never_up(node)
    return plan(node, Path(made_with.image), cabling)


def fits_plan(node: str, wanted: Plan) -> bool:
    """Whether the snapshot of `node` is the one that `wanted` would lead to."""
    made_with = Machine(node).made_with()
    return made_with is not None and made_with.fingerprint == fingerprint(wanted)


def stop_miswired(plans: Mapping[str, Plan]) -> None:
    """Stops the guests that run with other cables than these."""
    other = [node for node, its in plans.items() if Machine(node).pid() and not Machine(node).wired_as(its)]
    together("stop", other, lambda node: Machine(node).stop())


def require_ports(nodes: Sequence[str]) -> None:
    """LabError where another program has the port of a stopped guest; prints a line for a guest that died."""
    idle = [node for node in nodes if not Machine(node).pid()]
    for node in idle:
        if stale := Machine(node).stale_pid():
            say(f"{node}: its qemu (process {stale}) is gone and left its pid file, starting it again")
    host.require_free_ports([ssh_port(node) for node in idle])


def running(node: str) -> Machine:
    """The machine of `node`; LabError where it does not run."""
    machine = Machine(check(node))
    if not machine.pid():
        raise LabError(f"{node} does not run", expected="it up", attempt="sparkrig lab up")
    return machine


def never_up(node: str) -> LabError:
    """The complaint that `node` has no snapshot to go back to."""
    return LabError(f"{node} has no snapshot", expected="a lab that was up once", attempt="sparkrig lab up")


WORDS = {
    "boot": ("booting", "booted"),
    "settle": ("booting after a power cut:", "back after a power cut:"),
    "resume": ("resuming", "resumed"),
    "reset": ("resetting", "reset"),
    "save": ("saving", "saved"),
    "stop": ("stopping", "stopped"),
}


def together(verb: str, nodes: Sequence[str], act: Callable[[str], None]) -> None:
    """Acts on all `nodes` at once under one progress line; the first failure is the one that is raised."""
    if not nodes:
        return
    doing, done = WORDS[verb]
    names = " and ".join(nodes)
    with step(f"{doing} {names}", f"{done} {names}"), ThreadPoolExecutor(len(nodes)) as pool:
        futures = [pool.submit(act, node) for node in nodes]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            cancelled.set()
            raise
