"""How the lines of a text end: most of its readers do not show it, and some take it for a part of a value.

The shell takes the CR of a CRLF line for its last character, and so does NCCL in most of its versions (setEnvFile
in its src/misc/param.cc); JSON, YAML, docker's environment files and Python's source do not. So a file of ours has
LF alone, and one that has CRLF is another file, although it looks the same.
"""

from __future__ import annotations

_LF, _CRLF = "\n", "\r\n"


def unix(text: str) -> str:
    """The text with LF for CRLF."""
    return text.replace(_CRLF, _LF)


def lines(text: str) -> list[str]:
    """Its lines, whichever of the two ends them; no other character ends one, as it does for str.splitlines."""
    return unix(text).removesuffix(_LF).split(_LF) if text else []


def like(found: str, wanted: str) -> str:
    """The text with the line ends of another, so that only lines that differ are left."""
    text = unix(found)
    return text + _LF if text and wanted.endswith(_LF) and not text.endswith(_LF) else text


def differ(found: str, wanted: str) -> tuple[str, ...]:
    """How the line ends differ from those that are wanted; empty where they do not."""
    crlf, whole = found.count(_CRLF), found.count(_LF)
    said = []
    if crlf and _CRLF not in wanted:
        said.append("line ends are CRLF, not LF" if crlf == whole else f"{crlf} line ends are CRLF, not LF")
    if wanted.count(_CRLF) and found and not crlf:
        said.append("line ends are LF, not CRLF")
    if found and wanted and found.endswith(_LF) != wanted.endswith(_LF):
        said.append("the last line has " + ("no end" if wanted.endswith(_LF) else "an end"))
    return tuple(said)
