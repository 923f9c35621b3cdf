"""What the deploys would do to hosts that were looked at: pyinfra's own plan, which executes nothing.

The whole deploy, and that of a model where one is declared or served.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from pyinfra.api import Config, Host, Inventory, arguments
from pyinfra.api import State as RunState
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_host, ctx_inventory, ctx_state

from sparkrig import login
from sparkrig.deploys.cluster import cluster
from sparkrig.deploys.spark import Spark, judge, remember
from sparkrig.drift.plan import Planned, Step
from sparkrig.fleet import Fleet
from sparkrig.operations import plan as reports
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from sparkrig.serving import last_deploy

# pyinfra 3.10 works the kinds of its arguments out anew for each operation of each host, from its own source: a
# third of the time that the plan of a fleet takes
arguments.all_global_arguments = cache(arguments.all_global_arguments)
_popped = arguments.pop_global_arguments
_CALLERS = sys.modules["pyinfra.api.deploy"], sys.modules["pyinfra.api.operation"]


def plan(
    data: Mapping[str, Mapping[str, Any]], fleet: Fleet, found: Mapping[str, State]
) -> dict[str, list[str] | list[Refusal]]:
    """By host: the operations that would change it, or every reason why the deploy would refuse it.

    As `planned` has it, with the deploy of a model where the host is as declared otherwise.
    """
    made = planned(data, fleet, found, model=True)
    return {name: [*each.refusals] or [step.name for step in each.steps] for name, each in made.items()}


def planned(
    data: Mapping[str, Mapping[str, Any]], fleet: Fleet, found: Mapping[str, State], *, model: bool = False
) -> dict[str, Planned]:
    """By host: what the whole deploy would change, old to new, or every reason why it would refuse the host.

    It connects to no host. data: the inventory's, of each host; found: what was seen of those that could be read;
    model: whether the deploy of a model is asked, too, where there is one and nothing else is to be done; the
    steps then have their names alone.
    """
    if not found:  # pyinfra takes an empty inventory for none at all
        return {}
    named = [(login.connector_name(name, own), dict(own)) for name, own in data.items()]
    run = RunState(Inventory((named, {})), Config())
    sparks = {name: Spark(name, fleet, state) for name, state in found.items()}
    with ctx_state.use(run), ctx_inventory.use(run.inventory):
        if model:
            reports.names_alone()
        for spark in sparks.values():
            remember(spark)
        asked = found if model else data
        return {
            name: _or_refused(run, spark, absent=[peer for peer in spark.peers if peer not in asked], model=model)
            for name, spark in sparks.items()
        }


def _or_refused(run: RunState, spark: Spark, *, absent: Sequence[str], model: bool) -> Planned:
    """A refusal that no operation caught, also of what is asked of the peer, is a finding of this host alone."""
    try:
        return _of(run, spark, absent=absent, model=model)
    except Refusal as refusal:
        return Planned(refusals=(refusal,))
    finally:
        run.ops[run.inventory.get_host(spark.name)].clear()  # which hold all that was given to each operation


def _of(run: RunState, spark: Spark, *, absent: Sequence[str], model: bool) -> Planned:
    """The whole deploy; of a host that it would not change, the model's.

    absent: its peers that are not asked; one that cannot be read is a finding of the peer's own.
    """
    host = run.inventory.get_host(spark.name)
    with ctx_host.use(host):
        if refusals := judge(spark, absent=absent):
            return Planned(refusals=tuple(refusals))
    with _arguments_once():
        add_deploy(run, cluster, spark, host=host)
    steps = _steps(run, host)
    if not model:
        return Planned(steps, reports.refusals(spark.name))
    if steps or not (services := _services(spark)):
        return Planned(steps)
    from sparkrig.deploys import serve  # with the catalogue and its rules, which few hosts need

    with ctx_host.use(host):
        if refusals := [refusal for name in services for refusal in serve.refusals(spark, name)]:
            return Planned(refusals=tuple(refusals))
    for name in services:
        add_deploy(run, serve.model_served, spark, name, host=host)
    return Planned(_steps(run, host))


@contextmanager
def _arguments_once() -> Iterator[None]:
    """Have what a host's data and deploys give for pyinfra's 34 arguments worked out once each, and not 29 times.

    Those that an operation is given itself come on top of them, as they are.
    """
    known: list[tuple[Any, Any]] = []

    def pop(state: RunState, host: Host, kwargs: dict[str, Any]) -> tuple[Any, list[str]]:
        given = {key: kwargs[key] for key in kwargs.keys() & arguments.all_argument_meta.keys()}
        if any(arguments.all_argument_meta[key].handler for key in given):
            return _popped(state, host, kwargs)
        outer = host.current_deploy_kwargs
        usual = next((each for of, each in known if of == outer), None)
        if usual is None:
            usual, _ = _popped(state, host, {})
            known.append((outer, usual.copy()))
        for key in given:
            del kwargs[key]
        return {**usual, **given}, [*given]

    try:
        for module in _CALLERS:
            module.pop_global_arguments = pop  # type: ignore[attr-defined]
        yield
    finally:
        for module in _CALLERS:
            module.pop_global_arguments = _popped  # type: ignore[attr-defined]


def _services(spark: Spark) -> list[str]:
    """The names of what a host serves: what is declared, and what was deployed there."""
    records = last_deploy.records(spark.found.files, spark.found.serving)
    declared = [spark.settings.serve_name] if spark.settings.model else []
    return list(dict.fromkeys([*declared, *records]))


def _steps(run: RunState, host: Host) -> tuple[Step, ...]:
    with ctx_host.use(host):
        return tuple(
            Step(", ".join(sorted(run.get_op_meta(operation).names)), reports.changes(host.name, operation))
            for operation, data in run.ops[host].items()
            if data.operation_meta.will_change
        )
