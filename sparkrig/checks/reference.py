"""Every check by name, each as the resource that it is about has it."""

from __future__ import annotations

from functools import cache

from sparkrig.checks import access, condition, pair, resources
from sparkrig.resources.kind import Category, Kind

# as the doctor shows them, within their categories; those of no one resource before and after
KINDS: tuple[Kind, ...] = (*access.KINDS, *resources.kinds(), *pair.KINDS, *condition.KINDS)


@cache
def kind(id: str) -> Kind:
    """The kind of a check. Raises LookupError for one that is in no catalogue."""
    found = [each for each in KINDS if each.fits(id)]
    if not found:
        raise LookupError(f"no check is called {id}")
    return min(found, key=lambda each: each.name != id)


def named(category: Category, name: str) -> bool:
    """Whether a person who types that name means the category: its name, the first word of it, or `pair`."""
    words = {category.lower(), category.lower().split()[0]}
    # a cluster of two is a pair, in the inventory too
    return name.lower() in (words | {"pair"} if category == "cluster" else words)


def kinds(name: str) -> list[Kind]:
    """Those that a person may mean by a name: a check, the beginning of one up to a dot, or a category."""
    itself = [each for each in KINDS if each.name == name.partition("@")[0]]
    return itself or [each for each in KINDS if each.fits(name) or each.begins(name) or named(each.category, name)]


def means(name: str, id: str) -> bool:
    """Whether a person who types that name wants to see that check."""
    return id == name or id.startswith((f"{name}.", f"{name}@")) or named(kind(id).category, name)
