"""Computed rules of the image, and what docker gives a container."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sparkrig.serving.lint.case import Case, Check, Hit

_FILES = 65536  # more than the usual 1024: our own reasoning
_FORWARD = (26, 8)  # CUDA 13.4 on the driver of CUDA 13.0 [@langx101]


def infiniband(case: Case) -> Iterator[Hit]:
    inside = any(each.startswith("/dev/infiniband") or each == "/dev" for each in case.container.devices)
    if case.contained_pair and not case.container.privileged and not inside:
        yield Hit("more than one Spark, and the container has no /dev/infiniband")


def image_architecture(case: Case) -> Iterator[Hit]:
    said = re.search(r"(?:amd64|x86[-_]?64)", case.image)
    if case.container.architecture not in ("", "arm64"):
        yield Hit(f"{case.container.image or 'the image'} for {case.container.architecture}")
    elif said:
        yield Hit(f"{case.container.image} is for amd64")


def image_digest(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.image and "sha256:" not in case.image:
        yield Hit(f"{case.container.image} is a tag, which two nodes may have resolved differently")


def no_gpu(case: Case) -> Iterator[Hit]:
    if case.contained and not case.container.gpus:
        yield Hit("neither --gpus nor the nvidia runtime")


def host_network(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.container.network != "host":
        yield Hit(f"the network is {case.container.network or 'a bridge'}")


def host_ipc(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.container.ipc != "host":
        yield Hit(f"ipc is {case.container.ipc or 'private'}")


def memlock(case: Case) -> Iterator[Hit]:
    may = (
        case.container.privileged
        or "IPC_LOCK" in case.container.capabilities
        or "ALL" in case.container.capabilities
    )
    if case.contained_pair and case.container.limits.get("memlock") != -1 and not may:
        yield Hit("memlock is docker's own limit, and IPC_LOCK is not given")


def nofile(case: Case) -> Iterator[Hit]:
    files = case.container.limits.get("nofile", 0)
    if case.contained_pair and files != -1 and files < _FILES:
        yield Hit(f"nofile is {files}" if files else "nofile is docker's own limit")


def entrypoint_replaced(case: Case) -> Iterator[Hit]:
    if case.launch.replaced and case.ngc is not None and case.ngc >= _FORWARD:
        yield Hit(f"an entrypoint of its own in {case.container.image}")


def shell_twice(case: Case) -> Iterator[Hit]:
    if case.launch.shells:
        yield Hit(f"the container runs `{case.launch.shells}`, entrypoint and command together")


def patched_file(case: Case) -> Iterator[Hit]:
    for each in case.launch.mounts:
        if re.search(r"/(?:dist|site)-packages/vllm/.+\.py$", each.target):
            yield Hit(f"-v {each.source}:{each.target}")


CHECKS: Mapping[str, Check] = {
    "infiniband": infiniband,
    "image-architecture": image_architecture,
    "image-digest": image_digest,
    "no-gpu": no_gpu,
    "host-network": host_network,
    "host-ipc": host_ipc,
    "memlock": memlock,
    "nofile": nofile,
    "entrypoint-replaced": entrypoint_replaced,
    "shell-twice": shell_twice,
    "patched-file": patched_file,
}
