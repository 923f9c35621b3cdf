"""What the deploys would do to hosts that were looked at: pyinfra's own plan, which executes nothing.

The whole deploy, and that of a model where one is declared or served.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyinfra.api import Config, Host, Inventory
from pyinfra.api import State as RunState
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_host, ctx_inventory, ctx_state

from deploys.cluster import cluster
from deploys.spark import Spark, judge, looked_at, remember
from sparkrig.refusal import Refusal
from sparkrig.serving import served
from sparkrig.settings import Fleet
from sparkrig.state import State


def plan(
    data: Mapping[str, Mapping[str, Any]], fleet: Fleet, found: Mapping[str, State]
) -> dict[str, list[str] | list[Refusal]]:
    """By host: the operations that would change it, or every reason why the deploy would refuse it.

    It connects to no host. data: the inventory's, of each host; found: what was seen of those that could be read.
    """
    if not found:  # pyinfra takes an empty inventory for none at all
        return {}
    run = RunState(Inventory(([(name, dict(data[name])) for name in found], {})), Config())
    sparks = {name: Spark(name, fleet, state) for name, state in found.items()}
    with ctx_state.use(run), ctx_inventory.use(run.inventory):
        for spark in sparks.values():
            remember(spark)
        return {name: _of(run, spark) for name, spark in sparks.items()}


def _of(run: RunState, spark: Spark) -> list[str] | list[Refusal]:
    """The whole deploy; of a host that it would not change, the model's."""
    host = run.inventory.get_host(spark.name)
    with ctx_host.use(host):
        if refusals := judge(spark, peer_is_here=spark.peer is None or looked_at(spark.peer) is not None):
            return refusals
    add_deploy(run, cluster, spark, host=host)
    steps = _changes(run, host)
    if steps or not (spark.settings.model or served.load(spark.found.files.get(served.RECORD))):
        return steps
    from deploys import serve  # with the catalogue and its rules, which few hosts need

    with ctx_host.use(host):
        if refusals := serve.refusals(spark):
            return refusals
    add_deploy(run, serve.model_served, spark, host=host)
    return _changes(run, host)


def _changes(run: RunState, host: Host) -> list[str]:
    with ctx_host.use(host):
        return [
            ", ".join(sorted(run.get_op_meta(operation).names))
            for operation, data in run.ops[host].items()
            if data.operation_meta.will_change
        ]
