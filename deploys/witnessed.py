"""Whether the machine that a run is typed on is one of its hosts, and who proves for it what it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyinfra import inventory

from sparkrig.fabric.io import witness
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from sparkrig.deploys.spark import Spark


def is_here(spark: Spark) -> bool:
    """Whether a host is the machine that this runs on."""
    return witness.is_here(inventory.get_host(spark.name), spark.found.identity.boot_id)


def refusals(spark: Spark) -> list[Refusal]:
    """Why the network of the Spark that this runs on cannot be changed: no other one proves what this one cannot.

    Asked once all members were looked at, and only where something changes that can strand it.
    """
    group = {each.name: each for each in spark.group}
    names = spark.fleet.group(spark.name)
    own = [each.name for each in group.values() if is_here(each)]
    if len(group) < len(names) or not own or not any(group[name].guarded_moves for name in own):
        return []
    try:
        witness.proof(
            {name: inventory.get_host(name) for name in names},
            own,
            own,
            allowed=any(spark.fleet[name].allow_unwitnessed for name in own),
            patience=max(spark.fleet[name].patience for name in names),
        )
    except Refusal as refusal:
        return [refusal]
    return []
