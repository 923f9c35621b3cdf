"""Bandwidth: each rail measured with ib_write_bw, whenever it is not known as it is now.

Of more than two hosts each two measure with each other, those of a round at the same time (docs/clusters.md).
To measure everything at any time: pyinfra inventories/sparks.py deploys/bandwidth.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyinfra import inventory
from pyinfra.api import deploy

from sparkrig.bandwidth import records
from sparkrig.bandwidth.records import Complaint
from sparkrig.deploys.spark import Spark, alone, heard, looked_at
from sparkrig.operations import bandwidth as operations
from sparkrig.operations import journal
from sparkrig.operations.bandwidth import Due

if TYPE_CHECKING:
    from sparkrig.fabric.io.fabric_look import Known


@deploy("Bandwidth")
def apply(spark: Spark, *, thorough: bool = False) -> None:
    """Measure the rails of a cluster from the host that leads it, where that is due; a lone Spark has none.

    thorough: measure whatever is on record, in both directions and with one queue pair too.
    """
    if not spark.peers:
        return
    operations.measure(
        name="ib_write_bw on each rail",
        due=(lambda: Due("asked for")) if thorough else (lambda: due(spark)),
        group=spark.fleet.group(spark.name),
        fleet=spark.fleet,
        thorough=thorough,
        known=lambda: known(spark),
    )


def due(spark: Spark) -> Due | None:
    """Why the rails are to be measured: one has no good record of what it is now, here or on a peer.

    All are then measured, so that what is on record was seen in one state of the cluster. A peer counts once
    it was looked at. Where nothing but a boot lies between, the measurement is no change.
    """
    if any(each.network_moves for each in spark.group):
        return Due("the network changes")
    complaints = [
        complaint for member in spark.group for complaint in _complaints(member) if complaint.kind != "unread"
    ]
    reason = next((complaint for complaint in complaints if not complaint.unknown), next(iter(complaints), None))
    return Due(reason.said, changes=not reason.unknown) if reason else None


def known(spark: Spark) -> Known:
    """What this run saw of the cluster and still stands: no look from before its first change."""
    from sparkrig.fabric.io.fabric_look import Known  # a run that measures nothing need not know how

    begun = journal.begun(inventory.get_host(spark.name))
    return Known({} if begun else {each.name: each.found for each in spark.group}, heard(spark))


def _complaints(spark: Spark) -> Iterator[Complaint]:
    for rail, record in records.matched(records.found(spark.found.files), spark.rails):
        there = looked_at(rail.far.host)
        boots = (
            records.boot(spark.name, spark.found.identity),
            records.boot(rail.far.host, there.found.identity if there else None),
        )
        if complaint := records.complaint(record, rail, spark.settings, *boots):
            yield complaint


alone(__name__, apply, thorough=True)
