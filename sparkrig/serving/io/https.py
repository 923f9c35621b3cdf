"""What an address on the web answers, by Python's own urllib: a few requests do not justify a library.

It is bounded in bytes and in time, and no redirect leads away from https.
"""

from __future__ import annotations

import errno
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from http.client import HTTPException, HTTPMessage
from threading import Thread
from typing import IO
from urllib.parse import urlsplit

from sparkrig.text import reason

FAULTS = (OSError, HTTPException, ValueError)
"""What `get` raises where nothing was answered; urllib's HTTPError, an OSError, where the answer is an error."""
_SILENCE_S = 20.0  # of the other side, once
Allow = Callable[[urllib.request.Request], None]


def is_safe(address: str) -> bool:
    """Whether it is https, or http to this machine itself, with a host and without a login."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:  # a port that is none
        return False
    secure = parts.scheme == "https" or (parts.scheme == "http" and host in ("127.0.0.1", "localhost"))
    return secure and bool(host) and parts.username is None


def get(address: str, most: int, whole_s: float, allow: Allow = lambda _: None) -> tuple[bytes, HTTPMessage]:
    """What is answered, a byte more than `most` where it is too long, and its headers. Raises FAULTS.

    whole_s: for all of it, for the time-out of a socket is of each read, and a server may drip; allow: adds what
    is for the address's own host alone.
    """
    done: Future[tuple[bytes, HTTPMessage]] = Future()

    def run() -> None:
        try:
            done.set_result(_answer(address, most, allow))
        except Exception as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return done.result(whole_s)
    except TimeoutError as error:
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)) from error


def why(error: Exception) -> str:
    """Why nothing was answered, to follow a colon."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return reason(inner) if isinstance(inner, OSError) else type(inner).__name__


def _answer(address: str, most: int, allow: Allow) -> tuple[bytes, HTTPMessage]:
    request = urllib.request.Request(address, headers={"User-Agent": "sparkrig"})  # noqa: S310 - is_safe
    allow(request)
    with urllib.request.build_opener(_Redirects(allow)).open(request, timeout=_SILENCE_S) as answer:
        return answer.read(most + 1), answer.headers


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to another host without what is for the first one, and never from https to http."""

    def __init__(self, allow: Allow) -> None:
        self.allow = allow

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if made is None or not is_safe(newurl) or (before.scheme == "https" and after.scheme != "https"):
            return None
        if (before.scheme, before.netloc) == (after.scheme, after.netloc):
            self.allow(made)
        return made
