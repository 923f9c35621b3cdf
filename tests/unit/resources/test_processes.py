"""How many processes one look at a settled Spark takes: each costs a slow host more than all that it reads."""

from __future__ import annotations

import pytest

from sparkrig.facts.spark import NOUNS, Spark
from sparkrig.operations.apt import KEEP
from sparkrig.resources.state import State
from tests.plan.conftest import converged
from tests.unit.resources.world import World, settled

# The shells that the look is made of are processes, too: one for each noun, three for all.
MOST = 42 + len(NOUNS) + 3


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A settled Spark on which a deploy has left what apt simulates."""
    made = settled(tmp_path_factory.mktemp("world") / "spark")
    made.look(KEEP)
    return made


def test_one_look_takes_so_many_processes_and_no_more(world: World) -> None:
    rows, count = world.look(Spark().command())
    assert "kept" in rows
    assert count <= MOST, f"{count}; by noun: {by_noun(world)}"


def by_noun(world: World) -> dict[str, int]:
    """Where each is asked alone, without the shell that it runs in; what several share is counted for each."""
    return {name: world.look(noun().command())[1] - 1 for name, noun in NOUNS.items()}


def test_no_variable_of_the_hosts_answers_for_it(world: World) -> None:
    names = ("packages", "managed", "manager_load", "docker_about", "TAR_OPTIONS")
    rows, _ = world.look(Spark().command(), env=dict.fromkeys(names, "--none"))
    found, usual = Spark().process(rows), Spark().process(world.look(Spark().command())[0])
    for part in PARTS:
        assert repr(part(found)) == repr(part(usual)), part(found)


def test_what_is_read_by_fewer_processes_is_the_same(world: World) -> None:
    """Against what the virtual pair printed for a look that took twice as many."""
    recorded = Spark().process(converged("a").splitlines())
    found = Spark().process(world.look(Spark().command())[0])
    for part in PARTS:
        assert repr(part(found)) == repr(part(recorded)), part(found)


def _files(state: State) -> object:
    toolkit = "/etc/apt/sources.list.d/sparkrig-nvidia-container-toolkit.sources"
    return sorted((path, repr(file)) for path, file in state.files.items() if path != toolkit)


PARTS = (
    lambda state: (state.driver.rows, state.driver.upgrade, state.driver.kept),
    lambda state: (state.network.links, state.network.routes, state.network.profiles, state.network.active),
    lambda state: {name: word.partition(" (")[0] for name, word in state.network.states.items()},
    lambda state: state.rdma,
    lambda state: (state.containers.runtimes, state.containers.toolkit, state.containers.sources),
    lambda state: (state.preflight.manager, state.preflight.unfinished, state.preflight.barred),
    _files,
)
