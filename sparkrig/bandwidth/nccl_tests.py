"""What nccl-tests print (all_gather_perf and its like): the bus bandwidth of the largest message.

sparkrig's own check prints a line of its own (see nccl.py); this is for what people run by hand. Sources: its
src/common.cu; outputs of 2.13 to 2.20 in public issues.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Owners leave out columns: `size time algbw busbw` is a table, too.
_HEADER = re.compile(
    r"^(?:[ \t]*+#)?[ \t]++size[ \t]+(?:count[ \t]+type\b.*\bbusbw\b|time[ \t]+algbw[ \t]+busbw\b)", re.M
)
_FIGURE = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_RUN = rf"[ \t]+{_FIGURE}[ \t]+{_FIGURE}[ \t]+({_FIGURE})[ \t]+(\S+)"  # time, algbw, busbw, wrong elements
_ROW = re.compile(
    r"^[ \t]*(\d+)[ \t]+\d+[ \t]+[a-z]\w*(?:[ \t]+[a-z]\w*)?(?:[ \t]+-?\d+(?=[ \t]))?"
    rf"{_RUN}(?:{_RUN})?[ \t]*$",
    re.M,
)
_SHORT_ROW = re.compile(rf"^[ \t]*(\d+)[ \t]+{_FIGURE}[ \t]+{_FIGURE}[ \t]+({_FIGURE})[ \t]*$", re.M)
_RANK = re.compile(
    r"^[ \t#]*Rank[ \t]+(\d+)\b.*?\bon[ \t]+(\S+)[ \t]+device[ \t]+\d+[ \t]+\[[^\]\n]{0,80}\][ \t]+"
    r"(\S(?:.*\S)?)[ \t]*$",
    re.M,
)


@dataclass(frozen=True)
class Bus:
    """The largest message of one run.

    busbw: GB/s (10^9), the mean of out-of-place and in-place; size: bytes; wrong: elements with a wrong value;
    collective: all_gather, ..., empty where it is unknown; hosts: of each rank; gpus: their names; runs: how many
    have a rank 0, more than one where the ranks did not find each other.
    """

    busbw: float
    size: int
    wrong: int = 0
    collective: str = ""
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    runs: int = 1


def parse(text: str) -> Bus | None:
    """Read the table; None where there is none. Raises ValueError where it has a header and no row."""
    headers = list(_HEADER.finditer(text))
    if not headers:
        return None
    rows = [(*row.groups(),) for row in _ROW.finditer(text, headers[-1].end())]
    rows = rows or [(*row.groups(), "0", None, None) for row in _SHORT_ROW.finditer(text, headers[-1].end())]
    if not rows:
        raise ValueError("nccl-tests printed a header and no result row")
    size, one, one_wrong, other, other_wrong = max(rows, key=lambda row: int(row[0]))
    figures = [float(figure) for figure in (one, other) if figure]
    ranks = _RANK.findall(text)
    name = re.search(r"Collective test starting: (\w+?)(?:_perf)?\b", text)
    return Bus(
        busbw=sum(figures) / len(figures),
        size=int(size),
        wrong=sum(int(count) for count in (one_wrong, other_wrong) if count and count.isdigit()),
        collective=name.group(1) if name else "",
        hosts=tuple(host for _, host, _ in ranks),
        gpus=tuple(gpu for _, _, gpu in ranks),
        runs=max(1, sum(number == "0" for number, _, _ in ranks)),
    )
