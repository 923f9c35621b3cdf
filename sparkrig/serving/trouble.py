"""Why a served model does not come up: what its nodes logged, and what only a look at all of them shows.

SIGNS is data: the words to look for, what they mean, and where they were read. What explains most comes first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from sparkrig.bandwidth import nccl, nccl_errors
from sparkrig.bandwidth.nccl_preflight import GIB, KEPT_SHARE
from sparkrig.cure import Cure, cure_of, deploy, on_host, verb
from sparkrig.host.images import one
from sparkrig.serving.served import UNNAMED, Service
from sparkrig.serving.startup import DOING, Line, Name, Seen, Startup, attempts
from sparkrig.signatures import Signature, first_line
from sparkrig.verdict import Level, Verdict

_PATIENCE = 2.0  # times what a source measured of a phase
_TRIES = 3  # after so many, another one is not expected to end otherwise
_QUIET_S = 180.0  # without any line; vLLM itself logs every minute that it waits
_LONG_S: dict[Name, float] = {
    "cluster": 120,
    "engine": 60,
    "weights": 420,
    "compile": 300,
    "api": 30,
    "answer": 60,
}
"""For a phase that has no figure for that kind of launch; for the others, [@conselara-hardware]'s for a pair."""

_WAITS = "No available shared memory broadcast block"
_DEPLOY = deploy().then(", which writes the addresses of this node for Ray, NCCL and Gloo")
_SERVE = deploy(what="serve", data={"model": "NAME"}).then(" (names: sparkrig models)")
_FOLLOW = verb("startup")
SHORT = "leave the rest of the host more: a lower --gpu-memory-utilization, fewer --max-num-seqs (serve_flags)"
# another backend helped [@eugr-260]; a smaller batch and no graphs are our own reasoning: less that can wait
STUCK = (
    "if it comes again, try another --attention-backend, fewer --max-num-seqs, or --enforce-eager (serve_flags)"
)
_SAME_IMAGE = "put one image on both: docker save on one, docker load on the other"


@dataclass(frozen=True)
class Sign(Signature):
    """Words in a log that show why a model does not come up.

    several: whether they mean something only where several nodes serve; warns: whether it may come up all the
    same, so that they count once it did not.
    """

    several: bool = False
    warns: bool = False


