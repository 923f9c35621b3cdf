"""Notices to addresses, by apprise [@apprise].

An address holds a secret. It stands in a file that only its owner may read, a line each, and is shown nowhere: a
sentence names its line. Each is asked by a process of its own, which is given it on its standard input, never as a
word, and which is ended after LIMIT_S: a service that hangs, or answers without end, costs the others nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any

from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from sparkrig.terminal import private_file

if TYPE_CHECKING:
    from sparkrig.watch.schedule import Notice

LIMIT_S = 30.0
_AT_ONCE = 4  # each loads apprise
_MEMORY_B = 2 << 30  # an answer that is read whole is ended here where it does not end itself
_PROGRAM = "from sparkrig.watch.io.notify import main; main()"
_HELP = "sparkrig docs scheduling, which has the form of each"


def check(file: Path) -> None:
    """Raises Refusal where a file of addresses cannot be used."""
    _services(file)


def send(file: Path, notice: Notice) -> tuple[list[str], int]:
    """The addresses that did not take a notice, each by its line, and how many there are. Raises Refusal."""
    services, lines = _services(file), _lines(file)
    message = {"title": notice.title, "body": notice.body, "notify_type": notice.kind}
    with ThreadPoolExecutor(_AT_ONCE) as room:
        outcomes = list(room.map(lambda line: _failure(lines[line], message), services))
    failed = [
        f"line {line} of {file} ({service[0].service_name}) {why}"
        for (line, service), why in zip(services.items(), outcomes, strict=True)
        if why
    ]
    return failed, len(services)


def _failure(address: str, message: dict[str, str]) -> str:
    """Why an address did not take a message; empty where it did."""
    words = [sys.executable, "-P", "-c", _PROGRAM]  # -P: no module of the folder that it is typed in
    job = json.dumps({"address": address, "message": message})
    try:
        done = subprocess.run(
            words, input=job, stdout=DEVNULL, stderr=DEVNULL, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"did not answer within {LIMIT_S:.0f} s"
    return "did not take it" if done.returncode else ""


def main() -> None:
    """The process: one message on standard input. Exit code 0 where it was taken."""
    import resource

    with suppress(ValueError, OSError):  # macOS sets none
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_B, resource.getrlimit(resource.RLIMIT_AS)[1]))
    job = bounds.loads(sys.stdin.read())
    service = _service(job["address"])
    sys.exit(0 if service and service.notify(**job["message"], body_format="text") else 1)


def _service(address: str) -> Any:
    """apprise's service of one address, which keeps nothing on the disk, logs nothing, and follows no redirect.

    None where apprise knows no such.
    """
    import logging

    import apprise

    logging.getLogger("apprise").handlers = [logging.NullHandler()]
    logging.getLogger("apprise").propagate = False
    asset = apprise.AppriseAsset(
        app_id="sparkrig",
        app_desc="sparkrig",
        app_url="",
        storage_mode="memory",
        plugin_paths=[],
        http_redirects=False,
    )
    service = apprise.Apprise(asset=asset)
    return service if service.add(address) else None


def _lines(file: Path) -> dict[int, str]:
    """What stands in a file, by the number of its line, without blank ones and comments."""
    rows = {number: line.strip() for number, line in enumerate(private_file.read(file).splitlines(), 1)}
    return {number: line for number, line in rows.items() if line and not line.startswith("#")}


def _services(file: Path) -> dict[int, Any]:
    lines = _lines(file)
    if not lines:
        raise Refusal(f"{file} has no address in it, one a line expected", _HELP)
    services = {number: _service(line) for number, line in lines.items()}
    wrong = [number for number, service in services.items() if service is None]
    if wrong:
        raise Refusal(f"{file}, line {wrong[0]}: no address that apprise knows", _HELP)
    return services
