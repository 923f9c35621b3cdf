"""The step of a deploy for a resource that is files, and services which read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyinfra.api import deploy

from sparkrig.deploys.spark import Spark
from sparkrig.operations import files
from sparkrig.resources.resource import Resource


def of_files(resource: Resource[Any]) -> Callable[..., Any]:
    """Write and remove its files, and have them read again; nothing where it declares none and none is there."""

    @deploy(resource.title)
    def apply(spark: Spark) -> None:
        changes, there = resource.changes(spark.subject), spark.found.files
        if changes or changes.wanted:
            files.place(name=resource.step, wanted=changes.write, found=there, unwanted=changes.remove)
            files.reload(name=resource.rereads, paths=changes.reload)

    return apply
