"""How hosts are led through a guarded change, word for word, by a clock that moves by sleeping alone.

test_guarded_change.py has the same with connections; here each answer, and each one that does not come, is set.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gevent import Timeout
from pyinfra.api import Host
from pyinfra.api.exceptions import ConnectError
from pyinfra.connectors.base import BaseConnector

from sparkrig import programs
from sparkrig.fabric.io.witness import Proof
from sparkrig.network import guard
from sparkrig.network.guard import Order, Probe
from sparkrig.network.witness import Place
from sparkrig.operations import guard as guarded
from sparkrig.operations.guard import Bench, RolledBack
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from tests.tables import each_row
from tests.unit.turns import in_turn

SCRIPTS = {guarded.PREPARE: "prepare", guarded.START: "start", guard.LINK: "link"}
Answer = str | Exception | Callable[[], str]
connections = guarded._door  # the real one, which `world` takes away


def state(word: str, detail: str = "", left: float = 9) -> str:
    return json.dumps({"state": word, "detail": detail, "left": left})


WELL = {"start": state("applied"), "wait": state("applied"), "link": "", "commit": state("committed")}
BACK = state("rolled-back", "its controller gave up")


class World:
    """Hosts that answer what they are told to, and a clock that moves by sleeping alone."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, list[float]()
        self.asked: list[tuple[str, str, tuple[str, ...], float]] = []
        self.answers: dict[tuple[str, str], list[Answer]] = {}
        self.stdin: list[str | None] = []
        self.counters: list[Callable[[], None]] = []
        self.connecting, self.doors = 0.0, list[str]()
        self.through: list[tuple[str, object]] = []
        self.killed = 0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def door(self, at: Host) -> guarded.Door:
        """A new connection takes a second."""
        self.now += self.connecting
        self.doors.append(at.name)
        return guarded.Door(cast(BaseConnector, f"{at.name} {len(self.doors)}"), self.now)

    def spawn(self, count: Callable[[], None]) -> SimpleNamespace:
        self.counters.append(count)
        return SimpleNamespace(kill=self.kill)

    def kill(self) -> None:
        self.killed += 1

    def shell(self, at: Host, script: str, *words: str, seconds: float, stdin: str | None = None) -> str:
        kind = SCRIPTS.get(script) or words[1]
        self.asked.append((at.name, kind, words, seconds))
        self.through.append((kind, at.connector))
        self.stdin.append(stdin)
        queue = self.answers.get((at.name, kind)) or [WELL.get(kind, BACK)]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else answer()

    def kinds(self, name: str) -> list[str]:
        return [kind for each, kind, _, _ in self.asked if each == name]

    def later(self, seconds: float, answer: Answer) -> Callable[[], str]:
        """An answer that takes a while."""

        def come() -> str:
            self.now += seconds
            if isinstance(answer, Exception):
                raise answer
            return cast(str, answer)

        return come


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(guarded, "_door", made.door)
    monkeypatch.setattr(guarded, "time", SimpleNamespace(monotonic=lambda: made.now))
    gevent = SimpleNamespace(sleep=made.sleep, spawn=made.spawn, Timeout=Timeout)
    monkeypatch.setattr(guarded, "gevent", gevent)
    monkeypatch.setattr(remote, "shell", made.shell)
    monkeypatch.setattr(remote, "each", in_turn)
    return made


PINGS = {"a": (Probe(0, "cx", "10.0.0.2", 9000),), "b": (Probe(0, "cx", "10.0.0.1", 9000),)}


def bench(world: World, *names: str, window: int = 90, patience: float = 1.0) -> tuple[Bench, list[str]]:
    """Two hosts, of which those that are named have something to change; and what is shown of them."""
    said: list[str] = []
    hosts = {name: cast(Host, SimpleNamespace(name=name, connector="old")) for name in ("a", "b")}
    orders = {name: Order("links", window, 5) for name in names or ("a", "b")}
    return Bench(hosts, orders, PINGS, "/runs/R1", patience, said.append), said


def fails(made: Bench) -> str:
    with pytest.raises(RolledBack) as raised:
        guarded.carry_out(made)
    return str(raised.value)


def test_how_long_is_waited_for_what() -> None:
    assert (guarded.APART_S, guarded.PAUSE_S, guarded._COUNTDOWN_S, guarded._PINGED_S) == (5, 1, 10, 40)
    assert (remote._CONNECT_S, guarded._WHY, guarded._FAILURES) == (15, 500, 3)


