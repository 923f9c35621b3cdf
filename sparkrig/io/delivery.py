"""One address is asked in a process of its own, which is ended after LIMIT_S whatever the other side does.

An address holds a secret. The process is given it on its standard input, never as a word, and its standard
error is not kept. A service that hangs, or answers without end, costs the others nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from subprocess import DEVNULL, PIPE
from typing import Any

from sparkrig.parsing import bounds
from sparkrig.text import reason

LIMIT_S = 30.0
_SOCKET_S = 10.0
_AT_ONCE = 4  # each loads apprise
_MEMORY_B = 2 << 30  # an answer that is read whole is ended here where it does not end itself
_PROGRAM = "from sparkrig.io.delivery import main; main()"
NOT_TAKEN = "did not take it"


def outcomes(jobs: Sequence[Mapping[str, str]]) -> list[str]:
    """Of each job why it failed, empty where it did not; a few are done at once.

    A job has the `address`, and for a notice `title`, `body` and `kind` of apprise.
    """
    with ThreadPoolExecutor(_AT_ONCE) as room:
        return list(room.map(_outcome, jobs))


def _outcome(job: Mapping[str, str]) -> str:
    words = [sys.executable, "-P", "-c", _PROGRAM]  # -P: no module of the folder that it is typed in
    try:
        done = subprocess.run(
            words, input=json.dumps(job), stdout=PIPE, stderr=DEVNULL, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"did not answer within {LIMIT_S:.0f} s"
    try:
        return NOT_TAKEN if done.returncode else str(bounds.loads(done.stdout))
    except ValueError:  # a plugin of apprise printed something, too
        return NOT_TAKEN


def main() -> None:
    """The process: one job on standard input, and its outcome on standard output."""
    import resource

    with suppress(ValueError, OSError):  # macOS sets none
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_B, resource.getrlimit(resource.RLIMIT_AS)[1]))
    job = bounds.loads(sys.stdin.read())
    json.dump(_notified(job) if "title" in job else _asked(job["address"]), sys.stdout)


def _notified(job: Mapping[str, Any]) -> str:
    service = service_of(job["address"])
    taken = service is not None and service.notify(
        title=job["title"], body=job["body"], notify_type=job["kind"], body_format="text"
    )
    return "" if taken else NOT_TAKEN


def service_of(address: str) -> Any:
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


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which could lead to another host, with the secret of the path."""

    def redirect_request(self, *_: object) -> None:
        return


def _asked(address: str) -> str:
    request = urllib.request.Request(address, headers={"User-Agent": "sparkrig"})  # noqa: S310 - of notify.heartbeat
    try:
        with urllib.request.build_opener(_Straight).open(request, timeout=_SOCKET_S):
            return ""
    except urllib.error.HTTPError as error:
        with error:
            return f"answers {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        inner = error.reason if isinstance(error, urllib.error.URLError) else error
        return f"cannot be asked: {reason(inner) if isinstance(inner, OSError) else type(inner).__name__}"