SIGNS = (
    Sign(
        "image-drift",
        rf"Version mismatch: The cluster was started with|{nccl_errors.MISMATCHED}|{nccl_errors.TRUNCATED}",
        "the nodes run different software",
        _SAME_IMAGE,
        "[@ray-50511, @nccl-1176]; NCCL's source v2.28",
    ),
    Sign(
        "memory",
        r"sparkrig: trouble memory",
        "the watch ended the server, before the host would have hung",
        SHORT,
        "templates/serving/watch.py",
    ),
    Sign(
        "stuck",
        r"sparkrig: trouble stuck",
        "the engine stood still, and the watch ended it",
        STUCK,
        "templates/serving/watch.py",
    ),
    Sign(
        "memory",
        r"is less than desired GPU memory utilization|No available memory for the cache blocks"
        rf"|KV cache is needed, which is larger than|CUDA out of memory|{nccl_errors.CUDA_MEMORY}"
        # SGLang, and llama.cpp's CUDA backend
        r"|Not enough memory\. Please try to increase|cudaMalloc failed: out of memory",
        "there is too little memory",
        "free it (sync; echo 3 > /proc/sys/vm/drop_caches, other containers), or lower --gpu-memory-utilization",
        "[@pytorch-175666, @home-ops-13221, @conselara-hardware, @sglang-source]",
    ),
    Sign(
        "loopback",
        r"sparkrig: trouble loopback|Local node IP: 127\.|remote=\[127\.",
        "this node listens on 127.0.0.1, where its own name leads",
        _DEPLOY,
        "tests/ray (Ray 2.60); [@aws-do-eks-69, @epappas]",
        several=True,
    ),
    Sign(
        "loopback",
        r"sparkrig: trouble name|Unable to resolve hostname to a \(local\) address",
        "Gloo asks for this node's name, which leads to 127.0.0.1",
        _DEPLOY,
        "[@vllm-7074]; on one node the same words are no fault [@vllm-25771]",
        several=True,
        warns=True,
    ),
    Sign(
        "interface",
        rf"sparkrig: trouble (?:address|route)|{nccl_errors.NO_INTERFACE}|Unable to find address for",
        "the nodes do not use one network",
        _DEPLOY,
        "tests/ray; tests/fixtures/nccl; torch's ProcessGroupGloo",
        several=True,
    ),
    Sign(
        "interface",
        r"sparkrig: trouble interface",
        "the nodes do not use one network",
        _DEPLOY,
        "tests/ray",
        several=True,
        warns=True,
    ),
    Sign(
        "own-cluster",
        r"Started a local Ray instance",
        "vLLM began a Ray cluster of its own, and waits for GPUs that it has not",
        "set RAY_ADDRESS to HEAD:6379, as start.sh does",
        "[@vllm-13388]",
        several=True,
    ),
    Sign(
        "placement",
        r"Waiting for creating a placement group of specs for (?:[3-9]\d|\d{3,}) s|Cannot provide a placement",
        "Ray has not the GPUs at the addresses that vLLM wants",
        "compare ray status with VLLM_HOST_IP on each node; each must offer a GPU (nvidia-smi -L)",
        "[@aibrix-927, @vllm-13909]",
        several=True,
    ),
    Sign(
        "no-ray",
        r"sparkrig: trouble no-ray",
        "the image has no Ray",
        "take the form multinode, or an image with Ray",
        "NGC 26.05 has none [@nvidia-playbook]",
    ),
    Sign(
        "peer",
        r"sparkrig: trouble (?:no-head|not-formed)|Failed to connect to GCS",
        "the other node did not come",
        verb("topology").then("; then look at the other node's unit"),
        "tests/ray",
        several=True,
    ),
    Sign(
        "gloo",
        r"Gloo connectFullMesh failed",
        "the ranks do not reach each other over TCP",
        "compare GLOO_SOCKET_IFNAME on both, and let no firewall stand between them",
        "[@gpustack-2125]",
        several=True,
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
        on_host("ss -ltnp", ", then end what listens there"),
        "Python's and uvicorn's words for EADDRINUSE",
    ),
    Sign(
        "no-answer",
        r"sparkrig: trouble no-answer (?!.*HTTPError (?:400|404|501))",
        "the API is up and gives no token",
        on_host("journalctl -u sparkrig-serve -n 50"),
        "start.sh",
        "degraded",
    ),
    Sign(
        "engine",
        r"EngineCore failed|Engine core initialization failed",
        "vLLM's engine did not start",
        on_host("journalctl -u sparkrig-serve", ", above this line"),
        "[@kvcached-304]",
    ),
)
_SOCKET_CURES = {
    "NCCL_IB_DISABLE is set": "take NCCL_IB_DISABLE out of the setting environment",
    "NCCL_NET is set": "take NCCL_NET out of the setting environment",
    "libibverbs is missing in the image": "take an image with libibverbs",
}


def judge(hosts: Mapping[str, tuple[Seen, Startup]], service: Service = UNNAMED) -> dict[str, Verdict]:
    """The verdict on each node of one model, with what all of them show together. service: what serves it."""
    return {name: _called(each, service) for name, each in _judged(hosts).items()}


def _called(verdict: Verdict, service: Service) -> Verdict:
    """The same by the unit of that service."""
    cure = cure_of(verdict.cure)
    return replace(
        verdict,
        evidence=service.of(verdict.evidence),
        cure=Cure(service.of(cure.line), service.of(cure.after), here=cure.here, at=cure.at, run=cure.run)
        if service.name
        else verdict.cure,
    )


def _judged(hosts: Mapping[str, tuple[Seen, Startup]]) -> dict[str, Verdict]:
    found = {name: _node(seen, startup) for name, (seen, startup) in hosts.items()}
    there = [name for name, (_, startup) in hosts.items() if startup.state != "absent"]
    alone = [name for name in there if _alone(hosts[name][1])]
    if alone:
        return found | _idle(hosts, alone[0])
    busy, free = hosts, dict[str, Verdict]()
    # where as many are there as the head was started with, the others of a cluster have no part
    if there and len(hosts) > len(there) >= max(hosts[name][1].nodes for name in there) > 0:
        busy, free = {name: hosts[name] for name in there}, _idle(hosts, there[0])
    if drifted := _drift(busy):
        return found | dict.fromkeys(busy, drifted) | free
    for name, (_, startup) in busy.items():
        if startup.role == "head" and found[name].cause in ("hangs", "peer") and (lost := _lost(busy)):
            found[name] = lost
    return found | free


