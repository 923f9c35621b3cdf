"""A figure that a person pastes by itself, with or without a unit."""

from __future__ import annotations

import re

from sparkrig.bandwidth import bands
from sparkrig.bandwidth.perftest import Bandwidth
from sparkrig.explain.explanation import CAGE_GBPS, LEAST_MESSAGE, Around, Explained
from sparkrig.explain.perftest import AS_WHOLE, judged
from sparkrig.verdict import Finding, Verdict

_LONE = re.compile(
    r"(?:[A-Za-z][A-Za-z_ ]{0,30}[:=]?)?[~\s]*+(?P<digits>\d[\d.,]*)\s*(?P<unit>[A-Za-z]+(?:/s(?:ec)?)?)?\.?"
)
# Gb/s in one of each unit that can be meant; MB/sec and MiB/sec are perftest's, and of 2^20 bytes.
_UNITS = {
    **dict.fromkeys(("Gb/s", "Gb/sec", "Gbps", "Gbit/s", "Gbits/sec", "Gbits/s", "gbps"), 1.0),
    **dict.fromkeys(("MB/sec", "MiB/sec", "MiB/s"), 2**20 * 8 / 1e9),
}
_UNSURE = {"MB/s": 8e-3, "MBps": 8e-3, "GB/s": 8.0, "GB/sec": 8.0, "GBps": 8.0, "": 1.0}


def explained(text: str) -> list[Explained]:
    """`13.35`, with or without a unit, and nothing else."""
    found = _LONE.fullmatch(text.strip())
    number = _number(found["digits"]) if found else None
    unit = (found["unit"] or "") if found else ""
    if number is None or unit not in {*_UNITS, *_UNSURE}:
        return []
    said = f"{number:g} {unit}".strip()
    if unit in _UNSURE:
        verdict = _ambiguous(number, unit)
    else:
        verdict = judged(Bandwidth(number * _UNITS[unit], "Gb/sec", LEAST_MESSAGE, 1), "the rail", Around())
        said += "" if _UNITS[unit] == 1.0 else f" = {number * _UNITS[unit]:.2f} Gb/s"
    return [Explained("a figure", said, (Finding("the rail", verdict),))]


def _number(digits: str) -> float | None:
    """13,334.70 and 13334.70 alike; None where a comma may be either."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+\.\d+|\d+(?:\.\d+)?", digits):
        return float(digits.replace(",", ""))
    return float(digits.replace(",", ".")) if re.fullmatch(r"\d+,\d\d?", digits) else None


def _ambiguous(number: float, unit: str) -> Verdict:
    """What a figure means in each unit that it may be in."""
    if unit:
        gbps = number * _UNSURE[unit]
        why = f"{number:g} {unit} is {gbps:.2f} Gb/s, but perftest never prints {unit}, so its origin is not clear"
        return Verdict("unknown", "unit-ambiguous", why, AS_WHOLE)
    units = {"Gb/s": 1.0, "MiB/s": _UNITS["MiB/s"], "GB/s": 8.0}
    possible = {name: number * factor for name, factor in units.items() if number * factor <= CAGE_GBPS}
    meant = [
        f"as {name}{'' if name == 'Gb/s' else f' ({gbps:.2f} Gb/s)'} it is {_meaning(gbps)}"
        for name, gbps in possible.items()
    ]
    why = f"{number:g} has no unit: {'; '.join(meant) or f'no unit makes a figure of up to {CAGE_GBPS:g} Gb/s'}"
    return Verdict("unknown", "unit-ambiguous", why, AS_WHOLE)


def _meaning(gbps: float) -> str:
    band = bands.band(gbps)
    return f"{'a ' if band.level == 'fault' else ''}{band.level}{f' ({band.cause})' if band.cause else ''}"
