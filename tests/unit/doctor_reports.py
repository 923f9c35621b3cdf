"""Reports of the doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Interface
from typing import Any

from sparkrig.cure import deploy, local
from sparkrig.doctor.doctor import Report, report
from sparkrig.fleet import Fleet
from sparkrig.resources.check import Check

A, B = "spark-a", "spark-b"


NOW = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)


NETDEV = "enp1s0f0np0"


OK = Check("net.manager", "NetworkManager runs", "running")


MTU = Check(f"net.{NETDEV}.mtu", "9000", "1500", "drift", deploy())


PATH = Check(f"rdma.{NETDEV}.path-mtu", "messages of 4096 bytes", "1024 bytes", "drift", local("pyinfra pair.py"))


LOST = Check(
    "access.ssh", "a login with a known host key", "Connection refused", "drift", "on the console of spark-b: x"
)


def fleet(*names: str, pair: str | None = "p") -> Fleet:
    return Fleet.parse(
        {
            name: {"pair": pair, "fabric": {NETDEV: str(IPv4Interface(f"192.168.100.{last}/24"))}}
            for last, name in enumerate(names, 11)
        }
    )


def made(found: Mapping[str, Sequence[Check]], **around: Any) -> Report:
    unread = [name for name, checks in found.items() if LOST in checks]
    pairs = around.pop("fleet", None) or fleet(*found, pair="p" if len(found) == 2 else None)
    return report(
        found,
        [name for name in found if name not in unread],
        pairs,
        **{
            "asked": (),
            "roots": {},
            "notes": {},
            "inventory": "pair.py",
            "version": "0.1.0",
            "started": NOW,
            "seconds": 9.2,
            **around,
        },
    )


ROOT = {(B, PATH.id): (B, MTU.id)}