def _idle(hosts: Mapping[str, tuple[Seen, Startup]], server: str) -> dict[str, Verdict]:
    """The hosts without a part in what one of them serves."""
    idle = Verdict("healthy", "", f"it has no part in what {server} serves")
    return {name: idle for name, (_, startup) in hosts.items() if startup.state == "absent"}


def _alone(startup: Startup) -> bool:
    """Whether start.sh was started to serve by itself; where its first line is missing there is no form."""
    return startup.role == "alone" and bool(startup.form)


def _drift(hosts: Mapping[str, tuple[Seen, Startup]]) -> Verdict | None:
    images = {name: seen.image for name, (seen, _) in hosts.items() if seen.image}
    if one(images.values()):
        return None
    said = ", ".join(f"{name} runs {image.short}" for name, image in images.items())
    served = any(startup.state == "serving" and startup.role == "head" for _, startup in hosts.values())
    level: Level = "degraded" if served else "fault"
    return Verdict(level, "image-drift", f"the nodes run different images: {said}", _SAME_IMAGE)


def _lost(hosts: Mapping[str, tuple[Seen, Startup]]) -> Verdict | None:
    """A node that the head waits for in vain, because nothing runs there."""
    for name, (seen, startup) in hosts.items():
        if startup.state in ("absent", "stopped", "failed"):
            evidence = f"it waits for {name}, whose unit is {seen.active}"
            return Verdict("fault", "peer", evidence, on_host("systemctl status sparkrig-serve", at=name))
    return None


def _node(seen: Seen, startup: Startup) -> Verdict:
    if startup.state == "absent":
        return Verdict("unknown", "absent", "there is no unit sparkrig-serve", _SERVE)
    if startup.state == "stopped" and (ended := _watched(seen, "fault")):
        return ended
    if startup.state == "stopped":
        return Verdict(
            "unknown", "stopped", f"the unit is {seen.active}", on_host("sudo systemctl start sparkrig-serve")
        )
    tries = attempts(seen.lines)
    lines = tries[-1] if tries else []
    if startup.state == "serving":
        watched = _transport(lines) or _foreboding(startup, lines) or _watched(seen, "degraded")
        return watched or Verdict("healthy", "", _summary(startup))
    before = _told(startup, tries[-2], "the try before this one: ") if len(tries) > 1 else None
    if startup.state == "failed":
        return _told(startup, lines) or before or _ended(seen)
    return (
        _told(startup, _recent(seen, startup, lines), warnings=False)
        or _hangs(seen, startup, lines)
        or ((before or _ended(seen)) if seen.restarts >= _TRIES else None)
        or _under_way(seen, startup, before)
    )


def _watched(seen: Seen, level: Level) -> Verdict | None:
    """What the watch did last to a server that is up again, or down since."""
    if not seen.events or (level == "fault" and seen.events[-1].done != "stopped"):
        return None
    event = seen.events[-1]
    return Verdict(
        level,
        event.cause,
        f"the watch {event.done} it at {event.at}: {event.seen}",
        STUCK if event.cause == "stuck" else SHORT,
    )


def _summary(startup: Startup) -> str:
    return "it has joined the head" if startup.role == "worker" else "it answers"


def _recent(seen: Seen, startup: Startup, lines: Sequence[Line]) -> list[Line]:
    """The lines logged since the last phase ended; the node has got over what it logged before."""
    phase = startup.current
    begun = seen.now - phase.seconds - 0.001 if phase and phase.seconds is not None else 0.0
    return [line for line in lines if line.at >= begun]


def _told(startup: Startup, lines: Sequence[Line], before: str = "", *, warnings: bool = True) -> Verdict | None:
    """The sign that explains most, of those in the log. warnings: whether those count, too."""
    apply = (sign for sign in SIGNS if not (sign.several and _alone(startup)) and (warnings or not sign.warns))
    found = first_line(apply, (line.text for line in lines))
    if found is None:
        return None
    sign, line = found
    return Verdict(sign.level, sign.cause, f"{before}{sign.meaning}: {_short(line)}", sign.cure)


