"""The fact of each resource by itself, by its name: pyinfra INVENTORY fact sparkrig.facts.resources.Time"""

from __future__ import annotations

from typing import Any, TypeVar

from sparkrig.facts.noun import Noun
from sparkrig.resources.resource import Resource
from sparkrig.resources.state import RESOURCES

T = TypeVar("T")


def of_resource(resource: Resource[T]) -> type[Noun[T]]:
    """The fact of a resource."""

    class Fact(Noun[T]):
        __doc__ = resource.__doc__
        parse = staticmethod(resource.parse)
        script = resource.script
        shared = resource.shared
        default = staticmethod(lambda: resource.absent)

    Fact.__name__ = Fact.__qualname__ = resource.name.capitalize()
    return Fact


FACTS: dict[str, type[Noun[Any]]] = {
    resource.name: of_resource(resource) for resource in RESOURCES if resource.script
}


def __getattr__(name: str) -> type[Noun[Any]]:
    """What pyinfra and its users ask this module for."""
    if (fact := FACTS.get(name.lower())) is None or fact.__name__ != name:
        raise AttributeError(name)
    return fact
