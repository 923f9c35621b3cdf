"""Where the API answers, and whether it asks for a key.

Every client that reaches it may use the model, so without a key it answers its own host alone: ssh leads there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from ipaddress import IPv4Address

from sparkrig.cure import is_here, login, with_setting
from sparkrig.refusal import Refusal
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.runtimes import runtime
from sparkrig.settings import Settings

KEY = "VLLM_API_KEY"  # vLLM asks each request below /v1 for it (vllm/envs.py)
LOCAL, MANAGEMENT, ALL = "local", "management", "all"
_LOOPBACK = "127.0.0.1"
_EVERY = "*"


def asks(settings: Settings, engine: str = "") -> bool:
    """Whether the API asks for the key: it is declared, and the engine can be given it.

    engine: the id of another one than the settings have.
    """
    return KEY in settings.secrets and bool(runtime(engine or settings.serve_engine).key)


def default(settings: Settings) -> str:
    return MANAGEMENT if asks(settings) else LOCAL


def place(settings: Settings) -> str:
    """What is declared, else the safe default."""
    return settings.serve_listen or default(settings)


def management(record: Record | None, own: Collection[IPv4Address], now: IPv4Address | None) -> IPv4Address | None:
    """The address of the management network; the one of the last deploy for as long as the host has it.

    own: every address of the host; now: that of the network that ssh came in on.
    """
    kept = record.management if record else ""
    return next((each for each in own if str(each) == kept), now)


def sockets(mine: Settings, address: IPv4Address | None) -> tuple[str, ...]:
    """ADDRESS:PORT of each, `*` for every address. address: of the management network. Raises Refusal."""
    where = place(mine)
    if where == ALL:
        return (f"{_EVERY}:{mine.serve_port}",)
    if where == MANAGEMENT:
        if address is None:
            raise Refusal(
                "no management address was found on this host, where the API is to answer",
                with_setting("serve_listen", LOCAL, ", or with an address of the host"),
            )
        where = str(address)
    places = (_LOOPBACK,) if where in (LOCAL, _LOOPBACK) else (_LOOPBACK, where)
    return tuple(f"{each}:{mine.serve_port}" for each in places)


def seen(bound: Iterable[str]) -> tuple[str, ...]:
    """The same, of what `ss` prints."""
    return tuple(
        f"{_EVERY}:{each.rpartition(':')[2]}" if each.startswith(("0.0.0.0:", "[::]:", "*:")) else each
        for each in bound
    )


def said(at: Collection[str], *, key: bool) -> str:
    """In words: where it answers, and whether it asks for a key."""
    places = ", ".join(sorted(at)).replace(f"{_EVERY}:", "every address, port ")
    return f"{places or 'nowhere'}; {f'asks for {KEY}' if key else 'asks for no key'}"


def warnings(mine: Settings, record: Record | None, at: tuple[str, ...]) -> Iterator[str]:
    """What a person should know before it is so, a sentence each. record: of the server until now."""
    key = asks(mine)
    if record and record.rank == 0 and record.at != at:
        was = said(record.at, key=record.key)
        yield (
            f"the API answers elsewhere from now on: {said(at, key=key)}; until now: {was}. "
            f"serve_listen decides on it, and {KEY} under secrets (docs/serving.md#who-reaches-it)"
        )
    lacks = f"{runtime(mine.serve_engine).name} would write its key into its log, so that it is given none"
    if not key and place(mine) != LOCAL:
        why = lacks if KEY in mine.secrets else f"no {KEY} is among the secrets"
        yield f"every client that reaches {', '.join(at)} may use the model, for {why}"
    elif KEY in mine.secrets and not key:
        yield f"the API asks for no key: {lacks}"


def way(mine: Settings, host: str, address: str) -> str:
    """How it is reached, in words. host: its name in the inventory; address: where that is reached."""
    port = mine.serve_port
    if place(mine) != LOCAL:
        return f"http://{address}:{port}/v1/models answers{f', with {KEY}' if asks(mine) else ''}"
    tunnel = "" if is_here(host) else f"{login(host, '-fN', '-L', f'{port}:{_LOOPBACK}:{port}')}, then "
    return f"it answers its own host alone; from here: {tunnel}curl http://{_LOOPBACK}:{port:d}/v1/models"
