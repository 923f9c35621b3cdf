"""Whether two hosts can run an all_gather at all: GPU, image, memory, ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkrig import programs
from sparkrig.cure import on_host, quoted
from sparkrig.host.images import Image, known, one
from sparkrig.network.environment import CONTAINER_ENV
from sparkrig.verdict import Verdict

GIB = 2**30
SIZES = (4 * GIB, 8 * GIB)  # 16 GB can freeze a node [@playbooks-102]; 4 to 8 GB are our choice
KEPT_SHARE = 0.12  # of the memory, which stays available [@capetron]
# What a rank takes beside its message: 1.0 GiB on the host and 1.6 GiB on the GPU were measured with
# PyTorch 2.11 (tests/fixtures/nccl), which are one memory on a Spark.
OVERHEAD = 4 * GIB
FIRST_PORT, LAST_PORT = 29600, 29699


@dataclass(frozen=True)
class Preflight:
    """What the check needs of a host.

    docker: the engine's version, empty where none answers; image: the wanted one, None where it is
    absent; gpus: how many nvidia-smi lists; rdma: an RDMA device is there; environment: our environment file
    is there; total, available: memory in bytes; port: a free TCP port, None where all of ours are taken.
    """

    docker: str
    image: Image | None
    gpus: int
    rdma: bool
    environment: bool
    total: int
    available: int
    port: int | None


PREFLIGHT = programs.text("bandwidth/nccl_preflight.sh")
NOT_ASKED_FOR = Verdict(
    "unknown",
    "nccl-skipped",
    "NCCL was not checked, for no nccl_image is set",
    "set nccl_image to an image with PyTorch and NCCL, if the pair is to run one model on both",
)


def preflight_words(image: str) -> list[str]:
    """The words of PREFLIGHT."""
    return [image, str(FIRST_PORT), str(LAST_PORT), CONTAINER_ENV]


def parse_preflight(lines: Iterable[str]) -> Preflight:
    """Read what PREFLIGHT prints. Raises ValueError where memory is missing or is no number."""
    rows = dict(line.strip().partition(" ")[::2] for line in lines)
    if "MemTotal" not in rows or "MemAvailable" not in rows:
        raise ValueError("the host did not say how much memory it has")
    return Preflight(
        docker=rows.get("docker", ""),
        image=known(rows.get("image", ""), [rows.get("content", "")]),
        gpus=int(rows.get("gpus", 0)),
        rdma="rdma" in rows,
        environment="environment" in rows,
        total=int(rows["MemTotal"]) * 1024,
        available=int(rows["MemAvailable"]) * 1024,
        port=int(rows["port"]) if "port" in rows else None,
    )


def message_size(hosts: Iterable[Preflight]) -> int | None:
    """How many bytes to gather: whole GiB within SIZES that every host has room for, or None.

    KEPT_SHARE of a host's memory stays available, for a Spark without memory needs a hard reset.
    """
    room = min(int(host.available - KEPT_SHARE * host.total) - OVERHEAD for host in hosts)
    least, most = SIZES
    return None if room < least else min(room // GIB * GIB, most)


def obstacle(found: Mapping[str, Preflight], image: str) -> Verdict | None:
    """Why the check cannot be run on these hosts, or None. A check that was not run is not passed."""
    for name, host in found.items():
        for good, cause, evidence, cure in (
            (
                host.gpus,
                "no-gpu",
                "nvidia-smi lists no GPU",
                on_host("nvidia-smi", "; run the deploy's driver step"),
            ),
            (host.docker, "no-docker", "docker does not answer", on_host("systemctl status docker")),
            (host.image, "no-image", f"the image {image} is not there", on_host(f"docker pull {quoted(image)}")),
            (host.rdma, "no-rdma", "there is no /dev/infiniband", "attach the cable, then rdma link"),
            (host.environment, "no-environment", f"{CONTAINER_ENV} is not there", "run the deploy"),
            (host.port, "port-busy", f"TCP ports {FIRST_PORT} to {LAST_PORT} are taken", on_host("ss -ltnp")),
            (message_size([host]), "memory-low", _memory(host), "stop what uses memory, then repeat"),
        ):
            if not good:
                return Verdict("unknown", cause, f"{name}: {evidence}", cure)
    images = {name: host.image for name, host in found.items() if host.image}
    if not one(images.values()):
        held = ", ".join(f"{name} {each.short}" for name, each in images.items())
        cure = on_host(f"docker save {quoted(image)}", " on one host, docker load on the other")
        return Verdict("unknown", "image-differs", f"{image} is not one image: {held}", cure)
    return None


def _memory(host: Preflight) -> str:
    needed = SIZES[0] + OVERHEAD + KEPT_SHARE * host.total
    return f"{host.available / GIB:.1f} GiB of memory available, {needed / GIB:.1f} GiB needed"
