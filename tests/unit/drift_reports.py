"""Drift reports of hosts that are made up, for the tests of what is made of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from sparkrig.checks import last_declaration
from sparkrig.cure import deploy, on_hosts
from sparkrig.drift.drift import Acceptance, Report, report
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check

A, B = "spark-a", "spark-b"
NOW = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)
BEFORE = NOW - timedelta(days=3, hours=11)
INVENTORY = "pair.py"
DEPLOY = deploy()
LOST = Refusal("Could not connect (10.0.0.12 port 22: [Errno 113] No route to host)", "ping spark-b")
PLANNED = Acceptance(id="identity.kernel", until=date(2027, 1, 31), why="update planned", by="ann")


def mtu(found: int = 9000) -> Check:
    return Check("net.mtu", "9000", str(found), *(("drift", DEPLOY) if found != 9000 else ()))


def hold(*, held: bool = True) -> Check:
    return Check(
        "driver.hold", "16 held", "16 held" if held else "1 not held", *(() if held else ("drift", DEPLOY))
    )


def docker(host: str, *, runs: bool = True) -> Check:
    start = on_hosts("systemctl start docker", host)
    return Check(
        "containers.docker", "docker runs", "it does" if runs else "no daemon", *(() if runs else ("drift", start))
    )


def kernel(version: str = "6.12") -> Check:
    return Check("identity.kernel", "the same on all hosts", version, environment=True, alike=True)


def upgrade() -> Check:
    return Check(
        "driver.upgrade", "an upgrade moves none", "no lists", "unknown", "apt-get update", environment=True
    )


def healthy(host: str) -> list[Check]:
    return [kernel(), hold(), mtu(), docker(host), Check("rdma.device", "a device", "no cable", "skipped")]


def made(
    found: Mapping[str, Sequence[Check] | Refusal],
    earlier: Report | None = None,
    accepted: Sequence[Acceptance] = (),
    *,
    when: datetime = NOW,
    deployed: bool = True,
) -> Report:
    """The report. deployed: whether a deploy kept on each host that all of it was wanted, a week ago."""
    kept = {
        name: last_declaration.of(checks, (NOW - timedelta(days=7)).timestamp())
        for name, checks in found.items()
        if deployed and not isinstance(checks, Refusal)
    }
    return report(found, kept, earlier, accepted, inventory=INVENTORY, version="0.1.0", started=when, seconds=3.2)


SETTLED = {A: healthy(A), B: healthy(B)}
OLD = made({A: healthy(A), B: [kernel(), hold(held=False), mtu(1500), docker(B)]}, when=BEFORE)
"""Three days ago: hold and MTU of spark-b."""
DRIFTED = made({A: healthy(A), B: [kernel("6.14"), hold(), mtu(1500), docker(B, runs=False)]}, OLD, [PLANNED])
"""Now: the MTU still, docker and the accepted kernels are new, the hold is fixed."""
HALF = made({A: [kernel(), hold(), mtu(1500), docker(A), upgrade()], B: LOST}, OLD)
"""One drifted and not all of it could be told, one cannot be read."""
CLEAN = made(SETTLED)


def fleet(count: int = 64) -> Report:
    """Ten without a hold, eight without docker, one of another kernel, five that are down."""
    found: dict[str, Sequence[Check] | Refusal] = {}
    for number in range(count):
        name = f"spark-{number:02}"
        version = "6.14" if number == 5 else "6.12"
        moved = [
            hold(held=number % 6 != 0),
            docker(name, runs=number % 9 != 0),
            mtu(1500 if number == 7 else 9000),
        ]
        found[name] = LOST if number in (11, 12, 13, 40, 41) else [kernel(version), *moved]
    return made(found)
