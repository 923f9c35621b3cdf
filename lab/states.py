"""Saved states of a whole cluster: a snapshot of each guest, and here what belongs to all of them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from lab.errors import LabError
from lab.layout import Layout
from lab.nodes import SOLO
from lab.paths import home
from lab.switch import Port, Ports


def folder() -> Path:
    """One file per state."""
    return home() / "states"


def keep(name: str, layout: Layout, ports: Ports) -> None:
    """Writes down which guests have the state, and how the ports of their switch are set."""
    if SOLO in layout.nodes:
        return
    folder().mkdir(exist_ok=True)
    rows = {node: asdict(port) for node, port in ports.items()}
    text = json.dumps({"topology": layout.topology, "nodes": layout.nodes, "ports": rows})
    (folder() / f"{name}.json").write_text(text)


def ports(name: str, layout: Layout) -> Ports:
    """How the ports are set in a state, without those that are as new. LabError for the state of other guests."""
    file = folder() / f"{name}.json"
    if SOLO in layout.nodes or not file.is_file():
        return {}
    found = json.loads(file.read_text())
    if (found["topology"], tuple(found["nodes"])) != (layout.topology, layout.nodes):
        count, topology = len(found["nodes"]), found["topology"]
        way = f" --nodes {count} --topology {topology}" if topology != "cable" else ""
        raise LabError(
            f"{name!r} is a state of {count} Sparks with the topology {topology}",
            expected=f"one of {len(layout.nodes)} with the topology {layout.topology}",
            attempt=f"sparkrig lab up{way} && sparkrig lab reset --to {name}",
        )
    return {node: Port(**port) for node, port in found["ports"].items()}
