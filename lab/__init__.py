"""The virtual Sparks: the pair `spark-a` and `spark-b`, two more for a ring or a switch, and a lone `spark-s`.

This module is what an inventory needs to reach them, and is cheap to import; `lab.cli` runs them.
"""

from __future__ import annotations

import json
from typing import TypedDict

from lab.nodes import CABLED, PAIR, SOLO, ssh_port
from lab.paths import home

NODES = PAIR
USER = "nvidia"

__all__ = ["CABLED", "NODES", "SOLO", "ToolkitRepository", "ssh_data", "switched", "toolkit_repo"]


class ToolkitRepository(TypedDict):
    """A flat apt repository as a guest sees it, its public key, and that key's fingerprint (40 hex digits)."""

    url: str
    key_url: str
    fingerprint: str


def switched() -> tuple[str, ...]:
    """The nodes at the switch of the lab: those of the last `up`, and three before the first."""
    from lab.layout import in_force

    now = in_force()
    return now.nodes if now.switched else CABLED[:3]


def ssh_data(node: str) -> dict[str, str | int | bool]:
    """pyinfra's host data for reaching `node`: strict host keys and the lab's own key, nothing of the user's."""
    return {
        "ssh_hostname": "127.0.0.1",
        "ssh_port": ssh_port(node),
        "ssh_user": USER,
        "ssh_key": str(home() / "id_ed25519"),
        "ssh_known_hosts_file": str(home() / "known_hosts"),
        "ssh_strict_host_key_checking": "yes",
        "ssh_allow_agent": False,
        "ssh_look_for_keys": False,
    }


def toolkit_repo() -> ToolkitRepository:
    """The stand-in of NVIDIA's container toolkit repository. Raises LabError before the first `lab up`."""
    from lab.errors import LabError

    facts = home() / "toolkit.json"
    if not facts.is_file():
        raise LabError("the lab has no image yet", expected=f"{facts}", attempt="sparkrig lab up")
    found: ToolkitRepository = json.loads(facts.read_text())
    return found
