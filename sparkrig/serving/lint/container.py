"""Rules of the image, and what docker gives a container."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    CORTI,
    JUNE,
    NOVEMBER,
    NVIDIA,
    READ,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

_FILES = 65536  # more than the usual 1024: our own reasoning
_FORWARD = (26, 8)  # CUDA 13.4 on the driver of CUDA 13.0 [@langx101]


RULES = Rules("container")


@RULES.rule(
    "infiniband",
    "error",
    "a container of a pair has /dev/infiniband",
    (
        Claim("without it NCCL goes over TCP and says nothing", "epappas", NOVEMBER),
        Claim("--device /dev/infiniband belongs to two-node containers", "capetron", NOVEMBER),
    ),
    "--device /dev/infiniband",
    composed="devices: [/dev/infiniband]",
)
def infiniband(case: Case) -> Iterator[Hit]:
    inside = any(each.startswith("/dev/infiniband") or each == "/dev" for each in case.container.devices)
    if case.contained_pair and not case.container.privileged and not inside:
        yield Hit("more than one Spark, and the container has no /dev/infiniband")


@RULES.rule(
    "image-architecture",
    "error",
    "the image is for arm64",
    (Claim("a Spark's processor is arm64, and runs no amd64 image", "epappas", NOVEMBER),),
    "an image with arm64: docker manifest inspect IMAGE",
)
def image_architecture(case: Case) -> Iterator[Hit]:
    said = re.search(r"(?:amd64|x86[-_]?64)", case.image)
    if case.container.architecture not in ("", "arm64"):
        yield Hit(f"{case.container.image or 'the image'} for {case.container.architecture}")
    elif said:
        yield Hit(f"{case.container.image} is for amd64")


@RULES.rule(
    "image-cuda",
    "warning",
    "the image is for CUDA 13",
    (Claim("only the builds for CUDA 13 (cu130) run on GB10", "epappas", NOVEMBER),),
    "a tag with cu130",
    against=(Claim("a CUDA 12.9 image for arm64 is published", "model-optimizer-2042", "2026"),),
)
def image_cuda(case: Case) -> Iterator[Hit]:
    found = re.search(r"cu(12\d|11\d)|cuda-?(1[12]\.\d)", case.image)
    if found:
        yield Hit(f"{case.container.image} is for CUDA {found[2] or f'{found[1][:2]}.{found[1][2:]}'}")


@RULES.rule(
    "image-digest",
    "note",
    "both nodes run the same image, by digest",
    (Claim("NCCL says `Message truncated` where the images of two nodes differ", "eugr", NOVEMBER),),
    "IMAGE@sha256:..., as docker image inspect shows it",
)
def image_digest(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.image and "sha256:" not in case.image:
        yield Hit(f"{case.container.image} is a tag, which two nodes may have resolved differently")


@RULES.rule(
    "no-gpu",
    "warning",
    "the container is given the GPU",
    (Claim("--gpus all or the nvidia runtime", NVIDIA, NOVEMBER),),
    "--gpus all",
    composed="gpus: all",
    against=(Claim("not needed where nvidia is docker's default runtime", "epappas", NOVEMBER),),
)
def no_gpu(case: Case) -> Iterator[Hit]:
    if case.contained and not case.container.gpus:
        yield Hit("neither --gpus nor the nvidia runtime")


@RULES.rule(
    "host-network",
    "warning",
    "a container of a pair is in the host's network",
    (Claim("--network host: fabric addresses and GIDs are the host's", "eugr", NOVEMBER),),
    "--network host",
    composed="network_mode: host",
)
def host_network(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.container.network != "host":
        yield Hit(f"the network is {case.container.network or 'a bridge'}")


@RULES.rule(
    "host-ipc",
    "note",
    "a container of a pair shares the host's memory segments",
    (Claim("--ipc=host", NVIDIA, NOVEMBER),),
    "--ipc host",
    composed="ipc: host",
)
def host_ipc(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.container.ipc != "host":
        yield Hit(f"ipc is {case.container.ipc or 'private'}")


@RULES.rule(
    "memlock",
    "warning",
    "a container of a pair may lock memory",
    (
        Claim("RDMA registers memory, which fails with ENOMEM at docker's limit", "epappas", NOVEMBER),
        Claim("both nodes need --cap-add=IPC_LOCK --ulimit memlock=-1:-1", CORTI, JUNE),
    ),
    "--ulimit memlock=-1 --cap-add IPC_LOCK",
    composed="ulimits: {memlock: -1}, and cap_add: [IPC_LOCK]",
)
def memlock(case: Case) -> Iterator[Hit]:
    may = (
        case.container.privileged
        or "IPC_LOCK" in case.container.capabilities
        or "ALL" in case.container.capabilities
    )
    if case.contained_pair and case.container.limits.get("memlock") != -1 and not may:
        yield Hit("memlock is docker's own limit, and IPC_LOCK is not given")


@RULES.rule(
    "nofile",
    "note",
    "a container of a pair may open many files",
    (
        Claim(
            "a rank opens devices, sockets and files of weights, for which 1024 are few: our own reasoning",
            "sparkrig/serving/plan.py",
            READ,
        ),
    ),
    "--ulimit nofile=1048576",
    composed="ulimits: {nofile: 1048576}",
)
def nofile(case: Case) -> Iterator[Hit]:
    files = case.container.limits.get("nofile", 0)
    if case.contained_pair and files != -1 and files < _FILES:
        yield Hit(f"nofile is {files}" if files else "nofile is docker's own limit")


@RULES.rule(
    "entrypoint-replaced",
    "warning",
    "NVIDIA's image keeps its entrypoint",
    (
        Claim(
            "without /opt/nvidia/nvidia_entrypoint.sh CUDA's forward compatibility stays off, and driver 580 ends "
            "in cudaErrorUnsupportedPtxVersion",
            "langx101",
            "2026-09-20",
        ),
    ),
    "the words after the image, and no --entrypoint",
    composed="command: [vllm, serve, ...], and no entrypoint",
    holds="NGC 26.08 and later (CUDA 13.4) with driver 580",
)
def entrypoint_replaced(case: Case) -> Iterator[Hit]:
    if case.launch.replaced and case.ngc is not None and case.ngc >= _FORWARD:
        yield Hit(f"an entrypoint of its own in {case.container.image}")


@RULES.rule(
    "shell-twice",
    "error",
    "a shell is given a script, and no second shell",
    (
        Claim(
            "`/bin/bash bash -c ...`: the container ends with `cannot execute binary file`",
            "aeon-qwen36-12",
            "2026-06-26",
        ),
    ),
    "-c as the first word after the image, or no --entrypoint",
    composed="command: [-c, ...], or no entrypoint",
)
def shell_twice(case: Case) -> Iterator[Hit]:
    if case.launch.shells:
        yield Hit(f"the container runs `{case.launch.shells}`, entrypoint and command together")


@RULES.rule(
    "patched-file",
    "warning",
    "no file of another vLLM is mounted over the image's own",
    (
        Claim("a patched gemma4.py of another version, and the model does not load", "eugr-272", "2026-06-03"),
        Claim("patches that fit one version fail with the next", "eugr-353", "2026-08-21"),
    ),
    "the file of the image's own version, or no mount",
    against=(Claim("recipes mount the patches that the pinned engine needs", "club-3090-154", "2026-05-17"),),
)
def patched_file(case: Case) -> Iterator[Hit]:
    for each in case.launch.mounts:
        if re.search(r"/(?:dist|site)-packages/vllm/.+\.py$", each.target):
            yield Hit(f"-v {each.source}:{each.target}")
