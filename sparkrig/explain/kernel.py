"""The kernel's log: dmesg, with -T and -H too, and journalctl -k."""

from __future__ import annotations

import re
from textwrap import shorten

from sparkrig.explain.explanation import Around, Explained, Piece, Reader, sign
from sparkrig.signatures import Signature, table
from sparkrig.verdict import Finding, Verdict

_TABLES = ("kernel", "any program", "state", "anything")  # the journal has the words of programs, too
_MOST = 8  # causes; what one of them starts can log dozens
_WEIGHT = {"fault": 0, "degraded": 1, "unknown": 2}


def explained(piece: Piece, _: Around) -> Explained:
    seen: dict[Signature, list[str]] = {}
    lines = [line for line in piece.lines if line.strip()]
    for line in lines:
        for row in (row for name in _TABLES for row in table(name)):
            if words := row.search(line):
                seen.setdefault(row, []).append(words.group())
                break
    read = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    told = sorted((row for row in seen if row.level != "healthy"), key=lambda row: _WEIGHT[row.level])
    findings = [Finding(row.about or "the kernel", verdict(row, seen[row])) for row in told[:_MOST]]
    if not findings:
        findings = [Finding("the kernel", Verdict("healthy", evidence=f"no sign of trouble in {read}"))]
    notes = [harmless(row) for row in seen if row.level == "healthy"]
    more = [f"{len(told) - _MOST} more kinds of trouble are in it"] if len(told) > _MOST else []
    return Explained(piece.tool, read, tuple(findings), (*notes, *more))


def verdict(row: Signature, words: list[str]) -> Verdict:
    """What a row of models/errors.yaml says of the lines that have its words."""
    times = f" ({len(words)} times)" if len(words) > 1 else ""
    return Verdict(
        row.level, row.cause, f"{row.meaning}{times}: {shorten(words[0], 160, placeholder=' ...')}", row.cure
    )


def harmless(row: Signature) -> str:
    """What a line means that is no sign of trouble."""
    return row.meaning if row.cure == "nothing" else f"{row.meaning}: {row.cure}"


_DAY = r"[A-Z][a-z]{2} [ \d]\d"
_STAMP = (
    rf"\[ *\d{{1,8}}\.\d{{6}}\] |\[(?:{_DAY} \d\d:\d\d|[A-Z][a-z]{{2}}\d\d \d\d:\d\d| *\+\d+\.\d{{6}})\] |"
    rf"\[[A-Z][a-z]{{2}} {_DAY} [\d:]{{8}}(?: \d{{4}})?\] |"
    rf"(?:\w{{3,4}} [ \d]\d [\d:]{{8}}|\d{{4}}-\d\d-\d\dT[\d:.+Z-]{{8,30}}) (?:\S+ )?kernel: "
)
_SUBJECT = (
    r"NVRM: |(?:mlx5_core|pcieport|pci|nvidia) [0-9a-f]{4}:[0-9a-f]{2}:|arm-smmu-v3 |cx7-pcie-hotplug |"
    r"nvme nvme\d|nvidia-modeset: |(?:Memory cgroup out|Out) of memory: Killed|oom-kill:"
)
READERS = (
    Reader(
        "kernel log",
        explained,
        "dmesg, also with -T or -H; journalctl -k",
        "dmesg|journalctl",
        re.compile(r"\bdmesg\b|\bjournalctl\b(?=.{0,200}\s(?:-\w{0,8}k|--dmesg))"),
        (sign("line", rf"[ \t]*(?:{_STAMP}|(?:[\d:]{{8}} )?(?:{_SUBJECT}))"),),
        judges=_TABLES,
        flows=True,
    ),
)
