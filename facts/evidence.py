"""What an owner sends of a host: the tools that `sparkrig explain` reads, journals, and what identifies the host.

Each is one exec of many small programs. What they print comes in base64, for a journal may hold any byte, and each
has an end in time and in size.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from sparkrig import programs
from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.support import archive

TOOL_S = 20  # of each program
PART_S = 60  # of each part
WHOLE_S = 240  # of all parts of one exec
JOURNAL = "journals"  # what the names of those parts begin with

TOOLS: Mapping[str, str] = {
    name: programs.text(f"evidence/{name}.sh")
    for name in ("system", "nvidia-smi", "lspci", "rdma", "ethtool", "ip", "nmcli", "packages", "docker")
}
JOURNALS: Mapping[str, str] = {
    f"{JOURNAL}/{name}": programs.text(f"evidence/journal-{name}.sh")
    for name in ("kernel", "kernel-before", "networkmanager", "docker", "sparkrig")
}
IDENTIFIERS = programs.text("evidence/identifiers.sh")


def _command(parts: Mapping[str, str]) -> str:
    """One script that runs each part, and prints it as `part NAME BASE64 EXIT`."""
    most = archive.PART_BYTES + 1
    calls = (f"part {name} {shlex.quote(text)} {PART_S} {most}\n" for name, text in parts.items())
    return f"{PREAMBLE}\n{programs.text('evidence/part.sh')}{''.join(calls)}"


class Evidence(Noun[dict[str, archive.Part]]):
    """The parts of TOOLS and JOURNALS, by name; those that were not reached in time are not there."""

    @staticmethod
    def parse(lines: Iterable[str]) -> dict[str, archive.Part]:
        """Without what a host adds to it, whose name would be that of a file."""
        return {name: part for name, part in archive.parts(lines).items() if name in (*TOOLS, *JOURNALS)}

    default = dict
    script = _command({**TOOLS, **JOURNALS})
    limit = (archive.PART_BYTES * 4 // 3 + 200) * (len(TOOLS) + len(JOURNALS))  # in base64


class Identifiers(Noun[archive.Identifiers]):
    """What must not be in an archive, as the host has it: it stays in the memory of this machine."""

    parse = staticmethod(archive.identifiers)
    script = _command({"identifiers": IDENTIFIERS})