def test_a_host_is_prepared_for_as_long_as_a_way_back_takes(world: World) -> None:
    guarded.prepare(cast(Host, SimpleNamespace(name="a", connector="old")), "R1", 1.5)
    assert world.asked == [("a", "prepare", ("R1",), int((60 + guard.BACK_S) * 1.5))]


def test_a_change_that_goes_well_is_said_step_by_step(world: World) -> None:
    made, said = bench(world)
    world.answers["b", "start"] = [world.later(10, state("applied"))]
    world.answers["a", "commit"] = [state("committed", "not as before: the MTU \x1b[2J")]
    assert guarded.carry_out(made) == {"a": "not as before: the MTU  [2J"}
    assert said == [
        "rollback armed on a and b: reverts in 90 s unless confirmed",
        "applied; a new ssh connection gets in; reverts in 80 s unless confirmed",
        "confirmed on a and b; rollback disarmed",
        "a: what was to be put back is not all as it was: not as before: the MTU  [2J",
    ]
    assert world.kinds("a") == world.kinds("b") == ["start", "wait", "link", "wait", "commit"]
    assert world.slept == [5.0] and world.killed == 1 and len(world.counters) == 1
    order = made.orders["a"]
    limits = {(name, kind): seconds for name, kind, _, seconds in world.asked}
    for verb in ("start", "wait", "commit"):
        assert limits["a", verb] == order.limit(verb)
    words = {(name, kind): words for name, kind, words, _ in world.asked}
    assert words["a", "start"] == ("/runs/R1/guard", order.dump())
    assert words["a", "wait"] == ("/runs/R1/guard", "wait", "") and words["b", "commit"] == (
        "/runs/R1/guard",
        "commit",
        "",
    )
    assert words["a", "link"] == ("15", *PINGS["a"][0].words) and words["b", "link"] == (
        "15",
        *PINGS["b"][0].words,
    )
    assert limits["a", "link"] == 2 * 15 + 40
    assert world.stdin[0] == programs.file("guard.py") and world.stdin[-1] is None


def test_the_two_proofs_are_apart_by_what_the_pings_did_not_take(world: World) -> None:
    for took, sleeps in ((2, 3.0), (30, 0.0)):
        world.slept.clear()
        world.answers["a", "link"] = [world.later(took, "")]
        guarded.carry_out(bench(world)[0])
        assert world.slept == [sleeps]


def test_they_are_apart_from_the_last_connection_of_the_first_on(world: World) -> None:
    """It had got in by then; the host's answer over it, and the pings, are within the five seconds."""
    world.connecting = 0.5
    world.answers["b", "wait"] = [world.later(1.5, state("applied")), state("applied")]
    world.answers["a", "link"] = [world.later(1, "")]
    guarded.carry_out(bench(world)[0])
    assert world.slept == [5 - 1.5 - 1]


def test_a_commit_goes_over_the_connections_of_the_second_proof(world: World) -> None:
    made, _ = bench(world)
    guarded.carry_out(made)
    assert world.doors == ["a", "b", "a", "b"]
    doors = {kind: [door for each, door in world.through if each == kind] for kind in ("start", "wait", "commit")}
    assert doors == {"start": ["old"] * 2, "wait": ["a 1", "b 2", "a 3", "b 4"], "commit": ["a 3", "b 4"]}
    assert [str(at.connector) for at in made.hosts.values()] == ["old", "old"]


def test_a_half_with_nothing_to_change_is_pinged_alone(world: World) -> None:
    made, said = bench(world, "a")
    assert guarded.carry_out(made) == {}
    assert world.kinds("b") == ["link"] and "armed on a:" in said[0]
    assert made.window == 90 and made.changing == {"a": made.hosts["a"]}


def test_the_window_is_the_longest_and_what_is_left_is_never_less_than_none(world: World) -> None:
    made, _ = bench(world)
    orders = {"a": Order("links", 60, 5), "b": Order("links", 90, 5)}
    made = Bench(made.hosts, orders, PINGS, "/runs/R1", 1.0, print)
    assert made.window == 90 and made.deadline == 0.0
    with pytest.raises(TypeError):
        Bench(made.hosts, orders, PINGS, "/runs/R1", 1.0, print, Proof(), "network", 9.0)  # type: ignore[call-arg]
    made.deadline = world.now + 7.9
    assert made.left == 7
    made.deadline = world.now - 5
    assert made.left == 0


