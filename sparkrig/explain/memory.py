"""free and /proc/meminfo: what is left, what no process holds, and what the kernel keeps for a kexec handover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.host import health
from sparkrig.host.blackbox import GIB, UNHELD_PERCENT, Step
from sparkrig.host.health import Health
from sparkrig.verdict import Finding, Verdict

_MEMORY = "(?:Mem|Speicher|内存|메모리|Память)"  # as free calls it, by language
_FIELD = re.compile(r"[ \t]*(?P<name>[A-Z][\w()]{2,24}):[ \t]+(?P<kb>\d{1,15})(?:[ \t]+kB)?[ \t]*$")
_ROW = re.compile(
    rf"[ \t]*(?P<name>{_MEMORY}|Swap)\.?[:\uff1a](?P<figures>(?:[ \t]+\d[\d.,]{{0,15}}[KMGTPB]?i?B?){{2,7}})"
)
_FIGURE = re.compile(r"(\d[\d.,]*)([KMGTPB]?)")
_KB = {"B": 1 / 2**10, "K": 1, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}
_UNIT_OF = {"-b": "B", "-k": "K", "-m": "M", "-g": "G"}
_SWAPPED = GIB  # kB of swap in use that are worth a word


def meminfo(piece: Piece, _: Around) -> Explained:
    kb = {row["name"]: int(row["kb"]) for line in piece.lines if (row := _FIELD.match(line))}
    if not kb:
        raise ValueError("/proc/meminfo has no row here")
    state = Health(
        "",
        "",
        memory_total_kb=kb.get("MemTotal"),
        memory_available_kb=kb.get("MemAvailable"),
        cma_total_kb=kb.get("CmaTotal"),
        cma_free_kb=kb.get("CmaFree"),
    )
    findings = [Finding("memory", verdict) for verdict in _verdicts(state)]
    named = [name for name in ("MemTotal", "MemFree", "MemAvailable", "CmaTotal", "CmaFree") if name in kb]
    read = ", ".join(f"{name} {kb[name] / GIB:.1f} GiB" for name in named or [*kb][:3])
    return Explained(piece.tool, read, tuple(findings), (*_unheld(kb), *_swapped(_swap(kb))))


def _verdicts(state: Health) -> Iterator[Verdict]:
    kho = health.kho(state)
    if not kho.healthy:
        yield kho
    if state.memory_total_kb and state.memory_available_kb is not None:
        yield health.memory(state)


def _unheld(kb: Mapping[str, int]) -> Iterator[str]:
    """What neither processes nor caches have: the driver's, and so CUDA's."""
    named = {"total": "MemTotal", "free": "MemFree", "cached": "Cached", "anon": "AnonPages", "slab": "Slab"}
    memory = {name: float(kb[field]) for name, field in named.items() if field in kb}
    if "cached" in memory:
        memory["cached"] += kb.get("Buffers", 0)
    unheld = Step(0, "", memory).unheld
    if unheld > memory.get("total", 0) * UNHELD_PERCENT / 100:
        yield (
            f"{unheld / GIB:.1f} GiB is held by no process, as what CUDA takes is: a model that runs, or one that "
            "ended and was not given back"
        )


def _swap(kb: Mapping[str, int]) -> float:
    return kb.get("SwapTotal", 0) - kb.get("SwapFree", kb.get("SwapTotal", 0))


def _swapped(kb: float) -> Iterator[str]:
    if kb > _SWAPPED:
        yield f"{kb / GIB:.1f} GiB of swap is in use: something wanted more memory than there was"


def free(piece: Piece, _: Around) -> Explained:
    unit = next((unit for flag, unit in _UNIT_OF.items() if flag in piece.command.split()), "")
    rows: dict[str, list[float]] = {}
    for line in piece.lines:
        if row := _ROW.match(line):
            figures = [_kb(figure, letter, unit) for figure, letter in _FIGURE.findall(row["figures"])]
            name = "Swap" if row["name"] == "Swap" else "Mem"
            rows[name] = min(figures, rows.get(name, figures), key=lambda each: each[-1])
    memory = rows.get("Mem", [])
    if len(memory) < 3:
        raise ValueError("free printed no row of Mem")
    total, used = memory[:2]
    findings = []
    if len(memory) == 6:
        state = Health("", "", memory_total_kb=int(total), memory_available_kb=int(memory[5]))
        findings = [Finding("memory", health.memory(state))]
    read = f"{used / GIB:.1f} of {total / GIB:.1f} GiB is used"
    swap = rows.get("Swap", [0, 0])
    return Explained(piece.tool, read, tuple(findings), tuple(_swapped(swap[1])))


def _kb(figure: str, letter: str, unit: str) -> float:
    """kB of a figure; without a letter in the unit that the command asks for, or else by its size."""
    number = float(figure.replace(",", "."))
    letter = (
        letter
        or unit
        or ("B" if number > 10**10 else "K" if number > 2 * 10**5 else "M" if number > 1000 else "K")
    )
    return number * _KB[letter]
