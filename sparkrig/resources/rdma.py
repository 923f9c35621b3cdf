"""The RDMA device and the GID of each rail, and whether the environment files name that GID."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from sparkrig import programs
from sparkrig.network import gid, rdma
from sparkrig.network.environment import WITH_GIDS
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.environment import part
from sparkrig.resources.kind import THE_GID, Kind
from sparkrig.resources.network import cabled, declared, moves
from sparkrig.resources.resource import Resource


class RdmaDevices(Resource[rdma.Rdma]):
    """Devices by `rdma link` (soft-RoCE has no `device` link in sysfs), path MTU, and every used GID."""

    name = "rdma"
    script = programs.text("facts/rdma.sh") + gid.COMMAND
    kinds = (
        Kind(
            "rdma.NETDEV.device",
            "RDMA",
            "an RDMA device sits on the netdev",
            "its kernel module is not loaded, or the ConnectX-7 did not come up",
            "docs/fabric.md#address-and-gid",
        ),
        Kind(
            "rdma.NETDEV.gid",
            "RDMA",
            "the declared address has a RoCE v2 GID",
            "the address is not on the link, or RoCE is off",
            "docs/fabric.md#address-and-gid",
        ),
        Kind(
            "rdma.NETDEV.path-mtu",
            "RDMA",
            "RDMA messages are as large as they may be",
            "the link's MTU is too small for them",
            "docs/fabric.md#bandwidth",
        ),
        Kind(
            "rdma.gid-index",
            "RDMA",
            "the files name the GID index of now",
            "the link came up again, which moves the index, and nothing followed it",
            THE_GID,
        ),
    )

    def parse(self, lines: Iterable[str]) -> rdma.Rdma:
        return rdma.parse(lines)

    def checks(self, subject: Subject) -> Iterator[Check]:
        found, live = subject.found.rdma, cabled(subject.settings, subject.found.network)
        rails = {netdev: address for netdev, address in declared(subject).items() if netdev in live}
        bare, absent = rdma.no_device(found, rails), rdma.no_gid(found, rails)
        if absent and moves(subject):  # it comes with the address
            absent = Refusal(absent.what, subject.apply)
        for netdev, address in declared(subject).items():
            if netdev not in live:
                yield Check(f"rdma.{netdev}.device", "an RDMA device", "no cable", "skipped")
                continue
            device, slot = found.on(netdev), gid.find(found.gids, netdev, address.ip)
            name, index = device.name if device else None, f"index {slot.index}" if slot else None
            yield _there(f"rdma.{netdev}.device", f"an RDMA device on {netdev}", name, bare)
            yield _there(f"rdma.{netdev}.gid", f"a RoCE v2 GID for {address.ip}", index, absent)
        if live:
            with suppress(Refusal):  # a check of the files names it
                yield _in_files(subject, part(subject).block)


RDMA = RdmaDevices()


def _there(id: str, want: str, found: str | None, lacking: Refusal | None) -> Check:
    """lacking: why the deploy stops where it is not there, perhaps on another rail, too."""
    if found is None and lacking:
        return Check(id, want, lacking.what, "missing", lacking.cure, environment=True)
    return Check(id, want, found or "", environment=True)


def _in_files(subject: Subject, block: str) -> Check:
    """Whether the files that are there name the index of now; it moves whenever an address is set anew."""
    want = _variables(block)
    standing = [found for path in WITH_GIDS if (found := subject.found.files.get(path))]
    odd = {said for found in standing if (said := _variables(found.content)) != want}
    return check("rdma.gid-index", not odd, want, ", ".join(sorted(odd)) or want, subject.apply, environment=True)


def _variables(text: str) -> str:
    """The variables of a file's GID block; comments are for people."""
    _, _, rest = text.partition(gid.BLOCK_BEGIN)
    lines = rest.partition(gid.BLOCK_END)[0].split("\n")
    told = [line.replace("\r", r"\r") for line in lines if line.strip() and not line.startswith("#")]
    return " ".join(told) or "no GID block"
