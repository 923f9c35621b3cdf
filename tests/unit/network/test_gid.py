"""Which GID index carries a rail: every row of the table in the reference, section 5."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

import pytest

from sparkrig.network import gid

V1, V2 = "IB/RoCE v1", "RoCE v2"
NETDEV = {"rocep1s0f0": "enp1s0f0np0", "roceP2p1s0f0": "enP2p1s0f0np0"}
LL = "fe80:0000:0000:0000:3a25:f3ff:fe00:0001"
LL2 = "fe80:0000:0000:0000:9d1c:77aa:0102:0304"
RAILS = {"enp1s0f0np0": IPv4Interface("192.168.100.11/24"), "enP2p1s0f0np0": IPv4Interface("192.168.101.11/24")}
OURS = {"rocep1s0f0": "192.168.100.11", "roceP2p1s0f0": "192.168.101.11"}


def mapped(address: str) -> str:
    a, b, c, d = IPv4Address(address).packed
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"


def rows(device: str, *slots: tuple[int, str, str]) -> list[str]:
    return [f"gid|{device}|1|{index}|{address}|{kind}|{NETDEV[device]}" for index, address, kind in slots]


def pairs(device: str, *addresses: str) -> list[str]:
    """mlx5 keeps each address twice: v1 at the even index, v2 behind it."""
    doubled = [(address, kind) for address in addresses for kind in (V1, V2)]
    return rows(device, *((index, *slot) for index, slot in enumerate(doubled)))


def v2_only(device: str, *addresses: str, first: int = 0) -> list[str]:
    """soft-RoCE has no v1."""
    return rows(device, *((n, address, V2) for n, address in enumerate(addresses, first)))


def both(build: Callable[..., list[str]], *before: str, after: tuple[str, ...] = ()) -> list[str]:
    return [row for device, ours in OURS.items() for row in build(device, *before, mapped(ours), *after)]


INDEX = {
    "one link-local, one IPv4": (both(pairs, LL), 3),
    "two link-locals": (both(pairs, LL, LL2), 5),
    "IPv6 off": (both(pairs), 1),
    "another IPv4 first": (both(pairs, LL, mapped("10.1.2.3")), 5),
    "another IPv4 behind": (both(pairs, LL, after=(mapped("10.1.2.3"),)), 3),
    "soft-RoCE": (both(v2_only, LL), 1),
    "soft-RoCE after a profile went up again": (both(v2_only, LL, LL2), 2),
    "past nine, sorted by number": (both(pairs, *[LL] * 5), 11),
}


@pytest.mark.parametrize(("table", "index"), INDEX.values(), ids=INDEX)
def test_index(table: list[str], index: int) -> None:
    choice = gid.choose(gid.parse(table), RAILS)
    assert (choice.index, choice.why) == (index, "")
    assert gid.variables(choice) == {"NCCL_IB_GID_INDEX": str(index)}


ABSENT = {
    "no IPv4 yet": [row for device in OURS for row in pairs(device, LL)],
    "down or uncabled": [],
    "only v1": [row for row in both(pairs, LL) if V2 not in row],
    "a version that is not known": [row.replace(V2, "RoCE v3") for row in both(v2_only, LL)],
    "another subnet's address": [row for device in OURS for row in pairs(device, LL, mapped("10.1.2.3"))],
    "the addresses crossed": [
        *pairs("rocep1s0f0", LL, mapped("192.168.101.11")),
        *pairs("roceP2p1s0f0", LL, mapped("192.168.100.11")),
    ],
}


@pytest.mark.parametrize("table", ABSENT.values(), ids=ABSENT)
def test_absent(table: list[str]) -> None:
    found = gid.parse(table)
    names = ["enp1s0f0np0 (192.168.100.11)", "enP2p1s0f0np0 (192.168.101.11)"]
    assert gid.missing(found, RAILS) == names
    with pytest.raises(ValueError, match="no RoCE v2 GID for enp1s0f0np0"):
        gid.choose(found, RAILS)


def test_one_rail_of_two_is_absent() -> None:
    found = gid.parse([*pairs("rocep1s0f0", LL, mapped("192.168.100.11")), *pairs("roceP2p1s0f0", LL)])
    assert gid.missing(found, RAILS) == ["enP2p1s0f0np0 (192.168.101.11)"]
    with pytest.raises(ValueError, match="no RoCE v2 GID for enP2p1s0f0np0"):
        gid.choose(found, RAILS)


def test_an_address_that_stands_twice_counts_at_its_lowest_index() -> None:
    """However the shell sorted the rows: 10 comes before 2 in a glob."""
    ours = mapped("192.168.100.11")
    found = gid.parse(rows("rocep1s0f0", (10, ours, V2), (2, ours, V2), (1, LL, V2)))
    slot = gid.find(found, "enp1s0f0np0", IPv4Address("192.168.100.11"))
    assert slot is not None and slot.index == 2


def test_parse_ignores_what_is_no_row_and_refuses_what_is_broken() -> None:
    assert gid.parse(["links []", "", "mtu rocep1s0f0 4096"]) == []
    assert [row.index for row in gid.parse(["links []", *rows("rocep1s0f0", (3, LL, V2))])] == [3]
    whole = "gid|rocep1s0f0|1|0|::|RoCE v2|e"
    for broken, said in {
        whole.removesuffix("|e"): "cannot read the GID row",
        f"{whole}|f": "cannot read the GID row",
        whole.replace("|0|", "|x|"): "invalid literal",
        whole.replace("::", "nonsense"): "nonsense",
    }.items():
        with pytest.raises(ValueError, match=said):
            gid.parse([broken])


def test_without_a_rail_there_is_no_index() -> None:
    assert gid.choose([], {}) == gid.Choice(None, "", ())


DIFFERING = [
    *pairs("rocep1s0f0", LL, mapped("192.168.100.11")),
    *pairs("roceP2p1s0f0", LL, LL2, mapped("192.168.101.11")),
]


def test_devices_that_differ_take_the_address_family_route_with_the_reason() -> None:
    choice = gid.choose(gid.parse(DIFFERING), RAILS)
    assert choice.index is None
    assert gid.block(choice).splitlines() == [
        gid.BLOCK_BEGIN,
        "# One index does not fit: rocep1s0f0 has its GID at 3, roceP2p1s0f0 has its GID at 5.",
        "NCCL_IB_ROCE_VERSION_NUM=2",
        "NCCL_IB_ADDR_FAMILY=AF_INET",
        "NCCL_IB_ADDR_RANGE=192.168.100.0/23",
        gid.BLOCK_END,
    ]


@pytest.mark.parametrize(
    ("one", "two", "common"),
    [
        ("192.168.100.11/24", "192.168.101.11/24", "192.168.100.0/23"),
        ("192.168.101.11/24", "192.168.100.11/24", "192.168.100.0/23"),
        ("10.0.0.1/24", "10.255.0.1/24", "10.0.0.0/8"),
        ("10.0.0.1/31", "10.0.0.3/31", "10.0.0.0/30"),
        ("10.0.0.1/24", "192.168.0.1/24", None),  # nothing smaller than half the world holds both
        ("10.0.0.1/24", "11.0.0.1/24", None),
    ],
)
def test_range_of_the_address_family_route(one: str, two: str, common: str | None) -> None:
    networks = (IPv4Interface(one).network, IPv4Interface(two).network)
    assert gid.variables(gid.Choice(None, "differ", networks)).get("NCCL_IB_ADDR_RANGE") == common


FILE = "NCCL_IB_HCA=rocep1s0f0\n{}\nRAY=0\n"


def test_replace_block_leaves_the_rest_and_is_idempotent() -> None:
    old, new = (gid.block(gid.Choice(index, "", ())) for index in (3, 1))
    once = gid.replace_block(FILE.format(old), new)
    assert once == FILE.format(new)
    assert gid.replace_block(once, new) == once
    assert gid.replace_block(f"{old}\nRAY=0\n", new) == f"{new}\nRAY=0\n"
    longer = gid.block(gid.choose(gid.parse(DIFFERING), RAILS))
    assert gid.replace_block(gid.replace_block(once, longer), new) == once


def test_a_line_of_another_one_in_the_block_comes_after_it() -> None:
    old, new = (gid.block(gid.Choice(index, "", ())) for index in (3, 1))
    text = FILE.format(old.replace(gid.BLOCK_END, f"MINE=1\n{gid.BLOCK_END}"))
    once = gid.replace_block(text, new)
    assert once == FILE.format(f"{new}\nMINE=1")
    assert gid.replace_block(once, new) == once


@pytest.mark.parametrize(
    "text", ["NCCL_IB_GID_INDEX=3\n", gid.BLOCK_BEGIN, gid.BLOCK_END, f"{gid.BLOCK_END}\n{gid.BLOCK_BEGIN}\n"]
)
def test_a_file_without_a_block_is_not_guessed_at(text: str) -> None:
    with pytest.raises(ValueError, match="no GID block"):
        gid.replace_block(text, "x")


def test_the_module_stands_alone_because_it_also_runs_on_the_hosts() -> None:
    modules = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else alias.name.split(".")[0]
        for node in ast.walk(ast.parse(Path(gid.__file__).read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert modules <= sys.stdlib_module_names


def test_command_reads_a_tree_like_sysfs(tmp_path: Path) -> None:
    """Empty slots are left out, and a slot whose type the kernel refuses to name."""
    port = tmp_path / "rocep1s0f0" / "ports" / "1"
    for folder in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
        (port / folder).mkdir(parents=True)
    ours, empty = mapped("192.168.100.11"), "0000:" * 7 + "0000"
    slots = [(LL, V1), (LL, V2), (empty, None), (ours, V2), (LL2, None)]
    for index, (address, kind) in enumerate(slots):
        (port / "gids" / str(index)).write_text(f"{address}\n")
        if kind:
            (port / "gid_attrs/types" / str(index)).write_text(f"{kind}\n")
            (port / "gid_attrs/ndevs" / str(index)).write_text("enp1s0f0np0\n")
    (tmp_path / "mlx_nothing").mkdir()
    text = gid.COMMAND.replace("/sys/class/infiniband", str(tmp_path))
    shown = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True, env=os.environ)
    found = gid.parse(shown.stdout.splitlines())
    assert [(slot.device, slot.index, slot.type) for slot in found] == [
        ("rocep1s0f0", 0, V1),
        ("rocep1s0f0", 1, V2),
        ("rocep1s0f0", 3, V2),
    ]
    assert gid.choose(found, {"enp1s0f0np0": RAILS["enp1s0f0np0"]}).index == 3


def test_command_on_a_host_without_rdma_prints_nothing() -> None:
    text = gid.COMMAND.replace("/sys/class/infiniband", "/nonexistent")
    shown = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert (shown.stdout, shown.stderr) == ("", "")
