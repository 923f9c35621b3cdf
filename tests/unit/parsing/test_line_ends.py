"""How lines end: what looks the same, and is not."""

from __future__ import annotations

from sparkrig.files import File, Found
from sparkrig.network import environment, gid
from sparkrig.parsing import line_ends
from sparkrig.resources import file_diff, rdma
from sparkrig.runs import merge
from sparkrig.runs.change import of_file
from tests.tables import each_row

TEXT = "# ours\nNCCL_SOCKET_IFNAME=cx\n"
CRLF = TEXT.replace("\n", "\r\n")
SAID = "line ends are CRLF, not LF"


def test_each_difference_is_said() -> None:
    def holds(found: str, wanted: str, said: tuple[str, ...]) -> None:
        assert line_ends.differ(found, wanted) == said

    each_row(
        {
            "the same": (TEXT, TEXT, ()),
            "both CRLF": (CRLF, CRLF, ()),
            "CRLF": (CRLF, TEXT, (SAID,)),
            "LF": (TEXT, CRLF, ("line ends are LF, not CRLF",)),
            "one of two": ("a\r\nb\n", "a\nb\n", ("1 line ends are CRLF, not LF",)),
            "no last end": ("a", "a\n", ("the last line has no end",)),
            "a last end": ("a\n", "a", ("the last line has an end",)),
            "nothing": ("", TEXT, ()),
            "a lone CR is no end": ("a\rb\n", "a\nb\n", ()),
        },
        holds,
    )
    assert line_ends.lines(CRLF) == line_ends.lines(TEXT) == TEXT.splitlines()
    assert line_ends.lines("a\x85b\u2028c\n\n") == ["a\x85b\u2028c", ""] and line_ends.lines("") == []


def test_a_diff_of_what_looks_the_same_says_what_differs() -> None:
    assert file_diff.diff("/x", CRLF, TEXT) == (f"# {SAID}",)
    assert merge.diff(CRLF, TEXT, "a", "b") == (f"# {SAID}",)
    edited = CRLF.replace("=cx", "=eth0")
    rows = [row for row in file_diff.diff("/x", edited, TEXT) if not row.startswith(("---", "+++", "@@"))]
    assert rows == [f"# {SAID}", " # ours", "-NCCL_SOCKET_IFNAME=eth0", "+NCCL_SOCKET_IFNAME=cx"]
    assert file_diff.diff("/x", TEXT.rstrip("\n"), TEXT) == ("# the last line has no end",)
    assert file_diff.diff("/x", "a\x85b\n", "a\nb\n"), "no reader of such a file takes U+0085 for an end"


def test_a_change_of_line_ends_is_shown_and_keeps_nothing() -> None:
    made = of_file(File(environment.NCCL_CONF, TEXT), Found(CRLF, "0644", "root:root"))
    assert made.diff == (f"# {SAID}",) and made.keeps == "" and made.before == SAID


def test_a_gid_that_ends_in_cr_is_another_value() -> None:
    block = f"{gid.BLOCK_BEGIN}\nNCCL_IB_GID_INDEX=3\n{gid.BLOCK_END}\n"
    assert rdma._variables(block) == "NCCL_IB_GID_INDEX=3"
    assert rdma._variables(block.replace("\n", "\r\n")) == r"NCCL_IB_GID_INDEX=3\r"
