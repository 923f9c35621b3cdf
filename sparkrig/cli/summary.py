"""`sparkrig summary`: what each Spark of an inventory is set to, on one screen."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.bandwidth import records
from sparkrig.cli import files
from sparkrig.cure import deploy
from sparkrig.fleet import Fleet
from sparkrig.host import driver
from sparkrig.host.preflight import lost_journal
from sparkrig.io import project
from sparkrig.look.state import State
from sparkrig.network.differences import Difference, differences, of_netdev
from sparkrig.rdma import environment, gid

if TYPE_CHECKING:
    from pyinfra.api import Host
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table
    from rich.text import Text

    from sparkrig.io.remote import Failed, Lost
    from sparkrig.reports import schema
    from sparkrig.reports.fields import Unread

_WIDE = 1000  # columns, more than any table has
_LOOK_S = 120  # times `patience`; a healthy host answers within a few
# each of these fields of a rail is a column of the screen, and what a complaint is filed under
_COLUMNS = {"address": "address", "mtu": "MTU", "device": "device", "gid_index": "GID", "gbps": "Gb/s"}
_NUMBERS = ("mtu", "gid_index", "gbps")


@click.command()
@files.INVENTORY
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/summary.json).")
def summary(inventory_file: Path, as_json: bool) -> None:
    """Show the state of each Spark: driver, fabric, GID of each device, containers, bandwidth of each rail.

    It changes nothing. Exit code 2: a change of the network is not confirmed, or a journal is gone; 3: a Spark
    could not be read; the others are shown.
    """
    fleet, data = files.inventory(inventory_file)
    found = _look(fleet, data, inventory_file.name)
    states = {name: state for name, state in found.items() if not isinstance(state, Exception)}
    rows: dict[str, schema.Figures | Unread] = {
        name: describe(fleet, name, states) if name in states else {"unread": str(why)}
        for name, why in found.items()
    }
    if as_json:
        document: schema.Summary = {"schema": "sparkrig.summary/1", "hosts": rows}
        files.print_json(document)
    else:
        _print(rows, inventory_file)
    if any("unread" in row for row in rows.values()):
        raise SystemExit(3)
    if any(state.preflight.armed or state.preflight.lost for state in states.values()):
        raise SystemExit(2)


def _look(fleet: Fleet, data: Mapping[str, Mapping[str, Any]], what: str) -> dict[str, State | Failed | Lost]:
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.facts.spark import Spark
    from sparkrig.io import remote

    def read(at: Host) -> State:
        return remote.read(at, Spark(), seconds=int(_LOOK_S * fleet[at.name].patience))

    return session.asked(data, f"Looking at the Sparks of {what}", read)


def describe(fleet: Fleet, name: str, states: Mapping[str, State]) -> schema.Figures:
    """One host's figures. states: what was seen of each host that could be read, by name."""
    state = states[name]
    branch, packages = fleet[name].driver_branch, state.driver
    hold, unheld = driver.hold_set(packages, branch), driver.unheld(packages, branch)
    return {
        "spark": {
            "vendor": state.identity.vendor,
            "dgx_os": state.identity.dgx_os,
            "kernel": state.identity.kernel,
        },
        "driver": {
            "version": driver.branch_version(packages, branch),
            "held": len(hold) - len(unheld),
            "unheld": unheld,
            "later": driver.later_driver(packages),
            "would_move": None if packages.upgrade is None else driver.touched(packages, branch),
            "trouble": packages.trouble,
        },
        "rails": [_rail(fleet, name, states, netdev) for netdev in fleet[name].fabric],
        "containers": {
            "toolkit": state.containers.toolkit,
            "nvidia_runtime": state.containers.registered,
        },
        "environment": _gid_lines(state),
        "unconfirmed": [each.sentence for each in state.preflight.armed],
        "journal_lost": state.preflight.lost,
    }


def _rail(fleet: Fleet, name: str, states: Mapping[str, State], netdev: str) -> schema.Rail:
    """One declared fabric netdev; `complaints` has what is not as declared, by field.

    `unknown` names the fields of which that is unknown.
    """
    mine, state = fleet[name], states[name]
    address = mine.fabric[netdev]
    link, device = state.network.links.get(netdev), state.rdma.on(netdev)
    slot = gid.find(state.rdma.gids, netdev, address.ip)
    record, poor = _bandwidth(fleet, name, states, netdev)
    cabled = state.network.has_carrier(netdev)
    complaints = _complaints(of_netdev(differences(state.network, mine), netdev))
    unknown: list[str] = []
    if cabled:
        if device is None:
            complaints["device"] = "no RDMA device sits on it"
        if slot is None:
            complaints["gid_index"] = f"no RoCE v2 GID for {address.ip}"
        if poor:
            complaints["gbps"] = poor.said
            unknown += ["gbps"] if poor.unknown else []
    return {
        "netdev": netdev,
        "cabled": cabled,
        "address": str(address),
        "mtu": link.mtu if link else None,
        "device": device.name if device else None,
        "path_mtu": device.active_mtu if device else None,
        "gid_index": slot.index if slot else None,
        "gbps": record.gbps if record else None,
        "measured_path_mtu": record.path_mtu if record else None,
        "measured_at": record.measured_at if record else None,
        "complaints": complaints,
        "unknown": unknown,
    }


