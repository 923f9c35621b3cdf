"""T1: a pair whose cabling or names do not fit is refused before its first change, by who hears whom below IP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.plan.conftest import A, Deploy, Host, converged, pair, recorded, well
from tests.plan.guarded import GUARDED, LINK
from tests.tables import each_row

# of the probe; weighs more than what every fake host hears
PROBE = "trouble python3 is not installed"
RAILS = {"enp1s0f0np0": "01", "enP2p1s0f0np0": "02"}
SWAPPED = dict(zip(RAILS, reversed(RAILS.values()), strict=True))


def heard(host: str, macs: Mapping[str, str]) -> list[str]:
    far = "01" if host == A else "00"
    rows = [(f"sent {netdev} 20", f"heard {netdev} 52:54:00:1b:{far}:{last} 19") for netdev, last in macs.items()]
    return [*(line for pair in rows for line in pair), "end"]


def fresh(macs: Mapping[str, str] | None, **first: Any) -> list[Host]:
    """A pair whose network is to be set up. macs: whom each netdev hears, None for a probe that does not run."""
    found = pair(recorded("fresh-a"), recorded("fresh-b"))
    answer = {each.name: heard(each.name, macs) if macs else ["trouble no raw socket"] for each in found}
    return [replace(each, first={PROBE: answer[each.name], **first}, responses=GUARDED) for each in found]


# by whom each netdev hears: one twin in the other's place, or a cable that leads to the other cage
FAULTS = {
    "netdevs swapped": (SWAPPED, "have changed places on one of the two Sparks"),
    "cable crossed": ({"enp1s0f0np0": "03", "enP2p1s0f0np0": "04"}, "and wanted is p0 of "),
}


@pytest.mark.parametrize("flags", [("-y",), ("--dry",)])
def test_what_the_neighbours_tell_is_refused_before_the_first_change(deploy: Deploy, flags: tuple[str]) -> None:
    def refused(macs: Mapping[str, str], why: str) -> None:
        run = deploy(fresh(macs), *flags)
        assert run.code == 1
        (said,) = [line for line in run.stderr.splitlines() if "Refused: " in line]
        assert why in said and "Try: " in said
        assert run.changes == [] and "take() {" not in run.stderr, "nothing is locked, nothing is changed"

    each_row(FAULTS, refused)


def test_what_the_neighbours_do_not_tell_is_left_to_the_guard(deploy: Deploy) -> None:
    for macs in (None, RAILS):
        run = well(deploy(fresh(macs), "-y", file="deploys/network.py"))
        assert len([1 for _, text in run.sent if PROBE in text]) == 2, "one probe on each host"


def test_a_pair_whose_network_stands_is_not_probed(deploy: Deploy) -> None:
    hosts = [
        replace(each, first={PROBE: heard(each.name, SWAPPED)}) for each in pair(converged("a"), converged("b"))
    ]
    run = well(deploy(hosts, "-y"))
    assert not [1 for _, text in run.sent if PROBE in text]


def test_a_half_that_was_rolled_back_is_no_success(deploy: Deploy) -> None:
    """pyinfra printed Success for the host that follows, while the one that leads took both back."""
    silent = {LINK: ["silent 0 enp1s0f0np0 192.168.100.12 8972 ", "done"]}
    hosts = fresh(RAILS)
    hosts[0] = replace(hosts[0], responses={**GUARDED, **silent})
    run = deploy(hosts, "-y", file="deploys/network.py")
    assert run.code == 1
    lines = run.stderr.splitlines()
    assert not [line for line in lines if "Success" in line], run.stderr
    assert [line for line in lines if "[@fake/spark-b]" in line and "put back: @fake/spark-a leads" in line]
    prepared = [text for _, text in run.sent if "superseded by run" in text]
    assert len(prepared) == 2 and not [text for text in prepared if "bandwidth.json" in text]
    reverts = [text for _, text in run.sent if "guard.main" in text and " revert " in text]
    assert len(reverts) == 2 and all("no answer on rail 0 from 192.168.100.12" in text for text in reverts)
