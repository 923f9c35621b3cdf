"""What preceded a reset, on a screen of any width and as a page."""

from __future__ import annotations

import io
from dataclasses import replace

from sparkrig.host.blackbox import Act, BlackBox
from sparkrig.ssh.remote import Failed
from sparkrig.terminal.screen import Screen
from sparkrig.watch.blackbox_rows import parse
from sparkrig.watch.render import blackbox
from tests.unit.blackboxes import END, Step, box, falling, printed
from tests.unit.pages import is_whole_and_loads_nothing


def shown(found: BlackBox, width: int, *, seconds: float = 1800, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Screen(file=file, width=width).print(blackbox.Picture("spark-b", found, seconds))
    file.seek(0)
    return [line.rstrip() for line in file.read().splitlines()]


def test_the_bars_on_eighty_columns() -> None:
    lines = shown(box(falling), 80)
    assert "  02:42:10 to 03:12:00, the last row" in lines
    assert "  memory available    ██▇▇▇▇▇▆▆▆▆▆▅▅▅▅▅▄▄▄▄▄▃▃▃▃▃▂▂▂▂▂▁▁ 16.5 → 0.4 GiB" in lines
    assert "  waiting for memory  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▂▃▄▅▆▇█ 0 → 93 %" in lines
    assert "  GPU power           ███████████████████████████▃▃▃▃▃▃▃ 44.3 → 15 W" in lines


def test_every_width_holds() -> None:
    for width in (20, 40, 60, 79, 80, 120):
        for line in shown(box(falling), width):
            assert len(line) <= width, (width, line)


def test_what_stood_out_is_folded_under_itself() -> None:
    lines = shown(box(falling), 80)
    first = next(number for number, line in enumerate(lines) if line.startswith("  0.4 of 121.6 GiB"))
    assert lines[first + 1] == "  27.6 GiB and 92.2 GiB was held by no process, as what CUDA takes is"


def test_a_screen_without_blocks() -> None:
    lines = shown(box(falling), 80, encoding="ascii")
    assert "".join(lines).isascii() and any(line.startswith("  memory available    ##") for line in lines)


def test_the_worst_of_a_column_counts_and_where_nothing_was_kept_nothing_is_drawn() -> None:
    def peak(left: int, found: Step) -> None:
        if left == 900:
            found["pressure"]["memory_full"] = 80.0

    (bars,) = [line for line in shown(box(peak), 80) if "waiting for memory" in line]
    assert bars.count("█") == 1 and bars.endswith("0 → 0 % (most 80)")
    kept = [row for row in printed() if " step " not in row or not 600 < int(row.split(" ")[1]) < 660]
    (bars,) = [line for line in shown(parse(kept), 80) if "page cache" in line]
    assert "█ " + " " * 8 in bars


def test_a_single_row_is_a_picture_too() -> None:
    assert any(line.startswith("  page cache          █ 18 → 18 GiB") for line in shown(box(count=1), 80))


def test_figures_that_no_host_can_have_are_drawn_all_the_same() -> None:
    """They come from a file on the host."""

    def odd(left: int, found: Step) -> None:
        found["memory"]["available"] = -1e19 if left % 20 else 1e19
        found["gpu"]["watts"] = -10.0 - left
        found["zones"], found["gpu"]["celsius"] = {}, -40.0

    assert any(line.startswith("  GPU power ") for line in shown(box(odd), 80))


def test_what_was_not_shown_has_no_row() -> None:
    def bare(_: int, found: Step) -> None:
        for name in ("gpu", "zones", "pressure"):
            del found[name]

    lines = "\n".join(shown(box(bare), 80))
    assert "GPU" not in lines and "temperature" not in lines and "waiting" not in lines and "NVRM" not in lines


def test_who_had_the_memory_and_what_the_kernel_said_at_last() -> None:
    lines = shown(box(falling), 200)
    assert any(
        line.startswith("  who had the memory at last: VLLM::Worker_TP (pid 4242) 27.6 GiB") for line in lines
    )
    assert len([line for line in lines if line.startswith("  kernel: NVRM: nvCheckOkFailed")]) == 1


def test_the_page_is_the_same_picture_and_escapes_what_a_host_calls_things() -> None:
    def named(_: int, found: Step) -> None:
        found["top"] = [["<b>x", 1, 9]]
        found["log"] = {"nvrm": [9, "NVRM: <script>"]}

    done = Act(END - 600, "stopped <the> server: 2.1 % of the memory was available")
    found = {"spark-<i>": box(named), "spark-a": replace(BlackBox(True), acts=(done,)), "spark-c": BlackBox()}
    text = blackbox.page({**found, "spark-d": Failed("it <refused>\x1b[2J")}, 1800, "now")
    is_whole_and_loads_nothing(text)
    assert "<b>x" not in text and "<script" not in text and "spark-<i>" not in text and "\x1b" not in text
    for words in ("&lt;b&gt;x", "its guard stopped &lt;the&gt; server at ", "spark-d: it &lt;refused&gt;"):
        assert words in text, words
    assert "its black box has seen no end" in text and "it keeps no black box" in text
