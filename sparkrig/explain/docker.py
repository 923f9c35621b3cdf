"""docker ps, docker info, daemon.json: whether containers run, and with the GPU.

Sources: docker's own formatter (cli/command/formatter/container.go, cli/command/system/info.go), dockerd(8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sparkrig.cure import as_root, on_host, quoted
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.parsing import bounds
from sparkrig.signatures import of
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

_STATUS = re.compile(
    r"\b(?P<state>Up|Exited|Restarting|Created|Dead|Paused)\b(?: \((?P<code>\d{1,3})\))?"
    r"(?P<rest>[^()|]{0,40}(?:\((?:healthy|unhealthy|health: starting|Paused)\))?)"
)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,80}$")
_ENDED_BY_REQUEST = (0, 130, 143)  # 128 and the signal: interrupted, or ended
_KILLED = 137
_INFO = re.compile(r"[ \t]*(?P<key>[A-Z][A-Za-z ]{2,30}):[ \t]*(?P<value>[^\n]*)$")


# --- docker ps


def ps(piece: Piece, _: Around) -> Explained:
    header = next((number for number, line in enumerate(piece.lines) if "STATUS" in line), -1)
    if header < 0:
        raise ValueError("docker ps printed no table with STATUS")
    first = piece.lines[header].split()[0] in ("NAME", "NAMES")
    rows = [row for line in piece.lines[header + 1 :] if (row := _container(line, named_first=first))]
    if not rows:
        nothing = Verdict("unknown", "no-container", "no container runs", "docker ps -a shows those that ended")
        return Explained(piece.tool, "no container", (Finding("docker", nothing),))
    findings = [Finding(name, verdict) for name, status in rows if (verdict := _status(name, status))]
    running = [name for name, status in rows if status["state"] == "Up"]
    if running and not findings:
        findings = [Finding("docker", Verdict("healthy", evidence=f"{listed(running)} up"))]
    read = ", ".join(f"{name} {status[0].partition('  ')[0].strip()}" for name, status in rows)
    return Explained(piece.tool, read, tuple(findings))


def _container(line: str, *, named_first: bool) -> tuple[str, re.Match[str]] | None:
    """The name of a row's container and its status; None for a line that is no row."""
    status = _STATUS.search(line)
    words = line.split()
    if status is None or len(words) < 3:
        return None
    name = words[0] if named_first else words[-1]
    return (name if _NAME.match(name) else "a container"), status


def _status(name: str, status: re.Match[str]) -> Verdict | None:
    """What is wrong with a container; None for one that is up, or ended as it was asked to."""
    code, state, rest = int(status["code"] or 0), status["state"], status["rest"]
    logs = on_host(f"docker logs --tail 50 {quoted(name)}")
    if state == "Restarting":
        return Verdict("fault", "restarting", f"{name} ends and is started again and again (exit {code})", logs)
    if state == "Dead":
        restart = as_root("systemctl restart docker")
        return Verdict("fault", "dead", f"{name} is dead: docker could not remove it", restart)
    if "unhealthy" in rest:
        return Verdict("degraded", "unhealthy", f"{name} is up, and its health check fails", logs)
    if "health: starting" in rest:
        return Verdict("unknown", "starting", f"{name} is up, and its health check has not passed yet", logs)
    if state != "Exited" or code in _ENDED_BY_REQUEST:
        return None
    if code == _KILLED:
        why = f"{name} was killed (exit {_KILLED}): by the kernel for want of memory, or by docker after a stop"
        return Verdict("degraded", "killed", why, on_host("journalctl -k | grep -iE 'oom|killed process'"))
    return Verdict("degraded", "exited", f"{name} ended with exit {code}", logs)


# --- docker info


def info(piece: Piece, _: Around) -> Explained:
    rows = {row["key"].strip(): row["value"].strip() for line in piece.lines if (row := _INFO.match(line))}
    if "Server Version" not in rows and "Runtimes" not in rows:
        raise ValueError("docker info tells nothing of its server")
    keys = ("Server Version", "Storage Driver", "Logging Driver", "Cgroup Driver", "Cgroup Version", "Runtimes")
    read = ", ".join(f"{key} {rows[key]}" for key in (*keys, "Docker Root Dir") if rows.get(key))
    findings = []
    if "Runtimes" in rows:
        known = "nvidia" in rows["Runtimes"].split() or "cdi: nvidia.com/gpu" in piece.text
        findings = [Finding("docker", _runtime("docker", known=known))]
    notes = _log_note(rows.get("Logging Driver", ""), limited=False)
    return Explained(piece.tool, read, tuple(findings), tuple(notes))


def _runtime(what: str, *, known: bool) -> Verdict:
    if known:
        return Verdict("healthy", evidence=f"{what} knows the nvidia runtime")
    why = f"{what} does not know the nvidia runtime, which --runtime=nvidia and compose files ask for"
    return Verdict("degraded", "no-nvidia-runtime", why, of("nccl", "no-nvidia-runtime").cure)


def _log_note(driver: str, *, limited: bool) -> Iterator[str]:
    if driver == "json-file" and not limited:
        yield "json-file keeps a log without a bound, unless log-opts give max-size: a server's fills the disk"


# --- daemon.json


def daemon(piece: Piece, _: Around) -> Explained:
    start = piece.text.find("{")
    settings = bounds.first(piece.text, start)[0] if start >= 0 else None
    if not isinstance(settings, dict):
        raise ValueError("daemon.json holds no object of JSON")  # noqa: TRY004 - what a reader raises
    known = "nvidia" in _object(settings.get("runtimes"))
    read = ", ".join(f"{key} {_shown(settings[key])}" for key in sorted(settings))
    return Explained(
        piece.tool,
        read or "no setting",
        (Finding("daemon.json", _runtime("it", known=known)),),
        tuple(_daemon_notes(settings)),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(value: Any) -> str:
    return listed(map(str, value)) if isinstance(value, list | dict) else str(value)


def _daemon_notes(settings: Mapping[str, Any]) -> Iterator[str]:
    limited = "max-size" in _object(settings.get("log-opts"))
    yield from _log_note(str(settings.get("log-driver", "")), limited=limited)
    if "data-root" in settings:
        yield f"images and containers lie below {settings['data-root']}: its disk is the one that fills up"
    if "native.cgroupdriver=cgroupfs" in str(settings.get("exec-opts", "")):
        yield "with cgroupfs and systemd side by side, a systemctl daemon-reload may take the GPU from containers"
