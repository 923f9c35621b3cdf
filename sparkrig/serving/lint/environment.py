"""Computed rules of variables that NCCL, Ray and vLLM read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sparkrig.serving.lint.case import Case, Check, Hit
from sparkrig.text import listed


def pair_addresses(case: Case) -> Iterator[Hit]:
    if not case.paired or case.launch.wrapper:
        return
    missing = case.missing("VLLM_HOST_IP", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
    # without Ray --master-addr says where the head is [@vllm-recipes]
    alone = missing == ["VLLM_HOST_IP"] and not case.ray
    if missing:
        yield Hit(f"{listed(missing)} not set", severity="note" if alone else None)


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


def nccl_conf(case: Case) -> Iterator[Hit]:
    mounted = any(each.target in ("/etc/nccl.conf", "/etc") for each in case.launch.mounts)
    if case.contained_pair and not mounted and case.missing("NCCL_IB_HCA"):
        yield Hit("no NCCL_IB_HCA, and /etc/nccl.conf is not mounted")


CHECKS: Mapping[str, Check] = {
    "pair-addresses": pair_addresses,
    "ray-memory-monitor": ray_memory_monitor,
    "nccl-conf": nccl_conf,
}
