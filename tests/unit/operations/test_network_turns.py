"""Which host of a pair changes the network of both, whichever of them comes to that step first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from sparkrig.operations import network

HALVES = ("spark-a", "spark-b")


class World:
    """Two hosts in a run. changed: which of them changed both."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, well: bool = True) -> None:
        self.changed: list[str] = []
        self.said: list[str] = []
        self.hosts: dict[str, Any] = {
            name: SimpleNamespace(
                name=name, log=self.said.append, log_styled=lambda text, **_: self.said.append(text)
            )
            for name in HALVES
        }
        self.state: Any = SimpleNamespace(active_hosts={*HALVES})

        def change(host: Any, *_: object) -> bool:
            gevent.sleep(0.01)
            self.changed.append(host.name)
            return well

        self.state.active_hosts = list(self.hosts.values())
        for name, value in (("_TURN_S", 0.05), ("_change", change)):
            monkeypatch.setattr(network, name, value)
        monkeypatch.setattr(network, "inventory", SimpleNamespace(get_host=self.hosts.__getitem__))

    def styled(self, text: str, **_: object) -> None:
        self.said.append(text)

    def turn(self, name: str) -> bool:
        fleet: Any = {}
        return network._together(self.state, self.hosts[name], "spark-a", HALVES, fleet, "Network")


@pytest.mark.parametrize("well", [True, False])
@pytest.mark.parametrize("order", [HALVES, HALVES[::-1]], ids=["the one that leads first", "the other first"])
def test_one_after_the_other_the_first_changes_both(
    monkeypatch: pytest.MonkeyPatch, order: tuple[str, str], *, well: bool
) -> None:
    """pyinfra's --serial, and a pool that is full; the one that waited for the other did so for ever."""
    world = World(monkeypatch, well=well)
    with gevent.Timeout(5):
        assert [world.turn(name) for name in order] == [well, well]
    assert world.changed == [order[0]]


@pytest.mark.parametrize("order", [HALVES, HALVES[::-1]])
def test_side_by_side_the_one_that_leads_does(monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]) -> None:
    world = World(monkeypatch)
    with gevent.Timeout(5):
        turns = [gevent.spawn(world.turn, name) for name in order]
        assert [each.get() for each in turns] == [True, True]
    assert world.changed == ["spark-a"]


@pytest.mark.parametrize("gone", HALVES)
def test_a_half_that_failed_before_keeps_the_other_from_its_change(
    monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    world = World(monkeypatch)
    world.state.active_hosts = [host for name, host in world.hosts.items() if name != gone]
    with gevent.Timeout(5):
        assert not world.turn(next(name for name in HALVES if name != gone))
    assert world.changed == [] and f"{gone} failed before" in world.said[-1]


def test_a_change_that_breaks_is_no_success_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)

    def broken(*_: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(network, "_change", broken)
    with gevent.Timeout(5):
        with pytest.raises(ZeroDivisionError):
            world.turn("spark-a")
        assert not world.turn("spark-b")
