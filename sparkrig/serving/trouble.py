"""Why a served model does not come up: what its nodes logged, and what only a look at all of them shows.

SIGNS is data: the words that tell, what they mean, and where they were read. What explains most comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import shorten

from sparkrig import nccl
from sparkrig.serving.startup import DOING, Line, Name, Phase, Seen, Startup, attempts
from sparkrig.verdict import Level, Verdict

KEPT_SHARE = nccl.KEPT_SHARE  # of the memory: below it, a Spark is near the state that needs a hard reset
_PATIENCE = 2.0  # times what somebody measured of a phase
_QUIET_S = 180.0  # without any line; vLLM itself says every minute that it waits
_LONG_S: dict[Name, float] = {
    "cluster": 120,
    "engine": 60,
    "weights": 420,
    "compile": 300,
    "api": 30,
    "answer": 60,
}
"""Of a phase that nobody measured for that kind of launch; of the others, article-002's for a pair."""

_DEPLOY = "pyinfra INVENTORY deploys/cluster.py, which writes the addresses of this node for Ray, NCCL and Gloo"
_FOLLOW = "sparkrig startup INVENTORY"
_SAME_IMAGE = "put one image on both, by the ID that docker image inspect shows"


@dataclass(frozen=True)
class Sign:
    """Words in a log that tell why. source: where they were read, or seen."""

    cause: str
    pattern: str
    meaning: str
    cure: str
    source: str
    level: Level = "fault"


SIGNS = (
    Sign(
        "image-drift",
        r"Version mismatch: The cluster was started with|Mismatched NCCL version|[Mm]essage truncated",
        "the nodes run different software",
        _SAME_IMAGE,
        "ray issue 50511, NCCL's source v2.28; spark-domain.md section 9",
    ),
    Sign(
        "memory",
        r"is less than desired GPU memory utilization|No available memory for the cache blocks"
        r"|KV cache is needed, which is larger than|CUDA out of memory|cudaErrorMemoryAllocation",
        "there is too little memory",
        "free it (sync; echo 3 > /proc/sys/vm/drop_caches, other containers), or lower --gpu-memory-utilization",
        "pytorch issue 175666, home-ops pull 13221 (GB10, 2026-07-23); article-002",
    ),
    Sign(
        "loopback",
        r"sparkrig: trouble loopback|Local node IP: 127\.|Unable to resolve hostname to a \(local\) address"
        r"|remote=\[127\.",
        "this node's name leads to 127.0.0.1, and that is where it listens",
        _DEPLOY,
        "tests/ray (Ray 2.60); vllm issue 7074, aws-do-eks pull 69 (2026-08-15); spark-domain.md section 4",
    ),
    Sign(
        "interface",
        r"sparkrig: trouble (?:interface|address|route)|no socket interface found|Unable to find address for",
        "the nodes do not use one network",
        _DEPLOY,
        "tests/ray; tests/fixtures/nccl; torch's ProcessGroupGloo",
    ),
    Sign(
        "own-cluster",
        r"Started a local Ray instance",
        "vLLM began a Ray cluster of its own, and waits for GPUs that it has not",
        "set RAY_ADDRESS to HEAD:6379, as start.sh does",
        "vllm issue 13388",
    ),
    Sign(
        "placement",
        r"Waiting for creating a placement group of specs for (?:[3-9]\d|\d{3,}) s|Cannot provide a placement",
        "Ray has not the GPUs at the addresses that vLLM wants",
        "compare ray status with VLLM_HOST_IP on each node; each must offer a GPU (nvidia-smi -L)",
        "aibrix issue 927, vllm issue 13909",
    ),
    Sign(
        "no-ray",
        r"sparkrig: trouble no-ray",
        "the image has no Ray",
        "take the form multinode, or an image with Ray",
        "spark-arena: NGC 26.05 has none (peers.md section 5.5)",
    ),
    Sign(
        "peer",
        r"sparkrig: trouble (?:no-head|not-formed)|Failed to connect to GCS",
        "the other node did not come",
        "sparkrig topology INVENTORY; then look at the other node's unit",
        "tests/ray",
    ),
    Sign(
        "gloo",
        r"Gloo connectFullMesh failed",
        "the ranks do not reach each other over TCP",
        "compare GLOO_SOCKET_IFNAME on both, and let no firewall stand between them",
        "gpustack issue 2125",
    ),
    Sign(
        "weights",
        r"Cannot find any model weights with|does not appear to have a file named",
        "the folder of weights is not whole",
        "compare the folder with the checkpoint's list of files, on each node",
        "vLLM's default_loader.py, transformers' hub.py",
    ),
    Sign(
        "port",
        r"[Aa]ddress already in use",
        "the port is taken",
        "ss -ltnp, then end what listens there",
        "Python's and uvicorn's words for EADDRINUSE",
    ),
    Sign(
        "no-answer",
        r"sparkrig: trouble no-answer",
        "the API is up and gives no token",
        "journalctl -u sparkrig-serve -n 50",
        "start.sh",
        "degraded",
    ),
    Sign(
        "engine",
        r"EngineCore failed|Engine core initialization failed",
        "vLLM's engine did not start",
        "journalctl -u sparkrig-serve, above this line",
        "kvcached issue 304 (vLLM 0.19)",
    ),
)
_SOCKET_CURES = {
    "NCCL_IB_DISABLE is set": "take NCCL_IB_DISABLE out of the setting environment",
    "NCCL_NET is set": "take NCCL_NET out of the setting environment",
    "libibverbs is missing in the image": "take an image with libibverbs",
}


