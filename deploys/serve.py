"""A model served on one Spark or several: pyinfra inventories/sparks.py deploys/serve.py --data model=NAME

Not part of cluster.py, and it takes what that made. `--data recipe=FILE` serves what others wrote down. Without
either it is the model that was served last.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from pyinfra import host, inventory, logger
from pyinfra.api import deploy

from sparkrig.checks.server import Server, Sources
from sparkrig.deploys import kept
from sparkrig.deploys.spark import Spark, look, looked_at, refuse
from sparkrig.operations import image, serving, weights
from sparkrig.operations.group import Group, together
from sparkrig.operations.journal import close
from sparkrig.refusal import Refusal
from sparkrig.serving.io import lint_rules, recipe_file, vllm_flags
from sparkrig.serving.io.catalogue_files import catalogue, own
from sparkrig.serving.model import Catalogue
from sparkrig.serving.recipe import Recipe

_SECONDS = 24 * 3600  # pyinfra's own patience with one operation; each step ends sooner by itself


@cache
def _own() -> Path | None:
    """The folder models/ of the project that the inventory on the command line is of."""
    return own(kept.inventory_file())


@cache
def _catalogue() -> Catalogue:
    return catalogue(beside=_own())


@cache
def _recipe(named: str | None) -> Recipe | None:
    """Raises Refusal."""
    return recipe_file.read(named) if named else None


_SOURCES = Sources(
    find=lambda name: _catalogue().find(name),
    recipe=_recipe,
    rules=lambda: lint_rules.rules(_own()),
    tables=lambda: vllm_flags.knowledge(_own()),
    host=looked_at,
    typed=lambda: [*inventory.get_override_data()],
)


def _server(spark: Spark, service: str | None) -> Server:
    """service: its name; None for the one that is declared."""
    return Server(spark, _SOURCES, spark.settings.serve_name if service is None else service)


@deploy("Serve")
def model_served(spark: Spark, service: str | None = None) -> None:
    """Image, weights and server, on every host that has a part. service: its name; None for the declared one."""
    server = _server(spark, service)
    if server.goes:
        _removed(server)
        return
    wish = server.wish
    step = partial(together, leader=server.group[0], group=lambda: Group(server.members), _timeout=_SECONDS)
    of = f" of {server.name}" if server.name else ""
    step(
        name=f"image{of}",
        due=lambda: not (all(member.has_image for member in server.members) and server.one_image),
        act=image.image,
        settled=f"{wish.image} is there",
    )
    step(
        name=f"weights{of}",
        due=lambda: not (all(member.has_weights for member in server.members) and server.one_revision),
        act=weights.weights,
        settled=f"{wish.gguf or wish.checkpoint.id} is there",
    )
    step(
        name=f"server{of}",
        due=lambda: not (all(member.settled for member in server.members) and server.alike),
        act=serving.server,
        settled=f"{wish.model.name} answers on port {server.mine.serve_port}",
    )


def _removed(server: Server) -> None:
    """The service goes from every host that has a part."""
    together(
        name=f"remove {server.service}",
        leader=server.group[0],
        group=lambda: Group(server.members),
        due=lambda: not all(member.gone for member in server.members),
        act=serving.removed,
        settled=f"{server.service} is not there",
        _timeout=_SECONDS,
    )


def refusals(spark: Spark, service: str | None = None) -> list[Refusal]:
    """Why this host could not serve what is asked for. service: as `model_served` has it."""
    return _server(spark, service).refusals()


# pyinfra executes this file without a name of its own; drift imports it
if __name__ == "builtins" and (spark := look(network=False)):
    server = _server(spark, None)
    if found := server.refusals():
        refuse(found, spark.fleet)
    else:
        if not server.goes and server.rank == 0:
            if len(server.group) > 2:
                host.log(server.parts)
            if server.anew:
                host.log(server.anew)
            for line in server.told():
                host.log_styled(line, fg="yellow", log_func=logger.warning)
        model_served(spark=spark)
        close(name="close the run", unkept=lambda: spark.unkept, kept=lambda _: kept.served(spark, server))
