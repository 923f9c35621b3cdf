"""Whether the host is the machine that the inventory takes it for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkrig import programs
from sparkrig.host import identity
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, refused
from sparkrig.resources.kind import DIFFER, Kind
from sparkrig.resources.resource import Resource


class SparkIdentity(Resource[identity.Identity]):
    """The host's identity, without its serial number; of its machine-id, which is a secret of it, a digest."""

    name = "identity"
    script = programs.text("facts/identity.sh")
    kinds = (
        Kind(
            "identity.spark",
            "access",
            "the machine is a DGX Spark",
            "an address in the inventory leads to another machine",
            "docs/settings.md#what-a-spark-should-be",
        ),
        Kind(
            "identity.kernel",
            "cluster",
            "all hosts run the same kernel",
            "one host was updated, or rebooted after an update, and the others were not",
            DIFFER,
        ),
        Kind(
            "identity.dgx-os",
            "cluster",
            "all hosts have the same DGX OS",
            "one host was updated and the others were not",
            DIFFER,
        ),
    )

    def parse(self, lines: Iterable[str]) -> identity.Identity:
        return identity.parse(lines)

    def checks(self, subject: Subject) -> Iterator[Check]:
        found = subject.found.identity
        want = "any machine" if subject.settings.allow_non_spark else "a DGX Spark"
        try:
            identity.judge(found, allow_non_spark=subject.settings.allow_non_spark)
            yield Check("identity.spark", want, f"{found.vendor}: {identity.is_spark(found)[1]}")
        except Refusal as refusal:
            yield refused("identity.spark", want, refusal)
        yield Check("identity.kernel", "the same on all hosts", found.kernel, environment=True, alike=True)
        if found.dgx_os:
            yield Check("identity.dgx-os", "the same on all hosts", found.dgx_os, environment=True, alike=True)


IDENTITY = SparkIdentity()
