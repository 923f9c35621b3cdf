"""What an update has changed on a Spark, by the Spark itself, and whether it is as fast as before."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import computed_field

from sparkrig.bandwidth import records
from sparkrig.bandwidth.history import MOVED
from sparkrig.host.update_record import UNWRITTEN, Standing
from sparkrig.parsing import bounds, grammar
from sparkrig.text import plain

Kind = Literal["kernel", "driver", "firmware", "package", "rail", "server"]
Pace = Literal["as before", "slower", "faster", "not measured"]
UNITS: Mapping[Kind, str] = {"rail": "Gb/s", "server": "tokens/s"}


@dataclass(frozen=True)
class Change:
    """One thing before and after it; None where it was not there, or was not measured.

    name: of a package, a part of the firmware, a rail (NETDEV to ADDRESS) or a server; before, after: a version,
    or a figure in Gb/s or tokens/s; pace: of a figure alone.
    """

    kind: Kind
    name: str
    before: str | float | None
    after: str | float | None
    pace: Pace | None = None


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What one update has changed on one Spark. id: of the update, the time at which it was agreed to (UTC)."""

    schema: Literal["sparkrig.updated/1"] = "sparkrig.updated/1"
    host: str
    id: str
    goal: str
    back: bool
    changes: Sequence[Change]

    def of(self, *kinds: Kind) -> list[Change]:
        return [each for each in self.changes if each.kind in kinds]

    @property
    def system(self) -> list[Change]:
        """What is no package: kernel, driver, firmware, and the figures."""
        return self.of("kernel", "driver", "firmware", "rail", "server")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def pace(self) -> Pace:
        """Of all figures together; a slower one has the word."""
        paces = [each.pace for each in self.changes if each.pace]
        order: tuple[Pace, ...] = ("slower", "not measured", "as before", "faster")
        return next((each for each in order if each in paces), "not measured")


def changed(host: str, found: Standing, printed: Iterable[str], board: Mapping[str, str]) -> Changed:
    """printed: by update_changed.sh; board: the version of each part of the firmware now.

    Raises ValueError where a row makes no sense.
    """
    assert found.record is not None
    record, rows = found.record, [(word, rest) for word, _, rest in (line.partition(" ") for line in printed)]
    system = [("kernel", record.kernel.before, found.kernel), ("driver", record.driver.before, found.driver_to_be)]
    written = {} if found.had(UNWRITTEN) else {each.which: each.version for each in record.firmware.values()}
    return Changed(
        host=host,
        id=record.id,
        goal=record.goal,
        back=found.back,
        changes=[
            *(Change(kind, kind, old or None, new or None) for kind, old, new in system if old != new),  # type: ignore[arg-type]
            *(
                Change("firmware", which, record.had.get(which), board.get(which) or version)
                for which, version in written.items()
            ),
            *_packages(rows),
            *_rails(rows),
            *_servers(rows),
        ],
    )


def _packages(rows: Iterable[tuple[str, str]]) -> Iterator[Change]:
    found: dict[str, dict[str, str]] = {}
    for word, rest in rows:
        if word in ("was", "now"):
            name, version = rest.split(" ")
            found.setdefault(grammar.PACKAGE.held(name), {})[word] = grammar.VERSION.held(version)
    for name, each in sorted(found.items()):
        yield Change("package", name, each.get("was"), each.get("now"))


def _rails(rows: Iterable[tuple[str, str]]) -> Iterator[Change]:
    """Each rail that was measured anew since."""
    texts = {word: rest for word, rest in rows if word in ("rails-was", "rails-now")}
    was, now = (
        records.load(base64.b64decode(texts.get(word, ""), validate=True).decode())
        for word in ("rails-was", "rails-now")
    )
    for (netdev, peer), record in now.items():
        old = was.get((netdev, peer))
        if old != record:
            before = old.gbps if old else None
            yield Change("rail", f"{netdev} to {peer}", before, record.gbps, _pace(before, record.gbps))


def _servers(rows: Iterable[tuple[str, str]]) -> Iterator[Change]:
    found: dict[str, dict[str, float]] = {}
    for word, rest in rows:
        if word in ("rate-was", "rate-now"):
            service, tokens, milliseconds = rest.split(" ")
            rate = bounds.finite(tokens) * 1000 / max(1.0, bounds.finite(milliseconds))
            found.setdefault(plain(service)[:24], {})[word] = round(rate, 1)
    for service, each in found.items():
        before, after = each.get("rate-was"), each.get("rate-now")
        yield Change("server", service, before, after, _pace(before, after))


def _pace(before: float | None, after: float | None) -> Pace:
    """A figure beside the one before; what moves a rail's by less is noise."""
    if not before or after is None:
        return "not measured"
    percent = (after / before - 1) * 100
    return "slower" if percent <= -MOVED else "faster" if percent >= MOVED else "as before"
