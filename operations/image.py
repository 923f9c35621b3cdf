"""The image of a server: pulled once, and copied over the fabric."""

from __future__ import annotations

from sparkrig import programs
from sparkrig.cure import over_ssh, quoted
from sparkrig.host.images import Image
from sparkrig.host.trust import plain
from sparkrig.io import remote
from sparkrig.operations.group import LOOK_S, Group, hosts, long, look, tell, user
from sparkrig.refusal import Refusal
from sparkrig.serving import plan, served

_PULL_S = 4 * 3600  # 20 GB, over a slow line; times `patience`

COPY_IMAGE = programs.text("operations/image_copy.sh")


def image(group: Group) -> None:
    """The image on every host that has a part, and the same on all: pulled once, copied over the fabric."""
    wanted = group.wish.image
    found = look(group)
    if found[group.head].find(wanted) is None:
        tell(group, f"pull {wanted} ...")
        cure = f"sudo docker pull {quoted(wanted)}; or --data serve_image=IMAGE (sparkrig docs serving)"
        long(group, "pull", group.head, ("docker", "pull", "-q", wanted), _PULL_S, cure)
        found = look(group)
    there = found[group.head].find(wanted)
    if there is None:
        raise Refusal(f"{wanted} was pulled and is not there", "docker image ls -a --digests")
    tag = "" if "@" in wanted or served.is_id(wanted) else wanted
    for name in group.names[1:]:
        copy = found[name].copy_of(there, tag)
        if copy is None:
            plan.stores(wanted, there.size, found[name])
            copy = _copied(group, name, there)
        if tag:
            remote.shell(hosts([name])[name], 'docker tag "$1" "$2"', copy.id, tag, seconds=LOOK_S)


def _copied(group: Group, name: str, there: Image) -> Image:
    """The image of the head, brought over the fabric, as the host of that name has it. Raises Refusal."""
    tell(group, f"copy {group.wish.image} to {name} over the fabric ...")
    words = ("bash", "-c", COPY_IMAGE, "sparkrig", user(group, name), plain(group.head), there.id)
    long(group, "image", name, words, _PULL_S, f"{over_ssh(plain(group.head), 'sudo -n true')}, on {name}")
    if copy := look(group)[name].copy_of(there):
        return copy
    raise Refusal(
        f"{name} still has no image {there.id[:19]} after it was copied, by what it holds",
        "docker image ls -a --digests",
    )
