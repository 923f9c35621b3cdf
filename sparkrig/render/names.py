"""The names of hosts in a sentence: hosts that stand side by side in the inventory are one stretch of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PIECES = 6  # as many names and stretches are shown; a last one more is shown rather than counted
_STRETCH = 4  # hosts side by side, from where first and last say it shorter


@dataclass(frozen=True)
class Names:
    """How the hosts of a report are named.

    places: where each stands in the inventory; to: what stands between the first and the last of a stretch; most:
    how many names and stretches are shown, None for all of them.
    """

    places: Mapping[str, int]
    to: str = " … "
    most: int | None = PIECES

    @classmethod
    def of(cls, names: Sequence[str], to: str = " … ", most: int | None = PIECES) -> Names:
        """Of all hosts, in the inventory's order."""
        return cls({name: place for place, name in enumerate(names)}, to, most)

    def few(self, hosts: Sequence[str]) -> list[str]:
        """`spark-a`, `spark-001 … spark-412 (412 hosts)`, `7 more`: bounded, to be joined."""
        stretches = self._stretches(hosts)
        if self.most is not None and len(stretches) > self.most + 1:
            left = sum(map(len, stretches[self.most :]))
            return [*map(self._said, stretches[: self.most]), f"{left} more"]
        return [*map(self._said, stretches)]

    def on(self, hosts: Sequence[str]) -> str:
        """`spark-a`, `3 hosts: spark-a, spark-b, spark-c`, `412 hosts: spark-001 … spark-412`."""
        if len(hosts) == 1:
            return hosts[0]
        whole = self._stretches(hosts)
        said = f"{hosts[0]}{self.to}{hosts[-1]}" if len(whole) == 1 else ", ".join(self.few(hosts))
        return f"{len(hosts)} hosts: {said}"

    def _said(self, stretch: Sequence[str]) -> str:
        if len(stretch) == 1:
            return stretch[0]
        return f"{stretch[0]}{self.to}{stretch[-1]} ({len(stretch)} hosts)"

    def _stretches(self, hosts: Sequence[str]) -> list[list[str]]:
        """The hosts in their order; those of one stretch together, each other one alone."""
        found: list[list[str]] = []
        for host in hosts:
            place = self.places.get(host)
            if found and place is not None and self.places.get(found[-1][-1]) == place - 1:
                found[-1].append(host)
            else:
                found.append([host])
        return [part for each in found for part in ([each] if len(each) >= _STRETCH else [[one] for one in each])]
