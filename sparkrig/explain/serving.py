"""The log of a served model: vLLM, SGLang, llama.cpp and Ray, by the signs that `sparkrig startup` knows."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.explain.by_line import VAGUE
from sparkrig.explain.explanation import Around, Explained, Piece, Reader, sign
from sparkrig.signatures import Signature, first_line, table
from sparkrig.verdict import Finding, Verdict

_TABLES = ("serving", "nccl", "any program")


def explained(piece: Piece, _: Around) -> Explained:
    lines = [line for line in piece.lines if line.strip()]
    read = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    return Explained(piece.tool, read, (Finding("the server", _judged(lines)),))


def _judged(lines: list[str]) -> Verdict:
    from sparkrig.serving.startup import has_ended  # with pydantic, half a second that no other paste needs
    from sparkrig.serving.trouble import short

    up = any(has_ended("api", line) for line in lines)
    if found := first_line(_signs(warnings=not up), lines):
        row, line = found
        return Verdict(row.level, row.cause, f"{row.meaning}: {short(line)}", row.pasted_cure)
    if up:
        return Verdict("healthy", evidence="its API came up, and no sign of trouble is in the log")
    why = "no sign of trouble that is known is in the log, nor that its API came up"
    return Verdict("unknown", "no-sign", why, "paste its end, from the first error on")


def _signs(*, warnings: bool) -> Iterator[Signature]:
    """What explains most comes first; warnings: whether those count, too, which a model can survive."""
    rows = [row for name in _TABLES for row in table(name) if row.level != "healthy"]
    rows.sort(key=lambda row: row.cause in VAGUE)
    yield from (row for row in rows if not row.warns)
    yield from (row for row in rows if row.warns and warnings)


_PROCESS = r"\((?:EngineCore|APIServer|Worker|RayWorkerWrapper|ApiServer)\w{0,20}(?: pid=\d+[^)\n]{0,60})?\)"
_VLLM = r"(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d [\d:]{8} \["
_SGLANG = r"\[\d{4}-\d\d-\d\d [\d:]{8}(?: [A-Z]{2}\d+){0,3}\] "
_LLAMA = (
    r"(?:llama_(?:model|context|kv|params|perf)|ggml_(?:cuda|backend)|print_info|load_tensors|common_init)"
    r"\w{0,40}: |"
    r"(?:srv|slot|main|que) +\w{1,30}: |\d+\.\d\d\.\d{3}\.\d{3} [DIWE] "
)
_RAY = (
    r"\((?:raylet|gcs_server|autoscaler|pid=\d+)[^)\n]{0,60}\) |Local node IP: |Ray runtime started|"
    r"\[\d{4}-[^\]\n]{8,40}\] \("
)
READERS = (
    Reader(
        "server log",
        explained,
        "the log of vLLM, SGLang, llama.cpp or Ray; docker logs",
        "",
        None,
        (
            sign(
                "line",
                rf"[ \t]*(?:{_PROCESS}|{_VLLM}|{_SGLANG}|{_LLAMA}|{_RAY}|sparkrig: (?:phase|trouble) )",
            ),
        ),
        judges=_TABLES,
        flows=True,
    ),
)
