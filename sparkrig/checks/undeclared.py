"""What is judged of a host that no inventory declares: all that needs no declaration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkrig.checks.reference import kind
from sparkrig.cure import local
from sparkrig.host.identity import Identity
from sparkrig.resources.check import Check, Subject

# of what Check.environment does not mark, as a deploy could mend it: what is expected of any Spark
_OF_ANY = {"identity.spark", "driver.version", "driver.branch", "containers.docker", "containers.toolkit"}
# of what it marks: what nothing but a deploy makes
_OF_A_DEPLOY = {"driver.upgrade", "rdma.gid-index", "bandwidth.NETDEV", "rdma.NETDEV.path-mtu", "pair.name"}
# what a host tells root alone, or tells another user otherwise
_OF_ROOT = {
    *("host.mounts", "host.first-upgrade", "host.update", "host.rollback", "host.journal"),
    *("pair.cabling", "pair.halves", "pair.NETDEV.ping", "watch.reset", "watch.guard"),
    *("release.newest", "health.next-kernel"),
}

_ELSEWHERE = local("sparkrig onboard", ", which looks for Sparks in this network; or check the address")


def kept(every: Mapping[str, Sequence[Check]], hosts: Mapping[str, Subject]) -> dict[str, list[Check]]:
    """Those of each host that no declaration is needed for."""
    return {name: checks(made, hosts[name].found.identity) for name, made in every.items()}


def checks(made: Sequence[Check], found: Identity) -> list[Check]:
    """Those that no declaration is needed for; found: of the host, which may not have made us root."""
    named = [(kind(check.id).name, check) for check in made]
    return [
        _as_read(name, check, found)
        for name, check in named
        if name in _OF_ANY or (check.environment and name not in _OF_A_DEPLOY)
    ]


def _as_read(name: str, check: Check, found: Identity) -> Check:
    if found.uid and name in _OF_ROOT:
        return replace(check, status="skipped", found="root alone can read it", cure="")
    if name == "identity.spark" and check.wrong:  # its cure for an inventory is a setting
        return replace(check, cure=_ELSEWHERE)
    return check


def left_out(every: Mapping[str, Sequence[Check]], rest: Mapping[str, Sequence[Check]]) -> int:
    """How many checks say something, of all hosts, and are not among the rest."""
    return sum(_count(every[name]) - _count(rest[name]) for name in every)


def _count(made: Sequence[Check]) -> int:
    return sum(check.status != "skipped" for check in made)
