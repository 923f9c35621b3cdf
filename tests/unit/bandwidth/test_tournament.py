"""Who measures with whom: each pair once, no host twice at a time, in as few rounds as there can be."""

from __future__ import annotations

from itertools import combinations

from sparkrig.bandwidth import tournament
from tests.tables import each_row

NAMES = [f"spark-{letter}" for letter in "abcdefgh"]


def test_every_pair_meets_once_and_no_host_is_twice_in_a_round() -> None:
    def holds(count: int) -> None:
        names = NAMES[:count]
        rounds = tournament.rounds(names)
        met = [pair for each in rounds for pair in each]
        assert sorted(met) == [*combinations(names, 2)], "the earlier host of the inventory first"
        for each in rounds:
            hosts = [name for pair in each for name in pair]
            assert len(hosts) == len({*hosts}) == count // 2 * 2
        assert len(rounds) == (count if count % 2 else count - 1)

    each_row(range(2, 9), holds)


def test_a_ring_has_one_edge_at_a_time() -> None:
    assert [len(each) for each in tournament.rounds(NAMES[:3])] == [1, 1, 1]
