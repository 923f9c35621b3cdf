"""What one look saw of a Spark that is to be updated."""

from __future__ import annotations

from dataclasses import dataclass

from sparkrig.host.driver import Packages
from sparkrig.host.identity import Identity
from sparkrig.host.preflight import Preflight
from sparkrig.host.releases import Recipe, Releases
from sparkrig.host.upgrade import Upgrade
from sparkrig.refusal import Refusal
from sparkrig.serving.served import Serving
from sparkrig.update.firmware import Board
from sparkrig.update.repositories import Repositories
from sparkrig.value import Value


@dataclass(frozen=True)
class Seen(Value):
    """The Spark, and all that decides what an update would do to it."""

    identity: Identity
    driver: Packages
    serving: Serving
    releases: Releases
    firmware: Board
    repositories: Repositories
    preflight: Preflight


@dataclass(frozen=True)
class Asked(Value):
    """An upgrade as apt is asked for it, in the forecast and in the update itself.

    released: packages of a deploy's hold that may move; held: those that may not; alone: packages that alone move,
    all for none; limits: apt preferences that come first; words: what is asked for besides, for another branch.
    """

    released: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    limits: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Foreseen(Value):
    """What was seen, and what apt foresees.

    goal: the release to reach, None for whatever apt offers; upgrade: None where no package is to be updated;
    refusal: why there is no such release, so that nothing was foreseen; asked: of which upgrade apt was asked.
    """

    seen: Seen
    goal: Recipe | None
    upgrade: Upgrade | None
    refusal: Refusal | None = None
    asked: Asked = Asked()
