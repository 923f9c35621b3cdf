"""Inventory files are edited as their owners wrote them: what is not changed stays, byte for byte."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

import pytest

from sparkrig import inventory_file as file
from sparkrig.refusal import Refusal
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
LOGIN: dict[str, Any] = {"ssh_hostname": "spark-b.local", "ssh_port": 2222}
FABRIC = {"enp1s0f0np0": "192.168.100.12/24"}


def hosts(text: str) -> list[Any]:
    """What Python makes of a file, without its imports."""
    kept = [line for line in text.splitlines() if not line.startswith(("from ", "import "))]
    names: dict[str, Any] = {"_checked": lambda found, _: found, "__file__": "x", "_stop_together": lambda: None}
    exec("\n".join(kept), names)
    found: list[Any] = names["sparks"]
    return found


def data(text: str) -> dict[str, Any]:
    """The data of each host of a file, by name."""
    return dict((host, {}) if isinstance(host, str) else host for host in hosts(text))


def test_a_word_in_the_text_is_no_call() -> None:
    """A netdev may be called `stop_together()`: its pair still gets the call."""
    text = file.with_host(file.new(PurePath("sparks.py")), "a", {"fabric": {"stop_together()": "x"}})
    once = file.stopped_together(text)
    assert once.count("_stop_together()  # a host") == 1
    assert file.stopped_together(once) == once


def test_a_new_file_is_of_the_shape_that_is_shipped() -> None:
    made = file.new(PurePath("inventories/mine.py"))
    made = file.with_host(made, "spark-a", {"ssh_hostname": "spark-a.local", "ssh_user": "nvidia"})
    shipped = (ROOT / "inventories" / "solo.py").read_text()
    plain = re.sub(r"^ +(?:#|\"watch).*\n|  #.*", "", shipped, flags=re.MULTILINE)
    body = plain[plain.index("from ") :]
    assert made.startswith(
        '"""Our Sparks. Edit it as you like, then: pyinfra inventories/mine.py deploys/cluster.py'
    )
    assert made.endswith(f'"""\n\n{body}')
    settings = re.findall(r'^ +(?:# )?("(?!ssh_).*,  # .*)$', shipped, re.MULTILINE)
    assert len(settings) == 8 and all(f"\n    {line}\n" in made for line in settings), "the same beside each host"


def test_the_solo_inventory_becomes_a_pair_and_keeps_its_comments() -> None:
    text = (ROOT / "inventories" / "solo.py").read_text()
    made = file.with_host(text, "spark-b", {"pair": "sparks", **LOGIN, "fabric": FABRIC})
    made = file.with_data(made, "spark-a", {"pair": "sparks", "fabric": {"enp1s0f0np0": "192.168.100.11/24"}})
    made = file.stopped_together(made)
    assert [line for line in text.splitlines() if line not in made.splitlines()] == []
    assert "# its name or address alone; never a fabric address" in made
    assert hosts(made) == [
        (
            "spark-a",
            {
                "pair": "sparks",
                "ssh_hostname": "spark-a.local",
                "ssh_user": "nvidia",
                "watch": True,
                "watch_guard": True,
                "fabric": {"enp1s0f0np0": "192.168.100.11/24"},
            },
        ),
        ("spark-b", {"pair": "sparks", **LOGIN, "fabric": FABRIC}),
    ]
    assert "_stop_together()  # a host that fails stops the pair\n\nsparks = " in made
    assert file.stopped_together(made) == made


