"""The GID table of mlnx-tools, and every state of it that is known, against what the files carry."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Interface, IPv6Address

import pytest

from sparkrig.network import gid
from sparkrig.network.gid import Gid
from sparkrig.network.gid_table import Port, judge, parse_ibdev2netdev, parse_show_gids, written_index
from tests.tables import each_row

V1, V2 = "IB/RoCE v1", "RoCE v2"
LL, LL2 = "fe80::3a25:f3ff:fe00:1", "fe80::9d1c:77aa:102:304"
OURS, OTHER, WIDE = "192.168.100.11", "10.1.2.3", "2001:db8::1"
DEVICE, NETDEV = "rocep1s0f0", "enp1s0f0np0"

# --- show_gids

TABS = (
    "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
    "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
    "rocep1s0f0\t1\t0\tfe80:0000:0000:0000:3a25:f3ff:fe00:0001\t\t\tv1\tenp1s0f0np0\n"
    "rocep1s0f0\t1\t1\tfe80:0000:0000:0000:3a25:f3ff:fe00:0001\t\t\tv2\tenp1s0f0np0\n"
    "rocep1s0f0\t1\t2\t0000:0000:0000:0000:0000:ffff:c0a8:640b\t192.168.100.11  \tv1\tenp1s0f0np0\n"
    "rocep1s0f0\t1\t3\t0000:0000:0000:0000:0000:ffff:c0a8:640b\t192.168.100.11  \tv2\tenp1s0f0np0\n"
    "n_gids_found=4\n"
)
SPACES = (
    "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n"
    "---     ----    -----   ---                                     ------------    ---     ---\n"
    "rocep1s0f0      1       0       fe80:0000:0000:0000:3a25:f3ff:fe00:0001                 v1      enp1s0f0np0\n"
    "rocep1s0f0      1       1       fe80:0000:0000:0000:3a25:f3ff:fe00:0001                 v2      enp1s0f0np0\n"
    "rocep1s0f0      1       2       0000:0000:0000:0000:0000:ffff:c0a8:640b 192.168.100.11 v1      enp1s0f0np0\n"
    "rocep1s0f0      1       3       0000:0000:0000:0000:0000:ffff:c0a8:640b 192.168.100.11 v2      enp1s0f0np0\n"
    "n_gids_found=4\n"
)


def rows(*slots: tuple[int, str, str], device: str = DEVICE, netdev: str = NETDEV) -> list[Gid]:
    return [Gid(device, 1, index, gid_of(address), kind, netdev) for index, address, kind in slots]


def gid_of(address: str) -> IPv6Address:
    return IPv6Address(address if ":" in address else f"::ffff:{address}")


def pairs(*addresses: str, first: int = 0) -> list[Gid]:
    """mlx5 keeps each address twice: v1 at the even index, v2 behind it."""
    doubled = [(address, kind) for address in addresses for kind in (V1, V2)]
    return rows(*((index, *slot) for index, slot in enumerate(doubled, first)))


def v2_only(*addresses: str, first: int = 0) -> list[Gid]:
    """soft-RoCE has no v1."""
    return rows(*((index, address, V2) for index, address in enumerate(addresses, first)))


USUAL = pairs(LL, OURS)

SHOWN = {
    "tabs": (TABS, USUAL),
    "spaces": (SPACES, USUAL),
    "CRLF": (TABS.replace("\n", "\r\n"), USUAL),
    "warnings in front": ("ls: cannot access '/sys/x': No such file or directory\n" + TABS, USUAL),
    "no header, as grep leaves it": ("\n".join(TABS.splitlines()[2:6]), USUAL),
    "one device after another": (
        TABS + TABS.replace(DEVICE, "roceP2p1s0f0").replace(NETDEV, "enP2p1s0f0np0"),
        None,
    ),
    "sorted as ls does": ("\n".join([*TABS.splitlines()[:2], *reversed(TABS.splitlines()[2:])]), USUAL),
    "uncabled": ("\n".join([*TABS.splitlines()[:2], "n_gids_found=0\n"]), []),
    "empty": ("", []),
}


def test_show_gids() -> None:
    def holds(text: str, table: list[Gid] | None) -> None:
        found = parse_show_gids(text)
        assert found == table if table is not None else [row.index for row in found] == [0, 1, 2, 3] * 2

    each_row(SHOWN, holds)


def test_show_gids_says_the_same_as_sysfs() -> None:
    sysfs = [f"gid|{r.device}|{r.port}|{r.index}|{r.address.exploded}|{r.type}|{r.netdev}" for r in USUAL]
    assert parse_show_gids(TABS) == gid.parse(sysfs)


def test_show_gids_without_netdev() -> None:
    text = "mlx5_0  1       0       fe80:0000:0000:0000:ec0d:9a03:00ca:2f4c         v1      \nn_gids_found=1\n"
    assert [(row.device, row.type, row.netdev) for row in parse_show_gids(text)] == [("mlx5_0", V1, "")]


def test_show_gids_that_cannot_be_read() -> None:
    def holds(text: str, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            parse_show_gids(text)

    each_row(
        [
            ("show_gids: command not found\n", "cannot read row 1 of show_gids"),
            (TABS.replace("\tv2\t", "\t\t"), "cannot read row 2 of show_gids"),
            (TABS.replace("v2", "v3"), "cannot read row 2 of"),
            (TABS.replace("c0a8:640b", "c0a8"), "cannot read row 3 of"),
            (TABS[: TABS.rindex("ffff")], "cannot read row 4 of"),  # cut off in a row
            ("\n".join(TABS.splitlines()[:3] + TABS.splitlines()[4:]), "counted 4 GIDs, and 3 rows"),
        ],
        holds,
    )


# --- ibdev2netdev

PLAIN = """\
rocep1s0f0 port 1 ==> enp1s0f0np0 (Down)
rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)
"""
LONG = (
    "0000:01:00.0 rocep1s0f0 (MT4129 - NA) NVIDIA ConnectX-7, 200GbE, dual-port QSFP112 fw 28.45.4028 "
    "port 1 (DOWN  ) ==> enp1s0f0np0 (Down)\n"
    "0000:01:00.1 rocep1s0f1 (MT4129 - NA) fw 28.45.4028 port 1 (ACTIVE) ==> enp1s0f1np1 (Up)\n"
)


def test_ibdev2netdev() -> None:
    def holds(text: str) -> None:
        assert parse_ibdev2netdev(text) == [
            Port("rocep1s0f0", 1, "enp1s0f0np0", up=False),
            Port("rocep1s0f1", 1, "enp1s0f1np1", up=True),
        ]

    each_row(
        [
            PLAIN,
            LONG,
            PLAIN.replace("\n", "\r\n"),
            f"warning: x\n{PLAIN}",
            PLAIN.replace("(Up)", "(Up)   <-- cabled"),
        ],
        holds,
    )


def test_ibdev2netdev_of_nothing_and_of_no_netdev() -> None:
    assert parse_ibdev2netdev("") == []
    assert parse_ibdev2netdev("mlx5_0 port 2 ==>  (Down)") == [Port("mlx5_0", 2, "", up=False)]


@pytest.mark.parametrize("text", ["ibdev2netdev: command not found", "rocep1s0f0 port 1 ==> enp1s", "==> x (Up)"])
def test_ibdev2netdev_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        parse_ibdev2netdev(text)


def test_a_row_that_is_quoted_in_a_sentence_is_no_row() -> None:
    with pytest.raises(ValueError, match="cannot read row 1"):
        parse_ibdev2netdev('ibdev2netdev  # e.g. "rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)": device ==> netdev')


@pytest.mark.parametrize("parse", [parse_show_gids, parse_ibdev2netdev])
def test_nothing_of_a_row_that_cannot_be_read_is_repeated(parse: Callable[[str], object]) -> None:
    """ibdev2netdev -v has the adapter's serial number in such rows."""
    with pytest.raises(ValueError, match="cannot read") as error:
        parse("0000:01:00.0 rocep1s0f0 (MT4129 - MT2402XZ0AB) port one (ACTIVE) ==> enp1s0f0np0 (Up)\n")
    assert "MT2402XZ0AB" not in str(error.value)


