"""The image of a server: pulled once, and copied over the fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkrig import programs
from sparkrig.cure import quoted
from sparkrig.host import images
from sparkrig.host.images import Image
from sparkrig.operations.group import LOOK_S, Group, copied, hosts, long, look, tell, user
from sparkrig.refusal import Refusal
from sparkrig.serving import copies, plan
from sparkrig.ssh import remote
from sparkrig.text import bare_name

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
    tag = "" if "@" in wanted or images.is_id(wanted) else wanted
    have = {group.head: there}
    have |= {name: copy for name in group.names[1:] if (copy := found[name].copy_of(there, tag))}
    lacking = [name for name in group.names if name not in have]
    for name in lacking:
        plan.stores(wanted, there.size, found[name])
    for pairs in copies.rounds([*have], lacking, switched=group.switched):
        have |= _copied(group, pairs, have)
    for name in group.names[1:] if tag else ():
        remote.shell(hosts([name])[name], 'docker tag "$1" "$2"', have[name].id, tag, seconds=LOOK_S)


def _copied(group: Group, pairs: Sequence[tuple[str, str]], have: Mapping[str, Image]) -> dict[str, Image]:
    """The image after one round of copies, as each host has it that got it. Raises Refusal.

    have: as each host has it that had it before; a copy has an ID of its own.
    """

    def words(source: str, name: str) -> Sequence[str]:
        login = user(group, name, source), bare_name(source)
        return ("bash", "-c", COPY_IMAGE, "sparkrig", *login, have[source].id)

    copied(group, "image", group.wish.image, pairs, words, _PULL_S)
    found, got = look(group), {}
    for source, name in pairs:
        copy = found[name].copy_of(have[source])
        if copy is None:
            raise Refusal(
                f"{name} still has no image {have[source].id[:19]} after it was copied, by what it holds",
                "docker image ls -a --digests",
            )
        got[name] = copy
    return got
