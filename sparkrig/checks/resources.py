"""Everything that is declared of a host, in the order of the deploy, as its resources have it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from sparkrig.host.identity import is_spark
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.state import RESOURCES


def kinds() -> list[Kind]:
    """What the checks of all resources mean."""
    return [kind for resource in RESOURCES for kind in resource.kinds]


def checks(subject: Subject) -> list[Check]:
    """Every check of a host, in the order of the deploy."""
    return of_a_spark(subject, [check for resource in RESOURCES for check in resource.checks(subject)])


def of_a_spark(subject: Subject, made: Iterable[Check]) -> list[Check]:
    """The checks; of a host that is no DGX Spark none says how to make one of it, but the one that tells so."""
    if subject.settings.allow_non_spark or is_spark(subject.found.identity)[0]:
        return [*made]
    other = "the host is no DGX Spark"
    return [
        each
        if each.noun == "access" or each.id == "identity.spark" or not each.told
        else replace(each, status="skipped", found=other, cure="", cause="")
        for each in made
    ]


def explained(subject: Subject, check: Check) -> Check:
    """A check of what nothing declares, as what is declared of the host explains it: a low clock by a cap, say."""
    for resource in RESOURCES:
        check = resource.explained(subject, check)
    return check


def refusals(subject: Subject) -> list[Refusal]:
    """Every reason why a deploy would do nothing to a host that it may change."""
    refused = []
    for resource in RESOURCES:
        try:
            resource.judge(subject)
        except Refusal as refusal:
            refused.append(refusal)
    return refused


def due(subject: Subject) -> set[str]:
    """The paths of the files that a deploy would write; what is refused is judged by itself."""
    paths: set[str] = set()
    for resource in RESOURCES:
        with suppress(Refusal):
            paths |= set(resource.due(subject))
    return paths