# --- what the files carry


def test_written_index() -> None:
    def holds(text: str, index: int | None) -> None:
        assert written_index(text) == index

    each_row(
        [
            (gid.block(gid.Choice(3, "", ())), 3),
            (gid.block(gid.Choice(None, "differ", (IPv4Interface("10.0.0.1/24").network,))), None),
            ("NCCL_IB_HCA=rocep1s0f0\nNCCL_IB_GID_INDEX=11\r\nRAY=0\n", 11),
            ("export NCCL_IB_GID_INDEX = '5' # by hand\n", 5),
            ("#NCCL_IB_GID_INDEX=3\nMY_NCCL_IB_GID_INDEX=4\n", None),
            ("NCCL_IB_GID_INDEX=-1\n", None),
            ("NCCL_IB_GID_INDEX=\nNCCL_DEBUG=INFO\n", None),
            ("NCCL_IB_GID_INDEX=3\nNCCL_IB_GID_INDEX=3\n", 3),
            ("", None),
        ],
        holds,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NCCL_IB_GID_INDEX=three\n", "no number"),
        ("NCCL_IB_GID_INDEX=3\nNCCL_IB_GID_INDEX=5\n", "set to 3 and to 5"),
    ],
)
def test_written_index_that_makes_no_sense(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        written_index(text)


# --- the judgement: table, index in the files, cause, words of the evidence

HEALTHY = {
    "one link-local, one IPv4": (USUAL, 3),
    "a second link-local, looked up again": (pairs(LL, LL2, OURS), 5),
    "a second IPv4 behind": (pairs(LL, OURS, OTHER), 3),
    "a second IPv4 in front, looked up again": (pairs(LL, OTHER, OURS), 5),
    "IPv6 off": (pairs(OURS), 1),
    "soft-RoCE": (v2_only(LL, OURS), 1),
    "soft-RoCE after a profile went up again": (v2_only(LL) + v2_only(OURS, first=2), 2),
    "the address stands twice": (v2_only(LL, OURS, OURS), 2),
    "past nine": (pairs(LL, *(f"10.0.{n}.1" for n in range(5)), OURS), 13),
    "the files name the address family": (USUAL, None),
    "so they do, and the devices differ": (pairs(LL, LL2, OURS), None),
}


def test_healthy() -> None:
    def holds(table: list[Gid], written: int | None) -> None:
        verdict = judge(table, NETDEV, IPv4Address(OURS), written)
        assert verdict.healthy and OURS in verdict.evidence and not verdict.cause and not verdict.cure

    each_row(HEALTHY, holds)


ILL = {
    "no IPv4 yet": (pairs(LL), 3, "gid-missing", "rocep1s0f0 has no IPv4 GID yet"),
    "no IPv4 yet, address family": (pairs(LL), None, "gid-missing", "no IPv4 GID yet"),
    "down or uncabled": ([], 3, "gid-missing", "down, without a cable, or without a device"),
    "another subnet's address": (
        pairs(LL, OTHER),
        3,
        "gid-missing",
        "has GIDs for 10.1.2.3 and none for 192.168.100.11",
    ),
    "the addresses crossed": (
        pairs(LL) + rows((3, OURS, V2), device="roceP2p1s0f0", netdev="enP2p1s0f0np0"),
        3,
        "gid-missing",
        "192.168.100.11 has its GID on enP2p1s0f0np0",
    ),
    "only v1": ([row for row in USUAL if row.type == V1], 3, "gid-type", "no index has it as RoCE v2"),
    "only v1, address family": (
        [row for row in USUAL if row.type == V1],
        None,
        "gid-type",
        "index 2 of rocep1s0f0",
    ),
    "index of v1": (USUAL, 2, "gid-type", "index 2 of rocep1s0f0 is 192.168.100.11 (IB/RoCE v1)"),
    "index of a later v1": (
        pairs(LL, OURS, OURS),
        4,
        "gid-type",
        "index 4 of rocep1s0f0 is 192.168.100.11 (IB/RoCE v1)",
    ),
    "index of the link-local": (USUAL, 1, "gid-type", f"index 1 of rocep1s0f0 is {LL} (RoCE v2)"),
    "index of the link-local's v1": (USUAL, 0, "gid-type", "(IB/RoCE v1)"),
    "soft-RoCE, index of the link-local": (v2_only(LL, OURS), 0, "gid-type", LL),
    "second link-local, 3 is IPv6": (
        pairs(LL, LL2, OURS),
        3,
        "gid-moved",
        f"second IPv6 link-local address, {LL2}",
    ),
    "second link-local, 3 is empty": (
        pairs(LL) + pairs(LL2, OURS, first=4),
        3,
        "gid-moved",
        f"second IPv6 link-local address, {LL2}",
    ),
    "second IPv4 in front": (pairs(LL, OTHER, OURS), 3, "gid-moved", "second IPv4 address, 10.1.2.3"),
    "second IPv4 and an older link-local": (pairs(LL, LL2, OTHER, OURS), 5, "gid-moved", "second IPv4 address"),
    "a routable IPv6 in front": (pairs(LL, WIDE, OURS), 3, "gid-moved", f"routable IPv6 address, {WIDE}"),
    "came up again": (pairs(LL) + pairs(OURS, first=4), 3, "gid-moved", "index 3 of rocep1s0f0 is empty"),
    "came up again, why": (pairs(LL) + pairs(OURS, first=4), 3, "gid-moved", "came up again and left empty slots"),
    "soft-RoCE came up again": (v2_only(LL) + v2_only(OURS, first=2), 1, "gid-moved", "left empty slots"),
    "soft-RoCE, second link-local": (
        v2_only(LL, LL2, OURS),
        1,
        "gid-moved",
        f"second IPv6 link-local address, {LL2}",
    ),
    "link-local in the 169.254 range": (v2_only(LL, "169.254.7.7", OURS), 1, "gid-moved", "second IPv4 address"),
    "IPv6 went off": (pairs(OURS), 3, "gid-moved", "what stood before it is gone"),
    "the second link-local went": (USUAL, 5, "gid-moved", "index 5 of rocep1s0f0 is empty"),
    "the other IPv4 came behind": (pairs(LL, OURS, OTHER), 5, "gid-moved", "index 5 of rocep1s0f0 is 10.1.2.3"),
}


def test_ill() -> None:
    def holds(table: list[Gid], written: int | None, cause: str, words: str) -> None:
        verdict = judge(reversed(table), NETDEV, IPv4Address(OURS), written)
        assert (verdict.level, verdict.cause) == ("fault", cause)
        assert words in verdict.evidence and not verdict.evidence.endswith(".") and verdict.cure

    each_row(ILL, holds)


def test_what_moved_is_told_whole() -> None:
    verdict = judge(pairs(LL, LL2, OURS), NETDEV, IPv4Address(OURS), 3)
    assert verdict.evidence == (
        f"the files carry index 3, but index 3 of rocep1s0f0 is {LL2} (RoCE v2); "
        "index 5 of rocep1s0f0 is 192.168.100.11 (RoCE v2): "
        f"a second IPv6 link-local address, {LL2}, stands before it"
    )
    assert "refresh_gid.py enp1s0f0np0" in verdict.cure


def test_another_device_is_not_looked_at() -> None:
    twin = rows((3, OTHER, V2), device="roceP2p1s0f0", netdev="enP2p1s0f0np0")
    assert judge(pairs(LL, LL2, OURS) + twin, NETDEV, IPv4Address(OURS), 5).healthy
    assert judge(USUAL + twin, "enP2p1s0f0np0", IPv4Address(OTHER), 3).healthy