def judge(hosts: Mapping[str, tuple[Seen, Startup]]) -> dict[str, Verdict]:
    """The verdict on each node of one model, with what all of them show together.

    A cure says INVENTORY where its command takes the inventory's file.
    """
    found = {name: _node(seen, startup) for name, (seen, startup) in hosts.items()}
    if drifted := _drift(hosts):
        return dict.fromkeys(hosts, drifted)
    for name, (_, startup) in hosts.items():
        if startup.role == "head" and found[name].cause in ("hangs", "peer") and (lost := _lost(hosts)):
            found[name] = lost
    return found


def _drift(hosts: Mapping[str, tuple[Seen, Startup]]) -> Verdict | None:
    images = {name: nccl.short(seen.image) for name, (seen, _) in hosts.items() if seen.image}
    if len(set(images.values())) < 2:
        return None
    said = ", ".join(f"{name} runs {image}" for name, image in images.items())
    served = any(startup.state == "serving" and startup.role == "head" for _, startup in hosts.values())
    level: Level = "degraded" if served else "fault"
    return Verdict(level, "image-drift", f"the nodes run different images: {said}", _SAME_IMAGE)


def _lost(hosts: Mapping[str, tuple[Seen, Startup]]) -> Verdict | None:
    """A node that the head waits for in vain, because nothing runs there."""
    for name, (seen, startup) in hosts.items():
        if startup.state in ("absent", "stopped", "failed"):
            evidence = f"it waits for {name}, whose unit is {seen.active}"
            return Verdict("fault", "peer", evidence, f"on {name}: systemctl status sparkrig-serve")
    return None


def _node(seen: Seen, startup: Startup) -> Verdict:
    if startup.state == "absent":
        return Verdict("unknown", "absent", "there is no unit sparkrig-serve", "deploy a model to this host first")
    if startup.state == "stopped":
        return Verdict("unknown", "stopped", f"the unit is {seen.active}", "sudo systemctl start sparkrig-serve")
    tries = attempts(seen.lines)
    lines = tries[-1] if tries else []
    if startup.state == "serving":
        return _transport(lines) or _foreboding(lines) or Verdict("healthy", "", _summary(startup))
    # a try that has only just begun says nothing yet, and the one before it ended for a reason
    earlier = tries[-2] if len(tries) > 1 else []
    return (
        _told(lines)
        or (_told(earlier, "the try before this one: ") if earlier and (seen.restarts or not lines) else None)
        or _killed(seen)
        or _hangs(seen, startup, lines)
        or _under_way(seen, startup)
    )


def _summary(startup: Startup) -> str:
    return "it has joined the head" if startup.role == "worker" else "it answers"


def _told(lines: Iterable[Line], before: str = "") -> Verdict | None:
    """The sign that explains most, of those in the log."""
    for sign in SIGNS:
        line = next((each.text for each in lines if re.search(sign.pattern, each.text)), None)
        if line:
            return Verdict(sign.level, sign.cause, f"{before}{sign.meaning}: {_short(line)}", sign.cure)
    return None