def _complaints(found: Sequence[Difference]) -> dict[str, str]:
    """The differences of a netdev as the screen shows them, by field.

    The cable comes first, then what the live link has. The rest is shown where those are right: what mends them
    mends the rest too.
    """
    live = [each for each in found if each.what in ("address", "extra address", "mtu")]
    shown = [each for each in found if each.what in ("netdev", "carrier")] or live or found
    said: dict[str, str] = {}
    for field, sentence in sorted(map(_complaint, shown), key=lambda each: each[0]):
        said[field] = f"{said[field]}; {sentence}" if field in said else sentence
    return said


def _complaint(each: Difference) -> tuple[str, str]:
    """The field that a difference is about, and a sentence."""
    match each.what:
        case "netdev":
            return "cabled", "there is no such netdev"
        case "carrier":
            return "cabled", "the link has no carrier"
        case "address":
            return "address", f"{each.declared} is not on the link"
        case "extra address":
            return "address", f"the link has {each.found}, {each.declared} alone expected"
        case "mtu":
            return "mtu", f"MTU {each.found}, {each.declared} expected"
        case "ipv6":
            return "ipv6", "the link has an IPv6 address"
        case "definition":
            return "others", each.found or ""
    return "profile", _of_profile(each)


def _of_profile(each: Difference) -> str:
    match each.what:
        case "manager":
            return "NetworkManager does not run"
        case "profile":
            return "no profile yet"
        case "property":
            return f"{each.property} of the profile is {each.found or 'empty'}, {each.declared} expected"
        case "unsaved":
            return "the profile is only in memory"
    return f"{each.found or 'no profile'} is active, {each.declared} expected"


def _bandwidth(
    fleet: Fleet, name: str, states: Mapping[str, State], netdev: str
) -> tuple[records.Record | None, records.Complaint | None]:
    """The figure on record of a netdev, and the complaint about it; of several rails the one that is the worst."""
    mine = [rail for rail in fleet.rails(name) if rail.netdev == netdev]
    here = records.boot(name, states[name].identity)
    kept = records.found(states[name].files)
    found = []
    for rail, record in records.matched(kept, mine):
        there = states.get(rail.far.host)
        far = records.boot(rail.far.host, there.identity if there else None)
        found.append((record, records.complaint(record, rail, fleet[name], here, far)))
    if not mine:  # a Spark on its own, which may have been in a pair
        own = [record for (of, _), record in kept.items() if of == netdev]
        return (own[-1] if own else None), None
    return min(found, key=lambda each: (each[1] is None, each[0] is not None, each[0].gbps if each[0] else 0.0))


def _gid_lines(state: State) -> list[str] | None:
    """The GID variables that the containers get, as they stand in the file; None where there is no file."""
    file = state.files.get(environment.CONTAINER_ENV)
    if file is None:
        return None
    names = ("NCCL_IB_GID", "NCCL_IB_ROCE", "NCCL_IB_ADDR")
    return [line for line in file.content.splitlines() if line.startswith(names)]


def _print(rows: Mapping[str, Mapping[str, Any]], inventory_file: Path) -> None:
    from rich.text import Text

    from sparkrig.io.screen import Screen

    console = Screen()
    for name, row in rows.items():
        console.print(_panel(name, row))
    # never wrapped, so that it can be copied from a narrow terminal
    console.print(Text.assemble("Next: ", (_next(rows, inventory_file), "bold")), soft_wrap=True)


