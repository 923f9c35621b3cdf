"""What an inventory holds for a virtual Spark: login, the repository mirror, and its patience."""

from __future__ import annotations

from typing import Any

from pyinfra.api.exceptions import InventoryError

from lab import ssh_data, toolkit_repo
from lab.errors import LabError


def settings() -> dict[str, Any]:
    """The settings that any virtual Spark needs. Raises LabError before the first `lab up`."""
    mirror = toolkit_repo()
    return {
        "toolkit_url": mirror["url"],
        "toolkit_key_url": mirror["key_url"],
        "toolkit_key_fingerprint": mirror["fingerprint"],
        "bandwidth_floor": 0.01,  # soft-RoCE under emulation: the link only must carry data
        "patience": 4.0,
        # three emulated hosts on a slow machine took 75 s to apply what a Spark applies in five
        "rollback_seconds": 240,
    }


def host_data(node: str) -> dict[str, Any]:
    """The pyinfra host data of a node, to be merged into its inventory entry.

    Raises pyinfra's InventoryError, which it prints as one sentence, before the first `lab up`.
    """
    try:
        return {**settings(), **ssh_data(node)}
    except LabError as error:
        raise InventoryError(str(error)) from None
