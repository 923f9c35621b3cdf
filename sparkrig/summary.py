"""`sparkrig summary`: what each Spark of an inventory is set to, on one screen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig import bandwidth, driver, environment, gid, inventory, runner, settings
from sparkrig.settings import Fleet
from sparkrig.state import State

if TYPE_CHECKING:
    from rich.console import RenderableType


@click.command()
@click.argument("inventory_file", metavar="INVENTORY", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def summary(inventory_file: Path, as_json: bool) -> None:
    """Show what each Spark is set to: driver, fabric, GID per device, containers, bandwidth per rail.

    It looks and changes nothing.  Example: sparkrig summary inventories/pair.py
    """
    try:
        fleet = settings.parse(inventory.load(inventory_file))
        states = _read(inventory_file)
    except (settings.SettingsError, runner.RunError) as error:
        raise click.ClickException(str(error)) from None
    rows = {name: describe(fleet, name, states[name]) for name in fleet if name in states}
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        _print(fleet, rows, inventory_file)
    if len(rows) < len(fleet):
        raise SystemExit(3)


def _read(inventory_file: Path) -> dict[str, State]:
    from pydantic import TypeAdapter

    adapter = TypeAdapter(State)
    found = runner.facts(inventory_file, "facts.spark.Spark")
    return {name: adapter.validate_python(value) for name, value in found.items() if value}


def describe(fleet: Fleet, name: str, state: State) -> dict[str, Any]:
    """One host's figures, as plain data."""
    mine = fleet[name]
    held = len(driver.hold_set(state.packages, mine.driver_branch)) - len(
        driver.unheld(state.packages, mine.driver_branch)
    )
    return {
        "spark": {
            "vendor": state.identity.vendor,
            "dgx_os": state.identity.dgx_os,
            "kernel": state.identity.kernel,
        },
        "driver": {"version": _driver_version(state), "held": held, "would_move": _would_move(fleet, name, state)},
        "rails": [_rail(state, netdev, str(address)) for netdev, address in mine.fabric.items()],
        "containers": {
            "toolkit": state.containers.toolkit,
            "nvidia_runtime": "nvidia" in state.containers.runtimes,
        },
        "environment": _gid_lines(state),
        "bandwidth": [
            {
                "netdev": record.netdev,
                "gbps": record.gbps,
                "path_mtu": record.path_mtu,
                "measured_at": record.measured_at,
                "complaint": bandwidth.complaint(record, mine.bandwidth_floor, mine.bandwidth_path_mtu),
            }
            for record in _records(state).values()
        ],
    }


def _driver_version(state: State) -> str | None:
    return state.packages.version("nvidia-driver-580-open") or state.packages.version("nvidia-driver-580")


def _would_move(fleet: Fleet, name: str, state: State) -> list[str] | None:
    if state.packages.upgrade is None:
        return None
    return driver.touched(state.packages, fleet[name].driver_branch)


def _rail(state: State, netdev: str, address: str) -> dict[str, Any]:
    link, device = state.network.links.get(netdev), state.rdma.on(netdev)
    wanted = settings.Settings(fabric={netdev: address}).fabric[netdev] if address else None
    slot = gid.find(state.rdma.gids, netdev, wanted.ip) if wanted else None
    return {
        "netdev": netdev,
        "address": address,
        "present": bool(link and wanted in link.addresses),
        "mtu": link.mtu if link else None,
        "device": device.name if device else None,
        "path_mtu": device.active_mtu if device else None,
        "gid_index": slot.index if slot else None,
    }


def _gid_lines(state: State) -> list[str]:
    """The GID variables that the containers get, as they stand in the file."""
    file = state.files.get(environment.CONTAINER_ENV)
    lines = file.content.splitlines() if file else []
    return [line for line in lines if line.startswith(("NCCL_IB_GID", "NCCL_IB_ROCE", "NCCL_IB_ADDR"))]


def _records(state: State) -> Mapping[str, bandwidth.Record]:
    file = state.files.get(bandwidth.RECORD_PATH)
    return bandwidth.load_records(file.content if file else None)


def _print(fleet: Fleet, rows: Mapping[str, Mapping[str, Any]], inventory_file: Path) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for name in fleet:
        console.print(_panel(name, rows.get(name)))
    console.print(_next(fleet, rows, inventory_file))


def _panel(name: str, row: Mapping[str, Any] | None) -> RenderableType:
    from rich.panel import Panel
    from rich.table import Table

    if row is None:
        return Panel(f"not reached. Try: ssh {name} true", title=name, title_align="left", border_style="red")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for label, text in _lines(row):
        grid.add_row(label, text)
    return Panel(grid, title=f"[bold]{name}[/]", title_align="left", border_style="cyan")


def _lines(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    spark, held, box = row["spark"], row["driver"], row["containers"]
    moved = held["would_move"]
    proof = (
        "[yellow]apt could not simulate an upgrade[/]"
        if moved is None
        else f"[red]an upgrade would touch {len(moved)}[/]"
        if moved
        else "an upgrade leaves them alone"
    )
    lines = [
        ("spark", f"{spark['vendor']} · DGX OS {spark['dgx_os'] or '?'} · kernel {spark['kernel']}"),
        ("driver", f"{held['version'] or 'none'} · {held['held']} packages held · {proof}"),
    ]
    lines += [(f"rail {number}", _rail_text(rail)) for number, rail in enumerate(row["rails"])]
    runtime = "nvidia runtime in docker" if box["nvidia_runtime"] else "[red]no nvidia runtime in docker[/]"
    lines.append(("containers", f"toolkit {box['toolkit'] or '[red]absent[/]'} · {runtime}"))
    lines.append(("environment", " ".join(row["environment"]) or "no RDMA on this Spark"))
    lines += [("bandwidth", _bandwidth_text(measured)) for measured in row["bandwidth"]]
    return lines


def _rail_text(rail: Mapping[str, Any]) -> str:
    if rail["mtu"] is None:
        return f"{rail['netdev']} uncabled"
    address = rail["address"] if rail["present"] else f"[red]{rail['address']} missing[/]"
    index = rail["gid_index"]
    found = f"{rail['device']} · GID index {index}" if index is not None else f"{rail['device']} · [red]no GID[/]"
    return f"{rail['netdev']} · {address} · MTU {rail['mtu']} · {found} · path MTU {rail['path_mtu']}"


def _bandwidth_text(measured: Mapping[str, Any]) -> str:
    mark = f"[red]✗ {measured['complaint']}[/]" if measured["complaint"] else "[green]✓[/]"
    return f"{measured['netdev']} · {measured['gbps']:.2f} Gb/s · {mark}"


def _next(fleet: Fleet, rows: Mapping[str, Mapping[str, Any]], inventory_file: Path) -> str:
    if len(rows) < len(fleet):
        return f"Next: reach {', '.join(name for name in fleet if name not in rows)}, then run this again."
    done = all(row["containers"]["nvidia_runtime"] and row["driver"]["would_move"] == [] for row in rows.values())
    if not done:
        return f"Next: [bold]pyinfra {inventory_file} deploys/cluster.py[/]"
    return (
        "Next: run a container with what was found: "
        f"[bold]docker run --gpus all --network host --env-file {environment.CONTAINER_ENV} ...[/]"
    )
