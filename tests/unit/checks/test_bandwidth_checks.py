"""The check of each netdev's measurements: on a switch it has one of each other host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from sparkrig.bandwidth import records
from sparkrig.bandwidth.bands import Expected
from sparkrig.bandwidth.records import Record
from sparkrig.cure import cure_of
from sparkrig.files import MEASURED, Found
from sparkrig.resources.bandwidth import BANDWIDTH
from sparkrig.resources.check import Check, Subject
from tests.tables import each_row
from tests.unit import clusters_measured

A, B, C, D = clusters_measured.NAMES[:4]
Kept = Mapping[tuple[str, str], Record]
P0, TWIN = "enp1s0f0np0", "enP2p1s0f0np0"


def checked(
    change: Callable[[dict[tuple[str, str], Record]], Any] = lambda _: None, boot: str = ""
) -> dict[str, Check]:
    """The checks of spark-a on a switch of four whose records were changed. boot: of spark-b, if another."""
    kept = dict(records.of(clusters_measured.run(), Expected(path_mtu=4096))[A])
    change(kept)
    file = Found(records.dump(kept.values()), "0644", "root:root")
    peers = {
        name: SimpleNamespace(
            identity=SimpleNamespace(boot_id=(boot if name == B and boot else clusters_measured.boot(name)))
        )
        for name in (B, C, D)
    }
    fleet = clusters_measured.fleet(4)
    subject = SimpleNamespace(
        name=A,
        fleet=fleet,
        settings=fleet[A],
        found=SimpleNamespace(identity=SimpleNamespace(boot_id=clusters_measured.boot(A)), files={MEASURED: file}),
        peers=peers,
        inventory="switch.py",
        probe=cure_of("the probe"),
        apply=cure_of("the deploy"),
    )
    return {check.id: check for check in BANDWIDTH.checks(cast(Subject, subject))}


def without(*peers: int) -> Callable[[dict[tuple[str, str], Record]], None]:
    def change(kept: dict[tuple[str, str], Record]) -> None:
        for key in [key for key in kept if key[0] == P0 and int(key[1].rpartition(".")[2]) in peers]:
            del kept[key]

    return change


def reaches(peer: int, gbps: float) -> Callable[[dict[tuple[str, str], Record]], None]:
    def change(kept: dict[tuple[str, str], Record]) -> None:
        for key, record in kept.items():
            if key[0] == P0 and key[1].endswith(f".{peer}"):
                kept[key] = replace(record, gbps=gbps)

    return change


def slow_and_without_one(kept: dict[tuple[str, str], Record]) -> None:
    reaches(12, 13.35)(kept)
    without(13)(kept)


def test_one_check_a_netdev_which_names_the_peers_of_what_is_wrong() -> None:
    def holds(found: dict[str, Check], status: str, words: str) -> None:
        assert [*found] == [f"bandwidth.{P0}", f"bandwidth.{TWIN}"]
        assert found[f"bandwidth.{TWIN}"].status == "ok" or "boot" in words
        mine = found[f"bandwidth.{P0}"]
        assert (mine.status, words in str(mine.found)) == (status, True), mine

    each_row(
        {
            "all measured": (checked(), "ok", "111.8 Gb/s, 2026-11-26T10:00:00+00:00"),
            "one was not": (checked(without(12)), "missing", f"not measured (to {B})"),
            "none was": (checked(without(12, 13, 14)), "missing", f"not measured (to {B}, {C} and {D})"),
            "one is less than the others": (checked(reaches(13, 101.5)), "ok", "101.5 Gb/s, 2026-11-26"),
            "one is slow": (checked(reaches(13, 13.35)), "drift", f"over TCP (to {C})"),
            "one was booted": (checked(boot="other"), "unknown", f"not measured since the boot of {B} (to {B})"),
            "one slow, one not measured": (
                checked(slow_and_without_one),
                "drift",
                f"over TCP (to {B}); not measured (to {C})",
            ),
        },
        holds,
    )
