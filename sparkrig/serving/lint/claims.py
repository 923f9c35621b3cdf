"""Claims with their sources and dates; the sources that many rules name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What a source claims.

    says: a sentence without a full stop; source: a key of models/sources.yaml, after a comma the version or the
    person, or else a path of this repository; date: ISO 8601, as far as known, of a page without one the day when
    we read it.
    """

    says: str
    source: str
    date: str


MODELS, BENCH = "conselara-models, vLLM 0.19.0", "conselara-benchmarks, vLLM 0.19.0"
COMPARISON, HARDWARE = "conselara-comparison, vLLM 0.19.0", "conselara-hardware, vLLM 0.19.0"
THREAD, DOCAI = "forum-365083, vLLM 0.17.0rc1", "docai-122b, vLLM 0.19.2rc1"
READER = "forum-365083-thread, a reader"
MIA, CORTI, VLLM, NVIDIA = "mia-exl3-47", "corti-nemotron", "vllm-source", "nvidia-playbook"
CATALOGUE = "models/"
MAY, MARCH, APRIL, NOVEMBER, READ = "2026-05-09", "2026-03", "2026-04-25", "2026-11-20", "2026-11-21"
READ_25 = "2026-11-25"
MID_MAY, JUNE, AUGUST = "2026-05-14", "2026-06-14", "2026-08-30"
VLLM_0190 = "vLLM 0.19.0 in NGC 26.04; not known beyond"
