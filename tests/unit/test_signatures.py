"""models/errors.yaml: each row can be told by something, says what failed, and what to do about it."""

from __future__ import annotations

import re

from sparkrig.host.gpu import answers
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.signatures import Signature, table, tools
from tests.tables import each_row

ENDS = {"no-result", "stopped"}  # what nothing tells of: sparkrig.bandwidth.nccl names them


def test_each_row_is_told_by_words_or_a_status_and_has_a_cure() -> None:
    def holds(row: Signature) -> None:
        assert re.compile(row.pattern)
        assert row.pattern != "(?!)" or row.statuses or row.cause in {*ENDS, "completion-error"}
        assert row.cure and row.meaning and row.cure == row.cure.strip()

    rows = [(tool, row) for tool in tools() if tool != "nvidia-smi" for row in table(tool)]
    each_row({f"{tool}: {row.cause}, {row.meaning}": row for tool, row in rows}, holds)


def test_what_nvidia_smi_says_has_a_cure_in_the_table_or_by_the_branch() -> None:
    said = {
        "no-nvidia-smi": "nvidia-smi is not installed",
        "driver-incomplete": "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system",
        "gpu-unreadable": "something that nobody knows",
    }
    for cause, words in said.items():
        verdict = answers(Gpu(trouble=words))
        assert verdict.cause == cause and verdict.cure and words in verdict.evidence


def test_the_cure_for_a_paste_names_no_inventory_and_no_service_of_ours() -> None:
    def holds(row: Signature) -> None:
        assert not re.search(r"(?i)inventor|sparkrig-serve", row.pasted_cure)

    tools = ("serving", "kernel", "any program", "state")
    each_row({f"{tool}: {row.cause}, {row.meaning}": row for tool in tools for row in table(tool)}, holds)
