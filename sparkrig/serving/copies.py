"""Which host copies from which: what one has reaches the others of a cluster, and no two copies share a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def rounds(whole: Sequence[str], lacking: Sequence[str], *, switched: bool) -> Iterator[list[tuple[str, str]]]:
    """Rounds of copies, each from one host to another, that run side by side.

    whole: the hosts that have it; switched: whether each host has one link, to a switch: it then takes part in one
    copy of a round, and each that has it copies it on, so that eight have it after three rounds. A cable and a
    ring have a link between each two, so that one round is enough.
    """
    have, left = [*whole], [*lacking]
    while left:
        most = len(have) if switched else len(left)
        made = [(have[place % len(have)], name) for place, name in enumerate(left[:most])]
        yield made
        have += [name for _, name in made]
        left = left[most:]
