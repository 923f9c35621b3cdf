"""Text that a person pastes, made plain and rid of what is private: of terminals, logs and forums."""

from __future__ import annotations

import html
import re

_TERMINAL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b[=>78cDEHM]"
    r"|[^\n]\x08|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200d\u2060\ufeff]"
)
# What others put before each line: a quote mark, journald, mpirun --tag-output, docker and Kubernetes, compose.
_IN_FRONT = re.compile(
    r"^(?:[ \t]*>(?=[ \t>]|$)[ \t]?)+|"
    r"^(?:\w{3} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.]{8,18}[+-]\d\d:?\d\d) \S+ [^\s\[]+\[\d+\]: |"
    r"^\[\d+,\d+\]<std(?:out|err)>: ?|^\d{4}-\d\d-\d\dT[\d:.]{8,18}Z (?!\S+ kernel: )|"
    r"^[a-z][\w.-]{1,60}(?:-\d+ +| {2,})\| ",
    re.M,
)
# Lines of a forum and of a shell's jobs.
_IN_BETWEEN = re.compile(
    r"^[ \t]*(?:(?:```|~~~)\w*|\[\d+\](?:[+-]?[ \t]+(?:Done|Running)\b.*|[ \t]+\d+))[ \t]*$", re.M
)
_MARKS = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u00a0": " "})

_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I)
_MAC = re.compile(r"(?<![0-9a-f:-])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?![0-9a-f:-])", re.I)
_LABELLED = re.compile(
    r"((?:serial number|(?:serial(?:_number| no)?|\bvendor sn|\bsn|uuid|guid|\bpdi|board id)\]?\"?[ \t]*[:=])"
    r"[ \t:=]*)[^\s,)}:=][^\n,)}]*",
    re.I,
)


def without_control(text: str) -> str:
    """The text with lines that end in LF, and without what steers a terminal or cannot be seen."""
    return _TERMINAL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def plain(text: str) -> str:
    """The text with lines that end in LF, and without colours, quote marks, serials, MAC addresses and UUIDs."""
    bare = html.unescape(without_control(text)).translate(_MARKS)
    bare = _IN_BETWEEN.sub("", _IN_FRONT.sub("", bare))
    return _LABELLED.sub(r"\1(not shown)", _MAC.sub("(not shown)", _UUID.sub("(not shown)", bare)))
