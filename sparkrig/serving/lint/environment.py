"""Rules of variables that NCCL, Ray and vLLM read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    APRIL,
    AUGUST,
    DOCAI,
    HARDWARE,
    MIA,
    MID_MAY,
    NOVEMBER,
    NVIDIA,
    READ,
    VLLM,
    Claim,
)
from sparkrig.serving.lint.rule import Rules
from sparkrig.text import listed

RULES = Rules("environment")


@RULES.rule(
    "pair-addresses",
    "warning",
    "each node of a pair is told its own address and the netdev of its sockets",
    (
        Claim(
            "without VLLM_HOST_IP the default route is taken, and the nodes wait for each other",
            VLLM,
            READ,
        ),
        Claim("VLLM_HOST_IP per node; NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME", NVIDIA, NOVEMBER),
    ),
    "--env-file of the cluster deploy (deploys/cluster.py writes it)",
    against=(Claim("the management netdev for the sockets works as well", "epappas", NOVEMBER),),
)
def pair_addresses(case: Case) -> Iterator[Hit]:
    if not case.paired or case.launch.wrapper:
        return
    missing = case.missing("VLLM_HOST_IP", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
    # without Ray --master-addr says where the head is [@vllm-recipes]
    alone = missing == ["VLLM_HOST_IP"] and not case.ray
    if missing:
        yield Hit(f"{listed(missing)} not set", severity="note" if alone else None)


@RULES.rule(
    "ray-memory-monitor",
    "warning",
    "Ray's memory monitor is off",
    (
        Claim("it takes the page cache for pressure and kills vLLM while it answers", HARDWARE, MID_MAY),
        Claim(
            "it kills workers at 95 % of the memory, which loading the weights reaches",
            "mia-nvfp4-2",
            "2026-08-28",
        ),
        Claim("NVIDIA's playbook switches it off", NVIDIA, NOVEMBER),
    ),
    "RAY_memory_monitor_refresh_ms=0",
    against=(Claim("MiMo-V2.5 is served on two Sparks by Ray without it", "mia-mimo", "2026-07-15"),),
)
def ray_memory_monitor(case: Case) -> Iterator[Hit]:
    name = "RAY_memory_monitor_refresh_ms"
    value = case.launch.environment.get(name)
    # or it waits until nearly all of the memory is used [@jdaln-stack]
    if re.match(r"0\.9[89]|1", case.launch.variable("RAY_memory_usage_threshold")):
        return
    if not case.ray or not case.paired or (case.launch.wrapper and value is None):
        return
    if case.missing(name) or value not in (None, "0"):
        yield Hit(f"{name}={value}" if value else f"{name} is not set")


@RULES.rule(
    "cpu-affinity",
    "note",
    "NCCL leaves the choice of processors to the kernel",
    (
        Claim("NCCL_IGNORE_CPU_AFFINITY=1", "eugr", NOVEMBER),
        Claim("set for all measurements", DOCAI, APRIL),
    ),
    "NCCL_IGNORE_CPU_AFFINITY=1",
)
def cpu_affinity(case: Case) -> Iterator[Hit]:
    if case.paired and case.missing("NCCL_IGNORE_CPU_AFFINITY"):
        yield Hit("NCCL_IGNORE_CPU_AFFINITY is not set")


@RULES.rule(
    "gid-index",
    "note",
    "the GID index is looked up on each node",
    (
        Claim("it is stable neither over nodes nor over ports: never write one down", "capetron", NOVEMBER),
        Claim("it moves when a port flaps", "nccl-2183", NOVEMBER),
        Claim("on one pair it is 5", MIA, AUGUST),
    ),
    "sparkrig topology INVENTORY shows it; the cluster deploy's env file keeps it current",
    against=(Claim("index 3 is RoCE v2 with IPv4 on both Sparks", HARDWARE, MID_MAY),),
)
def gid_index(case: Case) -> Iterator[Hit]:
    if value := case.launch.variable("NCCL_IB_GID_INDEX"):
        yield Hit(f"NCCL_IB_GID_INDEX={value}")


@RULES.rule(
    "nccl-conf",
    "note",
    "the container sees the host's settings of NCCL",
    (
        Claim(
            "NCCL reads the /etc/nccl.conf that it sees, which in a container is the image's",
            "nccl-docs",
            NOVEMBER,
        ),
    ),
    "-v /etc/nccl.conf:/etc/nccl.conf:ro, or --env-file",
)
def nccl_conf(case: Case) -> Iterator[Hit]:
    mounted = any(each.target in ("/etc/nccl.conf", "/etc") for each in case.launch.mounts)
    if case.contained_pair and not mounted and case.missing("NCCL_IB_HCA"):
        yield Hit("no NCCL_IB_HCA, and /etc/nccl.conf is not mounted")
