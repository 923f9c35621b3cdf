"""`make demo`: the whole story on two virtual Sparks, from factory-fresh to asserted, shown as it happens.

It runs what a user would type, and nothing that a user could not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from lab.errors import LabError
from lab.progress import console, step

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
INVENTORY, DEPLOY = "inventories/lab.py", "deploys/cluster.py"


def main() -> int:
    """The exit code of the first step that failed, or 0."""
    began = time.monotonic()
    try:
        boot()
        told("The deploy, on two factory-fresh Sparks", "pyinfra", "-y", INVENTORY, DEPLOY)
        again()
        asserted = (
            "pytest",
            "-q",
            "--numprocesses=2",
            "--dist=worksteal",
            "tests/state",
            "--inventory",
            INVENTORY,
        )
        told("testinfra asserts the final state", *asserted)
        told("What was set, found and measured", "sparkrig", "status", INVENTORY)
        console().print(
            "The links are virtual, and so are their Gb/s: a healthy rail of two Sparks has 95 and more."
        )
    except subprocess.CalledProcessError as failed:
        console().print(f"[red]✗[/red] {' '.join(map(str, failed.cmd))} ended with {failed.returncode}")
        return 1
    except LabError as error:
        console().print(f"[red]✗[/red] {error}")
        return 1
    screen = console()
    screen.print(f"[green]✓[/green] done in {time.monotonic() - began:.0f} s; the pair stays up")
    screen.print("  look around   [bold].venv/bin/sparkrig lab ssh spark-a[/bold]")
    screen.print("  stop it       [bold].venv/bin/sparkrig lab down[/bold]")
    screen.print("  real Sparks   edit inventories/pair.py, then")
    screen.print("                [bold].venv/bin/pyinfra inventories/pair.py deploys/cluster.py[/bold]")
    return 0


def boot() -> None:
    """The pair, as fresh as from the box."""
    from lab import NODES, pair
    from lab.image import Source
    from lab.mirror import mirror

    heading("Two virtual Sparks")
    pristine = pair.up(NODES, Source("trixie", mirror()))
    if {*pristine} != {*NODES}:
        pair.reset(NODES)


def told(title: str, program: str, *words: str) -> None:
    """One command, shown as it would be typed, with its own output."""
    heading(title)
    console().print(f"[dim]$ {' '.join((program, *words))}[/dim]")
    subprocess.run([BIN / program, *words], cwd=ROOT, env=environment(), check=True)


def again() -> None:
    """The same deploy once more, which must change nothing."""
    heading("The same deploy once more")
    command = ["pyinfra", "-y", "--json", INVENTORY, DEPLOY]
    console().print(f"[dim]$ {' '.join(command)}[/dim]")
    with step("deploying again", "deployed again"):
        done = subprocess.run(
            [BIN / command[0], *command[1:]],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        console().print(done.stderr, markup=False)
        raise subprocess.CalledProcessError(done.returncode, command)
    operations = json.loads(done.stdout)["results"]["operations"]
    changed = [each["name"] for each in operations if each["success"] or each["error"]]
    if changed:
        console().print(f"[red]✗[/red] it changed something: {', '.join(changed)}")
        raise subprocess.CalledProcessError(1, command)
    console().print(f"[green]✓[/green] {len(operations)} operations on each host, 0 changes")


def heading(title: str) -> None:
    console().print()
    console().rule(f"[bold]{title}[/bold]", align="left")


def environment() -> dict[str, str]:
    # pyinfra's own spinner can deadlock [@pyinfra-1526]
    return {**os.environ, "PYINFRA_PROGRESS": "off"}


if __name__ == "__main__":
    sys.exit(main())
