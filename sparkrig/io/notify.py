"""Notices to addresses, by apprise [@apprise], and a sign of life for a service that notices silence.

An address holds a secret. It stands in a file that only its owner may read, a line each, and is shown nowhere: a
sentence names its line.
"""

from __future__ import annotations

import logging
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sparkrig.cure import quoted_path
from sparkrig.io import private_file
from sparkrig.refusal import Refusal
from sparkrig.reports.schedule import Notice
from sparkrig.text import reason

if TYPE_CHECKING:
    from apprise import Apprise

_PING_S = 10.0
_HELP = "sparkrig docs scheduling, which has the form of each"


def check(file: Path) -> None:
    """Raises Refusal where a file of addresses cannot be used."""
    _services(file)


def send(file: Path, notice: Notice) -> tuple[list[str], int]:
    """The addresses that did not take a notice, each by its line, and how many there are. Raises Refusal."""
    services = _services(file)
    failed = []
    for line, service in services.items():
        if not service.notify(title=notice.title, body=notice.body, notify_type=notice.kind, body_format="text"):
            failed.append(f"line {line} of {file} ({service[0].service_name}) did not take it")
    return failed, len(services)


def ping(file: Path) -> str:
    """Ask the address in a file once: empty where it answers, else why it does not. Raises Refusal."""
    request = urllib.request.Request(heartbeat(file), headers={"User-Agent": "sparkrig"})  # noqa: S310 - of heartbeat
    try:
        with urllib.request.build_opener().open(request, timeout=_PING_S):
            return ""
    except urllib.error.HTTPError as error:
        with error:
            return f"the heartbeat's address answers {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        inner = error.reason if isinstance(error, urllib.error.URLError) else error
        why = reason(inner) if isinstance(inner, OSError) else type(inner).__name__
        return f"the heartbeat's address cannot be asked: {why}"


def heartbeat(file: Path) -> str:
    """The one address of a heartbeat. Raises Refusal."""
    lines = _lines(file)
    try:
        parts = [urlsplit(each) for each in lines.values()]
        good = len(parts) == 1 and parts[0].scheme in ("http", "https") and bool(parts[0].hostname)
    except ValueError:
        good = False
    if not good:
        raise Refusal(
            f"{file} has no address of a heartbeat: one line is expected, https://...",
            f"wc -l {quoted_path(file)}",
        )
    return next(iter(lines.values()))


def _lines(file: Path) -> dict[int, str]:
    """What stands in a file, by the number of its line, without blank ones and comments."""
    rows = {number: line.strip() for number, line in enumerate(private_file.read(file).splitlines(), 1)}
    return {number: line for number, line in rows.items() if line and not line.startswith("#")}


def _services(file: Path) -> dict[int, Apprise]:
    lines = _lines(file)
    if not lines:
        raise Refusal(f"{file} has no address in it, one a line expected", _HELP)
    made = {number: _service(line) for number, line in lines.items()}
    wrong = [str(number) for number, service in made.items() if service is None]
    if wrong:
        raise Refusal(f"{file}, line {wrong[0]}: no address that apprise knows", _HELP)
    return {number: service for number, service in made.items() if service is not None}


def _service(address: str) -> Apprise | None:
    """One address, which keeps nothing on the disk and logs nothing; None where apprise knows no such."""
    import apprise

    logging.getLogger("apprise").handlers = [logging.NullHandler()]
    logging.getLogger("apprise").propagate = False
    asset = apprise.AppriseAsset(
        app_id="sparkrig", app_desc="sparkrig", app_url="", storage_mode="memory", plugin_paths=[]
    )
    service = apprise.Apprise(asset=asset)
    return service if service.add(address) else None