SHAPES: dict[str, str] = {
    "one line": "sparks = ['a', ('b', {'mtu': 9000})]\n",
    "no comma at the end": "sparks = [\n    ('a', {}),\n    ('b', {\n        'mtu': 9000\n    })\n]\n",
    "comments at every end": (
        "sparks = [  # ours\n  ('a', {}),  # the first\n  ('b', {'mtu': 9000 # why\n  }), # the second\n"
        "  # more to come\n]\n"
    ),
    "lines that end as on Windows": "sparks = [\r\n    'a',\r\n    ('b', {'mtu': 9000}),  # b\r\n]\r\n",
    "tabs": "sparks = [\n\t'a',\n\t('b', {'mtu': 9000}),\n]\n",
    "in a call": "sparks = _checked(['a',\n    ('b', {'mtu': 9000})], __file__)\n",
    "beside other things": "ports = [1, 2]\n_mine = ['x']\nsparks = ['a', ('b', {'mtu': 9000})]\nuser = 'é'\n",
    "in an inner dict": "sparks = ['a', ('b', {'mtu': 9000, 'environment': {\n  'A': '1',\n}})]\n",
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_a_host_is_added_to_any_list_that_is_written_out(text: str) -> None:
    made = file.with_host(text, "c", {"pair": "p", "fabric": FABRIC})
    assert hosts(made) == [*hosts(text), ("c", {"pair": "p", "fabric": FABRIC})]
    _assert_kept(text, made)


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", ["a", "b"])
def test_data_is_set_on_one_host_alone(text: str, name: str) -> None:
    made = file.with_data(text, name, {"pair": "p", "mtu": 4200, "fabric": FABRIC})
    before, after = data(text), data(made)
    assert after == {**before, name: {**before[name], "pair": "p", "mtu": 4200, "fabric": FABRIC}}
    assert next(iter(after[name])) == "pair"
    _assert_kept(text, made)


def _assert_kept(before: str, after: str) -> None:
    """Every comment and every line end is there still."""
    assert [part for part in before.split() if part.startswith("#")] == [
        part for part in after.split() if part.startswith("#")
    ]
    assert ("\r\n" in before) == ("\r\n" in after)
    assert "\r\n" not in before or after.count("\n") == after.count("\r\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sparks = [", "no Python"),
        ("sparks = [name for name in range(2)]\n", "no lists of hosts"),
        ("one = ['a']\ntwo = ['b']\n", "2 lists of hosts"),
        ("from lab import hosts\nsparks = hosts()\n", "no lists of hosts"),
        ("sparks = _checked([*_sparks()], __file__)\n", "no lists of hosts"),
    ],
)
def test_another_shape_is_refused_with_the_lines_to_paste(text: str, words: str) -> None:
    with pytest.raises(Refusal, match=words) as caught:
        file.with_host(text, "spark-b", LOGIN)
    assert f"write it there yourself:\n{file.entry('spark-b', LOGIN)}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sparks = ['b']\n", "spark-a is not written out"),
        ("sparks = [('spark-a', data)]\n", "the data of spark-a is not written out"),
        ("sparks = [('spark-a', dict(mtu=1))]\n", "the data of spark-a is not written out"),
    ],
)
def test_data_that_is_made_elsewhere_is_refused_with_the_line_to_paste(text: str, words: str) -> None:
    with pytest.raises(Refusal, match=words) as caught:
        file.with_data(text, "spark-a", {"pair": "sparks"})
    assert 'in the data of spark-a: "pair": "sparks"' in str(caught.value)


def test_a_file_without_an_import_has_no_place_for_another() -> None:
    with pytest.raises(Refusal, match="it imports nothing") as caught:
        file.stopped_together("sparks = ['a']\n")
    assert "_stop_together()" in caught.value.cure


def test_the_machine_that_runs_sparkrig_becomes_half_of_a_pair() -> None:
    text = (ROOT / "templates" / "here.py.template").read_text().replace("$name", "spark-a")
    made = file.with_host(text, "spark-b", {"pair": "sparks", **LOGIN, "fabric": FABRIC})
    made = file.with_data(made, "spark-a", {"pair": "sparks", "fabric": {"enp1s0f0np0": "192.168.100.11/24"}})
    assert data(made) == {
        "@here/spark-a": {"pair": "sparks", "fabric": {"enp1s0f0np0": "192.168.100.11/24"}},
        "spark-b": {"pair": "sparks", **LOGIN, "fabric": FABRIC},
    }
    with pytest.raises(Refusal, match="spark-c is not written out"):
        file.with_data(made, "spark-c", {"pair": "sparks"})


PAIR = """from sparkrig.inventory import checked as _checked
sparks = _checked(
    [
        (
            "spark-a",
            {
                "pair": "desk",  # ours
                "fabric": {
                    "enp1s0f0np0": "10.0.0.1/24",  # rail 0
                    # its twin
                    "enP2p1s0f0np0": "10.0.1.1/24"
                },
            },
        ),
        ("spark-b", {"ssh_user": "me", "pair": "desk", "fabric": {"enp1s0f0np0": "10.0.0.2/24"}}),
    ],
    __file__,
)
"""


def test_a_pair_becomes_a_cluster_and_keeps_what_stands_in_its_fabric() -> None:
    more = {"enp1s0f0np0": "10.0.0.1/24", "enP2p1s0f0np0": "10.9.1.1/24", "enp1s0f1np1": "10.0.2.1/24"}
    made = file.with_data(PAIR, "spark-a", {"cluster": "desk", "topology": "ring", "fabric": more})
    other = {"enp1s0f0np0": "10.0.0.2/24", "enp1s0f1np1": "10.0.4.2/24"}
    made = file.with_data(made, "spark-b", {"cluster": "desk", "topology": "ring", "fabric": other})
    assert data(made) == {
        "spark-a": {"cluster": "desk", "topology": "ring", "fabric": more},
        "spark-b": {"cluster": "desk", "topology": "ring", "fabric": other, "ssh_user": "me"},
    }
    for line in ('"cluster": "desk",  # ours', '"enp1s0f0np0": "10.0.0.1/24",  # rail 0', "# its twin"):
        assert f"                {line}" in made
    assert file.with_data(made, "spark-a", {"fabric": more}) == made


def test_an_address_that_goes_takes_its_line_with_it() -> None:
    made = file.with_data(PAIR, "spark-a", {"fabric": {"enp1s0f1np1": "10.0.2.1/24"}})
    assert data(made)["spark-a"]["fabric"] == {"enp1s0f1np1": "10.0.2.1/24"}


