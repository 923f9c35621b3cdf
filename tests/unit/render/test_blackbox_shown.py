"""What preceded a reset, on a screen of any width and as a page."""

from __future__ import annotations

import io
from dataclasses import replace

from sparkrig.host.blackbox import Act, BlackBox, Zone
from sparkrig.host.blackbox_rows import parse
from sparkrig.io.remote import Failed
from sparkrig.io.screen import Screen
from sparkrig.render import blackbox
from sparkrig.render.blackbox_html import html, panels
from tests.unit.blackboxes import END, Step, box, falling, printed


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
    assert "spark-b" in html({"spark-b": box(count=1)}, 1800, "now")


def test_figures_that_no_host_can_have_are_drawn_all_the_same() -> None:
    """They come from a file on the host."""

    def odd(left: int, found: Step) -> None:
        found["memory"]["available"] = -1e19 if left % 20 else 1e19
        found["gpu"]["watts"] = -10.0 - left
        found["zones"], found["gpu"]["celsius"] = {}, -40.0

    reset = box(odd)
    assert any(line.startswith("  GPU power ") for line in shown(reset, 80))
    assert "spark-b" in html({"spark-b": reset}, 1800, "now")


def test_what_was_not_shown_has_no_row() -> None:
    def bare(_: int, found: Step) -> None:
        for name in ("gpu", "zones", "pressure"):
            del found[name]

    lines = "\n".join(shown(box(bare), 80))
    assert "GPU" not in lines and "temperature" not in lines and "waiting" not in lines and "NVRM" not in lines


def test_the_page_escapes_what_a_host_calls_things() -> None:
    def named(_: int, found: Step) -> None:
        found["top"] = [["<b>x", 1, 9]]
        found["log"] = {"nvrm": [9, "NVRM: <script>"]}

    page = html({"spark-<i>": box(named), "spark-a": BlackBox(True), "spark-c": BlackBox()}, 1800, "now")
    assert "<b>x" not in page and "<script" not in page and "spark-<i>" not in page and "&lt;b&gt;x" in page
    assert blackbox.NO_RESET in page and blackbox.NO_BOX in page


def test_the_page_has_what_a_guard_did_and_draws_when() -> None:
    done = Act(END - 600, "stopped <the> server: 2.1 % of the memory was available")
    before = replace(done, at=END - 7200)
    sentence = "Its guard stopped &lt;the&gt; server at 03:02 on 2026-11-26: 2.1 % of the memory was available."
    found = box()
    assert found.reset
    page = html({"spark-b": replace(found, acts=(done,)), "spark-a": BlackBox(True)}, 1800, "now")
    assert page.count(sentence) == 1 and "a broken line is what the guard did" in page
    assert page.count("stroke-dasharray") == 2 * len(panels(list(found.reset.steps)))
    page = html({"spark-b": replace(box(), acts=(before,))}, 1800, "now")
    assert "Its guard stopped" in page and "stroke-dasharray" not in page and "broken line" not in page
    page = html({"spark-b": BlackBox(True, zone=Zone(((END, 60),)), acts=(done,))}, 1800, "now")
    assert f"spark-b: i{sentence[1:]}" in page


def test_the_page_names_a_host_that_was_not_read() -> None:
    assert "spark-c: it &lt;refused&gt;" in html(
        {"spark-a": box(), "spark-c": Failed("it <refused>")}, 1800, "now"
    )
