"""The host's own name: what hosts print, what is to be done, its programs on their own root, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.hostname import HOSTNAME, HOSTS_FILE, IN_HOSTS, NAME_FILE, SET, Hostname
from sparkrig.runs.managed_files import RELOADS
from sparkrig.settings import SettingsError
from tests.tables import each_row
from tests.unit import undo_host
from tests.unit.shells import sh, tool, well
from tests.unit.states import PAIR, SEEN, A, B

FACTORY = (
    "127.0.0.1\tlocalhost\n# ours\n127.0.1.1 spark-1b3b.lan spark-1b3b # as it came\n10.0.0.9 nas 127.0.1.1\n"
)
NAMED = Hostname("spark-a", "spark-a", in_hosts=True)
ROWS = {
    "nothing told": ([], Hostname()),
    "as it came": (["name spark-1b3b", "static spark-1b3b", "hosts"], Hostname("spark-1b3b", "spark-1b3b", True)),
    "by DHCP alone": (["name x", "static "], Hostname("x")),
}


def test_parse() -> None:
    def holds(rows: list[str], expected: Hostname) -> None:
        assert HOSTNAME.parse(rows) == expected

    each_row(ROWS, holds)
    with pytest.raises(ValueError, match="no row begins with 'nme'"):
        HOSTNAME.parse(["nme x"])


def host(seen: Hostname, name: str = A, **data: Any) -> Subject:
    """A host of a pair in spec, with that name now. data: of the first host."""
    fleet = Fleet.parse({each: {**values, **(data if each == A else {})} for each, values in PAIR.items()})
    if name != A:
        fleet = Fleet.parse({name: {"hostname": data.get("hostname")}})
    state = replace(SEEN[A], others={"hostname": seen})
    return subject(name, fleet, {name: state, B: SEEN[B]})


# the name now, at the next start and in /etc/hosts; the files that change; the check
HOSTS = {
    "as declared": (NAMED, [], ("ok", "spark-a")),
    "another name": (
        Hostname("spark-1b3b", "spark-1b3b", in_hosts=True),
        [HOSTS_FILE, NAME_FILE],
        ("drift", "/etc/hosts has 127.0.1.1 spark-1b3b and /etc/hostname has spark-1b3b"),
    ),
    "not in /etc/hosts": (
        replace(NAMED, in_hosts=False),
        [HOSTS_FILE],
        ("drift", "/etc/hosts has no 127.0.1.1 spark-a"),
    ),
    "until the next start": (
        replace(NAMED, static=""),
        [NAME_FILE],
        ("drift", "/etc/hostname has none, and spark-a until the next start"),
    ),
    "not told": (Hostname(), [], ("drift", "the host does not tell its name")),
}


def test_what_changes_and_what_is_checked() -> None:
    def holds(seen: Hostname, paths: list[str], expected: tuple[str, str]) -> None:
        one = host(seen, hostname="spark-a")
        assert sorted(HOSTNAME.due(one)) == sorted(paths) if seen.name else not paths
        (check,) = HOSTNAME.checks(one)
        assert (check.id, check.status, check.found) == ("host.hostname", *expected)

    each_row(HOSTS, holds)


def test_without_the_setting_nothing_is_changed_or_checked() -> None:
    one = host(Hostname("anything"))
    assert not HOSTNAME.changes(one) and [*HOSTNAME.checks(one)] == []


def test_a_name_that_two_hosts_would_have_is_refused() -> None:
    fleet = Fleet.parse({name: {**values, "hostname": "Spark"} for name, values in PAIR.items()})
    one = subject(A, fleet, {A: replace(SEEN[A], others={"hostname": NAMED}), B: SEEN[B]})
    with pytest.raises(Refusal, match="spark-a and spark-b would all be called Spark"):
        HOSTNAME.judge(one)


def test_a_name_that_the_inventory_reaches_it_by_is_not_taken_away() -> None:
    seen = Hostname("spark-1b3b", "spark-1b3b")
    with pytest.raises(Refusal, match="by the name that it has now"):
        HOSTNAME.judge(host(seen, "Spark-1b3b.local", hostname="spark-a"))
    HOSTNAME.judge(host(seen, "spark-1b3b.local", hostname="spark-1b3b"))
    HOSTNAME.judge(host(seen, "spark.local", hostname="spark-a"))


NO_NAMES = ("", "spark_a", "-spark", "spark-", "spark.lan", "a" * 64, "localhost", "spark a", "sp\u00e4rk")


def test_what_is_no_label_is_refused_by_its_setting() -> None:
    def refused(name: str) -> None:
        with pytest.raises(SettingsError, match="hostname"):
            Fleet.parse({A: {"hostname": name}})

    each_row([(name,) for name in NO_NAMES], refused)
    for name in ("a", "1", "Spark-1b3b", "a" * 63):
        assert Fleet.parse({A: {"hostname": name}})[A].hostname == name


def printed(root: Path, name: str, static: str | None, hosts: str | None) -> Hostname:
    """What the look reads of a host with these files."""
    places = {"/proc/sys/kernel/hostname": f"{name}\n", NAME_FILE: static, HOSTS_FILE: hosts}
    text = HOSTNAME.script
    for number, (path, content) in enumerate(places.items()):
        place = root / str(number)
        place.unlink(missing_ok=True)
        if content is not None:
            place.write_text(content)
        text = text.replace(path, str(place))
    done = well(sh(text))
    return HOSTNAME.parse(done.stdout.splitlines())


def test_the_look(tmp_path: Path) -> None:
    def holds(static: str | None, hosts: str | None, expected: Hostname) -> None:
        assert printed(tmp_path, "spark-1b3b", static, hosts) == expected

    own = Hostname("spark-1b3b", "spark-1b3b")
    looks = {
        "as it came": ("spark-1b3b\n", FACTORY, replace(own, in_hosts=True)),
        "with a comment": ("# a name\n\nspark-1b3b", FACTORY, replace(own, in_hosts=True)),
        "no files": (None, None, Hostname("spark-1b3b")),
        "on another address": ("spark-1b3b\n", "127.0.0.1 localhost spark-1b3b\n", own),
        "of another domain alone": ("spark-1b3b\n", "127.0.1.1\tspark-1b3b.lan\n", own),
        "in a comment": ("spark-1b3b\n", "127.0.1.1 x # spark-1b3b\n", own),
        "by a tab": ("spark-1b3b\n", "127.0.1.1\tx\tspark-1b3b", replace(own, in_hosts=True)),
    }
    each_row(looks, holds)


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[undo_host.Spark]:
    """A host whose runs note both files. Its hostnamectl writes the file as hostnamed does."""
    monkeypatch.setattr(undo_host, "PATHS", (HOSTS_FILE, NAME_FILE))
    spark = undo_host.Spark(tmp_path)
    name = spark.at(NAME_FILE)
    tool(spark.bin, "hostnamectl", f'echo "$*" >>{tmp_path}/asked; printf "%s\\n" "$4" >{name}; chmod 644 {name}')
    yield spark
    spark.holders.cut()


def test_a_name_goes_in_and_its_undo_gives_the_old_one_back(spark: undo_host.Spark) -> None:
    spark.has(HOSTS_FILE, FACTORY)
    spark.at(HOSTS_FILE).chmod(0o664)
    spark.has(NAME_FILE, "spark-1b3b\n")
    spark.begin("1")
    for program, words in ((IN_HOSTS, ("spark-a", "spark-1b3b")), (SET, ("spark-a",))):
        well(spark.step("1", program, *words))
    spark.end("1")
    assert spark.at(NAME_FILE).read_text() == "spark-a\n"
    assert spark.at(HOSTS_FILE).read_text() == FACTORY.replace("spark-1b3b.lan spark-1b3b", "spark-a.lan spark-a")
    assert spark.at(HOSTS_FILE).stat().st_mode & 0o777 == 0o664
    plan = spark.undo("1", "2")
    assert {each.name: each.act for each in plan.changes} == {HOSTS_FILE: "put back", NAME_FILE: "put back"}
    assert (spark.at(HOSTS_FILE).read_text(), spark.at(NAME_FILE).read_text()) == (FACTORY, "spark-1b3b\n")
    assert plan.reloads == [RELOADS[NAME_FILE]]
    spark.prints(plan.reloads[0])
    asked = [row.split()[-1] for row in spark.lines("asked")]
    assert asked == ["spark-a", "spark-1b3b"]


def test_a_power_cut_leaves_no_doubt_whose_the_name_is(spark: undo_host.Spark) -> None:
    spark.has(NAME_FILE, "spark-1b3b\n")
    spark.begin("1")
    spark.step("1", SET, "spark-a", cut=True)
    assert {each.name: each.act for each in spark.plan("1").changes} == {NAME_FILE: "put back"}


def test_the_row_of_hosts(spark: undo_host.Spark) -> None:
    def holds(before: str | None, after: str) -> None:
        spark.at(HOSTS_FILE).unlink(missing_ok=True)
        if before is not None:
            spark.has(HOSTS_FILE, before)
        spark.prints(IN_HOSTS, "spark-a", "spark-1b3b")
        assert spark.at(HOSTS_FILE).read_text() == after
        spark.prints(IN_HOSTS, "spark-a", "spark-a")
        assert spark.at(HOSTS_FILE).read_text() == after, "once is enough"

    own = "127.0.1.1\tspark-a\n"
    rows = {
        "no file": (None, own),
        "no row": ("127.0.0.1 localhost spark-1b3b\n", f"127.0.0.1 localhost spark-1b3b\n{own}"),
        "no end": ("127.0.0.1 localhost", f"127.0.0.1 localhost\n{own}"),
        "its row": ("127.0.1.1 spark-1b3b\n::1 x\n", "127.0.1.1 spark-a\n::1 x\n"),
        "a row of another name": ("127.0.1.1  other\n", f"127.0.1.1  other\n{own}"),
        "a name that only begins so": ("127.0.1.1 spark-1b3bc spark-1b3b\n", "127.0.1.1 spark-1b3bc spark-a\n"),
        "in a comment": ("127.0.1.1 other # spark-1b3b\n", f"127.0.1.1 other # spark-1b3b\n{own}"),
    }
    each_row(rows, holds)


def test_a_name_that_is_hostile_is_one_word(spark: undo_host.Spark) -> None:
    """What the kernel calls the host goes to awk as it is."""
    spark.has(HOSTS_FILE, "127.0.1.1 a\\\\n.*&\n")
    spark.prints(IN_HOSTS, "spark-a", "a\\\\n.*&")
    assert spark.at(HOSTS_FILE).read_text() == "127.0.1.1 spark-a\n"
    assert [each.name for each in spark.at("/etc").iterdir() if each.name.startswith(".")] == []
