"""The node of Ray on a host, which starts on a good fabric alone, and the wait for all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyinfra import host, state
from pyinfra.api import StringCommand, operation

from sparkrig import programs
from sparkrig.cure import deploy, on_host, quoted
from sparkrig.facts.files import Files
from sparkrig.facts.resources import FACTS
from sparkrig.files import Found
from sparkrig.host import images
from sparkrig.host.ray import UNIT
from sparkrig.operations import files, unit
from sparkrig.operations import plan as plans
from sparkrig.operations.again import again
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.refusal import Refusal
from sparkrig.resources import ray
from sparkrig.resources.check import Subject
from sparkrig.runs.change import Change, of_files
from sparkrig.ssh.shell import in_turn, script

_PULL_S = 4 * 3600  # 20 GB, over a slow line; times `patience`
_SETTLE_S = 150

FETCH = programs.text("operations/ray_fetch.sh")
JOINED = programs.text("operations/ray_joined.sh")


@operation()
@refusing
@recorded
def node(changes: ray.RayChanges, subject: Callable[[], Subject], patience: float) -> Commands:
    """Fetch the image where it is not there, and have systemd run the unit as it should be; or take all away.

    + changes: what is to be done
    + subject: the host with its peers, asked when it is done
    + patience: factor on the deadlines
    """
    if not changes:
        host.noop("the node is as it should be")
        return
    mine = subject()
    servers = ray.on_it(mine)
    if servers and not changes.wanted:
        raise Refusal(
            f"{servers[0]} runs on the standing Ray cluster, which ray_image declares no more",
            deploy("serve", {"serve_form": "multinode"}).then(", then the same again"),
        )
    lack = [Change("service", UNIT, changes.lack, "runs" if changes.wanted else None)] if changes.lack else []
    again_after = [Change("service", name, "runs on it", "starts again after it") for name in servers]
    gone = [Change("file", path, "not declared", None) for path in changes.remove]
    plans.report([*of_files(changes.write, mine.found.files), *gone, *lack, *again_after])
    if changes.wanted and state.is_executing:
        files_now: dict[str, Found] = again(Files)
        now = replace(mine.found, files=files_now, rdma=again(FACTS["rdma"]))
        if unfit := ray.unfit(replace(mine, found=now)):
            raise unfit
    if changes.fetch:
        yield _fetched(str(mine.settings.ray_image), patience)
    settled = script(ray.SETTLE, seconds=int(_SETTLE_S * patience))
    placed = files.write(*changes.write) if changes.write else None
    removed = files.remove(*changes.remove) if changes.remove else None
    yield in_turn(*filter(None, (placed, removed, settled)))


def _fetched(image: str, patience: float) -> StringCommand:
    by_id = images.is_id(image)
    look = "sudo docker image ls -a --digests"
    cure = look if by_id else on_host(f"sudo docker pull {quoted(image)}")
    return unit.run("ray-image", "sh", "-c", FETCH, "sh", image, seconds=int(_PULL_S * patience), cure=cure)


@operation()
@refusing
@recorded
def joined(due: bool, nodes: int, seconds: float) -> Commands:
    """Wait until every node of the cluster lives, as its head has it.

    + due: whether one starts, or is missing
    + nodes: how many there are
    + seconds: after which it fails, with those that live
    """
    if not due:
        host.noop("all nodes are there")
        return
    plans.report([Change("service", "the Ray cluster", "not whole", f"{nodes} nodes")])
    yield script(JOINED, str(nodes), str(int(seconds)), seconds=int(seconds) + 60)
