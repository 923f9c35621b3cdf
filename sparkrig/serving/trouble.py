"""Why a served model does not come up: what its nodes logged, and what only a look at all of them shows.

The words to look for, what they mean, and where they were read, are those of `serving` in models/errors.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import shorten

from sparkrig.bandwidth import nccl
from sparkrig.bandwidth.nccl_preflight import GIB, KEPT_SHARE
from sparkrig.cure import Cure, cure_of, deploy, on_host, verb
from sparkrig.host.images import one
from sparkrig.serving.served import STANDING, UNNAMED, Service
from sparkrig.serving.startup import DOING, Line, Name, Seen, Startup, attempts
from sparkrig.signatures import first_line, of, table
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
_NO_DEVICE = "give the container /dev/infiniband, and run deploys/cluster.py"


def judge(hosts: Mapping[str, tuple[Seen, Startup]], service: Service = UNNAMED) -> dict[str, Verdict]:
    """The verdict on each node of one model, with what all of them show together. service: what serves it."""
    return {name: _called(verdict, service) for name, verdict in _judged(hosts).items()}


def _called(verdict: Verdict, service: Service) -> Verdict:
    """The same by the unit of that service."""
    return replace(verdict, evidence=service.of(verdict.evidence), cure=cure_as(verdict.cure, service))


def cure_as(text: str, service: Service) -> Cure:
    """A cure that names the unit, as that service has it."""
    cure = cure_of(text)
    if not service.name:
        return cure
    return Cure(service.of(cure.line), service.of(cure.after), here=cure.here, at=cure.at, run=cure.run)


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
    """The hosts without a part of their own in what one of them serves."""
    said = f"it has no part in what {server} serves"
    if hosts[server][1].form == STANDING:
        said = f"its part in what {server} serves is a worker of sparkrig-ray"
    idle = Verdict("healthy", "", said)
    return {name: idle for name, (_, startup) in hosts.items() if startup.state == "absent"}


def _alone(startup: Startup) -> bool:
    """Whether start.sh was started to serve without one elsewhere; without its first line there is no form."""
    return bool(startup.form) and (startup.role == "alone" or startup.form == STANDING)


def _drift(hosts: Mapping[str, tuple[Seen, Startup]]) -> Verdict | None:
    images = {name: seen.image for name, (seen, _) in hosts.items() if seen.image}
    if one(images.values()):
        return None
    said = ", ".join(f"{name} runs {image.short}" for name, image in images.items())
    served = any(startup.state == "serving" and startup.role == "head" for _, startup in hosts.values())
    level: Level = "degraded" if served else "fault"
    sign = of("serving", "image-drift")
    return Verdict(level, sign.cause, f"the nodes run different images: {said}", sign.cure)


def _lost(hosts: Mapping[str, tuple[Seen, Startup]]) -> Verdict | None:
    """A node that the head waits for in vain, because nothing runs there."""
    for name, (seen, startup) in hosts.items():
        if startup.state in ("absent", "stopped", "failed"):
            evidence = f"it waits for {name}, whose unit is {seen.active}"
            return Verdict("fault", "peer", evidence, on_host("systemctl status sparkrig-serve", at=name))
    return None


def _node(seen: Seen, startup: Startup) -> Verdict:
    if startup.state == "absent":
        return Verdict("unknown", "absent", "there is no unit sparkrig-serve", _serve())
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
    """What the watch did last to a server that is up again, or down since; or the brake of a boot loop."""
    if not seen.events or (level == "fault" and seen.events[-1].done == "restarted"):
        return None
    event = seen.events[-1]
    who = "brake" if event.done == "held" else "watch"
    evidence = f"the {who} {event.done} it at {event.at}: {event.seen}"
    return Verdict(level, event.cause, evidence, of("serving", event.cause).cure)


def _summary(startup: Startup) -> str:
    return "it has joined the head" if startup.role == "worker" else "it answers"


def _recent(seen: Seen, startup: Startup, lines: Sequence[Line]) -> list[Line]:
    """The lines logged since the last phase ended; the node has got over what it logged before."""
    phase = startup.current
    begun = seen.now - phase.seconds - 0.001 if phase and phase.seconds is not None else 0.0
    return [line for line in lines if line.at >= begun]


def _told(startup: Startup, lines: Sequence[Line], before: str = "", *, warnings: bool = True) -> Verdict | None:
    """The sign that explains most, of those in the log. warnings: whether those count, too."""
    apply = (
        sign
        for sign in table("serving")
        if not (sign.several and _alone(startup)) and (warnings or not sign.warns)
    )
    found = first_line(apply, (line.text for line in lines))
    if found is None:
        return None
    sign, line = found
    return Verdict(sign.level, sign.cause, f"{before}{sign.meaning}: {short(line)}", sign.cure)


def _foreboding(startup: Startup, lines: Sequence[Line]) -> Verdict | None:
    told = _told(startup, [line for line in lines if "sparkrig: trouble interface" in line.text])
    return told and Verdict("degraded", told.cause, f"it came up, but {told.evidence}", told.cure)


def _transport(lines: Sequence[Line]) -> Verdict | None:
    """The verdict where NCCL logs that it carries data between the nodes over sockets, else None."""
    log = nccl.parse("\n".join(line.text for line in lines), None)
    if "Socket" not in log.transport:
        return None
    evidence = f"NCCL carries data over sockets, and not by RDMA{f': {log.why_socket}' if log.why_socket else ''}"
    return Verdict("degraded", "socket", evidence, nccl.socket_cure(log.why_socket, _NO_DEVICE))


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
        return Verdict(
            "unknown", "begins", f"the unit is {seen.active}, and has not said anything yet", verb("startup")
        )
    after = f"; {before.evidence}" if before and seen.restarts else ""
    return Verdict("unknown", "starting", f"it is {DOING[phase.name]}{after}", verb("startup"))


def short(line: str) -> str:
    """The words of a log line, without what stands before them."""
    bare = re.sub(r"^(?:\([^)]*\) ?)*(?:(?:INFO|WARNING|ERROR) [\d-]+ [\d:]+ \[[^]]*\] ?)?", "", line)
    bare = re.sub(r"^sparkrig: trouble \S+ \S+ ", "", bare)
    return shorten(bare, 160, placeholder=" ...")


def _serve() -> Cure:
    return deploy("serve", data={"model": "NAME"}).then(" (names: sparkrig models)")
