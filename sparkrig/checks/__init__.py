"""Everything that is declared of a host, as checks: one noun a file, in the order of the deploy.

Each is made from what its noun's own parse and plan say, so nothing is declared a second time.
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

NOUNS: tuple[Callable[[Subject], Iterable[Check]], ...] = (
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


def of(subject: Subject) -> list[Check]:
    """Every check of a host, in the order of the deploy."""
    return [check for noun in NOUNS for check in noun(subject)]
