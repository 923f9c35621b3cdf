"""What `sparkrig bandwidth` is given of a pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sparkrig.bandwidth.measurement import Edge, Host, Measurement, Run
from sparkrig.cli import bandwidth
from sparkrig.refusal import Refusal
from sparkrig.verdict import Verdict

INVENTORY = """
sparks = [
    (f"{pair}-{half}", {"pair": pair, "fabric": {"enp1s0f0np0": f"192.168.{net}.{last}/24"}})
    for net, pair in ((1, "left"), (2, "right")) for last, half in ((1, "a"), (2, "b"))
]
"""


BOOT_ID = "0a1b2c3d-1234-5678-9abc-0a1b2c3d4e5f"


def measured(pair: str, verdict: Verdict) -> Run:
    one, other = f"{pair}-a", f"{pair}-b"
    share = Measurement(
        "ib_write_bw", 0, one, other, 4, together=False, verdict=verdict, gbps=111.9, path_mtu=4096
    )
    hosts = {one: Host(boot_id=BOOT_ID, kernel="6.17.0-1014-nvidia"), other: Host()}
    rail = Edge(0, {}, verdict, hosts=(one, other), netdevs=("enp1s0f0np0", "enp1s0f0np0"))
    return Run(pair, "2026-11-21T10:00:00+00:00", pair, 9000, hosts, (rail,), (share,), ())


def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str, **found: Verdict | Refusal) -> Any:
    def measure(_: object, data: dict[str, object], *__: object, **___: object) -> tuple[Run, Any]:
        pair = next(iter(data)).removesuffix("-a")
        outcome = found[pair]
        if isinstance(outcome, Refusal):
            raise outcome
        return measured(pair, outcome), None

    monkeypatch.setattr(bandwidth, "_measure", measure)
    (tmp_path / "pairs.py").write_text(INVENTORY)
    history = str(tmp_path / "history.jsonl")
    return CliRunner().invoke(bandwidth.bandwidth, [str(tmp_path / "pairs.py"), "--history", history, *words])


BAD = Verdict("fault", "slow-start", "13.35 Gb/s", "reboot")


GONE = Refusal("left-b cannot be reached: [/etc/ssh] [Errno 111]", "ssh left-b true")
