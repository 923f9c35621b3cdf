"""The environment files of NCCL, vLLM and Ray, and what keeps their GID index current."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Interface
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pyinfra import host, state
from pyinfra.api import operation

from sparkrig import programs
from sparkrig.facts.rdma import Rdma
from sparkrig.files import File, Found
from sparkrig.operations import plan
from sparkrig.operations.again import again
from sparkrig.operations.files import place
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.rdma import environment, gid, rdma
from sparkrig.refusal import Refusal
from sparkrig.runs.change import Change, of_files

# Plain text for NCCL and docker: there is no HTML to escape.
_JINJA = Environment(  # noqa: S701
    loader=FileSystemLoader(programs.TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
)


@operation()
@refusing
def files(
    found: Mapping[str, Found],
    seen: rdma.Rdma,
    rails: Mapping[str, IPv4Interface],
    management: tuple[str, IPv4Interface] | None,
    socket_interface: str,
    form: environment.Form,
    merge_nics: bool | None,
    extra: Mapping[str, str],
    nccl: Mapping[str, str],
    moving: bool,
) -> Commands:
    """Write the environment files with the GID that the devices have now, and the script that follows it.

    + found, seen: files and RDMA as the facts of this run saw them
    + rails: address of each cabled fabric netdev, rail 0 first; empty without a fabric
    + management: netdev and address that SSH came in on
    + socket_interface: `fabric` or `management`
    + form, merge_nics: what joins the hosts, and whether NCCL merges ports
    + extra: more variables for containers
    + nccl: more variables for NCCL on the host
    + moving: whether the network is about to change, so that the GID must be looked up again
    """

    def made(current: rdma.Rdma) -> list[File]:
        node = environment.node(
            rails, current, management, socket_interface=socket_interface, form=form, merge_nics=merge_nics
        )
        return wanted(host.name, node, rails, extra, nccl)

    if moving and not state.is_executing:
        plan.report(_foreseen(lambda: made(seen), found, rails, form))
        yield "# the GID is looked up once the network stands"
        return
    yield from place._inner(made(again(Rdma) if moving else seen), found)


def _foreseen(
    made: Callable[[], list[File]],
    found: Mapping[str, Found],
    rails: Mapping[str, IPv4Interface],
    form: environment.Form,
) -> Iterable[Change]:
    """What is written by the GIDs as they are now; where a rail has none yet, that it waits for one."""
    try:
        return of_files(made(), found)
    except Refusal:
        waiting = [
            Change("file", path, "as it is" if path in found else None, "with the GID index that is found then")
            for path in (environment.NCCL_CONF, environment.CONTAINER_ENV)
        ]
        return [*of_files(_keeper(rails, form), found), *waiting]


def wanted(
    name: str,
    node: environment.Node,
    rails: Mapping[str, IPv4Interface],
    extra: Mapping[str, str],
    nccl: Mapping[str, str] | None = None,
) -> list[File]:
    """Every file of this noun: the two environment files always, the GID's keeper where there is a rail."""
    block = gid.block(node.choice) if node.choice else ""
    common = {
        "name": name.removeprefix("@fake/"),
        "gid_block": block,
        "container_env": environment.CONTAINER_ENV,
    }
    texts = {
        environment.NCCL_CONF: ("nccl.conf.j2", environment.nccl(node, nccl)),
        environment.CONTAINER_ENV: ("container.env.j2", environment.container(node, extra)),
    }
    rendered = [
        File(path, _JINJA.get_template(template).render(variables=variables, **common))
        for path, (template, variables) in texts.items()
    ]
    return [*_keeper(rails, node.form), *rendered] if rails else rendered


def _keeper(rails: Mapping[str, IPv4Interface], form: environment.Form) -> list[File]:
    """The dispatcher script, the program it starts, and the rails that it looks after.

    A ring has none of these: its files name no index, and the program would put one there.
    """
    kept = {} if form == "ring" else rails
    declared = json.dumps({netdev: str(address) for netdev, address in kept.items()}, indent=2) + "\n"
    return [
        File(environment.RAILS, declared),
        File(environment.GID_MODULE, Path(gid.__file__).read_text(encoding="utf-8")),
        File(environment.REFRESH, programs.file("refresh_gid.py")),
        File(environment.DISPATCHER, programs.file("90-sparkrig-gid"), "0755"),
    ]