def test_pings_take_what_the_window_leaves(world: World) -> None:
    """15 s where there is time; at least 2; and a commit and the second proof come after them."""

    def takes(window: float, patience: float, expected: int) -> None:
        world.asked.clear()
        made, _ = bench(world, patience=patience)
        made.deadline = world.now + window
        guarded._link(made)
        name, kind, words, seconds = world.asked[0]
        assert (name, kind, words[0], seconds) == ("a", "link", str(expected), 2 * expected + 40)

    each_row(
        [(90, 1.0, 15), (90, 2.0, 30), (90, 0.5, 7), (25, 1.0, 10), (18, 1.0, 3), (16, 1.0, 2), (0, 1.0, 2)], takes
    )


def test_a_rail_without_an_answer_takes_it_back(world: World) -> None:
    made, said = bench(world)
    world.answers["a", "link"] = ["silent 0 cx 10.0.0.2 8972"]
    world.answers["b", "link"] = [Failed("it broke off")]
    why = "a: no answer on rail 0 from 10.0.0.2 over cx to 9000 bytes; b: it broke off"
    assert fails(made) == f"{why}; the network of a and b is as it was before"
    assert world.kinds("a") == ["start", "wait", "link", "revert"]
    assert f"putting the network back: {why}" in said and world.killed == 1
    reverts = [words for _, kind, words, _ in world.asked if kind == "revert"]
    assert reverts == [("/runs/R1/guard", "revert", why)] * 2


def test_a_commit_that_has_not_the_time_does_not_begin(world: World) -> None:
    made, _ = bench(world, window=guard.MARGIN_S + guarded.APART_S)
    world.answers["b", "wait"] = [state("applied"), world.later(1, state("applied"))]
    assert fails(made).startswith("only 9 s were left to confirm it; ")
    made, _ = bench(world, window=guard.MARGIN_S + guarded.APART_S)
    world.answers.clear()
    assert guarded.carry_out(made) == {}, "just enough"


def test_what_is_not_in_its_state_is_said_by_its_reason(world: World) -> None:
    for word, detail, expected in (
        ("armed", "", "armed"),
        ("aborted", "", "aborted"),
        ("rolled-back", "its window ended", "its window ended"),
    ):
        made, _ = bench(world)
        world.answers["a", "start"] = [state(word, detail)]
        world.answers["b", "start"] = [state("applied")]
        assert fails(made).startswith(f"a: {expected}; ")
    made, _ = bench(world)
    world.answers.clear()
    world.answers["b", "commit"] = [Lost("b is gone")]
    assert fails(made).startswith("b: b is gone; the network of a and b")


# --- a host that does not answer


def test_a_start_that_breaks_off_is_asked_after(world: World) -> None:
    for error in (Lost("gone"), Failed("exit 1"), ValueError("no JSON")):
        made, _ = bench(world, "a")
        world.asked.clear()
        world.answers["a", "start"] = [error]
        world.answers["a", "wait"] = [Lost("gone"), state("applied")]
        assert guarded.carry_out(made) == {}
        assert world.kinds("a")[:3] == ["start", "wait", "wait"] and world.slept[0] == 1


def test_a_start_that_left_no_guard_is_said_by_why_it_failed(world: World) -> None:
    made, _ = bench(world, "a")
    world.answers["a", "start"] = [Failed("no python3")]
    world.answers["a", "wait"] = [Failed("no guard")]
    said = fails(made)
    assert said.startswith("a: no python3; ") and world.kinds("a").count("wait") == 3
    assert world.slept[:2] == [1, 1]


def test_failures_count_in_all_and_a_host_that_is_away_has_until_it_is_back(world: World) -> None:
    made, _ = bench(world, "a", patience=2.0)
    made.deadline = world.now + 30
    world.answers["a", "wait"] = [Failed("x"), Lost("y"), Failed("x"), Lost("y"), state("applied")]
    assert guarded._until_it_answers(made, made.hosts["a"]).state == "applied"
    assert world.slept == [1, 1, 1, 1]
    world.answers["a", "wait"] = [Failed("x"), Lost("y"), Failed("x"), Lost("y"), Failed("the third")]
    with pytest.raises(Failed, match="the third"):
        guarded._until_it_answers(made, made.hosts["a"])
    begin, made.deadline = world.now, world.now + 30
    world.answers["a", "wait"] = [Lost("away")]
    with pytest.raises(Lost, match="away"):
        guarded._until_it_answers(made, made.hosts["a"])
    assert world.now - begin == 30 + guard.GRACE_S + guard.RETURN_S * 2


def test_an_answer_that_is_none_is_a_failure(world: World) -> None:
    made, _ = bench(world, "a")
    world.answers["a", "wait"] = ["no JSON"]
    with pytest.raises(Failed, match="the guard's answer cannot be understood"):
        guarded._ask(made, made.hosts["a"], world.door(made.hosts["a"]), "wait")


