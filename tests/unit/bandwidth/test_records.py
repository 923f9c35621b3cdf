"""What is kept of a measurement on its hosts, and when it still counts."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

from sparkrig.bandwidth import records
from sparkrig.bandwidth.bands import Expected
from sparkrig.bandwidth.measurement import Edge, End, Host, Measurement, Run
from sparkrig.bandwidth.records import Boot, Complaint, Record
from sparkrig.fleet import Fleet
from sparkrig.verdict import Verdict, worst
from tests.tables import each_row
from tests.unit import clusters_measured

A, B = "spark-a", "spark-b"
NETDEV = "enp1s0f0np0"
FLEET = Fleet.parse(
    {
        A: {"pair": "p", "fabric": {NETDEV: "192.168.100.11/24"}},
        B: {"pair": "p", "fabric": {NETDEV: "192.168.100.12/24"}},
    }
)
ONE, TWO, THREE = (f"{digit * 8}-2222-4333-8444-555555555555" for digit in "123")
RECORD = Record(
    NETDEV, "192.168.100.11", "192.168.100.12", 9000, 111.86, 4096, "2026-11-20T10:00:00+00:00", ONE, TWO
)
KEY = (NETDEV, RECORD.peer)
CABLE = Expected(path_mtu=4096)
WELL, LOW = Verdict("healthy"), Verdict("degraded", "reduced", "60.00 Gb/s", "again")
FLAPPED = Verdict("degraded", "link-flap", "the link lost its carrier", "seat the plugs")
OLD = replace(RECORD, boot_id="", peer_boot_id="")


def complaint(record: Record | None, here: str | None = ONE, there: str | None = TWO) -> Complaint | None:
    (rail,) = FLEET.rails(A)
    return records.complaint(record, rail, FLEET[A], Boot(A, here), Boot(B, there))


def test_a_record_of_this_rail_stands() -> None:
    assert complaint(RECORD) is None


def test_a_record_of_another_rail_or_a_bad_one_does_not() -> None:
    def holds(change: dict[str, Any], kind: str, words: str) -> None:
        said = complaint(replace(RECORD, **change))
        assert said and (said.kind, said.unknown) == (kind, False)
        assert words in said.said

    each_row(
        [
            ({"address": "192.168.100.21"}, "other", "not as declared"),
            ({"peer": "192.168.100.22"}, "other", "not as declared"),
            ({"mtu": 1500}, "other", "at MTU 1500, not as declared"),
            ({"gbps": 13.35}, "poor", "13.35 Gb/s"),
            ({"path_mtu": 1024}, "poor", "path MTU 1024"),
            ({"path_mtu": 0}, "poor", "path MTU 0"),
        ],
        holds,
    )


def test_no_record_is_no_proof() -> None:
    assert complaint(None) == Complaint("absent", "not measured")
    assert complaint(None, there=THREE) == Complaint("absent", "not measured"), "there is nothing to compare"


def test_a_record_of_an_earlier_boot_is_of_a_link_that_may_be_another() -> None:
    def holds(record: Record, here: str | None, there: str | None, hosts: tuple[str, ...]) -> None:
        said = f"not measured since the boot of {' and '.join(hosts)}"
        assert complaint(record, here, there) == Complaint("boot", said, hosts)

    each_row(
        {
            "own": (RECORD, THREE, TWO, (A,)),
            "the peer's": (RECORD, ONE, THREE, (B,)),
            "both": (RECORD, THREE, THREE, (A, B)),
            "own, and the peer was not looked at": (RECORD, THREE, None, (A,)),
            "a file of before boots were kept": (OLD, ONE, TWO, (A, B)),
            "such a file, and the peer was not looked at": (OLD, ONE, None, (A,)),
            "the boots of the two exchanged": (RECORD, TWO, ONE, (A, B)),
            "a bad figure, which a reboot may have cured": (replace(RECORD, gbps=13.35), ONE, THREE, (B,)),
        },
        holds,
    )
    assert Complaint("boot", "").unknown


def test_a_peer_that_was_not_looked_at_is_not_compared() -> None:
    assert complaint(RECORD, there=None) is None


def test_a_boot_that_cannot_be_told_is_said() -> None:
    def holds(record: Record, here: str, there: str, hosts: tuple[str, ...]) -> None:
        said = complaint(record, here, there)
        assert said and (said.kind, said.hosts, said.unknown) == ("unread", hosts, True)
        assert said.said == f"the boot of {' and '.join(hosts)} cannot be told, and it may be a later one"

    each_row(
        [(RECORD, "", TWO, (A,)), (RECORD, ONE, "", (B,)), (RECORD, "", "", (A, B)), (OLD, "", "", (A, B))], holds
    )


def test_another_address_weighs_more_than_another_boot() -> None:
    def holds(change: dict[str, Any]) -> None:
        said = complaint(replace(RECORD, **change), THREE, "")
        assert said and said.kind == "other"

    each_row([({"address": "192.168.100.21"},), ({"peer": "192.168.100.22"},), ({"mtu": 1500},)], holds)


def test_what_is_kept_of_a_run_is_the_least_that_shows_how_each_rail_is() -> None:
    def measured(gbps: float | None, verdict: Verdict, queue_pairs: int = 4, *, together: bool) -> Measurement:
        return Measurement("ib_write_bw", 0, "a", "b", queue_pairs, together, verdict, gbps, path_mtu=4096)

    def alone(gbps: float, verdict: Verdict = WELL, queue_pairs: int = 4) -> Measurement:
        return measured(gbps, verdict, queue_pairs, together=False)

    def beside(gbps: float | None, verdict: Verdict = WELL) -> Measurement:
        return measured(gbps, verdict, together=True)

    ends = {"a": End("dev0", 3, "neta", "192.0.2.1"), "b": End("dev1", 3, "netb", "192.0.2.2")}
    hosts = {"b": Host(boot_id=TWO), "a": Host(boot_id=ONE)}

    def holds(found: list[Measurement], kept: float | None) -> None:
        rail = Edge(0, ends, worst(each.verdict for each in found), hosts=("a", "b"), netdevs=("neta", "netb"))
        rails = rail, replace(rail, number=1, ends={}, verdict=WELL)
        run = Run("r1", "2026-11-20T10:00:00+00:00", "p", 9000, hosts, rails, tuple(found), ())
        near = Record("neta", "192.0.2.1", "192.0.2.2", 9000, kept or 0.0, 4096, run.started_at, ONE, TWO)
        far = Record("netb", "192.0.2.2", "192.0.2.1", 9000, kept or 0.0, 4096, run.started_at, TWO, ONE)
        wanted = {"a": {("neta", near.peer): near}, "b": {("netb", far.peer): far}}
        assert records.of(run, CABLE) == (wanted if kept is not None else {"a": {}, "b": {}})

    each_row(
        {
            "alone": ([alone(111.864), alone(111.7), alone(98.0, queue_pairs=1), beside(92.0)], 111.7),
            "beside another, which showed as much": ([beside(97.9)], 97.9),
            "low alone": ([beside(55.0, LOW), alone(55.2, LOW)], 55.0),
            "low beside another only": ([alone(111.7), beside(60.0, LOW)], 60.0),
            "a flap, and good figures": ([beside(98.0, FLAPPED), alone(111.7)], None),
            "no figure beside another, and a good one alone": ([beside(None, FLAPPED), alone(111.7)], None),
            "no figure": ([beside(None, LOW)], None),
        },
        holds,
    )


def test_records_survive_the_file() -> None:
    text = records.dump([RECORD])
    assert records.load(text) == {KEY: RECORD} and text.endswith("\n")


def test_a_file_of_an_earlier_or_a_later_sparkrig_is_understood() -> None:
    row = {name: value for name, value in asdict(RECORD).items() if "boot_id" not in name}
    assert records.load(json.dumps({"rails": [row]})) == {KEY: OLD}
    assert records.load(json.dumps({"rails": [{**asdict(RECORD), "firmware": "28"}], "more": 1})) == {KEY: RECORD}


def test_a_file_that_is_not_ours_holds_no_record() -> None:
    def holds(text: str | None) -> None:
        assert records.load(text) == {}

    def changed(**fields: Any) -> str:
        return json.dumps({"rails": [{**asdict(RECORD), **fields}]})

    each_row(
        [
            None,
            "",
            "{",
            "[]",
            "null",
            "{}",
            '{"rails": null}',
            '{"rails": {"a": 1}}',
            '{"rails": [{"netdev": "a"}]}',
            '{"rails": [{"address": "a"}]}',
            '{"rails": [1]}',
            changed(gbps="111.86"),
            changed(gbps=float("nan")),
            changed(gbps=-1),
            changed(mtu=None),
            changed(netdev=["a"]),
            changed(measured_at="x" * 65),
            changed(boot_id="$(reboot)"),
            changed(peer_boot_id=f"{TWO}\n"),
            json.dumps({"rails": [asdict(RECORD)] * 65}),
            records.dump([RECORD]) + " " * 65536,
        ],
        holds,
    )


# --- more than two hosts

C = "spark-c"


def kept(name: str = A, count: int = 4, form: Any = "switch", **how: Any) -> tuple[Fleet, records.Kept]:
    """What a host of a cluster keeps of a run, and the fleet."""
    done = clusters_measured.run(count=count, form=form, **how)
    return clusters_measured.fleet(count, form), records.of(done, CABLE)[name]


def test_a_switch_leaves_a_record_of_each_edge_on_both_its_hosts() -> None:
    def holds(count: int, form: Any, size: int) -> None:
        for name in clusters_measured.NAMES[:count]:
            fleet, found = kept(name, count, form)
            rails = fleet.rails(name)
            assert len(found) == len(rails) == size
            for rail, record in records.matched(found, rails):
                assert record, rail
                assert (record.peer, record.boot_id) == (str(rail.far.address.ip), clusters_measured.boot(name))
                assert record.peer_boot_id == clusters_measured.boot(rail.far.host)

    each_row([(4, "switch", 6), (8, "switch", 14), (3, "ring", 4)], holds)


def test_a_file_of_eight_on_a_switch_is_read_again() -> None:
    _, found = kept(count=8)
    assert len(found) == 14 and records.load(records.dump(found.values())) == found


def test_no_good_figure_is_kept_of_a_slow_edge_and_none_of_a_lost_one() -> None:
    fleet, found = kept(figures=clusters_measured.slow_port(B), missing={C: "gone"})
    said = {rail.far.host: record and record.gbps for rail, record in records.matched(found, fleet.rails(A))}
    assert said[C] is None and (said[B] or 0) < 14 and (said["spark-d"] or 0) > 111


def test_a_record_of_another_peer_of_a_switch_is_not_taken_for_this_one() -> None:
    """A pair's is: its netdev has one rail, and the record is of it before it changed."""
    fleet, found = kept()
    rail = next(each for each in fleet.rails(A) if each.far.host == B)
    without = {key: record for key, record in found.items() if record.peer != str(rail.far.address.ip)}
    assert len(without) == len(found) - 1
    assert dict(records.matched(without, fleet.rails(A)))[rail] is None
    (pair,) = FLEET.rails(A)
    old = replace(RECORD, peer="192.168.100.99")
    assert records.matched({(NETDEV, old.peer): old}, [pair]) == [(pair, old)]
