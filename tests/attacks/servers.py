"""A server on loopback that may mean no good: it hangs, drips, or answers without end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Answer = Callable[[socket.socket], object]


@contextmanager
def server(answer: Answer) -> Iterator[tuple[int, list[bytes]]]:
    """Its port, and what it was asked; each connection is answered so."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as here:

        def serve(client: socket.socket) -> None:
            with client, suppress(OSError):
                asked.append(client.recv(65536))
                answer(client)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(here.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield here.getsockname()[1], asked
        here.shutdown(socket.SHUT_RDWR)


def well(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def hang(client: socket.socket) -> None:
    client.recv(1)


def drip(client: socket.socket) -> None:
    """A byte of a header now and then, so that no single wait is long; and without end."""
    client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        time.sleep(0.01)
        client.sendall(b"x")


def flood(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        client.sendall(bytes(65536))
