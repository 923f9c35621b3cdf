"""templates/refresh_gid.py, run for real against a tree of its own."""

from __future__ import annotations

import json
import os
import sys
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from sparkrig.network import gid
from tests.unit.simulated import TEMPLATES, SimulatedHost, load

ADDRESS = {"enp1s0f0np0": "192.168.100.11", "enP2p1s0f0np0": "192.168.101.11"}


class Host(SimulatedHost):
    """The files of a host, and what its GID table says."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root)
        self.program = load(TEMPLATES / "refresh_gid.py")
        self.table = root / "table"
        self.files = (root / "nccl.conf", root / "container.env")
        for file in self.files:
            file.write_text(f"A=1\n{gid.block(gid.Choice(3, '', ()))}\nB=2\n")
        (root / "rails.json").write_text(json.dumps({name: f"{ip}/24" for name, ip in ADDRESS.items()}))
        for name, value in {
            "RAILS": root / "rails.json",
            "FILES": self.files,
            "LOCK": root / "lock",
            "DEADLINE_S": 0.0,
        }.items():
            monkeypatch.setattr(self.program, name, value)
        monkeypatch.setattr(gid, "COMMAND", f"cat {self.table}")
        self.gids(3, 3)

    def gids(self, *indexes: int) -> None:
        rows = [
            f"gid|{netdev}_0|1|{index}|::ffff:{IPv4Address(ip)}|RoCE v2|{netdev}"
            for (netdev, ip), index in zip(ADDRESS.items(), indexes, strict=False)
        ]
        self.table.write_text("\n".join(rows))

    def contents(self) -> set[str]:
        return {file.read_text() for file in self.files}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setitem(sys.modules, "gid", gid)  # beside it on a host
    return Host(tmp_path, monkeypatch)


def expected(index: int) -> str:
    return f"A=1\n{gid.BLOCK_BEGIN}\nNCCL_IB_GID_INDEX={index}\n{gid.BLOCK_END}\nB=2\n"


@pytest.mark.parametrize("netdev", ADDRESS)
def test_an_index_that_moved_is_put_into_both_files(host: Host, netdev: str) -> None:
    host.gids(1, 1)
    assert host.program.main(netdev) == 0
    assert host.contents() == {expected(1)}


def test_a_file_is_on_the_disk_before_it_takes_the_place(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bool]] = []

    def fsync(handle: int) -> None:
        new = Path(f"/proc/self/fd/{handle}").read_text()
        synced.append((new == expected(1), expected(1) in host.contents()))

    host.gids(1, 1)
    monkeypatch.setattr(host.program.os, "fsync", fsync)
    assert host.program.main("enp1s0f0np0") == 0
    assert synced[0] == (True, False) and len(synced) == len(host.files)


def test_a_link_stays_one_and_what_it_leads_to_as_it_is(host: Host) -> None:
    linked, other = host.files
    elsewhere = linked.with_name("elsewhere")
    linked.rename(elsewhere)
    linked.symlink_to("elsewhere")
    host.gids(1, 1)
    assert host.program.main("enp1s0f0np0") == 0
    assert (str(linked.readlink()), elsewhere.read_text()) == ("elsewhere", expected(3))
    assert other.read_text() == expected(1)


def test_a_file_keeps_its_owner(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[tuple[int, int]] = []
    monkeypatch.setattr(host.program.os, "fchown", lambda _, user, group: owners.append((user, group)))
    host.gids(1, 1)
    assert host.program.main("enp1s0f0np0") == 0
    assert owners == [(file.stat().st_uid, file.stat().st_gid) for file in host.files]


def test_nothing_is_written_where_nothing_moved(host: Host) -> None:
    before = [file.stat().st_ino for file in host.files]
    assert host.program.main("enp1s0f0np0") == 0
    assert [file.stat().st_ino for file in host.files] == before


def test_a_netdev_that_is_no_rail_is_none_of_its_business(host: Host) -> None:
    host.gids(1, 1)
    assert host.program.main("enP7s7") == 0
    assert host.contents() == {expected(3)}


def test_devices_that_come_to_differ_take_the_other_route_and_back(host: Host) -> None:
    host.gids(3, 5)
    host.program.main("enp1s0f0np0")
    (text,) = host.contents()
    assert "NCCL_IB_GID_INDEX" not in text and "NCCL_IB_ADDR_RANGE=192.168.100.0/23\n" in text
    assert "has its GID at 5" in text
    host.gids(5, 5)
    host.program.main("enp1s0f0np0")
    assert host.contents() == {expected(5)}


@pytest.mark.parametrize("indexes", [(1,), ()])
def test_a_rail_without_a_gid_leaves_the_files_as_they_are(
    host: Host, indexes: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    host.gids(*indexes)
    assert host.program.main("enp1s0f0np0") == 0
    assert host.contents() == {expected(3)}
    assert "no RoCE v2 GID yet for" in capsys.readouterr().err


def test_it_waits_for_a_gid_that_comes_late(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.gids()
    monkeypatch.setattr(host.program, "DEADLINE_S", 10.0)
    monkeypatch.setattr(host.program.time, "sleep", lambda seconds: host.gids(2, 2))
    assert host.program.main("enp1s0f0np0") == 0
    assert host.contents() == {expected(2)}


def test_the_mode_of_a_file_stays_and_nothing_is_left_behind(host: Host) -> None:
    host.files[0].chmod(0o640)
    host.gids(1, 1)
    host.program.main("enp1s0f0np0")
    assert host.files[0].stat().st_mode & 0o7777 == 0o640
    names = {entry.name for entry in host.files[0].parent.iterdir()}
    assert names == {"rails.json", "nccl.conf", "container.env", "lock", "table"}


def test_every_other_byte_of_a_file_stays(host: Host) -> None:
    """Its encoding and its line ends are its owner's; drift says what is odd about them."""
    one, other = host.files
    one.write_bytes(one.read_bytes().replace(b"A=1", b"A=caf\xe9"))
    other.write_bytes(other.read_bytes().replace(b"\n", b"\r\n"))
    host.gids(1, 1)
    assert host.program.main("enp1s0f0np0") == 0
    assert one.read_bytes() == expected(1).encode().replace(b"A=1", b"A=caf\xe9")
    block = f"{gid.BLOCK_BEGIN}\nNCCL_IB_GID_INDEX=1\n{gid.BLOCK_END}".encode()
    assert other.read_bytes() == b"A=1\r\n" + block + b"\r\nB=2\r\n"


@pytest.mark.timeout(5)
def test_a_fifo_in_the_place_of_a_file_is_not_waited_for(host: Host) -> None:
    host.files[0].unlink()
    os.mkfifo(host.files[0])
    host.gids(1, 1)
    assert host.program.main("enp1s0f0np0") == 1
    assert host.files[0].is_fifo() and "NCCL_IB_GID_INDEX=1" in host.files[1].read_text()


def test_a_file_that_lost_its_block_is_not_guessed_at(host: Host) -> None:
    host.files[0].write_text("A=1\n")
    host.gids(1, 1)
    assert host.program.main("enp1s0f0np0") == 1
    assert host.files[0].read_text() == "A=1\n"
    assert "NCCL_IB_GID_INDEX=1" in host.files[1].read_text(), "the other file is kept current all the same"
