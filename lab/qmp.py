"""Talking to a running qemu over its QMP socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

from lab.errors import LabError

# Loading a snapshot of a busy guest from a slow disk is the longest command.
TIMEOUT_S = 120


Order = tuple[str, Mapping[str, object]]


def execute(socket: Path, *orders: Order) -> list[object]:
    """Runs QMP commands, with their arguments, one after the other; gives their results.

    LabError where qemu does not answer or refuses.
    """
    try:
        return asyncio.run(asyncio.wait_for(_talk(socket, orders), TIMEOUT_S))
    except (QMPError, OSError, TimeoutError) as error:
        asked = ", ".join(sorted({command for command, _ in orders}))
        raise LabError(
            f"qemu refused {asked} on {socket}: {error or type(error).__name__}",
            expected="an answer",
            attempt="sparkrig lab down",
        ) from error


def monitor(socket: Path, line: str) -> None:
    """Runs one line of qemu's human monitor, which prints nothing when all went well. LabError otherwise."""
    (said,) = execute(socket, ("human-monitor-command", {"command-line": line}))
    answer = str(said).strip()
    if answer:
        raise LabError(f"qemu could not {line}: {answer}", expected="no complaint", attempt="sparkrig lab down")


async def _talk(socket: Path, orders: Sequence[Order]) -> list[object]:
    client = QMPClient("lab")
    await client.connect(str(socket))
    try:
        return [await client.execute(command, dict(arguments)) for command, arguments in orders]
    finally:
        await client.disconnect()
