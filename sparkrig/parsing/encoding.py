"""Whether the bytes of a file are UTF-8 text, and what is reported of those that are not.

Every file that we write is UTF-8, and so is what others write as JSON (RFC 8259, section 8.1) or YAML (YAML 1.2,
section 5.2). Nothing is merged into a file that is not: with replacement characters for its bytes it would be
another file.
"""

from __future__ import annotations

from sparkrig.cure import on_host, quoted_path


def fault(content: bytes) -> str:
    """What is wrong, to follow `it is` or the name of a file; empty where nothing is."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"not UTF-8 text (byte 0x{content[error.start]:02x} in line {line})"
    return ""


def look(path: str) -> str:
    """The command that shows a file up to the byte that is no text, and its place."""
    return on_host(f"sudo iconv -f UTF-8 -t UTF-8 {quoted_path(path)}")
