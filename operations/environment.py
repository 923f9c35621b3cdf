"""The environment files of NCCL, vLLM and Ray, and what keeps their GID index current."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pyinfra import state
from pyinfra.api import operation

from sparkrig.facts.resources import of_resource
from sparkrig.files import File, Found
from sparkrig.network import environment, rdma
from sparkrig.operations import plan
from sparkrig.operations.again import again
from sparkrig.operations.files import place
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.refusal import Refusal
from sparkrig.resources.rdma import RDMA
from sparkrig.runs.change import Change, of_files


@operation()
@refusing
def files(
    found: Mapping[str, Found],
    seen: rdma.Rdma,
    wanted: Callable[[rdma.Rdma], Iterable[File]],
    without_gid: Iterable[File],
    moving: bool,
) -> Commands:
    """Write the environment files with the GID that the devices have now, and the script that follows it.

    + found, seen: files and RDMA as the facts of this run saw them
    + wanted: the files by what RDMA is; it raises Refusal where a rail has no GID
    + without_gid: those of them that name none
    + moving: whether the network is about to change, so that the GID must be looked up again
    """
    if moving and not state.is_executing:
        plan.report(_foreseen(lambda: wanted(seen), found, without_gid))
        yield "# the GID is looked up once the network stands"
        return
    yield from place._inner(wanted(again(of_resource(RDMA)) if moving else seen), found)


def _foreseen(
    wanted: Callable[[], Iterable[File]], found: Mapping[str, Found], without_gid: Iterable[File]
) -> Iterable[Change]:
    """What is written by the GIDs as they are now; where a rail has none yet, that it waits for one."""
    try:
        return of_files(wanted(), found)
    except Refusal:
        waiting = [
            Change("file", path, "as it is" if path in found else None, "with the GID index that is found then")
            for path in environment.WITH_GIDS
        ]
        return [*of_files(without_gid, found), *waiting]
