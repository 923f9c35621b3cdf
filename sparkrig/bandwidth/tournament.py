"""Which hosts of a cluster measure with each other, and when: each pair once, and no host twice at a time."""

from __future__ import annotations

from collections.abc import Sequence

Meeting = tuple[str, str]
"""Two hosts, as the inventory has them: the earlier one leads, and sends where one way is measured."""


def rounds(names: Sequence[str]) -> list[list[Meeting]]:
    """Every pair of hosts in n-1 rounds, or n for an odd number; the meetings of a round have no host in common.

    The circle method of round-robin tournaments: one host keeps its place, and the others move on by one. A host
    without a partner has none in that round. Of three it is one pair a round, as in a ring, where no two edges are
    disjoint.
    """
    seats: list[str | None] = [*names, None] if len(names) % 2 else [*names]
    order = {name: place for place, name in enumerate(names)}
    found = []
    for _ in range(len(seats) - 1):
        facing = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        met = [(one, other) for one, other in facing if one is not None and other is not None]
        found.append([(one, other) if order[one] < order[other] else (other, one) for one, other in met])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return found
