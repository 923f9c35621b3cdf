"""What of a cure is typed: a cure is one text, of commands, of words, or of both.

Whatever in a command is not a literal of ours (a name, a version or a path that a host told, a file that the
operator named) comes in through `quoted`, `quoted_path` or `over_ssh`, so that a shell takes it for one word and
runs nothing of it. A static test (tests/unit/test_cure.py) finds what does not.
"""

from __future__ import annotations

import re
import shlex
from os import PathLike, fspath
from typing import Literal

from sparkrig.text import plain

# On the machine that runs sparkrig; all others are for the host.
_HERE = frozenset({"pyinfra", "sparkrig", "ssh", "ssh-add", "ssh-copy-id", "ssh-keygen"})
_THERE = re.compile(
    r"(?:apt|apt-get|apt-mark|cat|chattr|curl|df|dmesg|docker|dpkg|head|ibdev2netdev|ip|journalctl|ls|lsattr|lspci|"
    r"mokutil|nmcli|nvidia-smi|ping|ps|rdma|sudo|systemctl|timedatectl|touch|umount)(?: |$)"
)
_STEP = re.compile(r"; (?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)")  # outside of quotes
# what needs no quotes: shlex's own, and the `~` of a version (580.1-0ubuntu1~24.04.1), where it is no home folder
_BARE = re.compile(r"(?:[\w@%+=:,./-]|(?<=[\w.+-])~)+", re.ASCII)
# as `quoted` quotes: at the beginning of a word or of its value, unlike the apostrophe of a sentence
_QUOTED = re.compile(r"""((?:(?<=[\s=(])|^)'[^']*'(?:"'"'[^']*')*)""")
_INVENTORY = re.compile(r"\bINVENTORY\b")
_CLAUSE = re.compile(r"(?:,? (?:on both\b|under the same)|, (?:and|or|then|on|with)\b|\. | \((?:docs|sudo)).*")
_PLACE = re.compile(r"on ([^\s,:]+): ")
_BRIEF = 80  # columns of a screen


def quoted(*words: str) -> str:
    """Words of a command, each as a shell reads it whole, whatever is in it; as it is where it needs no quotes."""
    return " ".join(each if _BARE.fullmatch(each) else shlex.quote(plain(each)) for each in words)


def quoted_path(file: str | PathLike[str]) -> str:
    """The same of a file's name; one that begins with a dash is no option."""
    name = fspath(file)
    return quoted(f"./{name}" if name.startswith("-") else name)


def deploy(inventory: str, what: Literal["cluster", "serve", "probe"] = "cluster") -> str:
    """The command that applies a deploy to an inventory: the whole one, a model's, or a short measurement."""
    return f"pyinfra {quoted_path(inventory)} deploys/{what}.py"


def over_ssh(host: str, command: str, *options: str) -> str:
    """The command that runs another one on a host. command: its words are quoted; options: of ssh.

    ssh joins its words with blanks, and a shell of the host reads them once more: what has to stay quoted until
    then is one word here.
    """
    end = ["--"] if host.startswith("-") else []
    return f"{quoted('ssh', *options, *end, host)} {handed_on(command)}"


def handed_on(command: str) -> str:
    """A command as the end of one that joins its words and has a second shell read them (ssh, pyinfra's exec)."""
    return command if all(map(_BARE.fullmatch, command.split(" "))) else shlex.quote(command)


def of_inventory(cure: str, typed: str) -> str:
    """A cure for one inventory. typed: its file, quoted; what is quoted in the cure is a host's, and stays."""
    parts = _QUOTED.split(cure)
    return "".join(
        part if number % 2 else _INVENTORY.sub(lambda _: typed, part) for number, part in enumerate(parts)
    )


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
