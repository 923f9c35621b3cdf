"""Asking an OpenAI-compatible server: each request is streamed and timed, each way to fail is kept separate."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from time import monotonic
from typing import Any

import httpx2

from sparkrig.parsing import bounds
from sparkrig.serving.bench import counters
from sparkrig.serving.bench.answer import Answer
from sparkrig.text import plain, reason

_CONNECT_S = 10.0
_QUESTION_S = 20.0  # for what a server answers without computing
_SAID = 200  # characters of a server's error message
_MOST = 8 << 20  # bytes of an answer: the counters of an engine have 0.2 MB, the stream of an answer 300 a token


class Unusable(Exception):
    """The server answers, and cannot be asked: a sentence, and the HTTP status."""

    def __init__(self, what: str, status: int) -> None:
        super().__init__(what)
        self.status = status


class Unreachable(Exception):
    """No server answers: the reason."""


class _Unbounded(httpx2.TransportError):
    """An answer that may have any size: in a sentence."""


class _Bounded(httpx2.AsyncHTTPTransport):
    """Lets no answer have more than _MOST bytes, and none be compressed: a little of that may become anything."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if "Content-Encoding" in response.headers:
            await response.aclose()
            raise _Unbounded("its answer is compressed, which was not asked for")
        response.stream = _AtMost(response.stream)
        return response


class _AtMost(httpx2.AsyncByteStream):
    """The bytes of an answer. Raises _Unbounded once they are too many."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = _MOST
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise _Unbounded(f"its answer has more than {_MOST >> 20} MiB")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass(frozen=True)
class Served:
    """A model of a server. root: where its weights are from; longest: tokens of a request, None: unknown."""

    name: str
    root: str = ""
    longest: int | None = None


class Server:
    """One server. url: without /v1; key: that it wants, if any; limit_s: of one request, all of it.

    Its answers are bounded in bytes (_Bounded) and in time, and no redirect is followed. Every request has a
    connection of its own, as a new user has, so that none fails because an idle one was closed; no proxy is asked,
    which would be measured too.
    """

    def __init__(self, url: str, *, key: str = "", limit_s: float, thinking: bool = False) -> None:
        self.url = url
        self._limit_s, self._thinking = limit_s, thinking
        self._headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Server:
        alone = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        timeout = httpx2.Timeout(None, connect=_CONNECT_S)
        bounded = _Bounded(limits=alone, trust_env=False)
        client = httpx2.AsyncClient(headers=self._headers, transport=bounded, timeout=timeout, trust_env=False)
        self._client = await self._open.enter_async_context(client)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def models(self) -> list[Served]:
        """What it serves. Raises Unreachable and Unusable."""
        try:
            response = await self._question("/v1/models")
            if response.status_code != httpx2.codes.OK:
                raise Unusable(
                    f"HTTP {response.status_code} {_words(response.text)}".rstrip(), response.status_code
                )
            return [_served(each) for each in bounds.loads(response.text)["data"]]
        except _Unbounded as error:
            raise Unusable(str(error), 0) from None
        except httpx2.TransportError as error:
            raise Unreachable(_reason(error)) from None
        except (KeyError, TypeError, ValueError):
            raise Unusable("what it answers is no list of models", response.status_code) from None

    async def counters(self) -> counters.Counters:
        """What it has counted until now; empty where it does not report that."""
        try:
            response = await self._question("/metrics")
        except httpx2.TransportError:
            return {}
        return counters.read(response.text) if response.status_code == httpx2.codes.OK else {}

    async def _question(self, path: str) -> httpx2.Response:
        """The whole answer. Raises httpx2.TransportError, also where it takes too long as a whole."""
        try:
            async with asyncio.timeout(_QUESTION_S):
                return await self._client.get(f"{self.url}{path}")
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no end within {_QUESTION_S:g} s") from None

    async def ask(self, model: str, text: str, most: int, name: str) -> Answer:
        """One request. most: tokens of its answer; name: of the prompt. It never raises: an error is an answer."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": text}],
            "max_tokens": most,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if not self._thinking:
            body["chat_template_kwargs"] = {"enable_thinking": False}
        stream = _Stream()
        began = monotonic()
        try:
            async with asyncio.timeout(self._limit_s):
                await self._read(body, stream)
        except TimeoutError:
            stream.failed("timeout", f"no end within {self._limit_s:g} s")
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            stream.failed("no connection", _reason(error))
        except (httpx2.SSEError, _Unbounded) as error:
            stream.failed("unreadable", _reason(error))
        except httpx2.TransportError as error:
            stream.failed("cut off" if stream.opened else "closed", _reason(error))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            stream.failed("unreadable", f"a piece of the stream cannot be read: {error}")
        return stream.answer(name, began, monotonic())

    async def _read(self, body: dict[str, Any], stream: _Stream) -> None:
        async with self._client.stream("POST", f"{self.url}/v1/chat/completions", json=body) as response:
            if response.status_code != httpx2.codes.OK:
                await response.aread()
                stream.failed(f"HTTP {response.status_code}", _words(response.text))
                return
            stream.opened = True
            async for event in httpx2.EventSource(response):
                stream.take(event.data)


