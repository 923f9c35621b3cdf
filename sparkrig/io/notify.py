"""Notices to addresses, by apprise [@apprise], and a sign of life for a service that notices silence.

An address holds a secret. It stands in a file that only its owner may read, a line each, and is shown nowhere: a
sentence names its line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sparkrig.cure import quoted_path
from sparkrig.io import delivery, private_file
from sparkrig.refusal import Refusal
from sparkrig.reports.schedule import Notice

_HERE = ("localhost", "127.0.0.1", "::1")
_HELP = "sparkrig docs scheduling, which has the form of each"


def check(file: Path) -> None:
    """Raises Refusal where a file of addresses cannot be used."""
    _services(file)


def send(file: Path, notice: Notice) -> tuple[list[str], int]:
    """The addresses that did not take a notice, each by its line, and how many there are. Raises Refusal."""
    services = _services(file)
    lines = _lines(file)
    jobs = [
        {"address": lines[line], "title": notice.title, "body": notice.body, "kind": notice.kind}
        for line in services
    ]
    failed = [
        f"line {line} of {file} ({service[0].service_name}) {why}"
        for (line, service), why in zip(services.items(), delivery.outcomes(jobs), strict=True)
        if why
    ]
    return failed, len(services)


def ping(file: Path) -> str:
    """Ask the address in a file once: empty where it answers, else why it does not. Raises Refusal."""
    (why,) = delivery.outcomes([{"address": heartbeat(file)}])
    return f"the heartbeat's address {why}" if why else ""


def heartbeat(file: Path) -> str:
    """The one address of a heartbeat. Raises Refusal."""
    lines = _lines(file)
    try:
        parts = [urlsplit(each) for each in lines.values()]
        good = len(parts) == 1 and bool(parts[0].hostname) and _is_private(parts[0].scheme, parts[0].hostname)
    except ValueError:
        good = False
    if not good:
        raise Refusal(
            f"{file} has no address of a heartbeat: one line is expected, https://..., or http:// of this machine",
            f"wc -l {quoted_path(file)}",
        )
    return next(iter(lines.values()))


def _is_private(scheme: str, host: str | None) -> bool:
    """Whether the address is encrypted on its way, or stays on this machine."""
    return scheme == "https" or (scheme == "http" and host in _HERE)


def _lines(file: Path) -> dict[int, str]:
    """What stands in a file, by the number of its line, without blank ones and comments."""
    rows = {number: line.strip() for number, line in enumerate(private_file.read(file).splitlines(), 1)}
    return {number: line for number, line in rows.items() if line and not line.startswith("#")}


def _services(file: Path) -> dict[int, Any]:
    lines = _lines(file)
    if not lines:
        raise Refusal(f"{file} has no address in it, one a line expected", _HELP)
    made = {number: delivery.service_of(line) for number, line in lines.items()}
    wrong = [str(number) for number, service in made.items() if service is None]
    if wrong:
        raise Refusal(f"{file}, line {wrong[0]}: no address that apprise knows", _HELP)
    return {number: service for number, service in made.items() if service is not None}
