"""lldpctl: what is at the other end of each cable, by its own name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig.explain.cages import Netdev
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.text import plain
from sparkrig.verdict import Finding, Verdict

_FIELD = re.compile(r"[ \t]*(?P<key>Interface|SysName|PortID|PortDescr):[ \t]+(?P<value>\S[^\n]*)$")
_MAC = re.compile(r"(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")


def explained(piece: Piece, _: Around) -> Explained:
    neighbours = _neighbours(piece.lines)
    fabric = {name: there for name, there in neighbours.items() if Netdev(name).cage}
    if not neighbours:
        why = "lldpctl shows no neighbour"
        cure = "sudo apt-get install lldpd on the other Spark, too, or look at ibdev2netdev on both"
        return Explained(
            piece.tool, "no neighbour", (Finding("the host", Verdict("unknown", "no-neighbour", why, cure)),)
        )
    read = ", ".join(f"{name} to {there}" for name, there in (fabric or neighbours).items())
    findings = [
        Finding(f"cage {Netdev(name).cage}", Verdict("healthy", evidence=f"{name} leads to {there}"))
        for name, there in fabric.items()
    ]
    return Explained(piece.tool, read, tuple(findings))


def _neighbours(lines: Iterable[str]) -> dict[str, str]:
    """Port and name of what each netdev hears; MAC addresses are left out."""
    rows: list[dict[str, str]] = []
    for line in lines:
        field = _FIELD.match(line)
        if field and field["key"] == "Interface":
            rows.append({"name": field["value"].partition(",")[0].strip()})
        elif field and rows and not _MAC.search(field["value"]):
            rows[-1].setdefault(field["key"], plain(field["value"].removeprefix("ifname ").strip())[:60])
    return {row["name"]: _there(row) for row in rows}


def _there(row: dict[str, str]) -> str:
    port = row.get("PortDescr") or row.get("PortID", "")
    return (
        f"{port} of {row['SysName']}" if port and "SysName" in row else row.get("SysName") or port or "a neighbour"
    )
