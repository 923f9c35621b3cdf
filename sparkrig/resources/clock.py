"""A cap on the clock of the GPU: setting `gpu_clock_max`.

Owners cap it against heat [@miaai-146] and sudden power-off [@eugr]; a GB10 takes no power limit in its place
[@epappas]. nvidia-smi forgets a cap at the next start and shows it nowhere [@cuda-jl-2194], so a unit sets it, and
leaves a mark while it stands. nvidia-smi exits 0 where it refuses, so what it prints decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import on_host
from sparkrig.files import File, Managed
from sparkrig.host.gpu import CAP_SLACK_MHZ
from sparkrig.refusal import Refusal
from sparkrig.resources import file_diff
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Resource
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

UNIT = "sparkrig-gpu-clock.service"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
LINK = f"/etc/systemd/system/multi-user.target.wants/{UNIT}"  # by which it starts with the host
MARK = "/run/sparkrig-gpu-clock/cap"  # in MHz; it goes when the unit stops

SETTLE = programs.text("operations/clock.sh")


@dataclass(frozen=True)
class Clock(Value):
    """smi: whether nvidia-smi is there."""

    smi: bool = False


class GpuClock(Resource[Clock]):
    """The cap on the GPU's clock, and the unit that sets it."""

    name, title, step, rereads = "clock", "GPU clock", "cap of the clock", "let systemd set it"
    files = (Managed(UNIT_FILE, reload=SETTLE), Managed(LINK, "seen"), Managed(MARK, "seen"))
    script = programs.text("facts/clock.sh")
    absent = Clock()
    kinds = (
        Kind(
            "host.gpu-clock",
            "health",
            "the declared cap of the GPU's clock is set, now and at each start",
            "its unit was stopped, disabled or edited by hand",
            "docs/alone.md#a-cap-on-the-gpus-clock",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Clock:
        rows = [*lines]
        if unknown := {*rows} - {"smi"}:
            raise ValueError(f"no row is {min(unknown)[:60]!r}")
        return Clock("smi" in rows)

    def changes(self, subject: Subject) -> Changes:
        """Raises Refusal where there is nothing that could set a cap."""
        files, cap = subject.found.files, subject.settings.gpu_clock_max
        if cap and not self.seen(subject).smi:
            raise Refusal(
                "gpu_clock_max needs nvidia-smi, which is not there", on_host("ls -l /usr/bin/nvidia-smi")
            )
        made = Changes.of([File(UNIT_FILE, _unit(cap))] if cap else [], files, self.files[:1])
        return replace(made, reload=(UNIT_FILE,) if made or _lack(subject) else ())

    def settings_of(self, found: State) -> Mapping[str, Any]:
        mark = found.files.get(MARK)
        cap = mark.content.strip() if mark else ""
        return {"gpu_clock_max": int(cap)} if UNIT_FILE in found.files and cap.isdecimal() else {}

    def checks(self, subject: Subject) -> Iterator[Check]:
        cap = subject.settings.gpu_clock_max
        want = f"a cap of {cap} MHz" if cap else "no cap of ours"

        def odd(changes: Changes) -> list[str]:
            return file_diff.differences(changes.write, changes.remove, subject.found.files)

        return self.sole_check(subject, want, declared=bool(cap), odd=odd, holds=_lack(subject))

    def explained(self, subject: Subject, check: Check) -> Check:
        """A clock under load that is low by the declared cap is as it should be; one above the cap is not."""
        cap, mhz = subject.settings.gpu_clock_max, subject.found.gpu.sm_mhz if check.id == "gpu.clock" else None
        if cap and mhz is not None and mhz > cap + CAP_SLACK_MHZ:
            found = f"the SM clock is {mhz:g} MHz, above the declared cap of {cap}"
            return replace(check, status="drift", found=found, cure=subject.apply, cause="clock-cap")
        if cap and mhz is not None and mhz >= cap - CAP_SLACK_MHZ and check.told:
            found = f"{check.found}: gpu_clock_max is {cap}, a cap and no fault"
            return replace(check, status="ok", found=found, cure="", cause="")
        return check


CLOCK = GpuClock()


def _lack(subject: Subject) -> str:
    """What of the unit's work is not as its file has it; empty where all is."""
    files, cap = subject.found.files, subject.settings.gpu_clock_max
    if not cap:
        return "a cap of ours is set" if MARK in files or LINK in files else ""
    if MARK not in files:
        return "it is not set"
    now = files[MARK].content.strip()
    return (
        f"{now[:20]} MHz are set"
        if now != str(cap)
        else ""
        if LINK in files
        else "it is not set at the next start"
    )


def _unit(cap: int) -> str:
    said = f"/usr/bin/nvidia-smi -lgc 0,{cap:d} | tee /dev/stderr | grep -q 'gpuClkMax {cap:d})'"
    rows = [
        "# Written by sparkrig: docs/alone.md",
        f"# {cap} MHz",
        "[Unit]",
        f"Description=keeps the GPU's clock at {cap} MHz and below",
        "After=nvidia-persistenced.service",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        f"RuntimeDirectory={MARK.split('/')[2]}",
        f'ExecStart=/bin/sh -c "{said}"',
        f'ExecStart=/bin/sh -c "echo {cap} >{MARK}"',
        "ExecStop=/usr/bin/nvidia-smi -rgc",
        "TimeoutSec=60",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ]
    return "\n".join(rows)
