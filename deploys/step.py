"""What a deploy does for each resource; of one that is files, and services which read them, it is made here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark
from sparkrig.operations import files, guarded, packages
from sparkrig.resources.resource import Resource
from sparkrig.resources.state import RESOURCES
from sparkrig.text import listed


def of_files(resource: Resource[Any]) -> Callable[..., Any]:
    """Write, remove, edit its files, install what they are for, and have them read again.

    Nothing where none is declared and none there.
    """

    @deploy(resource.title)
    def apply(spark: Spark) -> None:
        changes, there = resource.changes(spark.subject), spark.found.files
        if resource.guard and (changes or changes.wanted):
            guarded.change(name=resource.step, resource=resource, changes=changes, found=there, fleet=spark.fleet)
        elif changes or changes.wanted:
            files.place(
                name=resource.step,
                wanted=changes.write,
                found=there,
                unwanted=changes.remove,
                edits=changes.edits,
            )
            if changes.install:
                packages.install(
                    name=f"install {listed(changes.install)}",
                    packages=changes.install,
                    patience=spark.settings.patience,
                )
            if resource.rereads:
                files.reload(name=resource.rereads, paths=changes.reload)

    return apply


def steps() -> dict[str, Callable[..., Any]]:
    """By the name of each resource that a deploy changes, what deploys/NAME.py applies; else its files."""
    named: dict[str, Callable[..., Any]] = {}
    for resource in RESOURCES:
        module = f"{__package__}.{resource.name}"
        if find_spec(module):
            named[resource.name] = import_module(module).apply
        elif resource.step:
            named[resource.name] = of_files(resource)
    return named
