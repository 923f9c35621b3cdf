"""A server that is measured and means no good: it answers without end, slowly, compressed, or sends elsewhere."""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket

import pytest

from sparkrig.io import bench_client
from sparkrig.io.bench_client import Server, Unreachable, Unusable
from tests.unit.loopback import Answer, drip, server, well

MIB = 1 << 20
HEAD = b"HTTP/1.1 %s\r\nContent-Type: text/event-stream\r\n"


def asked(answer: Answer, limit_s: float = 10.0) -> tuple[str, object, str]:
    """What each question to such a server comes to: of its models, its counters, and one that is measured."""

    async def ask(port: int) -> tuple[str, object, str]:
        async with Server(f"http://127.0.0.1:{port}", limit_s=limit_s) as client:
            try:
                models = str(await client.models())
            except (Unreachable, Unusable) as error:
                models = str(error)
            counted, measured = await client.counters(), await client.ask("m", "hello", 8, "p")
            return models, counted, f"{measured.error}: {measured.said}"

    with server(answer) as (port, _):
        return asyncio.run(ask(port))


def flood(status: bytes, *parts: bytes) -> Answer:
    def answer(client: socket.socket) -> None:
        client.sendall(HEAD % status + b"\r\n")
        while True:
            for part in parts:
                client.sendall(part)

    return answer


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10  # in MiB


@pytest.mark.parametrize("status", [b"200 OK", b"500 No"])
@pytest.mark.parametrize("part", [bytes(65536), b": a comment is no event\n\n" * 2000])
def test_an_answer_without_end_is_given_up(status: bytes, part: bytes) -> None:
    before = peak()
    models, counted, measured = asked(flood(status, part))
    assert models == "its answer has more than 8 MiB" and counted == {}
    assert measured.startswith("unreadable: ")
    assert peak() - before < 100


def test_what_is_compressed_is_not_read() -> None:
    """A thousandth of it may be sent, and twice compressed, a millionth."""
    bomb = gzip.compress(gzip.compress(bytes(200 * MIB), 1), 1)

    def answer(client: socket.socket) -> None:
        length = b"Content-Encoding: gzip, gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
        client.sendall(HEAD % b"200 OK" + length + bomb)

    before = peak()
    said = "its answer is compressed, which was not asked for"
    assert asked(answer) == (said, {}, f"unreadable: {said}")
    assert peak() - before < 100


def slow_body(client: socket.socket) -> None:
    client.sendall(HEAD % b"200 OK" + b"\r\n")
    drip(client)


@pytest.mark.parametrize("answer", [drip, slow_body])
def test_one_that_drips_is_given_up(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_client, "_QUESTION_S", 0.3)
    assert asked(answer, 0.3) == ("no end within 0.3 s", {}, "timeout: no end within 0.3 s")


def test_no_redirect_is_followed() -> None:
    with server(well) as (port, elsewhere):
        said = b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % port
        models, _, measured = asked(lambda client: client.sendall(said))
    assert (models, measured, elsewhere) == ("HTTP 307", "HTTP 307: ", [])
