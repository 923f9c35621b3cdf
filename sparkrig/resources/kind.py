"""What every check is: its name, what it is about, what it means, what usually breaks it, which page explains it.

NETDEV in a name stands for any netdev, FILE for any file; `@NAME` behind one is of a named service of the host.
What a verdict found has a cause of its own (docs/fabric.md, The causes).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from sparkrig.parsing import grammar

Category = Literal["access", "time", "packages and driver", "containers", "network", "RDMA", "cluster", "health"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_STANDS_FOR = {"NETDEV": grammar.NETDEV.pattern, "FILE": r"[A-Za-z0-9_.-]+"}
_OF_SERVICE = re.compile(r"(?<=\w)@[a-z0-9-]+$")  # `serve.unit@NAME` is `serve.unit` of a named service
CAUSES = "docs/fabric.md#the-hosts"
PREFLIGHT = "docs/safety.md#waiting-and-preflight"
DIFFER = "docs/doctor.md#hosts-that-differ"
THE_GID = "docs/design.md#the-gid-index"


def to_read(page: str) -> str:
    """The command that shows a page: `sparkrig docs fabric#cabling` of `docs/fabric.md#cabling`."""
    return "sparkrig docs " + page.removeprefix("docs/").replace(".md", "", 1)


@dataclass(frozen=True)
class Kind:
    """A check, or one of each netdev.

    name: with NETDEV or FILE where there are several; meaning: one line of what holds; cause: what usually breaks
    it, as a sentence without a full stop; docs: page and section.
    """

    name: str
    category: Category
    meaning: str
    cause: str
    docs: str

    def fits(self, id: str) -> bool:
        if self.name.startswith("serve."):
            id = _OF_SERVICE.sub("", id)
        pattern = re.sub("|".join(_STANDS_FOR), lambda word: _STANDS_FOR[word[0]], re.escape(self.name))
        return re.fullmatch(pattern, id) is not None

    def begins(self, prefix: str) -> bool:
        """Whether the name up to some dot is that prefix."""
        pairs = zip(self.name.split("."), prefix.split("."), strict=False)
        return prefix.count(".") < self.name.count(".") and all(
            part == word or (part == "NETDEV" and word) for part, word in pairs
        )
