"""What the black box kept, and what of it stands out; tests/unit/blackboxes writes rows as the program does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sparkrig import programs
from sparkrig.host import blackbox
from sparkrig.host.blackbox import RECENT_S, BlackBox, Zone
from sparkrig.watch.blackbox_rows import parse
from tests.tables import each_row
from tests.unit.blackboxes import BEFORE, END, GIB, LOST, Change, Step, box, falling, printed, rows


def signs(change: Change, count: int = 720) -> dict[str, str]:
    reset = box(change, count).reset
    assert reset
    return {sign.id: sign.text for sign in reset.signs}


def test_the_sentence_of_a_memory_that_fell() -> None:
    reset = box(falling).reset
    assert reset
    assert reset.sentence == (
        "it was reset at 03:12 on 2026-11-26; memory was falling for 40 minutes, from 21.8 to 0.4 GiB available"
    )
    assert [sign.id for sign in reset.signs] == ["memory-falling", "memory-low", "stalled", "nvrm"]
    assert reset.signs[1].text == (
        "0.4 of 121.6 GiB memory was available at last; VLLM::Worker_TP (pid 4242) had 27.6 GiB and 92.2 GiB was "
        "held by no process, as what CUDA takes is"
    )


def test_a_reset_without_any_sign_says_so() -> None:
    reset = box().reset
    assert reset and reset.signs == []
    assert reset.sentence.endswith("nothing stood out before: the power was cut, or it stopped at once")


def available(gib: float) -> Change:
    return lambda _, found: found["memory"].update(available=int(gib * GIB))


def at(left: int, least: int, most: int, **values: object) -> Step:
    """values where a row is that many seconds before the end, else nothing."""
    return dict(values) if least <= left <= most else {}


def heat(celsius: float, seconds: int) -> Change:
    return lambda left, found: found.update(at(left, 600, 600 + seconds - 10, zones={"acpitz": celsius}))


def fall(seconds: int, gib: float, rise: float = 0.0) -> Change:
    """A fall of that many GiB; in its middle, for a minute, that many GiB more."""

    def change(left: int, found: Step) -> None:
        level = 60 - gib * max(0.0, 1 - left / seconds)
        found["memory"]["available"] = int((level + (rise if seconds / 2 <= left < seconds / 2 + 60 else 0)) * GIB)

    return change


SIGNS: dict[str, tuple[Change, dict[str, str]]] = {
    "a fall of an hour": (
        fall(3600, 30),
        {"memory-falling": "memory was falling for 60 minutes, from 60.0 to 30.0 GiB available"},
    ),
    "a fall of a minute": (
        fall(60, 30),
        {"memory-falling": "memory was falling for 60 s, from 60.0 to 30.0 GiB available"},
    ),
    "a fall that is too small": (fall(3600, 5), {}),
    "a rise in between": (
        fall(3600, 40, rise=-3),
        {"memory-falling": "memory was falling for 29 minutes, from 39.3 to 20.0 GiB available"},
    ),
    "a memory that was low all the time": (
        available(10),
        {
            "memory-low": "10.0 of 121.6 GiB memory was available at last; VLLM::Worker_TP (pid 4242) had 6.0 "
            "GiB and 92.6 GiB was held by no process, as what CUDA takes is"
        },
    ),
    "all waited for memory": (
        lambda left, found: found["pressure"].update(at(left, 100, 110, memory_full=60.0)),
        {"stalled": "for 60 % of ten seconds every process waited for memory"},
    ),
    "all waited for less": (
        lambda left, found: found["pressure"].update(at(left, 100, 110, memory_full=59.0)),
        {},
    ),
    "they waited long before": (
        lambda left, found: found["pressure"].update(at(left, 900, 910, memory_full=90.0)),
        {},
    ),
    "five lines of the driver within a minute": (
        lambda left, found: found.update(at(left, 1000, 1040, log={"nvrm": [1, "NVRM: Xid"]})),
        {"nvrm": "the driver logged 5 lines in a minute, the first 17 minutes before the end: NVRM: Xid"},
    ),
    "a line of the driver every minute": (
        lambda left, found: found.update(log={"nvrm": [1, "NVRM: Xid"]} if left % 60 == 0 else {}),
        {},
    ),
    "240 s at 88 C": (
        heat(88, 240),
        {"hot": "it was at 88 C and more for 4 minutes without a break, 88 C at most"},
    ),
    "230 s at 88 C": (heat(88, 230), {}),
    "hours at 87 C": (heat(87, 5000), {}),
    "an SSD that is hot": (lambda _, found: found["zones"].update(nvme=99.0), {}),
    "a GPU that is hot": (
        lambda left, found: found["gpu"].update(at(left, 0, 590, celsius=91.0)),
        {"hot": "it was at 88 C and more for 10 minutes without a break, 91 C at most"},
    ),
    "slowed by heat": (
        lambda left, found: found["gpu"].update(at(left, 50, 60, reasons="0x60")),
        {"slowed": "heat slowed the GPU for 20 s (HW Thermal Slowdown and SW Thermal Slowdown)"},
    ),
    "held by power": (
        lambda left, found: found["gpu"].update(at(left, 50, 340, reasons="0x80")),
        {"braked": "power slowed the GPU for 5 minutes (HW Power Brake Slowdown)"},
    ),
    "clamped": (
        lambda _, found: found["gpu"].update(mhz=611.0, watts=12.0),
        {
            "power-clamp": "the SM clock is 611 MHz at 96 % utilization and 12 W, 2200 MHz and more expected "
            "(active: SW Power Cap)"
        },
    ),
    "a process that the kernel ended": (
        lambda left, found: found.update(
            at(left, 30, 30, log={"killed": [1, "Out of memory: Killed process 7 (x)"]})
        ),
        {"killed": "the kernel ended processes to get memory (once): Out of memory: Killed process 7 (x)"},
    ),
    "a cable that was pulled": (
        lambda left, found: found["down"].update(enp1s0f0np0=3 if left < 500 else 1),
        {"carrier": "enp1s0f0np0 lost its carrier 2 times"},
    ),
    "errors of RDMA, before and after its device came anew": (
        lambda left, found: found["rdma"].update(rocep1s0f0=1 if left < 500 else 4 if left < 600 else 0),
        {"rdma": "rocep1s0f0 counted 4 RDMA errors"},
    ),
    "errors of PCIe": (
        lambda left, found: found.update(at(left, 20, 30, log={"aer": [2, "pcieport: AER: Corrected"]})),
        {"aer": "PCIe reported errors in 4 lines (AER): pcieport: AER: Corrected"},
    ),
}


def test_each_sign_and_what_is_none() -> None:
    each_row(SIGNS, lambda change, wanted: _same(signs(change), wanted))


def _same(found: dict[str, str], wanted: dict[str, str]) -> None:
    assert found == wanted


def test_a_host_that_stood_still_before_it_was_lost() -> None:
    kept = [row for row in printed() if " step " not in row or not 690 < int(row.split(" ")[1]) < 695]
    reset = parse(kept).reset
    assert reset
    assert [sign.text for sign in reset.signs] == ["nothing could be kept for 50 s, so the host stood still"]


def test_the_boot_before_is_no_part_of_the_judgement() -> None:
    """It is drawn, and what happened in it was another end."""
    earlier = rows(lambda _, found: found.update(log={"nvrm": [50, "NVRM: x"]}), 100, BEFORE, END - 2100)
    earlier.append(f"row 101 stop {BEFORE} {END - 2095:.0f} {{}}")
    reset = parse([*earlier, *printed(count=200)]).reset
    assert reset and len(reset.steps) == 300 and len(reset.boot) == 200 and reset.signs == []


def test_a_reset_soon_after_another_has_the_cause_of_the_first_one_too() -> None:
    """A host that is lost, started, and lost again a minute later would show the minute alone."""
    earlier = rows(falling, 400, BEFORE, END - 100)
    reset = parse([*earlier, *printed(count=6)]).reset
    assert reset and [sign.id for sign in reset.signs] == ["again"]
    assert reset.signs[0].text == (
        "it was reset before that, too, at 03:10 on 2026-11-26; "
        "memory was falling for 40 minutes, from 21.8 to 0.4 GiB available"
    )


def stopped(kept: list[str], at: int, boot: str) -> list[str]:
    """With the last row of a black box that was stopped and begun anew there, as by a deploy."""
    return [*kept[:at], f"row {at} stop {boot} {kept[at].split(' ')[4]} {{}}", *kept[at:]]


def test_an_earlier_reset_is_one_although_a_deploy_began_the_black_box_anew_in_that_boot() -> None:
    earlier = stopped(rows(falling, 400, BEFORE, END - 100), 100, BEFORE)
    reset = parse([*earlier, *printed(count=6)]).reset
    assert reset and [sign.id for sign in reset.signs] == ["again"]


def test_a_black_box_that_was_stopped_for_a_while_is_no_host_that_stood_still() -> None:
    kept = [row for row in printed() if " step " not in row or not 680 < int(row.split(" ")[1]) < 700]
    assert [sign.id for sign in parse(kept).reset.signs] == ["silent"]  # type: ignore[union-attr]
    reset = parse(stopped(kept, 682, LOST)).reset
    assert reset and reset.signs == [] and [step.at for step in reset.steps if step.resumed] == [END - 200]


def test_it_is_news_for_a_day_from_when_the_host_came_back() -> None:
    assert box(ago=RECENT_S - 60).recent and not box(ago=RECENT_S + 60).recent
    assert box(ago=RECENT_S + 60).reset


def test_a_host_without_one_and_one_that_saw_no_reset() -> None:
    assert parse(["now 5 +0100"]) == BlackBox(now=5, zone=Zone(((5, 60),)))
    assert parse(["now 5 -0330", "runs"]) == BlackBox(True, 5, zone=Zone(((5, -210),)))


BAD = (
    "row 5 step aaaaaaaa 1795659120 {",
    "row 5 step aaaaaaaa 1795659120 []",
    "row 5 step aaaaaaaa nan {}",
    "row 5 step aaaaaaaa 99999999999999 {}",
    'row 5 step aaaaaaaa 1795659120 {"memory":[1]}',
    'row 5 step aaaaaaaa 1795659120 {"top":[["x",1]]}',
    'row 5 step aaaaaaaa 1795659120 {"top":{"x":1}}',
    'row 5 step aaaaaaaa 1795659120 {"log":{"nvrm":[]}}',
    'row 5 step aaaaaaaa 1795659120 {"gpu":{"reasons":"zzz"}}',
    'row 5 step aaaaaaaa 1795659120 {"log":{"nvrm":["x"]}}',
    'row 5 step aaaaaaaa 1795659120 {"log":{"nvrm":9}}',
    'row 5 step aaaaaaaa 1795659120 {"top":[["x",[],{}]]}',
    'row 5 step aaaaaaaa 1795659120 {"top":[["x",1,-1]]}',
    "row 5 stop aaaaaaaa 1795659120 {}",
    "row",
    "row 5",
    "row \ufffd\ufffd",
)


def test_a_row_that_is_none_is_skipped() -> None:
    good = printed(count=30)

    def skipped(row: str) -> None:
        reset = parse([*good[:10], row, *good[10:]]).reset
        assert reset and len(reset.steps) == 30

    each_row(BAD, skipped)


def test_where_no_row_is_left_nothing_is_made_up() -> None:
    assert parse(["now 1795659120 +0100", *BAD, "row booted 1795659120 x"]).reset is None


@pytest.mark.parametrize("rows", [[], ["runs"], ["now 5", "other"]])
def test_another_answer_is_an_error(rows: list[str]) -> None:
    with pytest.raises((ValueError, LookupError)):
        parse(rows)


@pytest.mark.parametrize("row", ["now x", "now nan +0100", "now"])
def test_a_clock_that_is_none_is_an_error(row: str) -> None:
    with pytest.raises((ValueError, LookupError)):
        parse([row, *printed()[2:]])
    with pytest.raises((ValueError, LookupError)):
        parse(printed()[2:])


def test_null_figures_cost_themselves_alone() -> None:
    def null(_: int, found: Step) -> None:
        for name in ("available", "swap_free"):
            found["memory"][name] = None
        found["gpu"] |= {"watts": None, "reasons": None, "mhz": True}
        found["zones"]["acpitz"] = found["up"] = found["down"] = None
        found["top"] = [[None, 7, 9], ["x", 7, None], ["x", None, 9], None, ["python3", 8, 5]]
        found["log"] = {"nvrm": [None, "NVRM: x"], "aer": None, "killed": [2, None]}

    reset = box(null).reset
    assert reset and len(reset.steps) == 720
    step = reset.steps[-1]
    assert (
        step.swapped is None and step.reasons is None and "mhz" not in step.gpu and "available" not in step.memory
    )
    assert [each.name for each in step.top] == ["python3"]
    assert {kind: lines.count for kind, lines in step.log.items()} == {"killed": 2}


def test_a_figure_that_the_program_never_writes_is_none() -> None:
    def huge(_: int, found: Step) -> None:
        found["memory"]["available"] = 1e18
        found["gpu"] |= {"watts": -1e16, "mhz": 2**60}

    reset = box(huge).reset
    assert (
        reset
        and "available" not in reset.steps[0].memory
        and {*reset.steps[0].gpu} == {"used", "celsius", "margin"}
    )
    assert "1e15" in programs.file("watch/blackbox.py")


def test_an_act_that_is_none_is_skipped() -> None:
    found = parse(["now 1795659120 +0100", "act", "act x y", "act 5 did: x\x1b", "act 99999999999999 z"])
    assert [(act.at, act.text) for act in found.acts] == [(5, "did: x ")]


def test_what_a_host_calls_things_is_plain() -> None:
    def named(_: int, found: Step) -> None:
        found["top"] = [["x\x1b[31m\u202ey", 1, 9 * GIB]]
        found["log"] = {"nvrm": [9, "NVRM: \x1b]0;x\x07"]}
        found["memory"]["available"] = GIB

    shown = json.dumps(signs(named), ensure_ascii=False)
    assert "\\u001b" not in shown and "\u202e" not in shown


def test_absent_figures_are_absent() -> None:
    def bare(_: int, found: Step) -> None:
        found.clear()

    reset = box(bare).reset
    assert reset and reset.signs == [] and reset.steps[0].hottest is None and reset.steps[0].swapped is None


def test_the_steps_are_those_of_the_program() -> None:
    text = programs.file("watch/blackbox.py")
    assert f"\nSTEP_S = {blackbox.STEP_S}\n" in text
    assert f"\nHOT_C, HOT_STEPS = {blackbox.HOT_C}, {blackbox.HOT_S // blackbox.STEP_S} " in text


class Counted(float):
    """A time that counts how often another one is taken from it."""

    count = 0

    def __sub__(self, other: float) -> float:
        Counted.count += 1
        return float(self) - other


def test_a_day_of_the_drivers_lines_is_judged_row_by_row() -> None:
    """With each row held against each other one, a day of them took 7 s."""
    reset = box(lambda _, found: found.update(log={"nvrm": [1, "NVRM: x"]}), 500).reset
    assert reset
    steps = tuple(replace(step, at=Counted(step.at)) for step in reset.steps)
    assert {sign.id: sign.text for sign in replace(reset, steps=steps).signs} == {
        "nvrm": "the driver logged 6 lines in a minute, the first 83 minutes before the end: NVRM: x"
    }
    assert 500 < Counted.count < 3000
