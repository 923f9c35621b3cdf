"""A server on the standing Ray cluster, which a group declares with `ray_image`.

vLLM makes its workers where its placement group lies, in the containers of sparkrig-ray: an actor is a process of
that image [@vllm-source]. So one image is both, and vLLM, Ray and Python are the same on all hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkrig.cure import deploy, with_setting
from sparkrig.host.images import Image
from sparkrig.host.ray import Ray
from sparkrig.refusal import Refusal
from sparkrig.serving.runtimes import VLLM
from sparkrig.serving.wish import Wish
from sparkrig.settings import Settings

if TYPE_CHECKING:
    from sparkrig.resources.state import State

NOTE = "it runs on the standing Ray cluster, and starts again with sparkrig-ray (sparkrig docs ray)"


def is_meant(wish: Wish, mine: Settings, hosts: int) -> bool:
    """Whether such a server runs there. hosts: of the group, which it takes whole: of fewer Ray picks any."""
    return (
        mine.ray_image is not None
        and mine.serve_form != "multinode"
        and wish.runtime is VLLM
        and 1 < wish.nodes == hosts
    )


def judge(wish: Wish, image: Image | None, mine: Settings, found: State) -> None:
    """Raise Refusal where the cluster does not run on this host, or in another image than the server.

    image: of the server, as this host has it.
    """
    ray: Ray = found.read("ray")
    if ray.lack:
        raise Refusal(
            f"the server is one on the standing Ray cluster, whose node here is not up ({ray.lack})", deploy()
        )
    if wish.image != mine.ray_image and (image is None or image.id != ray.image):
        raise Refusal(
            f"{wish.image} is to serve, and the standing Ray cluster, which starts the workers, runs "
            f"{mine.ray_image}: one server has one vLLM and one Ray",
            with_setting("serve_image", mine.ray_image, "; or serve_form=multinode, beside the cluster"),
        )
