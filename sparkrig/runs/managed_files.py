"""Every file that this toolkit writes on a host, so that one look reads them all."""

from __future__ import annotations

from typing import get_type_hints

from sparkrig.files import DECLARED, MEASURED, Managed
from sparkrig.look.state import ONE_FILE, State
from sparkrig.rdma import environment

# those of each resource, and of what has no look of its own: the environment, the measurement
FILES: tuple[Managed, ...] = (
    *(file for resource in ONE_FILE.values() for file in resource.files),
    *(file for seen in get_type_hints(State).values() for file in getattr(seen, "FILES", ())),
    *map(Managed, (*environment.PATHS, MEASURED, DECLARED)),
)

# what the look at files reads
OWNED = tuple(file.path for file in FILES if file.kind in ("owned", "seen"))

# Ours too, but for root alone: a look reads no content of it.
PRIVATE = tuple(file.path for file in FILES if file.kind == "private")

# Every file that a run may write; others' files among them are merged into.
WRITTEN = tuple(file.path for file in FILES if file.kind != "seen")

# What makes a service read a file again.
RELOADS = {file.path: file.reload for file in FILES if file.reload}
