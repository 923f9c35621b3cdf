"""Which server is measured: the one that runs, or the one that is named. It judges, and asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkrig.cure import over_ssh, quoted, verb
from sparkrig.files import Found
from sparkrig.refusal import Refusal
from sparkrig.serving import last_deploy
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.runtimes import LLAMA, runtime
from sparkrig.serving.served import Service, Serving
from sparkrig.text import listed

_OK = 200
_ASKED = '{"prompt": "Tell me about rivers.", "n_predict": 256}'


@dataclass(frozen=True)
class Look:
    """What a host has of servers."""

    serving: Serving
    files: Mapping[str, Found]


@dataclass(frozen=True)
class Server:
    """One server. host: that answers."""

    host: str
    service: Service
    record: Record

    def __str__(self) -> str:
        return f"{self.service} on {self.host}"


def chosen(looks: Mapping[str, Look], host: str = "", service: str = "") -> Server | None:
    """The server that is measured; None where the hosts have none. host, service: names, empty for any.

    Raises Refusal for several, one that does not answer, and an engine without a tool.
    """
    found = [
        server for server in _servers(looks) if host in ("", server.host) and service in ("", server.service.name)
    ]
    up = [each for each in found if looks[each.host].serving.of(each.service).active] or found
    if not up:
        return None
    if len(up) > 1:
        more = f" --service {quoted(up[0].service.name)}" if up[0].service.name else ""
        raise Refusal(
            f"there are several servers: {listed(map(str, up))}",
            f"the same with --host {quoted(up[0].host)}{more}",
        )
    _judge(up[0], looks[up[0].host].serving.of(up[0].service))
    return up[0]


def _servers(looks: Mapping[str, Look]) -> Iterator[Server]:
    """Each server, on the host that answers for it."""
    for host, look in looks.items():
        for name, record in last_deploy.records(look.files, look.serving).items():
            if record.rank == 0:
                yield Server(host, Service(name), record)


def _judge(server: Server, its: Serving) -> None:
    if server.record.engine == LLAMA.id:
        port = server.record.port
        raise Refusal(
            f"{server}: {runtime(server.record.engine).name} has no benchmark of a server in its image; "
            "it times each answer itself",
            over_ssh(server.host, f"curl -s http://127.0.0.1:{port:d}/completion -d {quoted(_ASKED)}"),
        )
    if not its.active:
        raise Refusal(f"{server} does not run", verb("startup", "--once"))
    if its.health != _OK:
        said = f"its /health answers {its.health}" if its.health else "its /health does not answer"
        raise Refusal(f"{server} is not ready: {said}", verb("startup"))
