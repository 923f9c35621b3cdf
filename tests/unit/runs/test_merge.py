"""What is left of a file that both we and another one changed, once our part is taken back."""

from __future__ import annotations

import json

import pytest

from sparkrig.network import gid
from sparkrig.runs import merge
from tests.tables import each_row, rows

END = gid.BLOCK_END


def ours(index: int = 3, inside: str = "") -> str:
    return f"# ours\nHCA=a\n{gid.BLOCK_BEGIN}\nNCCL_IB_GID_INDEX={index}\n{inside}{END}\nLAST=1\n"


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


# what stood there before, what stands there now, what becomes of it; None: no file
VARIABLES: dict[str, tuple[str | None, str, str | None]] = {
    "nothing of another one's": (None, ours(), None),
    "another GID alone": (None, ours(5), None),
    "a line behind": (None, ours() + "MINE=1\n", "MINE=1\n"),
    "a line before": (None, "MINE=1\n" + ours(), "MINE=1\n"),
    "a line between": (None, ours().replace("LAST", "MINE=1\nLAST"), "MINE=1\n"),
    "a line in the block": (None, ours(inside="MINE=1\n"), "MINE=1\n"),
    "a line in the block of another GID": (None, ours(5, "MINE=1\n"), "MINE=1\n"),
    "lines everywhere, in their order": (
        None,
        "A=1\n" + ours(5, "B=1\n").replace("LAST", "C=1\nLAST") + "D=1\n",
        "A=1\nB=1\nC=1\nD=1\n",
    ),
    "the last line has no end": (None, ours() + "MINE=1", "MINE=1"),
    "CRLF alone": (None, crlf(ours()), None),
    "CRLF and a line": (None, crlf(ours(5, "MINE=1\n")), "MINE=1\r\n"),
    "one line of ours is gone": (None, ours().replace("HCA=a\n", ""), None),
    "one is gone, one came": (None, ours().replace("HCA=a\n", "") + "MINE=1\n", "MINE=1\n"),
    "theirs stood there": ("B=2\n", ours() + "MINE=1\n", "B=2\nMINE=1\n"),
    "theirs had no last end": ("B=2", ours() + "MINE=1\n", "B=2\nMINE=1\n"),
    "theirs stood there, CRLF now": ("B=2\n", crlf(ours() + "MINE=1\n"), "B=2\r\nMINE=1\r\n"),
    "theirs was CRLF": ("B=2\r\n", ours() + "MINE=1\n", "B=2\r\nMINE=1\n"),
    "an earlier one of ours": (
        ours().replace("HCA=a", "HCA=b"),
        ours(5, "MINE=1\n"),
        ours(5, "MINE=1\n").replace("HCA=a", "HCA=b"),
    ),
}


def test_lines_that_stand_for_themselves_are_taken_out_and_others_stay() -> None:
    def row(back: str | None, now: str, expected: str | None) -> None:
        assert merge.file(ours(), back, now, form="variables") == expected

    each_row(VARIABLES, row)


def test_a_line_of_ours_that_another_one_changed_is_for_a_person_to_choose() -> None:
    def row(back: str | None, now: str) -> None:
        with pytest.raises(merge.Conflict):
            merge.file(ours(), back, now, form="variables")

    changed = ours().replace("HCA=a", "HCA=mine")
    each_row([(None, changed), ("B=2\n", changed), (None, crlf(changed))], row)


def test_a_program_is_never_left_with_a_part_of_itself() -> None:
    """A line among others means nothing without them."""
    with pytest.raises(merge.Conflict, match="no whole file"):
        merge.file("if a\nthen b\nfi\n", None, "if a\nthen b\nmore\nfi\n", form="text")
    with pytest.raises(merge.Conflict, match="both changed line"):
        merge.file("if a\nfi\n", "while c\ndone\n", "if a\nmore\nfi\n", form="text")


def test_what_another_one_changed_elsewhere_stays_as_it_ends() -> None:
    base, back = "a\nb\nc\nd\ne\n", "a\nold\nc\nd\ne\n"
    for now, expected in (
        ("a\nb\nc\nd\nmine\n", "a\nold\nc\nd\nmine\n"),
        (crlf("a\nb\nc\nd\nmine\n"), crlf("a\nold\nc\nd\nmine\n")),
        ("a\nb\nc\nd\nmine", "a\nold\nc\nd\nmine"),
    ):
        assert merge.file(base, back, now, form="text") == expected


def test_what_both_changed_alike_is_done() -> None:
    assert merge.lines("a\nb\nc\n", "a\nold\nc\n", crlf("a\nold\nc\n")) == crlf("a\nold\nc\n")


# of daemon.json: what our run wrote, what stood before it, what stands now, and what an undo makes of that
OBJECTS = rows(__file__, "objects")
CONFLICTS = {
    "both changed one key": ('{"a": 1}', '{"a": 2}', '{"a": 3}', "both changed a"),
    "both changed a member": ('{"r": {"a": 1}}', '{"r": {"a": 2}}', '{"r": {"a": 3}}', "both changed r.a"),
    "an object became a word": ('{"r": {"a": 1}}', None, '{"r": "x"}', "both changed r"),
    "a list": ('{"a": 1}', None, "[1]", "no JSON object"),
    "no JSON": ('{"a": 1}', None, "{", "no JSON ("),
}


def test_keys_that_stand_for_themselves_are_taken_out_and_others_stay() -> None:
    def row(base: str, back: str | None, now: str, expected: dict[str, object] | None) -> None:
        found = merge.objects(base, back, now)
        assert (json.loads(found) if found is not None else None) == expected

    each_row(OBJECTS, row)


def test_keys_that_both_changed_are_for_a_person_to_choose() -> None:
    def row(base: str, back: str | None, now: str, why: str) -> None:
        with pytest.raises(merge.Conflict) as refused:
            merge.objects(base, back, now)
        assert why in str(refused.value)

    each_row(CONFLICTS, row)


def test_a_file_of_very_many_lines_is_not_merged() -> None:
    with pytest.raises(merge.Conflict):
        merge.lines("A=1\n" * 100_000, "", "A=1\n" * 100_000, apart=True)
