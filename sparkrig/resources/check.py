"""One thing that a host should be, and what was found there: what drift, doctor and onboard are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from sparkrig.cure import Cure, deploy, on_hosts
from sparkrig.fleet import Fleet
from sparkrig.host.apt import install_past_the_hold
from sparkrig.refusal import Refusal
from sparkrig.settings import Settings

if TYPE_CHECKING:
    from sparkrig.resources.state import State  # all nouns, which a drift report need not know

# missing: wanted and not there; extra: there and not wanted; unknown: not found out; skipped: does not apply
Status = Literal["ok", "drift", "missing", "extra", "unknown", "skipped"]
WRONG: frozenset[Status] = frozenset({"drift", "missing", "extra"})


class Judged:
    """What has a status."""

    if TYPE_CHECKING:  # else it would come first among the fields of every report
        status: Status

    @property
    def wrong(self) -> bool:
        return self.status in WRONG

    @property
    def told(self) -> bool:
        """Whether it needs attention: it does not hold, or is unknown."""
        return self.wrong or self.status == "unknown"


@dataclass(frozen=True)
class Check(Judged):
    """One thing that a host should be.

    id: stable, noun first (`net.enp1s0f0np0.mtu`); want, found: in words, without a full stop; found is the reason
    where the status is unknown or skipped; cure: one command to try; environment: whether nothing declares it, so
    that it moves by itself (a cable, a GID, what apt offers); alike: whether it is to be the same on all hosts;
    cause: its fixed name (docs/fabric.md, The causes), where a verdict gave it one; until: the ISO day up to which
    it is shown and fails nothing, as an update goes from host to host; empty where it counts at once.
    """

    id: str
    want: str
    found: str
    status: Status = "ok"
    cure: str = ""
    environment: bool = False
    alike: bool = False
    cause: str = ""
    until: str = ""

    @property
    def noun(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Subject:
    """One host that was looked at, and all that its checks are made from.

    found: what its look saw; peers: what that of each other of its group saw, by name, as far as they were read;
    secrets: the value of each from its source on this machine.
    """

    name: str
    fleet: Fleet
    found: State
    peers: Mapping[str, State] = field(default_factory=dict)
    secrets: Mapping[str, SecretStr | None] | Refusal | None = None

    @property
    def settings(self) -> Settings:
        return self.fleet[self.name]

    @property
    def apply(self) -> Cure:
        """The command that makes hosts what is declared."""
        return deploy()

    @property
    def serve(self) -> Cure:
        """The command that makes them serve what is declared, or what they served last."""
        return deploy("serve")

    @property
    def probe(self) -> Cure:
        """The command that measures the rails which were not measured as they are now, and does nothing else."""
        return deploy("probe")

    def run(self, command: str) -> Cure:
        """The command that runs another one on this host, as root, the way a deploy logs in.

        command: its words are quoted.
        """
        return on_hosts(command, self.name)

    def install(self, *packages: str) -> Cure:
        """The command that installs parts of driver or kernel on this host, past what a deploy holds there."""
        return self.run(install_past_the_hold(*packages, options="-y"))


def check(
    id: str, holds: bool, want: str, found: str, cure: str, *, environment: bool = False, alike: bool = False
) -> Check:
    """A check that holds, or drifted."""
    return Check(id, want, found, "ok" if holds else "drift", "" if holds else cure, environment, alike)


def there(
    id: str, want: str, found: str | None, cure: str, *, environment: bool = False, alike: bool = False
) -> Check:
    """A check of something that is to be there. found: None where it is not."""
    if found is None:
        return Check(id, want, "absent", "missing", cure, environment, alike)
    return Check(id, want, found, "ok", "", environment, alike)


def refused(id: str, want: str, refusal: Refusal, *, environment: bool = False) -> Check:
    """What the deploy would refuse, as the check that it is about."""
    return Check(id, want, refusal.what, "drift", refusal.cure, environment)


def wrong(checks: Iterable[Check]) -> list[Check]:
    """Those that do not hold."""
    return [each for each in checks if each.wrong]