class _Stream:
    """What came of one answer until now."""

    def __init__(self) -> None:
        self.opened = False
        self._first = self._last = 0.0
        self._tokens = self._prompt_tokens = 0
        self._ended = False
        self._error = self._said = ""

    def failed(self, kind: str, said: str) -> None:
        """Keep the first failure; a later one does not replace it."""
        if not self._error:
            self._error, self._said = kind, said

    def take(self, data: str) -> None:
        """One event. Raises ValueError and its like where it cannot be read."""
        now = monotonic()
        if data == "[DONE]":
            self._ended = True
            return
        said = bounds.loads(data)
        if said.get("error"):
            self.failed("error in the stream", _words(data))
        if usage := said.get("usage"):
            self._tokens, self._prompt_tokens = int(usage["completion_tokens"]), int(usage["prompt_tokens"])
        for choice in said.get("choices") or ():
            self._ended |= bool(choice.get("finish_reason"))
            if _text(choice.get("delta") or {}):
                self._first, self._last = self._first or now, now

    def answer(self, name: str, began: float, ended: float) -> Answer:
        if not self._ended:
            self.failed("cut off", "the stream ended before the answer did")
        if not self._first:
            self.failed("empty", "the answer has no text")
        if not self._tokens:
            self.failed("no count", "the server does not tell how many tokens the answer has")
        return Answer(
            prompt=name,
            began=began,
            ended=ended,
            first=self._first,
            last=self._last,
            tokens=self._tokens,
            prompt_tokens=self._prompt_tokens,
            error=self._error,
            said=self._said,
        )


def _text(delta: dict[str, Any]) -> bool:
    """Whether a piece has something of the answer or of the thoughts before it; the first has a role alone."""
    return any(delta.get(part) for part in ("content", "reasoning", "reasoning_content", "tool_calls"))


def _served(said: dict[str, Any]) -> Served:
    longest = said.get("max_model_len")
    return Served(str(said["id"]), str(said.get("root") or ""), longest if isinstance(longest, int) else None)


def _words(text: str) -> str:
    """The message of an error, in one line."""
    return " ".join(plain(_message(text)).split())[:_SAID]


def _message(text: str) -> str:
    """The message in its JSON; the text itself where it is no JSON."""
    try:
        said = bounds.loads(text)
    except ValueError:
        return text
    said = said.get("error", said) if isinstance(said, dict) else said
    return str(said.get("message", text)) if isinstance(said, dict) else str(said)


def _reason(error: BaseException) -> str:
    """The operating system's own message where there is one; it lies below those of the libraries."""
    below: BaseException | None = error
    while below:
        if isinstance(below, BaseExceptionGroup):
            below = below.exceptions[0]
        elif isinstance(below, OSError) and below.errno:
            # asyncio has words of its own for an errno; a name that cannot be resolved has a negative one
            return os.strerror(below.errno).lower() if below.errno > 0 else reason(below)
        else:
            below = below.__cause__ or below.__context__
    return plain(str(error)) or type(error).__name__