# --- the way back


def test_where_a_host_is_not_as_it_was_is_said(world: World) -> None:
    def ends(answers: Mapping[str, list[Answer]], expected: str) -> None:
        made, _ = bench(world)
        world.answers.clear()
        world.answers["a", "wait"] = [state("armed", "why")]
        for name, queue in answers.items():
            world.answers[name, "revert"] = [*queue]
        assert fails(made) == f"a: why; {expected}"

    wrong = state("rolled-back", "not as before: the MTU")
    each_row(
        [
            ({}, "the network of a and b is as it was before"),
            (
                {"b": [wrong]},
                "the network of a is as it was before, and b is rolled-back (not as before: the MTU)",
            ),
            ({"a": [state("committed")]}, "the network of b is as it was before, and a is committed"),
            ({"a": [state("armed")], "b": [Lost("b is away")]}, "a is armed, and b is unknown (b is away)"),
            ({"a": [Failed("x"), BACK]}, "the network of a and b is as it was before"),
        ],
        ends,
    )


def test_a_host_that_cannot_be_asked_is_asked_until_its_window_is_over(world: World) -> None:
    made, said = bench(world)
    world.answers["a", "link"] = [world.later(30, "silent 0 cx 10.0.0.2 8972")]
    world.answers["b", "revert"] = [Lost("away"), Lost("away"), BACK]
    assert fails(made).endswith("; the network of a and b is as it was before")
    assert "b cannot be asked; unless it confirmed already it reverts in 60 s" in said
    words = [words for name, kind, words, _ in world.asked if (name, kind) == ("b", "revert")]
    assert len(words) == 3 and len(set(words)) == 1


def test_a_reason_is_kept_in_one_line_of_500_characters(world: World) -> None:
    made, _ = bench(world, "a")
    world.answers["a", "wait"] = [state("armed", "x\x1b\n" * 300)]
    fails(made)
    (why,) = {words[2] for _, kind, words, _ in world.asked if kind == "revert"}
    assert len(why) == 500 and why.isprintable()


# --- beside it


def test_what_is_left_is_counted_down_until_nothing_is(world: World) -> None:
    made, said = bench(world)
    made.deadline = world.now + 25
    with guarded._counting(made):
        assert world.killed == 0
        world.counters[0]()
    assert said == [f"not confirmed yet; reverts in {left} s" for left in (15, 5, 0)]
    assert world.slept == [10, 10, 10] and world.killed == 1


def test_a_new_connection_is_one_that_gets_in_now(world: World) -> None:
    class Connector:
        trouble: Exception | None = None

        def __init__(self, state: object, at: object) -> None:
            self.made_of = (state, at)

        def connect(self) -> None:
            world.now += 2
            if self.trouble:
                raise self.trouble

    at: Any = SimpleNamespace(name="a", state="S", connector="old", connector_cls=Connector)
    door: Any = connections(at)
    assert door.connector.made_of == ("S", at) and door.made == world.now == 1002.0
    assert at.connector == "old"
    for error in (ConnectError("no route"), TimeoutError("no connection in time")):
        Connector.trouble = error
        with pytest.raises(Lost, match=rf"a cannot be reached by a new ssh connection \({error}\)"):
            connections(at)
        assert at.connector == "old"


def test_the_old_connection_comes_back_whatever_happens() -> None:
    at: Any = SimpleNamespace(name="a", connector="old")
    with pytest.raises(Failed), guarded._through(at, guarded.Door(cast(BaseConnector, "new"), 0.0)):
        assert at.connector == "new"
        raise Failed("it broke off")
    assert at.connector == "old"


@pytest.mark.parametrize("seen", [0, 1])
def test_a_change_of_the_own_host_stands_only_while_another_member_sees_it(world: World, seen: int) -> None:
    """Each proof of the others is one of this host, too: what was seen once may be gone the next time."""
    answers = [*seen * [list[str]()], ["b has no route to 10.0.0.1"]]
    place = Place("a", "10.0.0.1", 22, ("ssh-ed25519 AAAA",))
    made, said = bench(world, "a")
    made.outside = cast(Proof, SimpleNamespace(place=place, consented="", why_not=lambda: answers.pop(0)))
    assert fails(made).startswith("b has no route to 10.0.0.1; the network of a is as it was before")
    assert world.kinds("a") == ["start", "wait", *seen * ["link", "wait"], "revert"]
    assert answers == [] and ("commit" not in world.kinds("a"))
    assert any("another member sees the ssh server of a" in each for each in said) == bool(seen)
