"""NetworkManager as busctl prints all that it has: a device and a profile as 1.42.4 printed them.

tests/fixtures/manager/objects.json is what it printed in a network namespace of its own, on 2026-11-25.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).resolve().parents[1] / "fixtures" / "manager" / "objects.json"
STATES = {
    "unmanaged": 10,
    "unavailable": 20,
    "disconnected": 30,
    "connecting": 50,
    "connected": 100,
}  # as nmcli prints each number
_ROOT = "/org/freedesktop/NetworkManager"
_NAME = "org.freedesktop.NetworkManager"


def objects(
    devices: Iterable[Sequence[str]],
    files: Sequence[str] = (),
    *,
    startup: bool = False,
    version: str = "1.52.1",
    checkpoints: Sequence[str] = (),
) -> str:
    """What busctl prints. devices: netdev, state and UUID of its active profile; files: of each profile."""
    recorded = json.loads(RECORDED.read_text())
    (found,) = recorded["data"]
    manager = found[_ROOT][_NAME]
    device = found[f"{_ROOT}/Devices/2"]
    made = {
        path: each
        for path, each in found.items()
        if not path.startswith((f"{_ROOT}/Devices", f"{_ROOT}/Settings/"))
    }
    _put(manager, Startup=startup, Version=version, Checkpoints=list(checkpoints))
    for number, (netdev, state, uuid) in enumerate(devices, 1):
        each = json.loads(json.dumps(device))
        active = f"{_ROOT}/ActiveConnection/{number}" if uuid else "/"
        word = state.partition(" (")[0]
        _put(each[f"{_NAME}.Device"], Interface=netdev, State=STATES[word], ActiveConnection=active)
        made[f"{_ROOT}/Devices/{number}"] = each
        if uuid:
            about = {"Uuid": {"type": "s", "data": uuid}, "State": {"type": "u", "data": 2}}
            made[active] = {f"{_NAME}.Connection.Active": about}
    for number, file in enumerate(files, 1):
        about = {"Unsaved": {"type": "b", "data": False}, "Filename": {"type": "s", "data": file}}
        made[f"{_ROOT}/Settings/{number}"] = {f"{_NAME}.Settings.Connection": about}
    return json.dumps({**recorded, "data": [made]}, separators=(",", ":"), ensure_ascii=False)


def _put(interface: dict[str, Any], **values: Any) -> None:
    for name, value in values.items():
        interface[name]["data"] = value
