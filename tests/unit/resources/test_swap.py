"""The swap of a host: what hosts print, what is to be done, and its program with a kernel of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.swap import ASIDE, OURS, SETTLE, SWAP, SWAP_FILE, UNIT_FILE, Swap, Used
from sparkrig.runs.managed_files import RELOADS
from tests.tables import each_row
from tests.unit.shells import sh, well
from tests.unit.simulated import SimulatedHost
from tests.unit.states import SEEN, A

GIB = 1 << 20
IMG, OWN = Used("/swap.img", "file", 16 * GIB - 4, 0), Used(SWAP, "file", 8 * GIB - 4, 0)
ROWS = [f"swap /swap.img file {16 * GIB - 4} 0", "available 100", "root ext4"]


def test_parse(tmp_path: Path) -> None:
    assert SWAP_FILE.parse(ROWS) == Swap((IMG,), 100, "ext4")
    for name, text in {
        "swaps": "Filename\tType\n/swap.img   file\t16777212\t5\t-2\n/dev/zram0 partition 9 0 1\n",
        "meminfo": "MemTotal: 9 kB\nMemAvailable:   77 kB\n",
        "self/mounts": "/dev/sda1 / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    printed = sh(SWAP_FILE.script.replace("/proc/", f"{tmp_path}/")).stdout.splitlines()
    both = (replace(IMG, holds=5), Used("/dev/zram0", "partition", 9, 0))
    assert SWAP_FILE.parse(printed) == Swap(both, 77, "ext4")
    with pytest.raises(ValueError, match="no row begins with 'swp'"):
        SWAP_FILE.parse(["swp x"])


def host(
    *swaps: Used, free_mb: int = 100_000, root: str = "ext4", available: int = GIB, files: Any = (), **data: Any
) -> Subject:
    """A lone Spark with that swap in use. files: the contents of ours, by path."""
    fleet = Fleet.parse({A: {"allow_non_spark": True, **data}})
    there = {path: Found(text, "0644", "root:root") for path, text in dict(files).items()}
    preflight = replace(SEEN[A].preflight, room_mb={"/": free_mb})
    seen = Swap(swaps, available, root)
    return subject(A, fleet, {A: replace(SEEN[A], files=there, preflight=preflight, others={"swap": seen})})


UNIT = SWAP_FILE.changes(host(swap_gib=8)).write[0].content
NOTE = SWAP_FILE.changes(host(IMG, swap_gib=0, adopt={"/swap.img": "set-aside"})).write[0].content
SET_ASIDE: dict[str, Any] = {"swap_gib": 0, "adopt": {"/swap.img": "set-aside"}}
# the host; the edits, old and new; the files that are written or removed; the check
HOSTS: dict[str, tuple[Any, ...]] = {
    "a new file": (host(swap_gib=8), [(None, "8 GiB of swap")], [UNIT_FILE], "drift"),
    "as declared": (host(OWN, swap_gib=8, files={UNIT_FILE: UNIT}), [], [], "ok"),
    "off by hand": (host(swap_gib=8, files={UNIT_FILE: UNIT}), [(None, "8 GiB of swap")], [], "drift"),
    "another size": (
        host(OWN, swap_gib=4, files={UNIT_FILE: UNIT}),
        [("8 GiB of swap", "4 GiB of swap")],
        [UNIT_FILE],
        "drift",
    ),
    "no longer declared": (host(OWN, files={UNIT_FILE: UNIT}), [("8 GiB of swap", None)], [UNIT_FILE], "drift"),
    "none, and none is there": (host(swap_gib=0), [], [], "ok"),
    "another's, without the setting": (host(IMG), [], [], None),
    "beside another's": (
        host(IMG, swap_gib=8, adopt={"/swap.img": "leave"}),
        [(None, "8 GiB of swap")],
        [UNIT_FILE],
        "drift",
    ),
    "another's is the declared one": (host(IMG, swap_gib=16, adopt={"/swap.img": "adopt"}), [], [], "ok"),
    "set aside": (host(IMG, **SET_ASIDE), [("16 GiB of swap", "set aside")], [ASIDE], "drift"),
    "was set aside": (host(files={ASIDE: NOTE, OURS: "/swap.img\n"}, **SET_ASIDE), [], [], "ok"),
    "comes back": (
        host(files={ASIDE: NOTE, OURS: "/swap.img\n"}),
        [("set aside", "swap in use")],
        [ASIDE],
        "drift",
    ),
    "a word for something else": (host(swap_gib=0, adopt={"40-cx7.yaml": "set-aside"}), [], [], "ok"),
}


def test_what_changes_and_what_is_checked() -> None:
    def holds(one: Subject, edits: list[Any], paths: list[str], status: str | None) -> None:
        changes = SWAP_FILE.changes(one)
        assert [(edit.before, edit.after) for edit in changes.edits] == edits
        assert [*(file.path for file in changes.write), *changes.remove] == paths
        assert [each.status for each in SWAP_FILE.checks(one)] == ([status] if status else [])

    each_row(HOSTS, holds)
    assert (
        SWAP_FILE.settings_of(host(OWN).found) == {"swap_gib": 8} and SWAP_FILE.settings_of(host(IMG).found) == {}
    )


REFUSED = {
    r"the host has swap of another already: /swap.img \(16 GiB\)": host(IMG, swap_gib=8),
    "/swap.img has 16 GiB, and swap_gib is 8": host(IMG, swap_gib=8, adopt={"/swap.img": "adopt"}),
    "/dev/zram0 is no file": host(
        replace(IMG, path="/dev/zram0", kind="partition"), swap_gib=0, adopt={"/dev/zram0": "set-aside"}
    ),
    "/ is btrfs": host(swap_gib=8, root="btrfs"),
    "/ has 8 GiB free, and 8 GiB of swap need 10": host(swap_gib=8, free_mb=9_000),
    "the swap that goes holds 600 MiB, and 1024 MiB are": host(replace(IMG, holds=600 << 10), **SET_ASIDE),
}


def test_what_is_refused_before_the_first_change() -> None:
    def refused(said: str, one: Subject) -> None:
        with pytest.raises(Refusal, match=said):
            SWAP_FILE.changes(one)
        assert [each.status for each in SWAP_FILE.checks(one)] == ["drift"]

    each_row({said: (said, one) for said, one in REFUSED.items()}, refused)
    with pytest.raises(Refusal) as refusal:
        SWAP_FILE.changes(host(IMG, swap_gib=8, adopt={"x": "leave"}))
    assert '"/swap.img":"leave"' in str(refusal.value).replace(" ", "") and '"x"' in str(refusal.value)


class Spark(SimulatedHost):
    """A host below a folder, whose /proc/swaps follows what systemctl and swapoff are told."""

    own = r"(?<![\w.}])/(?:etc|var/lib|proc/swaps|swap\.sparkrig)"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.has("/etc/systemd/system/x", "")
        self.has("/proc/swaps", "Filename\n/swap.img\tfile\t16777212\t0\t-2\n")
        self.tool("sync")
        self.tool("mkswap", f'echo "mkswap $(stat -c %a "$1")" >>{root}/did')
        self.tool("fallocate", 'truncate -s "${2%GiB}G" "$3"')
        self.tool(
            "swapoff",
            f"""echo "off $1" >>{root}/did
