"""NVIDIA's own upgrade at the first start of a Spark: whether it has yet to run, runs, or is done.

The unit starts with every boot until its mark is there. Where the driver's modules do not fit the running kernel
it waits up to 300 s for the network, upgrades every package, sets its mark, and reboots; else it only sets the
mark. It has no time limit of its own, and stays enabled once the mark is there. Recorded on a Spark in daily use
[@spark-fleet-updates].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from sparkrig.cure import on_host
from sparkrig.refusal import Refusal
from sparkrig.value import Value

UNIT = "nvidia-spark-run-apt-upgrade-once.service"
MARK = "/var/lib/nvidia-spark-run-apt-upgrade-once/done"
WORD = "first-upgrade"  # begins each row of the look

# off: masked or disabled, so that nothing starts it; pending: starts with the next boot; queued: is about to
# start; rebooting: done, with the reboot on its way
Stage = Literal["absent", "done", "off", "pending", "failed", "queued", "running", "rebooting"]

_NAME = f"NVIDIA's first-boot upgrade ({UNIT})"
_ENDS = "it upgrades every package, and ends with a reboot of this host"
_LOG = f"sudo journalctl -fu {UNIT}"
_DOING = {
    "queued": f"{_NAME} is about to start; {_ENDS}",
    "running": f"{_NAME} is running; {_ENDS}",
    "rebooting": f"{_NAME} is done, and reboots this host",
}
_LATER = {
    "pending": f"{_NAME} has not run yet: it starts with the next boot, and may upgrade every package and reboot",
    "failed": f"{_NAME} failed, and starts again with the next boot",
}


@dataclass(frozen=True)
class FirstUpgrade(Value):
    """What systemd has of the unit.

    boot: the host's boot id; load, enabled, active: its LoadState, UnitFileState and ActiveState, empty where
    there is no such unit; queued: whether a job for it waits; done: whether its mark is there; reboot: whether a
    job for a reboot is under way.
    """

    boot: str = ""
    load: str = ""
    enabled: str = ""
    active: str = ""
    queued: bool = False
    done: bool = False
    reboot: bool = False

    @property
    def stage(self) -> Stage:
        if self.load in ("", "not-found"):
            return "absent"
        if self.active in ("activating", "active", "reloading", "deactivating"):
            return "running"
        if self.done:
            return "rebooting" if self.reboot else "done"
        if self.queued:
            return "queued"
        if self.load == "masked" or not self.enabled.startswith("enabled"):
            return "off"
        return "failed" if self.active == "failed" else "pending"

    @property
    def under_way(self) -> bool:
        """Whether nothing should be begun on the host, as packages change and a reboot comes."""
        return self.stage in _DOING

    @property
    def doing(self) -> str:
        """What it is at, in words; empty where it is not under way."""
        return _DOING.get(self.stage, "")

    @property
    def later(self) -> str:
        """What it will do with the next boot, in words; empty where that is nothing."""
        return _LATER.get(self.stage, "")

    @property
    def cure(self) -> str:
        """One thing to try, where it is under way or to come."""
        if self.under_way:
            return on_host(_LOG, ", and run again after the reboot")
        return {"pending": on_host(f"sudo systemctl start {UNIT}"), "failed": on_host(_LOG)}.get(self.stage, "")


def parse(lines: Iterable[str]) -> FirstUpgrade:
    """Read the rows `first-upgrade KEY=VALUE`, and no others; an empty one stands between two units."""
    rows = [rest.strip() for word, _, rest in (line.partition(" ") for line in lines) if word == WORD]
    blocks = [
        dict(row.partition("=")[::2] for row in block) for filled, block in groupby(rows, key=bool) if filled
    ]
    found = {block.get("Id", ""): block for block in blocks}
    unit, own = found.get(UNIT, {}), found.get("", {})
    return FirstUpgrade(
        own.get("boot", ""),
        unit.get("LoadState", ""),
        unit.get("UnitFileState", ""),
        unit.get("ActiveState", ""),
        _is_job(unit),
        own.get("done") == "yes",
        _is_job(found.get("reboot.target", {})),
    )


def _is_job(unit: dict[str, str]) -> bool:
    return unit.get("Job", "") not in ("", "0")


def refusals(first_upgrade: FirstUpgrade) -> list[Refusal]:
    """Why nothing should be begun now."""
    return [Refusal(first_upgrade.doing, first_upgrade.cure)] if first_upgrade.under_way else []


def warnings(found: FirstUpgrade) -> list[str]:
    """What is worth a line, and keeps nothing from being done."""
    return [f"{found.later}; try: {found.cure}"] if found.later else []
