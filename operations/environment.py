"""The environment files of NCCL, vLLM and Ray, and what keeps their GID index current."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Interface

from pyinfra import host, state
from pyinfra.api import operation

from sparkrig.facts.rdma import Rdma
from sparkrig.files import File, Found
from sparkrig.operations import plan
from sparkrig.operations.again import again
from sparkrig.operations.files import place
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.rdma import environment, rdma
from sparkrig.refusal import Refusal
from sparkrig.resources.environment import keeper, wanted
from sparkrig.runs.change import Change, of_files


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
        return [*of_files(keeper(rails, form), found), *waiting]
