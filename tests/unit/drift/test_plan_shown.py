"""A plan on a narrow screen: words wrap, and a command has a line of its own, so that it can be copied."""

from __future__ import annotations

import io

from rich.console import Console

from sparkrig.cure import on_host
from sparkrig.drift.plan import Planned
from sparkrig.drift.render import plan
from sparkrig.refusal import Refusal

COMMAND = "sudo apt-get install --allow-downgrades linux-image-nvidia=6.17.0-1014.14"


def shown(cure: str) -> list[str]:
    console = Console(file=io.StringIO(), width=40)
    plan.show(
        console, {"spark-a": Planned(refusals=(Refusal("a kernel", cure),))}, {"spark-a": 1}, everything=False
    )
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_a_command_is_one_line() -> None:
    lines = shown(on_host(COMMAND, ", and reboot"))
    assert lines[2:5] == ["  try:", f"  ssh spark-a {COMMAND}", "  and reboot"]


def test_of_hosts_that_nobody_read_nothing_good_is_said() -> None:
    unread, read = Planned(unread=Refusal("gone", "ping it")), Planned()
    assert plan.total({"a": unread, "b": unread}, {}) == "2 hosts, none read"
    assert plan.total({"a": unread, "b": read}, {}) == "2 hosts, nothing to change, 1 not read"
    refused = Planned(refusals=(Refusal("a kernel", "boot it"),))
    assert plan.total({"a": unread, "b": refused}, {}) == "2 hosts, 1 refused, 1 not read"


def test_words_wrap() -> None:
    assert max(map(len, shown("take the plug out of the cage beside the power, and put it into the other"))) <= 40
