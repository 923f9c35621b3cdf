"""What of a cure is typed: a cure is one text, of commands, of words, or of both."""

from __future__ import annotations

import re

# On the machine that runs sparkrig; all others are for the host.
_HERE = frozenset({"pyinfra", "sparkrig", "ssh", "ssh-add", "ssh-copy-id", "ssh-keygen"})
_THERE = re.compile(
    r"(?:apt|apt-get|apt-mark|cat|chattr|curl|df|dmesg|docker|dpkg|head|ibdev2netdev|ip|journalctl|ls|lsattr|lspci|"
    r"mokutil|nmcli|nvidia-smi|ping|ps|rdma|sudo|systemctl|timedatectl|touch|umount)(?: |$)"
)
_STEP = re.compile(r"; (?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)")  # outside of quotes
_CLAUSE = re.compile(r"(?:,? (?:on both\b|under the same)|, (?:and|or|then|on|with)\b|\. | \((?:docs|sudo)).*")
_PLACE = re.compile(r"on ([^\s,:]+): ")
_BRIEF = 80  # columns of a screen


def typed_here(cure: str) -> bool:
    """Whether it is a command for the machine that runs sparkrig, and not words, or something for the host."""
    return cure.partition(" ")[0] in _HERE


def command(cure: str) -> str:
    """What of a cure can be pasted into a shell as it stands: the commands that it begins with, empty for none."""
    steps: list[str] = []
    for step in _STEP.split(cure):
        if not typed_here(step) and not _THERE.match(step):
            break
        steps.append(_outside_quotes(step))
        if steps[-1] != step:
            break
    return "; ".join(steps)


def step(cure: str) -> str:
    """The first thing to do, in so few words that it stands on one line; empty where it takes more."""
    first = _outside_quotes(_STEP.split(cure)[0])
    return first if len(first) <= _BRIEF else ""


def place(cure: str) -> tuple[str, str]:
    """The host that `on HOST: cure` is for, empty where it names none, and the cure without these words."""
    found = _PLACE.match(cure)
    return (found[1], cure[found.end() :]) if found else ("", cure)


def _outside_quotes(step: str) -> str:
    """A step up to where its next clause begins; what is quoted has no clauses."""
    parts = re.split(r"('[^']*'|\"[^\"]*\")", step)
    for number, part in enumerate(parts[::2]):
        kept = _CLAUSE.sub("", part)
        if kept != part:
            return "".join([*parts[: 2 * number], kept])
    return step
