"""Everything that is declared of a host, as checks: those of each resource, in the order of the deploy.

Each is made from what its resource's own parse and plan say, so nothing is declared a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

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

RESOURCES: tuple[Callable[[Subject], Iterable[Check]], ...] = (
    identity.checks,
    host.checks,
    driver.checks,
    network.checks,
    rdma.checks,
    containers.checks,
    environment.checks,
    secrets.checks,
    trust.checks,
    bandwidth.checks,
    serving.checks,
)


def checks(subject: Subject) -> list[Check]:
    """Every check of a host, in the order of the deploy."""
    return [check for resource in RESOURCES for check in resource(subject)]
