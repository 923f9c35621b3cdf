"""nvidia-smi in its four forms: the table, -q, -L, and --query-gpu as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.host import gpu, nvidia_smi
from sparkrig.host.nvidia_smi_text import parse_list, parse_query, parse_table
from sparkrig.verdict import Finding, Verdict

_TABLE, _QUERY, _LIST, _CSV = "nvidia-smi", "nvidia-smi -q", "nvidia-smi -L", "nvidia-smi --query-gpu"
_DMON = "nvidia-smi dmon"
_LISTED = re.compile(r"\s*(?:GPU \d+:|MIG )")


def explained(piece: Piece, around: Around) -> Explained:
    found = _gpus(piece)
    if _in_prose(piece, around):
        read = "; ".join(filter(None, map(_gpu_shown, found)))
        return Explained(piece.tool, read, (Finding(read or "the GPU", _NOT_READ),))
    samples = len(found) > 1 and piece.tool in (_CSV, _DMON) and not any(one.foreign for one in found)
    count = 1 if samples else len(found)
    findings = [each for index, one in enumerate(found) for each in _on_gpu(one, _gpu_name(one, index, count))]
    if samples:  # a Spark has one GPU, and what it did again is said once
        findings = [*{each.verdict.cause: each for each in reversed(findings)}.values()][::-1]
    memory = piece.tool in (_TABLE, _QUERY) or "memory." in piece.text + piece.command
    notes = dict.fromkeys(note for one in found for note in _gpu_notes(one, memory=memory))
    read = "; ".join(filter(None, map(_gpu_shown, found[:1] if samples else found)))
    more = f"; {len(found)} samples" if samples else ""
    return Explained(piece.tool, f"{read}{more}", tuple(findings), tuple(notes))


# owners begin the report of a host that hangs with this line [@open-gpu-1358]
_NOT_READ = Verdict(
    "unknown",
    "list-in-prose",
    "a list of GPUs does not tell their condition, and the lines around it are of no tool that is known",
    "paste what nvidia-smi prints now",
)


def _in_prose(piece: Piece, around: Around) -> bool:
    """Whether a list stands in a text of other lines, which may tell anything of the GPU."""
    behind = any(line.strip() and not _LISTED.match(line) for line in piece.lines)
    return piece.tool == _LIST and (behind or (around.prose and not piece.command))


def _gpus(piece: Piece) -> tuple[nvidia_smi.Gpu, ...]:
    if piece.tool == _CSV:
        rows = takewhile(str.strip, piece.lines)  # prose behind them has commas too
        asked = re.search(r"--query-gpu[= ]([\w.,]+)", piece.command)
        return nvidia_smi.parse_csv("\n".join(rows), asked.group(1).split(",") if asked else None)
    if piece.tool == _DMON:
        return tuple(_samples(piece.lines))
    parse = {_QUERY: parse_query, _LIST: parse_list}.get(piece.tool, parse_table)
    return parse(piece.text)


_COLUMNS = {"pwr": "power.draw", "gtemp": "temperature.gpu", "sm": "utilization.gpu", "pclk": "clocks.sm"}


def _samples(lines: Iterable[str]) -> Iterator[nvidia_smi.Gpu]:
    """The rows of dmon, by its own heads of columns; a dash is what it does not tell."""
    heads: list[str] = []
    for line in lines:
        words = line.lstrip("# \t").split()
        if words[:1] == ["gpu"]:
            heads = words
        elif heads and len(words) == len(heads) and words[0].isdigit():
            row = dict(zip(heads, words, strict=True))
            yield nvidia_smi.from_fields(
                {_COLUMNS[head]: row[head].strip("-") for head in _COLUMNS if head in row}
            )


def _gpu_name(one: nvidia_smi.Gpu, index: int, count: int) -> str:
    return (one.name or "the GPU") if count == 1 else f"GPU {index}"


def _gpu_shown(one: nvidia_smi.Gpu) -> str:
    if one.trouble:
        return ""
    parts = [
        one.name or "a GPU",
        one.driver and f"driver {one.driver}",
        None if one.utilization is None else f"{one.utilization:g} % busy",
        one.pstate,
        None if one.sm_mhz is None else f"SM {one.sm_mhz:g} MHz",
        None if one.power_w is None else f"{one.power_w:g} W",
        None if one.temperature_c is None else f"{one.temperature_c:g} C",
    ]
    return ", ".join(part for part in parts if part)


def _on_gpu(one: nvidia_smi.Gpu, name: str) -> list[Finding]:
    if one.trouble:
        return [Finding(name, gpu.answers(one))]
    judged = []
    if not one.foreign:
        clamp = gpu.power_clamp(one)
        judged += [] if clamp.cause == "inconclusive" else [clamp]
        judged += [gpu.temperature(one)] if one.temperature_c is not None else []
        judged += [gpu.branch(one.driver)] if one.driver and not gpu.branch(one.driver).healthy else []
    if one.gsp is not None and one.driver is not None:
        judged.append(gpu.gsp(one))
    return [Finding(name, verdict) for verdict in judged or [gpu.answers(one)]]


def _gpu_notes(one: nvidia_smi.Gpu, *, memory: bool) -> Iterable[str]:
    if one.trouble:
        return
    if one.foreign:
        yield f"the clocks and the temperature of a GB10 are no measure for {one.name}"
        return
    if one.utilization is not None and one.utilization < gpu.LOADED_PERCENT:
        yield (
            f"the GPU is {one.utilization:g} % busy, and a power clamp shows only at {gpu.LOADED_PERCENT} % and "
            "more: look again while a model answers requests"
        )
    if memory and one.memory_total_mib is None:
        yield "memory is not told, as on every GB10, whose memory is the host's: free -h tells"
