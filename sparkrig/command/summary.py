"""`sparkrig summary`: what each Spark of an inventory is set to, on one screen."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig import bandwidth, driver, environment, gid, records
from sparkrig.command import files
from sparkrig.records import Record
from sparkrig.settings import Fleet
from sparkrig.state import State

if TYPE_CHECKING:
    from pyinfra.api import Host
    from rich.console import RenderableType

    from operations.remote import Failed, Lost

_ROOT = Path(__file__).resolve().parents[2]  # where pyinfra and pytest are typed
_LOOK_S = 120  # times `patience`; a healthy host answers within a few
# each of these fields of a rail is a column of the screen, and what a complaint is filed under
_COLUMNS = {"address": "address", "mtu": "MTU", "device": "device", "gid_index": "GID", "gbps": "Gb/s"}
_NUMBERS = ("mtu", "gid_index", "gbps")


@click.command()
@files.INVENTORY
@click.option("--json", "as_json", is_flag=True, help="For programs (docs/schema/summary.json).")
def summary(inventory_file: Path, as_json: bool) -> None:
    """Show what each Spark is set to: driver, fabric, GID per device, containers, bandwidth per rail.

    It looks and changes nothing. A Spark that cannot be read makes the exit code 3; the others are shown.
    """
    fleet, data = files.inventory(inventory_file)
    found = _look(fleet, data, inventory_file.name)
    rows = {
        name: {"unread": str(state)} if isinstance(state, Exception) else describe(fleet, name, state)
        for name, state in found.items()
    }
    if as_json:
        files.document("summary", hosts=rows)
    else:
        _print(rows, inventory_file)
    if any("unread" in row for row in rows.values()):
        raise SystemExit(3)


def _look(fleet: Fleet, data: Mapping[str, Mapping[str, Any]], what: str) -> dict[str, State | Failed | Lost]:
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from facts.spark import Spark
    from operations import remote

    def read(at: Host) -> State:
        return remote.read(at, Spark(), seconds=int(_LOOK_S * fleet[at.name].patience))

    return session.asked(data, f"Looking at the Sparks of {what}", read)


def describe(fleet: Fleet, name: str, state: State) -> dict[str, Any]:
    """One host's figures, as plain data."""
    branch, packages = fleet[name].driver_branch, state.packages
    hold, unheld = driver.hold_set(packages, branch), driver.unheld(packages, branch)
    return {
        "spark": {
            "vendor": state.identity.vendor,
            "dgx_os": state.identity.dgx_os,
            "kernel": state.identity.kernel,
        },
        "driver": {
            "version": packages.version(f"nvidia-driver-{branch}-open")
            or packages.version(f"nvidia-driver-{branch}"),
            "held": len(hold) - len(unheld),
            "unheld": unheld,
            "later": driver.later_driver(packages),
            "would_move": None if packages.upgrade is None else driver.touched(packages, branch),
            "trouble": packages.trouble,
        },
        "rails": [_rail(fleet, name, state, netdev) for netdev in fleet[name].fabric],
        "containers": {
            "toolkit": state.containers.toolkit,
            "nvidia_runtime": state.containers.registered,
        },
        "environment": _gid_lines(state),
    }


def _rail(fleet: Fleet, name: str, state: State, netdev: str) -> dict[str, Any]:
    """One declared fabric netdev; `complaints` says what is not as declared, by the field it is about."""
    mine = fleet[name]
    address = mine.fabric[netdev]
    link, device = state.network.links.get(netdev), state.rdma.on(netdev)
    slot = gid.find(state.rdma.gids, netdev, address.ip)
    record = _records(state).get(netdev)
    peer = next((rail.peer_address for rail in fleet.rails(name) if rail.netdev == netdev), None)
    complaints: dict[str, str] = {}
    if link and link.carrier:
        if address not in link.addresses:
            complaints["address"] = f"{address} is not on the link"
        if link.mtu != mine.mtu:
            complaints["mtu"] = f"MTU {link.mtu}, {mine.mtu} expected"
        if device is None:
            complaints["device"] = "no RDMA device sits on it"
        if slot is None:
            complaints["gid_index"] = f"no RoCE v2 GID for {address.ip}"
        if peer and (poor := records.complaint(record, address.ip, peer.ip, mine.mtu, bandwidth.expected(mine))):
            complaints["gbps"] = poor
    elif peer:
        complaints["cabled"] = "the link has no carrier" if link else "there is no such netdev"
    return {
        "netdev": netdev,
        "cabled": bool(link and link.carrier),
        "address": str(address),
        "mtu": link.mtu if link else None,
        "device": device.name if device else None,
        "path_mtu": device.active_mtu if device else None,
        "gid_index": slot.index if slot else None,
        "gbps": record.gbps if record else None,
        "measured_path_mtu": record.path_mtu if record else None,
        "measured_at": record.measured_at if record else None,
        "complaints": complaints,
    }


def _gid_lines(state: State) -> list[str] | None:
    """The GID variables that the containers get, as they stand in the file; None where there is no file."""
    file = state.files.get(environment.CONTAINER_ENV)
    if file is None:
        return None
    names = ("NCCL_IB_GID", "NCCL_IB_ROCE", "NCCL_IB_ADDR")
    return [line for line in file.content.splitlines() if line.startswith(names)]


