"""7. Bandwidth: each rail of a pair measured with ib_write_bw, whenever it is not known as it is now.

To measure again at any time: pyinfra inventories/pair.py deploys/bandwidth.py
"""

from __future__ import annotations

from pyinfra.api import deploy

from deploys.spark import Spark, alone, looked_at
from operations import bandwidth as operations
from sparkrig import bandwidth
from sparkrig.settings import Rail


@deploy("Bandwidth")
def rails_measured(spark: Spark, *, again: bool = False) -> None:
    """Measure the rails that are due, from the host that leads the pair; a Spark on its own has none.

    again: measure every rail, whatever is on record.
    """
    if spark.peer is None:
        return
    operations.measure(
        name="ib_write_bw on each rail",
        due=(lambda: spark.rails) if again else (lambda: due(spark)),
        leads=spark.fleet.leads(spark.name),
        peer=spark.peer,
        settings=spark.settings,
    )


def due(spark: Spark) -> list[Rail]:
    """Every rail, where one of them has no good record of what it is now, here or on the peer; else none.

    They are measured together, so that what is on record was seen in one state of the pair. The peer
    counts once it was looked at.
    """
    pair = [half for half in (spark, looked_at(spark.peer)) if half]
    known = all(not half.network_moves and all(_on_record(half, rail) for rail in half.rails) for half in pair)
    return [] if known else spark.rails


def _on_record(spark: Spark, rail: Rail) -> bool:
    mine = spark.settings
    file = spark.found.files.get(bandwidth.RECORD_PATH)
    record = bandwidth.load_records(file.content if file else None).get(rail.netdev)
    return bandwidth.stands(
        record,
        str(rail.address.ip),
        str(rail.peer_address.ip),
        mine.mtu,
        floor=mine.bandwidth_floor,
        path_mtu=mine.bandwidth_path_mtu,
    )


alone(__name__, rails_measured, again=True)
