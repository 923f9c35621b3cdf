"""The life of the guests together: up, reset, down, and what can befall them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lab import accelerator, host, image, layout, ssh, states
from lab.errors import LabError
from lab.image import Source
from lab.lan import Lan
from lab.layout import Layout
from lab.machine import Machine, State, fingerprint
from lab.nodes import ALL, CABLED, LAN, PAIR, SOLO, SWITCH, check, ssh_port
from lab.paths import home, images
from lab.process import Process
from lab.progress import say, step
from lab.qemu import MEMORY_MIB, PRISTINE, Plan
from lab.switch import Switch
from lab.waiting import cancelled
from lab.wiring import STRAIGHT, Cabling, cages, far_end


@dataclass(frozen=True)
class Status:
    """One line of `lab status`; the switch and the LAN have no port."""

    node: str
    state: str
    pid: int | None
    port: int | None


def up(nodes: Sequence[str], source: Source, cabling: Cabling = STRAIGHT) -> list[str]:
    """Makes the pair run, or the lone Spark: see `lay`."""
    return lay(laid(nodes, cabling), source)


def lay(wanted: Layout, source: Source) -> list[str]:
    """Makes the guests of a layout run, from the snapshot where there is one. LabError if that fails.

    Running guests of the same image are left as they are; those of another image or other cables are replaced.
    Returns those that are in the pristine state now, since they were booted or resumed.
    """
    nodes = wanted.nodes
    host.require_tools(host.TOOLS)
    with host.lock():
        require_ports(nodes)
        require_memory(wanted)
        folder = ready_image(source)
        ssh.trust(folder)
        image.publish_facts(folder)
        plans = {node: plan(node, folder, wanted) for node in nodes}
        enter(wanted)
        stop_miswired(plans)
        fits = [node for node in nodes if fits_plan(node, plans[node])]
        idle = [node for node in nodes if Machine(node).state() is State.STOPPED and node in fits]
        fresh = [node for node in nodes if node not in fits]
        host.require_room(home(), host.RUN_GIB * len(fresh))
        with joined(wanted, folder):
            together("boot", fresh, lambda node: Machine(node).boot(plans[node]))
            together("resume", idle, lambda node: Machine(node).resume(plans[node]))
        if not fresh + idle:
            say(f"{listed(nodes)} already up")
        return fresh + idle


def save(nodes: Sequence[str], snapshot: str) -> None:
    """Keeps `nodes` as they are now under a name, for `reset`. LabError where one does not run."""
    with host.lock():
        now = layout.in_force()
        plans = {node: known_plan(node, now) for node in nodes}
        for node in nodes:
            running(node)

        def keep(node: str) -> None:
            Machine(node).save(snapshot)
            Machine(node).wake(plans[node])

        together("save", nodes, keep)
        states.keep(snapshot, replace(now, nodes=tuple(nodes)), Switch().ports() if now.switched else {})


def rewire(nodes: Sequence[str], cabling: Cabling, snapshot: str = PRISTINE) -> None:
    """Lays the cables of the pair anew: see `restore`."""
    restore(laid(nodes, cabling), snapshot)


def reset(nodes: Sequence[str], snapshot: str = PRISTINE, cabling: Cabling = STRAIGHT) -> None:
    """Takes the pair back to a snapshot, or the lone Spark: see `restore`."""
    restore(laid(nodes, cabling), snapshot)


def restore(wanted: Layout, snapshot: str = PRISTINE) -> None:
    """Takes the guests of a layout back to a snapshot, by default to the pristine booted state, stopped ones too.

    The cables lie as the layout has them, and the ports of a switch are set as they were. LabError for a node that
    was never up, or never saved so; then nothing has changed.
    """
    with host.lock():
        plans = {node: known_plan(node, wanted) for node in wanted.nodes}
        ports = states.ports(snapshot, wanted)
        for node in wanted.nodes:
            Machine(node).require(snapshot)
        require_ports(wanted.nodes)
        enter(wanted)
        if wanted.switched:
            Switch().keep(ports)
        with joined(wanted, plans[wanted.nodes[0]].image):
            together("reset", wanted.nodes, lambda node: Machine(node).restore(plans[node], snapshot))


def down() -> None:
    """Stops whatever runs; snapshots stay."""
    with host.lock():
        running = [node for node in (*ALL, SWITCH, LAN) if Process(node).pid()]
        together("stop", running, stop)
        if not running:
            say("nothing was running")


def status() -> list[Status]:
    """Where each guest stands; the switch and the LAN where there are any."""
    rows = [Status(node, Machine(node).state().value, Machine(node).pid(), ssh_port(node)) for node in ALL]
    now = layout.in_force()
    for name, part in ((SWITCH, now.switched), (LAN, now.lan)):
        if pid := Process(name).pid():
            rows.append(Status(name, State.RUNNING.value, pid, None))
        elif part:
            rows.append(Status(name, State.STOPPED.value, None, None))
    return rows


def cable(node: str, cage: str, *, plugged: bool, cabling: Cabling | None = None) -> None:
    """Plugs or unplugs the cable in `cage`: both twins, and both ends of it, as with a real one."""
    with host.lock():
        laid = layout.in_force().cabling if cabling is None else cabling
        other = far_end((check(node), cage), laid)
        if other is None:
            node_there, cage_there = laid[0].one
            raise LabError(
                f"{node} has no cable in {cage}",
                expected=f"a cage with one, such as {cage_there} of {node_there}",
                attempt=f"sparkrig lab cable {node_there} {cage_there} {'plug' if plugged else 'unplug'}",
            )
        ends = [(end_of(end), cages(end)[its_cage]) for end, its_cage in ((node, cage), other)]
        for machine, twins in ends:
            machine.set_carriers(dict.fromkeys(twins, plugged))


def end_of(node: str) -> Machine | Switch:
    """What has one end of a cable. LabError where it does not run."""
    return running_switch() if node == SWITCH else running(node)


def cut_power(*nodes: str) -> None:
    """A power cut of `nodes` at once, which boot again by themselves; returns when all have settled."""
    with host.lock():
        machines = [running(node) for node in nodes]
        plans = {node: known_plan(node, layout.in_force()) for node in nodes}
        for machine in machines:
            machine.cut_power()
        together("settle", nodes, lambda node: Machine(node).settle(plans[node]))


def power(node: str, *, on: bool) -> None:
    """Switches `node` off without a shutdown, or boots it from its disk as it was left."""
    with host.lock():
        machine = Machine(check(node))
        its_plan = known_plan(node, layout.in_force())
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
        Switch().end()
        for old in (Switch().folder, states.folder()):
            shutil.rmtree(old, ignore_errors=True)
        image.discard_others(keep=folder)
    return folder


def plan(node: str, folder: Path, wanted: Layout) -> Plan:
    """How `node` is started from the image in `folder`."""
    chosen = accelerator.choose(folder / "vmlinuz")
    return Plan(node, chosen, folder, home(), wanted.cabling, wanted.lan)


def known_plan(node: str, wanted: Layout) -> Plan:
    """How `node` was started. LabError for one that was never up."""
    made_with = Machine(node).made_with()
    if made_with is None:
        raise never_up(node)
    return plan(node, Path(made_with.image), wanted if node in wanted.nodes else layout.solo())


def laid(nodes: Sequence[str], cabling: Cabling) -> Layout:
    """The layout of the pair or of the lone Spark; of one of the pair, that in force."""
    if SOLO in nodes:
        return layout.solo()
    whole = layout.pair(cabling) if len(nodes) > 1 else layout.in_force()
    return replace(whole, nodes=tuple(nodes))


def enter(wanted: Layout) -> None:
    """Puts a layout in force, and stops what is not of it; the lone Spark is beside any."""
    if len(wanted.nodes) < 2:
        return
    others = [node for node in ALL if node not in (*wanted.nodes, SOLO)]
    others += [SWITCH] * (not wanted.switched) + [LAN] * (not wanted.lan)
    together("stop", [node for node in others if Process(node).pid()], stop)
    layout.put_in_force(wanted)


@contextmanager
def joined(wanted: Layout, folder: Path) -> Iterator[None]:
    """Starts what joins the guests of a layout: the LAN before the block, the switch beside it."""
    if wanted.lan:
        Lan(LAN).start(CABLED)
    with ThreadPoolExecutor(1) as beside:
        starting = [beside.submit(Switch().start, plan(SWITCH, folder, wanted))] if wanted.switched else []
        yield
        for each in starting:
            each.result()


def stop(node: str) -> None:
    """Ends a guest, the switch or the LAN."""
    if node in ALL:
        Machine(node).stop()
    else:
        Process(node).end()


def fits_plan(node: str, wanted: Plan) -> bool:
    """Whether the snapshot of `node` is the one that `wanted` would lead to."""
    made_with = Machine(node).made_with()
    return made_with is not None and made_with.fingerprint == fingerprint(wanted)


def stop_miswired(plans: Mapping[str, Plan]) -> None:
    """Stops the guests that run with other cables than these."""
    other = [node for node, its in plans.items() if Machine(node).pid() and not Machine(node).wired_as(its)]
    together("stop", other, lambda node: Machine(node).stop())


def require_memory(wanted: Layout) -> None:
    """LabError where this machine has no memory for the guests of a cluster that do not run yet."""
    idle = [node for node in wanted.nodes if not Machine(node).pid()]
    if len(wanted.nodes) > len(PAIR):
        host.require_memory(len(idle), (MEMORY_MIB + host.QEMU_MIB) / 1024)


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


def running_switch() -> Switch:
    """The switch; LabError where it does not run."""
    switch = Switch()
    if not switch.pid():
        raise LabError("the switch does not run", expected="it up", attempt="sparkrig lab power switch on")
    return switch


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
    names = listed(nodes)
    with step(f"{doing} {names}", f"{done} {names}"), ThreadPoolExecutor(len(nodes)) as pool:
        futures = [pool.submit(act, node) for node in nodes]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            cancelled.set()
            raise


def listed(names: Sequence[str]) -> str:
    """Names as a part of a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