def _foreboding(startup: Startup, lines: Sequence[Line]) -> Verdict | None:
    told = _told(startup, [line for line in lines if "sparkrig: trouble interface" in line.text])
    return told and Verdict("degraded", told.cause, f"it came up, but {told.evidence}", told.cure)


def _transport(lines: Sequence[Line]) -> Verdict | None:
    """The verdict where NCCL logs that it carries data between the nodes over sockets, else None."""
    log = nccl.parse("\n".join(line.text for line in lines), None)
    if "Socket" not in log.transport:
        return None
    evidence = f"NCCL carries data over sockets, and not by RDMA{f': {log.why_socket}' if log.why_socket else ''}"
    cure = _SOCKET_CURES.get(log.why_socket, "give the container /dev/infiniband, and run deploys/cluster.py")
    return Verdict("degraded", "socket", evidence, cure)


def _ended(seen: Seen) -> Verdict:
    """An end that the log has no word for."""
    if seen.status in (137, 9) or seen.result == "oom-kill":
        evidence = f"it was killed (exit {seen.status}); {seen.available / GIB:.0f} GiB are available now"
        return Verdict("fault", "killed", evidence, "look for an out-of-memory kill in dmesg")
    again = f", and was started again {seen.restarts} times" if seen.restarts else ""
    evidence = f"it ended with exit {seen.status}{again}, and the log has no sign that is known"
    return Verdict("fault", "ended", evidence, on_host("journalctl -u sparkrig-serve -n 100"))


def _hangs(seen: Seen, startup: Startup, lines: Sequence[Line]) -> Verdict | None:
    """A phase that takes far longer than is usual, while nothing is logged."""
    phase = startup.current
    if phase is None or phase.seconds is None:
        return None
    usual = phase.reference.seconds if phase.reference else _LONG_S[phase.name]
    waits = any(_WAITS in line.text for line in _recent(seen, startup, lines))
    if phase.seconds < _PATIENCE * usual or ((startup.quiet or 0) < _QUIET_S and not waits):
        return None
    evidence = f"it is {DOING[phase.name]} for {phase.seconds:.0f} s, which took {usual:.0f} s elsewhere"
    evidence += "; vLLM says that it waits for a process" if waits else f"; no line for {startup.quiet:.0f} s"
    return (
        _told(startup, lines, "it hangs; ")
        or _slow(seen, lines)
        or Verdict("fault", "hangs", evidence, _CURES[phase.name])
    )


_CURES: dict[Name, str] = {
    "cluster": verb("topology").then("; then look at the other node's unit"),
    "engine": "set NCCL_DEBUG=INFO in the setting environment, start again, and look for NET/Socket in the log",
    "weights": "iostat -x 5 on each node: a disk that is idle has lost its reader",
    "compile": "vllm serve --no-enable-flashinfer-autotune, where the last line is of the AutoTuner",
    "api": on_host("journalctl -u sparkrig-serve -n 50"),
    "answer": on_host("journalctl -u sparkrig-serve -n 50"),
}


def _slow(seen: Seen, lines: Sequence[Line]) -> Verdict | None:
    """What explains a hang without a word of its own."""
    if found := _transport(lines):
        return Verdict("fault", found.cause, f"it hangs; {found.evidence}", found.cure)
    if seen.available < KEPT_SHARE * seen.total:  # near the state that needs a hard reset
        evidence = f"it hangs with {seen.available / GIB:.1f} of {seen.total / GIB:.0f} GiB available"
        return Verdict("fault", "memory", evidence, "stop it, and lower --gpu-memory-utilization")
    return None


def _under_way(seen: Seen, startup: Startup, before: Verdict | None) -> Verdict:
    phase = startup.current
    if phase is None:
        return Verdict("unknown", "begins", f"the unit is {seen.active}, and has not said anything yet", _FOLLOW)
    after = f"; {before.evidence}" if before and seen.restarts else ""
    return Verdict("unknown", "starting", f"it is {DOING[phase.name]}{after}", _FOLLOW)


def _short(line: str) -> str:
    """The words of a log line, without what stands before them."""
    bare = re.sub(r"^(?:\([^)]*\) ?)*(?:(?:INFO|WARNING|ERROR) [\d-]+ [\d:]+ \[[^]]*\] ?)?", "", line)
    bare = re.sub(r"^sparkrig: trouble \S+ \S+ ", "", bare)
    return shorten(bare, 160, placeholder=" ...")
