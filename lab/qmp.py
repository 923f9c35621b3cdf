"""Talking to a running qemu over its QMP socket."""

from __future__ import annotations

import asyncio
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

from lab.errors import LabError

# Loading a snapshot of a busy guest from a slow disk is the longest command.
TIMEOUT_S = 120


def execute(socket: Path, command: str, arguments: dict[str, object] | None = None) -> object:
    """Runs one QMP command and returns its result. LabError where qemu does not answer or refuses."""
    try:
        return asyncio.run(asyncio.wait_for(_talk(socket, command, arguments), TIMEOUT_S))
    except (QMPError, OSError, TimeoutError) as error:
        raise LabError(
            f"qemu refused {command} on {socket}: {error or type(error).__name__}",
            expected="an answer",
            attempt="sparkrig lab down",
        ) from error


def monitor(socket: Path, line: str) -> None:
    """Runs one line of qemu's human monitor, which says nothing when all went well. LabError otherwise."""
    answer = str(execute(socket, "human-monitor-command", {"command-line": line})).strip()
    if answer:
        raise LabError(f"qemu could not {line}: {answer}", expected="no complaint", attempt="sparkrig lab down")


async def _talk(socket: Path, command: str, arguments: dict[str, object] | None) -> object:
    client = QMPClient("lab")
    await client.connect(str(socket))
    try:
        return await client.execute(command, arguments)
    finally:
        await client.disconnect()
