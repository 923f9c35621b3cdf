"""Rules of how many Sparks serve, and how they find each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving import layout
from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    CORTI,
    HARDWARE,
    JUNE,
    MID_MAY,
    NOVEMBER,
    NVIDIA,
    READ,
    VLLM,
    Claim,
)
from sparkrig.serving.lint.rule import Rules
from sparkrig.serving.model import Model

_NO_RAY = (26, 5)  # the first of NVIDIA's images without it [@nvidia-playbook]
# the flags that set where the copies of data parallelism run
_COPIES = frozenset(
    {"data-parallel-size-local", "data-parallel-rank", "data-parallel-start-rank", "data-parallel-backend"}
)


RULES = Rules("nodes")


def _most(case: Case) -> int:
    """How many Sparks there can be."""
    return case.sparks or max(2, case.nnodes)


@RULES.rule(
    "gpus-beyond-sparks",
    "error",
    "there are as many Sparks as the launch wants GPUs",
    (Claim("a Spark has one GPU, and no NVLink to a second one", HARDWARE, MID_MAY),),
    "--tensor-parallel-size of the number of Sparks; with more of them say so: --sparks N",
)
def gpus_beyond_sparks(case: Case) -> Iterator[Hit]:
    if case.gpus and case.gpus > _most(case):
        have = f"{_most(case)} Sparks have one each" if _most(case) > 1 else "one Spark has one"
        # who names the other nodes may well have them: some clusters have eight
        may = case.sparks is None and _reached(case)
        yield Hit(f"{_sizes(case)} wants {case.gpus} GPUs, and {have}", severity="note" if may else None)


def _reached(case: Case) -> bool:
    """Whether the launch, or what makes it or its container, says how the other nodes are reached.

    NVIDIA's page for four Sparks starts Ray in containers, and enters one of them with no word of Ray.
    """
    added = (bool(case.launch.wrapper) and not case.launch.solo) or case.launch.unseen
    return case.ray or case.nnodes > 1 or added or "config" in case.launch.flags


def _sizes(case: Case) -> str:
    flags = (
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "prefill-context-parallel-size",
        "data-parallel-size",
    )
    return " ".join(f"--{flag} {case.launch.text(flag)}" for flag in flags if case.launch.text(flag))


@RULES.rule(
    "second-node",
    "error",
    "a launch on more than one GPU says how the other node is reached",
    (
        Claim(
            "vLLM refuses a world size above the GPUs of the node, unless Ray or --nnodes is named",
            VLLM,
            READ,
        ),
        Claim("copies (data parallelism) all start on this node unless it is said", VLLM, READ),
    ),
    "--nnodes 2 --node-rank 0 --master-addr ADDRESS, or --distributed-executor-backend ray",
    holds="vLLM 0.12 and later; older ones took Ray by themselves",
    since=(0, 12),
)
def second_node(case: Case) -> Iterator[Hit]:
    outside = case.launch.text("distributed-executor-backend") == "external_launcher"
    if not case.world or not case.gpus or case.gpus > _most(case) or _reached(case) or outside:
        return
    if case.world > 1:
        yield Hit(f"{_sizes(case)}, and neither --nnodes nor Ray")
    elif case.gpus > 1 and not _COPIES & {*case.launch.flags}:
        yield Hit(f"{_sizes(case)}, and nothing says where the other copy runs", "--data-parallel-size-local 1")


@RULES.rule(
    "ray-with-nnodes",
    "error",
    "--nnodes is not used with Ray",
    (Claim("nnodes above 1 is refused unless the executor is mp, uni or external_launcher", VLLM, READ),),
    "--distributed-executor-backend mp, or Ray without --nnodes",
    holds="every vLLM that has --nnodes",
)
def ray_with_nnodes(case: Case) -> Iterator[Hit]:
    if case.nnodes > 1 and case.ray:
        yield Hit(f"--nnodes {case.nnodes} and --distributed-executor-backend ray")


@RULES.rule(
    "nnodes-not-gpus",
    "error",
    "--nnodes is tensor times pipeline parallelism",
    (Claim("each node takes its equal part of the GPUs, and a Spark has one", VLLM, READ),),
    "--nnodes 2 --tensor-parallel-size 2",
    holds="every vLLM that has --nnodes",
)
def nnodes_not_gpus(case: Case) -> Iterator[Hit]:
    if case.nnodes > 1 and case.world and case.world != case.nnodes and case.gpus == case.world:
        yield Hit(f"--nnodes {case.nnodes}, and one copy of the model on {case.world} GPU{'s' * (case.world > 1)}")


@RULES.rule(
    "heads-not-divided",
    "warning",
    "--tensor-parallel-size divides the attention heads, of which most models have a power of two",
    (
        Claim("64 heads: 3 cannot work, and vLLM ends in verify_with_parallel_config", "vllm-52435", "2026-08-16"),
        Claim(
            "MiMo-V2.6 has 64 heads and 4 for the KV cache: vLLM rejects 3 at the start", "eugr-mimo", "2026-09-21"
        ),
    ),
    "--pipeline-parallel-size of the number of Sparks, and --tensor-parallel-size 1",
    holds="vLLM's own builds; a note for forks, some of which add heads",
)
def heads_not_divided(case: Case) -> Iterator[Hit]:
    size = case.launch.whole_number("tensor-parallel-size", 1)
    shape = case.model.shape if isinstance(case.model, Model) else None
    if size and size > 1 and shape and shape.heads:
        if not layout.divides(size, shape):
            kv = " and ".join(map(str, shape.kv_heads))
            yield Hit(
                f"--tensor-parallel-size {size} of {shape.heads} heads, and {kv or 'no'} of keys",
                severity=case.severity,
            )
    elif size and size > 1 and size & (size - 1):
        yield Hit(
            f"--tensor-parallel-size {size} is no power of two, as the number of heads mostly is",
            severity=case.severity,
        )


@RULES.rule(
    "draft-with-stages",
    "warning",
    "a model that is shared by stages is not drafted for by a head of its own",
    (
        Claim(
            "MTP ends at the start: `Pipeline parallelism is not supported for this model`",
            "vllm-52069",
            "2026-08-12",
        ),
    ),
    "no --speculative-config, or --tensor-parallel-size alone",
    holds="vLLM up to 0.26.1 at the least; a note for EAGLE3, and for forks",
    against=(Claim("EAGLE3 works with stages, by vLLM's own test", "vllm-55623", "2026-09-07"),),
)
def draft_with_stages(case: Case) -> Iterator[Hit]:
    stages = case.launch.whole_number("pipeline-parallel-size", 1)
    if stages and stages > 1 and case.drafting:
        milder = "note" if case.drafting.startswith("eagle") else case.severity
        yield Hit(f"--pipeline-parallel-size {stages}, and {case.drafting} drafts", severity=milder)


@RULES.rule(
    "node-rank",
    "error",
    "--node-rank counts from 0 to one less than --nnodes",
    (Claim("ranks count from 0: the head is 0, the other Spark 1", "eugr", NOVEMBER),),
    "--node-rank 0 on the head, 1 on the other",
    holds="every vLLM that has --nnodes",
)
def node_rank(case: Case) -> Iterator[Hit]:
    rank = case.launch.whole_number("node-rank", 0)
    if rank is not None and not 0 <= rank < case.nnodes:
        yield Hit(f"--node-rank {rank} of {case.nnodes} node{'s' * (case.nnodes > 1)}")


@RULES.rule(
    "master-address",
    "error",
    "all nodes name the head's address on the fabric",
    (
        Claim("the default is 127.0.0.1, where the other node finds itself", VLLM, READ),
        Claim("rank 0 that binds to loopback hangs", "epappas", NOVEMBER),
    ),
    "--master-addr with the head's fabric address: sparkrig topology INVENTORY",
    holds="every vLLM that has --nnodes",
)
def master_address(case: Case) -> Iterator[Hit]:
    address = case.launch.text("master-addr")
    if case.nnodes > 1 and (not address or re.match(r"127\.|localhost|::1|0\.0\.0\.0", address)):
        yield Hit(f"--master-addr {address}" if address else "--nnodes without --master-addr")


@RULES.rule(
    "headless",
    "warning",
    "only the head serves requests",
    (Claim("--headless on each rank but 0, and workers first", "eugr", NOVEMBER),),
    "--headless",
    holds="every vLLM that has --nnodes",
)
def headless(case: Case) -> Iterator[Hit]:
    rank = case.launch.whole_number("node-rank", 0)
    if case.nnodes > 1 and rank and not case.launch.on("headless"):
        yield Hit(f"--node-rank {rank} without --headless")


@RULES.rule(
    "ray-dropped",
    "warning",
    "Ray was added to an image of vLLM that does not bring it",
    (
        Claim(
            "since 0.19.1 vLLM does not bring Ray; `ray: not found` in images built on it",
            "dynamo-8515",
            "2026-04-22",
        ),
        Claim("nvcr.io/nvidia/vllm:26.05-py3 ships without Ray, and the playbook installs it", NVIDIA, NOVEMBER),
        Claim("Ray is not in the aarch64 images", "capetron", NOVEMBER),
        Claim("no ray binary in NVIDIA's newest image", CORTI, JUNE),
    ),
    "docker run --rm --entrypoint ray IMAGE --version tells; else --nnodes 2 without Ray",
    holds="vLLM 0.19.1 and later, where the image does not add it",
    since=(0, 19, 1),
    against=(Claim("eugr's images have it where they are built so", "eugr", NOVEMBER),),
)
def ray_dropped(case: Case) -> Iterator[Hit]:
    later = case.ngc is not None and case.ngc >= _NO_RAY
    if case.ray and (case.stock or later) and not case.launch.installs_ray:
        yield Hit(f"Ray in {case.container.image}")


@RULES.rule(
    "ray-or-not",
    "note",
    "a pair can be formed without Ray",
    (
        Claim(
            "eugr forms pairs by --nnodes unless it is told otherwise",
            "eugr",
            NOVEMBER,
        ),
        Claim("so do epappas and capetron", "epappas", NOVEMBER),
    ),
    "--nnodes 2 --node-rank RANK --master-addr ADDRESS --distributed-executor-backend mp",
    holds="vLLM 0.12 and later",
    since=(0, 12),
    against=(
        Claim("more than one GPU needs a Ray cluster", HARDWARE, MID_MAY),
        Claim("NVIDIA's playbook for two Sparks takes Ray", NVIDIA, NOVEMBER),
    ),
)
def ray_or_not(case: Case) -> Iterator[Hit]:
    if case.ray and case.paired and case.nnodes == 1:
        yield Hit("--distributed-executor-backend ray")
