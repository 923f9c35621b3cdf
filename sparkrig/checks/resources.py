"""Everything that is declared of a host, a resource a row, in the order of the deploy.

Each is made from what its resource's own parse and plan say, so nothing is declared a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from sparkrig.checks import (
    bandwidth,
    containers,
    driver,
    environment,
    host,
    identity,
    network,
    rdma,
    secrets,
    serving,
    trust,
)
from sparkrig.checks.check import Check, Subject
from sparkrig.refusal import Refusal


def _nothing(_: Subject) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Resource:
    """What is declared of one resource.

    checks: of what was found; judge: raises Refusal where a deploy would do nothing to the host; due: the paths of
    the files that a deploy would write, and Refusal where that cannot be told.
    """

    checks: Callable[[Subject], Iterable[Check]]
    judge: Callable[[Subject], object] = _nothing
    due: Callable[[Subject], Iterable[str]] = _nothing


RESOURCES = (
    Resource(identity.checks),
    Resource(host.checks),
    Resource(driver.checks, driver.judge, driver.due),
    Resource(network.checks, network.judge),
    Resource(rdma.checks),
    Resource(containers.checks, containers.judge, containers.due),
    Resource(environment.checks, due=environment.due),
    Resource(secrets.checks, secrets.judge, secrets.due),
    Resource(trust.checks, due=trust.due),
    Resource(bandwidth.checks),
    Resource(serving.checks),
)


def checks(subject: Subject) -> list[Check]:
    """Every check of a host, in the order of the deploy."""
    return [check for resource in RESOURCES for check in resource.checks(subject)]


def refusals(subject: Subject) -> list[Refusal]:
    """Every reason why a deploy would do nothing to a host that it may change."""
    found = []
    for resource in RESOURCES:
        try:
            resource.judge(subject)
        except Refusal as refusal:
            found.append(refusal)
    return found


def due(subject: Subject) -> set[str]:
    """The paths of the files that a deploy would write; what is refused is judged by itself."""
    paths: set[str] = set()
    for resource in RESOURCES:
        with suppress(Refusal):
            paths |= set(resource.due(subject))
    return paths
