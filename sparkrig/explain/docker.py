"""docker ps: whether containers run. Source: docker's own formatter (cli/command/formatter/container.go)."""

from __future__ import annotations

import re

from sparkrig.cure import as_root, on_host, quoted
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

_STATUS = re.compile(
    r"\b(?P<state>Up|Exited|Restarting|Created|Dead|Paused)\b(?: \((?P<code>\d{1,3})\))?"
    r"(?P<rest>[^()|]{0,40}(?:\((?:healthy|unhealthy|health: starting|Paused)\))?)"
)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,80}$")
_ENDED_BY_REQUEST = (0, 130, 143)  # 128 and the signal: interrupted, or ended
_KILLED = 137


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
