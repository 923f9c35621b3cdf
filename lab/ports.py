"""The switch's ports: how each is set, and the speed that its link shows."""

from __future__ import annotations

from dataclasses import replace

from lab import host, layout, pair, ssh
from lab.errors import LabError
from lab.layout import Layout
from lab.nodes import CAGES, check
from lab.switch import Port, Switch


def set_port(node: str, **changes: int) -> Port:
    """Changes settings of the port of `node` and returns all of them. LabError where there is no such port."""
    with host.lock():
        switch = at_port(node)
        port = replace(switch.ports()[node], **changes)
        if changes:
            switch.set_ports({**switch.ports(), node: port})
        return port


def set_speed(node: str, gigabits: int) -> None:
    """The speed of the link to the switch, as both netdevs of `node` show it. LabError as above."""
    with host.lock():
        at_port(node)
        line = " && ".join(f"sudo ethtool -s {twin} speed {gigabits * 1000} duplex full" for twin in CAGES["p0"])
        done = ssh.execute(pair.running(node).node, line)
        if done.rc:
            raise LabError(
                f"{node} kept its speed: {done.stderr.strip()}",
                expected="exit code 0",
                attempt="sparkrig lab reset",
            )


def power(*, off: bool, on: bool) -> None:
    """Switches the switch off, or on, or both; its ports keep their settings. LabError where there is none."""
    with host.lock():
        now = switched()
        if off:
            Switch().end()
        if on:
            with pair.joined(now, pair.known_plan(now.nodes[0], now).image):
                pass


def at_port(node: str) -> Switch:
    """The switch that `node` is cabled to. LabError where there is none, or it does not run."""
    nodes = switched().nodes
    if check(node) not in nodes:
        raise LabError(
            f"{node} is not at the switch", expected=f"one of {', '.join(nodes)}", attempt="sparkrig lab status"
        )
    return pair.running_switch()


def switched() -> Layout:
    """The layout in force, where it has a switch; LabError otherwise."""
    now = layout.in_force()
    if not now.switched:
        raise LabError(
            f"the lab has no switch, but the topology {now.topology}",
            expected="the topology switch",
            attempt="sparkrig lab up --nodes 3 --topology switch",
        )
    return now