def _records(state: State) -> Mapping[str, Record]:
    file = state.files.get(records.PATH)
    return records.load(file.content if file else None)


def _print(rows: Mapping[str, Mapping[str, Any]], inventory_file: Path) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for name, row in rows.items():
        console.print(_panel(name, row))
    # never wrapped, so that it can be copied from a narrow terminal
    console.print(Text.assemble("Next: ", (_next(rows, inventory_file), "bold")), soft_wrap=True)


def _panel(name: str, row: Mapping[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.markup import escape
    from rich.panel import Panel
    from rich.table import Table

    title = f"[bold]{escape(name)}[/]"
    if "unread" in row:
        text = escape(f"not read: {row['unread']}")
        return Panel(text, title=title, title_align="left", border_style="red")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for label, text in _lines(row):
        grid.add_row(label, text)
    complaints = Table.grid(padding=(0, 1))
    for rail in row["rails"]:
        if rail["complaints"]:
            complaints.add_row("[red]✗[/]", escape(f"{rail['netdev']}: {'; '.join(rail['complaints'].values())}"))
    parts: list[RenderableType] = [grid, "", _rails(row)] if row["rails"] else [grid]
    if complaints.row_count:
        parts.append(complaints)
    return Panel(Group(*parts), title=title, title_align="left", border_style="cyan")


def _lines(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    from rich.markup import escape

    spark, box, variables = row["spark"], row["containers"], row["environment"]
    toolkit = f"toolkit {escape(box['toolkit'])}" if box["toolkit"] else "[red]✗ no toolkit[/]"
    runtime = "nvidia runtime in docker" if box["nvidia_runtime"] else "[red]✗ no nvidia runtime in docker[/]"
    written = "[red]✗ not written[/]" if variables is None else " ".join(variables) or "no RDMA on this Spark"
    return [
        ("spark", escape(spark["vendor"])),
        ("system", escape(f"DGX OS {spark['dgx_os'] or '?'} · kernel {spark['kernel']}")),
        ("driver", _driver(row["driver"])),
        ("containers", f"{toolkit} · {runtime}"),
        ("environment", written),
    ]


def _driver(row: Mapping[str, Any]) -> str:
    from rich.markup import escape

    parts = [(row["version"] or "none").split("-")[0]]
    if row["unheld"]:
        parts.append(f"[red]✗ {row['held']} of {row['held'] + len(row['unheld'])} packages held[/]")
    else:
        parts.append(f"{row['held']} packages held")
    if row["later"]:
        parts.append(f"[red]✗ later than the branch: {escape(', '.join(row['later']))}[/]")
    if row["would_move"] is None:
        parts.append(f"[yellow]? apt could not simulate an upgrade ({escape(row['trouble'])})[/]")
    elif row["would_move"]:
        parts.append(f"[red]✗ an upgrade moves {len(row['would_move'])}[/]")
    else:
        parts.append("an upgrade moves none")
    return " · ".join(parts)


def _rails(row: Mapping[str, Any]) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("rail", no_wrap=True)
    for field, heading in _COLUMNS.items():
        table.add_column(heading, justify="right" if field in _NUMBERS else "left", no_wrap=True)
    for rail in row["rails"]:
        if rail["cabled"]:
            table.add_row(rail["netdev"], *(_cell(rail, field) for field in _COLUMNS))
        else:
            table.add_row(rail["netdev"], "[red]uncabled ✗[/]" if rail["complaints"] else "[dim]uncabled[/]")
    return table


def _cell(rail: Mapping[str, Any], field: str) -> str:
    value = rail[field]
    text = "none" if value is None else f"{value:.2f}" if field == "gbps" else str(value)
    if field in rail["complaints"]:
        return f"[red]{text} ✗[/]"
    return f"{text} [green]✓[/]" if field == "gbps" and value is not None else text


def _next(rows: Mapping[str, Mapping[str, Any]], inventory_file: Path) -> str:
    """One command that can be typed as it is, in the folder where this was typed."""
    at_root = Path.cwd() == _ROOT
    file = str(inventory_file if at_root else inventory_file.resolve())
    if any("unread" in row for row in rows.values()):
        words = ["sparkrig", "doctor", file, "access"]
    elif not all(map(_in_spec, rows.values())):
        words = ["pyinfra", file, "deploys/cluster.py"]
    else:
        words = ["pytest", "tests/state", "--inventory", file]
    return ("" if at_root else f"cd {shlex.quote(str(_ROOT))} && ") + shlex.join(words)


def _in_spec(row: Mapping[str, Any]) -> bool:
    """Whether nothing on the screen of a host asks for a deploy."""
    packages, box = row["driver"], row["containers"]
    settled = (
        not packages["unheld"]
        and not packages["later"]
        and packages["would_move"] == []
        and row["environment"] is not None
    )
    return settled and box["toolkit"] and box["nvidia_runtime"] and not any(r["complaints"] for r in row["rails"])
