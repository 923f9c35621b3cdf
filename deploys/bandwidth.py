"""7. Bandwidth: each rail of a pair measured with ib_write_bw, whenever it is not known as it is now."""

from __future__ import annotations

from pyinfra.api import deploy

from deploys.spark import Spark, looked_at
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
        name="ib_write_bw over each rail",
        due=(lambda: spark.rails) if again else (lambda: due(spark)),
        leads=spark.fleet.leads(spark.name),
        peer=spark.peer,
        settings=spark.settings,
    )


def due(spark: Spark) -> list[Rail]:
    """The rails without a good record of what they are now, on this host or (once it was looked at) its peer."""
    peer = looked_at(spark.peer)
    if spark.network_moves or (peer and peer.network_moves):
        return spark.rails
    stale = {rail.netdev for rail in spark.rails if not _on_record(spark, rail)}
    if peer:
        stale |= {rail.peer_netdev for rail in peer.rails if not _on_record(peer, rail)}
    return [rail for rail in spark.rails if rail.netdev in stale]


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
