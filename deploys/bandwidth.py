"""9. Bandwidth: each rail of a pair measured with ib_write_bw, whenever it is not known as it is now.

To measure everything at any time: pyinfra inventories/pair.py deploys/bandwidth.py
"""

from __future__ import annotations

from pyinfra.api import deploy

from deploys.spark import Spark, alone, looked_at
from operations import bandwidth as operations
from sparkrig import bandwidth, records
from sparkrig.settings import Rail


@deploy("Bandwidth")
def rails_measured(spark: Spark, *, thorough: bool = False) -> None:
    """Measure the rails of a pair from the host that leads it, where that is due; a lone Spark has none.

    thorough: measure whatever is on record, in both directions and with one queue pair too.
    """
    if spark.peer is None:
        return
    operations.measure(
        name="ib_write_bw on each rail",
        due=(lambda: True) if thorough else (lambda: due(spark)),
        leads=spark.fleet.leads(spark.name),
        peer=spark.peer,
        fleet=spark.fleet,
        thorough=thorough,
    )


def due(spark: Spark) -> bool:
    """Whether a rail has no good record of what it is now, here or on the peer.

    All are then measured, so that what is on record was seen in one state of the pair. The peer counts once
    it was looked at.
    """
    pair = [half for half in (spark, looked_at(spark.peer)) if half]
    return not all(not half.network_moves and all(_on_record(half, rail) for rail in half.rails) for half in pair)


def _on_record(spark: Spark, rail: Rail) -> bool:
    mine = spark.settings
    file = spark.found.files.get(records.PATH)
    record = records.load(file.content if file else None).get(rail.netdev)
    addresses = (rail.address.ip, rail.peer_address.ip)
    return records.complaint(record, *addresses, mine.mtu, bandwidth.expected(mine)) is None


alone(__name__, rails_measured, thorough=True)