def _foreboding(lines: Iterable[Line]) -> Verdict | None:
    told = _told([line for line in lines if "sparkrig: trouble interface" in line.text])
    return told and Verdict("degraded", told.cause, f"it came up, but {told.evidence}", told.cure)


def _transport(lines: Iterable[Line]) -> Verdict | None:
    """What NCCL chose to carry data between the nodes, where it says so."""
    log = nccl.parse("\n".join(line.text for line in lines), None)
    if "Socket" not in log.transport:
        return None
    evidence = f"NCCL carries data over sockets, and not by RDMA{f': {log.why_socket}' if log.why_socket else ''}"
    cure = _SOCKET_CURES.get(log.why_socket, "give the container /dev/infiniband, and run deploys/cluster.py")
    return Verdict("degraded", "socket", evidence, cure)


def _killed(seen: Seen) -> Verdict | None:
    if seen.status in (137, 9) or seen.result == "oom-kill":
        free = f"{seen.available / nccl.GIB:.0f} GiB of memory are available now"
        return Verdict(
            "fault",
            "killed",
            f"it was killed (exit {seen.status}); {free}",
            "look for an out-of-memory kill in dmesg",
        )
    if seen.active == "failed" or seen.restarts:
        again = f", and was started again {seen.restarts} times" if seen.restarts else ""
        evidence = f"it ended with exit {seen.status}{again}, and the log has no sign that is known"
        return Verdict("fault", "ended", evidence, "journalctl -u sparkrig-serve -n 100")
    return None


def _hangs(seen: Seen, startup: Startup, lines: Iterable[Line]) -> Verdict | None:
    """A phase that takes far longer than it ever did, while nothing is said."""
    phase = startup.current
    if phase is None or phase.seconds is None or startup.role == "worker":
        return None
    usual = _usual(phase)
    waits = any("No available shared memory broadcast block" in line.text for line in lines)
    if phase.seconds < _PATIENCE * usual or ((startup.quiet or 0) < _QUIET_S and not waits):
        return None
    evidence = f"it is {DOING[phase.name]} for {phase.seconds:.0f} s, which took {usual:.0f} s elsewhere"
    evidence += "; vLLM says that it waits for a process" if waits else f"; no line for {startup.quiet:.0f} s"
    return _slow(seen, lines) or Verdict("fault", "hangs", evidence, _CURES[phase.name])


_CURES: dict[Name, str] = {
    "cluster": "sparkrig topology INVENTORY; then look at the other node's unit",
    "engine": "set NCCL_DEBUG=INFO in the setting environment, start again, and look for NET/Socket in the log",
    "weights": "iostat -x 5 on each node: a disk that is idle has lost its reader",
    "compile": "vllm serve --no-enable-flashinfer-autotune, where the last line is of the AutoTuner",
    "api": "journalctl -u sparkrig-serve -n 50",
    "answer": "journalctl -u sparkrig-serve -n 50",
}


def _slow(seen: Seen, lines: Iterable[Line]) -> Verdict | None:
    """What explains a hang without a word of its own."""
    if found := _transport(lines):
        return Verdict("fault", found.cause, f"it hangs; {found.evidence}", found.cure)
    if seen.available < KEPT_SHARE * seen.total:
        evidence = f"it hangs with {seen.available / nccl.GIB:.1f} of {seen.total / nccl.GIB:.0f} GiB available"
        return Verdict("fault", "memory", evidence, "stop it, and lower --gpu-memory-utilization")
    return None


def _usual(phase: Phase) -> float:
    return phase.reference.seconds if phase.reference else _LONG_S[phase.name]


def _under_way(seen: Seen, startup: Startup) -> Verdict:
    phase = startup.current
    if phase is None:
        return Verdict("unknown", "begins", f"the unit is {seen.active}, and has not said anything yet", _FOLLOW)
    return Verdict("unknown", "starting", f"it is {DOING[phase.name]}", _FOLLOW)


def _short(line: str) -> str:
    """The words of a log line, without what stands before them."""
    bare = re.sub(r"^(?:\([^)]*\) ?)*(?:(?:INFO|WARNING|ERROR) [\d-]+ [\d:]+ \[[^]]*\] ?)?", "", line)
    bare = re.sub(r"^sparkrig: trouble \S+ \S+ ", "", bare)
    return shorten(bare, 160, placeholder=" ...")
