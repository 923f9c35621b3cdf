"""What joins the hosts that no inventory declares, by the verb's own look, or by one that is taken for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkrig.fabric import as_found
from sparkrig.fleet import Fleet
from sparkrig.network.seen import Network
from sparkrig.terminal import terminal

_LOOK_S = 60  # a healthy host answers within two


def joined(fleet: Fleet, seen: Mapping[str, Network]) -> Fleet:
    """The same fleet where an inventory declares it; else as what was seen joins it. Who stands alone is told."""
    if fleet.declared or len(seen) < 2:
        return fleet
    found, alone = as_found.joined(fleet, seen)
    for name, why in alone.items():
        said = f"{name} is looked at by itself, since it cannot be of one fabric with the others: {why}"
        terminal.echo(f"Warning: {said}", err=True)
    return found


def looked(fleet: Fleet, data: Mapping[str, Mapping[str, Any]]) -> Fleet:
    """The same for a verb whose own look does not tell what joins the hosts: they are asked first."""
    if fleet.declared or len(data) < 2:
        return fleet
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.facts.resources import FACTS
    from sparkrig.ssh import remote

    answers = session.asked(
        data,
        "Seeing what joins them",
        lambda at: remote.read(at, FACTS["network"](), seconds=_LOOK_S),
        wait_s=0,
        limits_s=dict.fromkeys(data, float(_LOOK_S)),
    )
    return joined(fleet, {name: each for name, each in answers.items() if isinstance(each, Network)})