def _panel(name: str, row: Mapping[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    title = Text(name, "bold")  # a string would be read as markup here, whatever the console is set to
    if "unread" in row:
        return Panel(f"not read: {row['unread']}", title=title, title_align="left", border_style="red")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for label, text in _lines(row):
        grid.add_row(label, text)
    complaints = Table.grid(padding=(0, 1))
    for rail in row["rails"]:
        for mark, told in ((Text("✗", "red"), _wrong(rail)), (Text("?", "yellow"), _unknown(rail))):
            if told:
                complaints.add_row(mark, f"{rail['netdev']}: {'; '.join(told)}")
    parts: list[RenderableType] = [grid, "", _Rails(row["rails"])] if row["rails"] else [grid]
    if complaints.row_count:
        parts.append(complaints)
    return Panel(Group(*parts), title=title, title_align="left", border_style="cyan")


def _lines(row: Mapping[str, Any]) -> list[tuple[str, RenderableType]]:
    from rich.text import Text

    spark, box, variables = row["spark"], row["containers"], row["environment"]
    toolkit = f"toolkit {box['toolkit']}" if box["toolkit"] else ("✗ no toolkit", "red")
    runtime = "nvidia runtime in docker"
    lines: str | tuple[str, str] = ("✗ not written", "red")
    if variables is not None:
        lines = " ".join(variables) or "no RDMA on this Spark"
    return [
        *(("network", Text(f"✗ {each}", "red")) for each in row["unconfirmed"]),
        *([("journal", Text(f"✗ {lost_journal().what}", "red"))] if row["journal_lost"] else []),
        ("spark", spark["vendor"]),
        ("system", f"DGX OS {spark['dgx_os'] or '?'} · kernel {spark['kernel']}"),
        ("driver", _driver(row["driver"])),
        (
            "containers",
            Text.assemble(toolkit, " · ", runtime if box["nvidia_runtime"] else (f"✗ no {runtime}", "red")),
        ),
        ("environment", Text.assemble(lines)),
    ]


def _driver(row: Mapping[str, Any]) -> Text:
    from rich.text import Text

    parts: list[str | tuple[str, str]] = [(row["version"] or "none").split("-")[0]]
    if row["unheld"]:
        parts.append((f"✗ {row['held']} of {row['held'] + len(row['unheld'])} packages held", "red"))
    else:
        parts.append(f"{row['held']} packages held")
    if row["later"]:
        parts.append((f"✗ later than the branch: {', '.join(row['later'])}", "red"))
    if row["would_move"] is None:
        parts.append((f"? apt could not simulate an upgrade ({row['trouble']})", "yellow"))
    elif row["would_move"]:
        parts.append((f"✗ an upgrade moves {len(row['would_move'])}", "red"))
    else:
        parts.append("an upgrade moves none")
    return Text(" · ").join(Text.assemble(part) for part in parts)


class _Rails:
    """The rails of a host as a table, and where that does not fit, one below the other, a figure a line."""

    def __init__(self, rails: Sequence[Mapping[str, Any]]) -> None:
        self.rails = rails

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        table = self.table()
        wanted = Measurement.get(console, options.update(width=_WIDE), table).maximum  # else cut to what there is
        yield table if wanted <= options.max_width else self.below()

    def table(self) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("rail", no_wrap=True)
        for field, heading in _COLUMNS.items():
            table.add_column(heading, justify="right" if field in _NUMBERS else "left", no_wrap=True)
        for rail in self.rails:
            table.add_row(rail["netdev"], *self.cells(rail))
        return table

    def below(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for rail in self.rails:
            headings = _COLUMNS.values() if rail["cabled"] else ("",)
            grid.add_row(Text("rail", "bold"), Text(rail["netdev"], "bold"))
            for heading, cell in zip(headings, self.cells(rail), strict=True):
                grid.add_row(heading, cell)
        return grid

    @staticmethod
    def cells(rail: Mapping[str, Any]) -> list[Text]:
        from rich.text import Text

        if rail["cabled"]:
            return [_cell(rail, field) for field in _COLUMNS]
        return [Text("uncabled ✗", "red") if rail["complaints"] else Text("uncabled", "dim")]


def _wrong(rail: Mapping[str, Any]) -> list[str]:
    return [said for field, said in rail["complaints"].items() if field not in rail["unknown"]]


def _unknown(rail: Mapping[str, Any]) -> list[str]:
    return [rail["complaints"][field] for field in rail["unknown"]]


def _cell(rail: Mapping[str, Any], field: str) -> Text:
    from rich.text import Text

    value = rail[field]
    text = "none" if value is None else f"{value:.2f}" if field == "gbps" else str(value)
    if field in rail["unknown"]:
        return Text(f"{text} ?", "yellow")
    if field in rail["complaints"]:
        return Text(f"{text} ✗", "red")
    return Text.assemble(f"{text} ", ("✓", "green")) if field == "gbps" and value is not None else Text(text)


def _next(rows: Mapping[str, Mapping[str, Any]], inventory_file: Path) -> str:
    """One command that can be typed as it is, in the folder where this was typed."""
    root = project.root(inventory_file)
    at_root = Path.cwd() == root
    file = str(inventory_file if at_root else inventory_file.resolve())
    if any("unread" in row for row in rows.values()):
        words = ["sparkrig", "doctor", file, "access"]
    elif not all(map(_in_spec, rows.values())):
        words = shlex.split(deploy(file))
    elif any(rail["unknown"] for row in rows.values() for rail in row["rails"]):
        words = shlex.split(deploy(file, "probe"))
    else:
        words = ["pytest", "tests/state", "--inventory", file]
    return ("" if at_root else f"cd {shlex.quote(str(root))} && ") + shlex.join(words)


def _in_spec(row: Mapping[str, Any]) -> bool:
    """Whether nothing on the screen of a host asks for a deploy."""
    packages, box = row["driver"], row["containers"]
    settled = (
        not packages["unheld"]
        and not packages["later"]
        and packages["would_move"] == []
        and row["environment"] is not None
        and not row["unconfirmed"]
        and not row["journal_lost"]
    )
    return settled and box["toolkit"] and box["nvidia_runtime"] and not any(map(_wrong, row["rails"]))
