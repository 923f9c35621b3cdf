"""Why perftest failed, by its own words; its sources are those of sparkrig/bandwidth/perftest.py."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig.cure import on_host
from sparkrig.signatures import Signature, first
from sparkrig.verdict import Verdict

# In order of weight: a text with several errors has their consequences too. What shows nothing about the link
# itself is "unknown". The sentences are perftest's own (see the top), with both of its spellings.
_CAUSES = (
    Signature(
        "perftest-missing",
        r"(?<!\S)\S*\bib_\w++\W{0,3}:? (?:command )?not found|Failed to find executable \S*ib_\w+|"
        r"failed to run command \S{0,80}?ib_\w++\W{0,3}: No such file",
        "perftest is not installed",
        on_host("sudo apt-get install perftest"),
        level="unknown",
    ),
    Signature(
        "versions-differ",
        r"Current implementation is not compatible with versions.*|Couldn't parse line|"
        r"Failed to exchange negotiation parameters.*|Failed to exchange (?:Page|Cache Line) Size.*",
        "the two ends do not understand each other's perftest",
        "ib_write_bw --version on both hosts; install the same package on both",
        level="unknown",
    ),
    Signature(
        "ends-differ",
        r"\b\w++ mismatch: local=.*|Failed to negotiate parameters",
        "the two ends were started with different options",
        "run the same command on both, the client with the server's address behind it",
        level="unknown",
    ),
    Signature(
        "gid-empty",
        r"Gid index (?:should be|argument).*",
        "there is no such GID index",
        "show_gids: take the index of the rail's own IPv4 address with RoCE v2",
    ),
    Signature(
        "bad-arguments",
        r"Duplicated argument:.*|Invalid Command or flag.*|Parser function exited with Error|"
        r"(?<!\S)\S*\bib_\w++: (?:unrecognized|invalid|unknown) option.*|"
        r"Invalid MTU - \d+|\b\w[\w ]{0,60} should be between .*",
        "perftest refused its command line",
        "compare it with ib_write_bw --help of this version",
        level="unknown",
    ),
    Signature(
        "device-missing",
        r"IB device .{0,100} not found|No IB devices found|"
        r"Did not detect devices|Unable to find the Infiniband/RoCE"
        r" device|Failed to get IB devices list.*",
        "the RDMA device is not there",
        on_host(
            "rdma link", "; without a cable a ConnectX-7 leaves the PCI bus, so plug the cable in on both ends"
        ),
    ),
    Signature(
        "link-down",
        r"Port number \d+ state is .*|Link layer on port \d+ is Unknown",
        "the port of the RDMA device is not active",
        on_host("rdma link; ip link show", "; then look at the cable's plugs on both ends"),
    ),
    Signature(
        "port-busy",
        r"Couldn't listen to port \d+|Address already in use|rdma_bind_addr failed|rdma_listen failed",
        "another process listens where perftest should",
        on_host("sudo ss -ltnp", " shows who has the port"),
        level="unknown",
    ),
    Signature(
        "address-unknown",
        r"\S.{0,200} for ai_family: .*|Problem in resolving basic address and port",
        "the peer's name or address is not one",
        "give the peer's IPv4 address on this rail",
        level="unknown",
    ),
    Signature(
        "no-listener",
        r"Couldn't connect to \S+|Unable to connect \(retries.*|rdma_resolve_(?:addr|route) failed|"
        r"Received \d+ times ADDR_ERROR",
        "no server answered",
        "start the server first, and see that it listens: ss -ltn on the peer",
        level="unknown",
    ),
    Signature(
        "memory-refused",
        r"(?i:Couldn't allocate MR.*|failed to create mr\b.*)|"
        r"ibv_reg_mr.{0,200}(?:failed|Cannot allocate memory).*",
        "the kernel refused to register memory for RDMA",
        on_host(
            "dmesg | grep NV_ERR_NO_MEMORY", ": if it finds any, power both Sparks off and on; else see ulimit -l"
        ),
    ),
    Signature(
        "resources-refused",
        r"Requested QP size might be too big.*|Unable to create QP.*|Couldn't create (?:CQ|rdma \w+ QP|SRQ).*|"
        r"Couldn't allocate PD|Failed to modify QP to INIT.*",
        "the RDMA device refused a queue",
        "run it again with fewer queue pairs and a smaller TX depth; rdma resource show tells who has them",
    ),
    Signature(
        "gid-type",
        r"Found Incompatibility issue with GID types.*",
        "the GIDs of the two ends are not of one kind, so an index is wrong or empty",
        "show_gids on both: take the index of the rail's own IPv4 address with RoCE v2",
    ),
    Signature(
        "gid-empty",
        r"Failed to modify QP \S+ to RT[RS]|Unable to set up socket connection|Failed to create AH\b.*|"
        r"Unable to Connect the HCA's through the link",
        "the RDMA device found no way to the peer: an empty GID slot, or no neighbour",
        "show_gids on both, then ping the peer over this rail",
    ),
)

_MEMLOCK = re.compile(r"RLIMIT_MEMLOCK is \d+ bytes")

_RAISE_MEMLOCK = "raise memlock to unlimited, in /etc/security/limits.d or in the unit"

# IBV_WC_* of libibverbs, in words. perftest up to 25.01 prints the number alone.
_STATUS = re.compile(
    r"Failed status[ -](?:.{0,200} \()?(?P<status>\d+)\)?:(?:.{0,200}syndrome? (?P<syndrome>0x[0-9a-fA-F]+))?|"
    r"Bad wc status (?:-- )?(?P<other>\d+)"
)

_COMPLETIONS = {
    1: ("local-length", "a message did not fit its buffer", "run the same perftest with the same options on both"),
    4: (
        "local-protection",
        "the RDMA device may not touch our memory",
        on_host("dmesg | grep -E 'mlx5|IOMMU|SMMU'"),
    ),
    5: (
        "flushed",
        "the queue pair broke off in mid-test, as it does when the link or its address goes",
        on_host("ip -4 addr; cat /sys/class/net/*/carrier_down_count", "; then measure again"),
    ),
    9: ("remote-access", "the peer refused the request", "run the same perftest with the same options on both"),
    10: ("remote-access", "the peer refused the access", "run the same perftest with the same options on both"),
    11: (
        "remote-operation",
        "the peer's RDMA device failed",
        on_host("dmesg | grep mlx5", " on the peer; compare both MTUs"),
    ),
    12: (
        "retry-exceeded",
        "the peer's RDMA device did not acknowledge",
        "ping the peer over this rail, compare both GID indexes, then measure again",
    ),
    13: ("rnr-exceeded", "the peer had no receive buffer ready", "measure again while the peer is idle"),
}

# The code of a ConnectX's firmware, for a text without the status. 0x81: the acknowledgement did not come.
_SYNDROME = re.compile(r"syndrome? (0x[0-9a-fA-F]+)")

_BY_SYNDROME = {"0x81": 12}

# What follows from something else, often from what happened on the other end.
_CONSEQUENCES = (
    Signature(
        "peer-died",
        r"(?:(?<![a-z_])[a-z_]++: )?Couldn't (?:read|send) (?:remote address|local address|reports)|"
        r"Unable to (?:read|write) (?:from|to) socket/rdma_cm|Failed to exchange data between server and clients?|"
        r"Failed to sync between server and client.*|Failed to close connection between server and client|"
        r"client write: .*|Did not get Message for \d+ Seconds.*|Unexpected CM event.*",
        "the other end broke off",
        "read what perftest said on the other host, and measure again",
    ),
    Signature(
        "perftest-failed",
        r"(?<!Warning: )\b(?:Couldn't|Can't|Unable to|Failed to|Test exited with|Error:) ?\S.*",
        "perftest failed",
        "run it by hand on both hosts",
        level="unknown",
    ),
)

# What keeps perftest from sending a message at all, so that a figure beside such words has another origin.
_BEFORE_ANY_MESSAGE = frozenset(
    {
        *("perftest-missing", "bad-arguments", "device-missing", "link-down", "port-busy", "address-unknown"),
        *("no-listener", "memory-refused", "resources-refused", "gid-empty", "perftest-failed"),
    }
)


def failure(text: str, *, measured: bool = False) -> Verdict | None:
    """Why perftest failed, from the words of one end; None where it complains of nothing.

    measured: the text has a figure and may have other people's words too, so that only what can follow a figure
    counts. Warnings, as that of a CPU frequency that is not at its maximum, are no failure. A row may stand in the
    text all the same: a test that failed after it has measured nothing reliable. Level "unknown" means that the
    link itself is neither proved nor disproved.
    """
    causes, consequences = (
        [each for each in signatures if not (measured and each.cause in _BEFORE_ANY_MESSAGE)]
        for signatures in (_CAUSES, _CONSEQUENCES)
    )
    return _told(causes, text) or _completion(text) or _told(consequences, text)


def _told(signatures: Iterable[Signature], text: str) -> Verdict | None:
    found = first(signatures, text)
    if found is None:
        return None
    signature, words = found
    limit = _MEMLOCK.search(text) if signature.cause == "memory-refused" else None
    said, cure = (limit.group(), _RAISE_MEMLOCK) if limit else (_short(words), signature.cure)
    return Verdict(signature.level, signature.cause, f"{signature.meaning}: {said}", cure)


def _completion(text: str) -> Verdict | None:
    """What a message that did not arrive means; None where all did."""
    found = _STATUS.search(text)
    if not found and "ompletion with error" not in text:
        return None
    status = int(found["status"] or found["other"]) if found else _status_of_syndrome(text)
    otherwise = ("completion-error", "a message could not be completed", "measure again, and look at dmesg")
    cause, meaning, cure = _COMPLETIONS.get(status, otherwise)
    syndrome = f", syndrome {found['syndrome']}" if found and int(found["syndrome"] or "0", 16) else ""
    figures = f" (completion status {status}{syndrome})" if found else ""
    return Verdict("fault", cause, f"{meaning}{figures}", cure)


def _status_of_syndrome(text: str) -> int:
    found = _SYNDROME.search(text)
    return _BY_SYNDROME.get(found[1].lower(), 0) if found else 0


def _short(words: str) -> str:
    words = words.strip(" .")
    return words if len(words) <= 100 else f"{words[:99]}…"
