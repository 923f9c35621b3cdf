"""A longer way to a host: a proxy on loopback that keeps every byte back for half a round trip, each way.

It also counts the turns of each connection: how often the host answered after the other side had spoken. Each is a
round trip that no wider line makes shorter.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.unit.sshd import free_ports

_CHUNK = 1 << 16
_PARTING_S = 5  # for last words that are still under way


@dataclass
class Way:
    """The way to one host, and what went along it. turns: of each connection, in their order."""

    far: int
    round_trip_s: float
    turns: list[int] = field(default_factory=list)
    carried: list[asyncio.Task[None]] = field(default_factory=list)

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection to its end."""
        self.carried.append(asyncio.create_task(self._both(reader, writer)))

    async def _both(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self.round_trip_s)  # as long as to connect would take
        there_reader, there = await asyncio.open_connection("127.0.0.1", self.far)
        for each in (writer, there):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number, spoke = len(self.turns), [""]
        self.turns.append(0)

        def heard(who: str) -> None:
            if (spoke[0], who) == ("client", "host"):
                self.turns[number] += 1
            spoke[0] = who

        await asyncio.gather(
            self._carry(reader, there, lambda: heard("client")),
            self._carry(there_reader, writer, lambda: heard("host")),
        )

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: Callable[[], None]
    ) -> None:
        """Every chunk arrives as long after it was sent as any other; many can be under way at once."""
        loop = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                due, chunk = await under_way.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if not chunk:
                    break
                writer.write(chunk)
            writer.close()

        delivery = asyncio.create_task(deliver())
        with suppress(ConnectionError):  # an end that hangs up
            while chunk := await reader.read(_CHUNK):
                heard()
                under_way.put_nowait((loop.time() + self.round_trip_s / 2, chunk))
        under_way.put_nowait((loop.time() + self.round_trip_s / 2, b""))
        with suppress(ConnectionError):
            await delivery


@contextmanager
def further(known: Path, ports: Sequence[int], round_trip_s: float = 0) -> Iterator[dict[int, Way]]:
    """The same hosts on other ports, by those, in their order. known: their known_hosts, written anew for them."""
    near = free_ports(len(ports))
    key = known.read_text().splitlines()[0].split(" ", 1)[1]
    known.write_text("".join(f"[127.0.0.1]:{port} {key}\n" for port in near))
    with apart(dict(zip(near, ports, strict=True)), round_trip_s) as ways:
        yield ways


@contextmanager
def apart(ports: Mapping[int, int], round_trip_s: float = 0) -> Iterator[dict[int, Way]]:
    """Lead each port to another one of 127.0.0.1, `round_trip_s` away; to connect costs one round trip."""
    ways = {near: Way(far, round_trip_s) for near, far in ports.items()}
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        for near, way in ways.items():
            await asyncio.start_server(way.connected, "127.0.0.1", near)
        ready.set()
        await over.wait()
        if carried := [task for way in ways.values() for task in way.carried]:
            await asyncio.wait(carried, timeout=_PARTING_S)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    if not ready.wait(10):
        raise OSError("the proxy does not listen")
    try:
        yield ways
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(10)