grep -v "^$1\t" {root}/proc/swaps >{root}/s; mv {root}/s {root}/proc/swaps""",
        )
        self.tool("systemd-escape", "echo swap.img.swap")
        self.tool(
            "systemctl",
            f"""echo "$*" >>{root}/did
case $* in
*enable*--now*) printf '{root}{SWAP}\\tfile\\t1\\t0\\t-2\\n' >>{root}/proc/swaps ;;
'start swap.img.swap') printf '/swap.img\\tfile\\t1\\t0\\t-2\\n' >>{root}/proc/swaps ;;
esac""",
        )

    def settle(self, unit: str | None = None, aside: str | None = None) -> list[str]:
        """What is in use once those two files stand there."""
        for path, text in ((UNIT_FILE, unit), (ASIDE, aside)):
            self.at(path).unlink(missing_ok=True)
            if text is not None:
                self.has(path, text)
        well(self.sh(f"set -e\n{SETTLE}"))
        return [row.split()[0].removeprefix(str(self.root)) for row in self.lines("/proc/swaps")[1:]]


def test_the_file_comes_has_another_size_and_goes(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    spark.has(f"{SWAP}.new", "half of it")
    assert spark.settle(UNIT) == ["/swap.img", SWAP]
    assert spark.at(SWAP).stat().st_size == 8 << 30 and "mkswap 600" in spark.did
    spark.settle(UNIT.replace("8 GiB", "2 GiB"))
    assert spark.at(SWAP).stat().st_size == 2 << 30 and f"off {tmp_path}{SWAP}" in spark.did
    assert spark.settle() == ["/swap.img"] and not spark.at(SWAP).exists() and not spark.at(f"{SWAP}.new").exists()


def test_what_is_set_aside_comes_back(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    assert spark.settle(aside=NOTE) == [] and spark.lines(OURS) == ["/swap.img"]
    assert {"off /swap.img", "--quiet mask swap.img.swap"} <= {*spark.did}
    assert spark.settle() == ["/swap.img"] and not spark.at(OURS).exists()
    assert "--quiet unmask swap.img.swap" in spark.did
    assert spark.settle() == ["/swap.img"] and "start swap.img.swap" not in spark.did


def test_an_undo_settles_it_too() -> None:
    assert RELOADS[UNIT_FILE] == RELOADS[ASIDE] == SETTLE
