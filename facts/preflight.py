"""Whether a host is fit to be changed at all."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import preflight
from sparkrig.runs.managed_files import WRITTEN

BARS = programs.text("facts/preflight_bars.sh").removesuffix("\n")
BARRED = f"set -- {' '.join(WRITTEN)}\n{programs.text('facts/serving_paths.sh')}{BARS}"


def _parse(lines: Iterable[str]) -> preflight.Preflight:
    return preflight.parse(lines, time.time())


class Preflight(Noun[preflight.Preflight]):
    """What a run has to wait for, and what would stop it.

    Room, mounts, dpkg, clock, a shutdown to come, who uses apt, NVIDIA's upgrade, NetworkManager's unit, files
    of ours that cannot be written, and a run that never ended. Last of a look, and its clock last of all: what
    comes in between counts as skew. It writes nothing, for it has to answer on a full or read-only disk.
    """

    parse = staticmethod(_parse)
    script = f"{programs.text('facts/preflight_room.sh')}{BARRED}\n{programs.text('facts/preflight_rest.sh')}"
    shared = (programs.text("facts/packages.sh"), programs.text("facts/units.sh"))