def test_a_host_is_added_beside_hosts_that_a_call_makes() -> None:
    text = (ROOT / "inventories" / "switch.py").read_text()
    made = file.with_host(text, "spark-e", {"cluster": "sparks"})
    assert made.startswith(text[: text.rindex("]")]) and data(made)["spark-e"] == {"cluster": "sparks"}
    assert list(data(made)) == [f"spark-{letter}" for letter in "abcde"]
    with pytest.raises(Refusal, match="the data of spark-b is made by a call") as caught:
        file.with_data(text, "spark-b", {"topology": "ring"})
    assert 'in the data of spark-b: "topology": "ring"' in caught.value.cure


# --- what Python reads is what is edited


ITEMS = {
    "the key": '"mtu": 9000',
    "it again": '"mtu": 1500',
    "another key": '"cage": 1',
    "a spread": "**COMMON",
    "a key that is made": "MTU: 4000",
    "the pair": '"pair": "x"',
}


def read(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"COMMON": {"mtu": 1, "pair": "common"}, "MTU": "mtu"}
    exec(compile(text.encode(), "sparks.py", "exec"), found)
    return dict(found["sparks"])


def test_what_was_set_is_what_python_reads_or_it_is_refused() -> None:
    """Every dict of up to three items; a byte order mark in front, and other line ends, change nothing."""

    ends = itertools.cycle((("", "\n"), ("\ufeff", "\n"), ("\ufeff", "\r\n")))

    def holds(items: tuple[str, ...], key: str, value: Any) -> None:
        inner, (mark, end) = ", ".join(ITEMS[each] for each in items), next(ends)
        text = f'{mark}"""ä"""{end}sparks = [{end}    ("a", {{{inner}}}),{end}    ("b", {{}}),{end}]{end}'
        wanted = {**read(text)["a"], key: value}
        try:
            made = file.with_data(text, "a", {key: value})
        except Refusal as refusal:
            assert {"the key", "it again", "the pair"} & {*items} and "cannot be edited" in refusal.what
            return
        if key == "cluster" and "the pair" in items:
            wanted.pop("pair")
        assert read(made) == {"a": wanted, "b": {}}, made
        assert made.startswith(f'{mark}"""ä"""{end}') and made.count("\ufeff") == len(mark)

    few = [items for size in range(3) for items in itertools.product(ITEMS, repeat=size)]
    every = [*few, *itertools.permutations(ITEMS, 3)]
    each_row([(items, *to) for items in every for to in (("mtu", 77), ("pair", "new"), ("cluster", "new"))], holds)


def test_a_host_that_is_written_twice_and_another_encoding_are_refused() -> None:
    def holds(text: str, said: str) -> None:
        with pytest.raises(Refusal, match=said):
            file.with_data(text, "a", {"mtu": 9000})

    each_row(
        [
            ('sparks = [("a", {}), ("a", {})]\n', "a is written twice in its list of hosts"),
            ('# -*- coding: latin-1 -*-\nsparks = [("a", {})]\n', "it says of itself that it is iso-8859-1"),
            ('sparks = [("a", {})]\0\n', "it is no Python that is understood"),
        ],
        holds,
    )


DEEP: dict[str, Callable[[int], str]] = {
    "lists": lambda deep: "[" * deep + "]" * deep,
    "parentheses": lambda deep: "(" * deep + "1" + ")" * deep,
    "signs": lambda deep: "-" * deep + "1",
    "nots": lambda deep: "not " * deep + "1",
    "sums": lambda deep: "1" + "+1" * deep,
    "powers": lambda deep: "1" + "**1" * deep,
    "attributes": lambda deep: "a" + ".a" * deep,
    "calls": lambda deep: "a" + "()" * deep,
    "indices": lambda deep: "a" + "[0]" * deep,
    "lambdas": lambda deep: "lambda: " * deep + "1",
    "conditions": lambda deep: "1 if 1 else " * deep + "1",
    "comprehensions": lambda deep: "[1 for x in " * deep + "y" + "]" * deep,
    "branches": lambda deep: "1\nif 1: pass\n" + "elif 1: pass\n" * deep,
    "f-strings": lambda deep: "f'" + "{1:" * deep + "}" * deep + "'",
}


def test_a_file_of_any_depth_ends_in_a_host_that_is_set_or_in_a_sentence() -> None:
    """libcst ends the process where it runs out of the stack, and the test with it."""

    def holds(make: Callable[[int], str]) -> None:
        for deep in (20, 90, 1000, 20_000):
            text = f'x = {make(deep)}\nsparks = [("a", {{}})]\n'
            try:
                assert '"mtu": 9000,\n' in file.with_data(text, "a", {"mtu": 9000})
            except Refusal as refusal:
                assert deep > 20 or make is DEEP["f-strings"], refusal.what

    each_row(DEEP, holds)
