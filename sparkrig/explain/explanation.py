"""What every reader of a tool's output takes and returns; the names of a Spark's ports."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sparkrig.fabric.cabling import CAGE_SPEED_MBPS
from sparkrig.verdict import Finding, Verdict

PATH_MTU = 4096
CAGE_GBPS = CAGE_SPEED_MBPS / 1000
# The bands are of messages of 64 KiB. Half of that still fills a link; a message of a few bytes does not.
LEAST_MESSAGE = 32768

# The netdevs and RDMA devices of a Spark's cages [@nvidia-two-sparks]: the half, and the cage.
CAGE = re.compile(r"(?:en|roce)(p1|P2p1)s0f([01])(?:np[01])?")


@dataclass(frozen=True)
class Explained:
    """What one tool printed, explained.

    read: what was read, with units, in one line; notes: what is worth knowing and is no verdict, as sentences
    without a full stop; host: whose prompt stands before it, where prompts name more than one host.
    """

    tool: str
    read: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    host: str = ""


@dataclass(frozen=True, kw_only=True)
class Explain:
    """What each tool's output in a paste means, and how many lines of it nothing read."""

    schema: Literal["sparkrig.explain/2"] = "sparkrig.explain/2"
    explained: list[Explained]
    unread: int = 0


@dataclass(frozen=True)
class Around:
    """What the rest of the paste shows.

    suspects: verdicts on PCIe links; written: NCCL_IB_GID_INDEX; devices: RDMA devices that it shows on a cage's
    netdev, whatever their names (mlx5_0); prefixes: the prefix length of each IPv4 address that has one;
    prose: whether other lines than what the tools printed and what started them are in it; linked: the PCI domains
    of a ConnectX-7 whose link it shows to be healthy; foreign: a GPU that it names, and that no Spark has.
    """

    suspects: tuple[Verdict, ...] = ()
    written: int | None = None
    devices: frozenset[str] = frozenset()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    prose: bool = False
    linked: frozenset[str] = frozenset()
    foreign: str = ""


@dataclass(frozen=True)
class Sign:
    """A line that one tool alone prints.

    again: it begins another run in a piece that has all signs of one of `after`, or itself where that is empty;
    only_within: it begins nothing where another tool speaks.
    """

    name: str
    words: re.Pattern[str]
    again: bool = False
    only_within: bool = False
    after: tuple[frozenset[str], ...] = ()

    def ends(self, signs: Iterable[str]) -> bool:
        """Whether it ends a piece with those signs."""
        seen = {*signs}
        return self.again and any(names <= seen for names in self.after or (frozenset((self.name,)),))


def line_numbers(text: str) -> Callable[[int], int]:
    """Which line of a text a place in it is of, counted from 0."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return lambda place: bisect_right(starts, place) - 1


_INDENTED = re.compile(r"[ \t]")


@dataclass(frozen=True, eq=False)
class Reader:
    """What reads the output of one tool, by its row of models/readers.yaml, which says what each field is.

    tool: its name for people; readable: what of it can be pasted, "" where another row says it.
    """

    tool: str
    explained: Callable[[Piece, Around], Explained]
    readable: str = ""
    programs: str = ""
    command: re.Pattern[str] | None = None
    signs: tuple[Sign, ...] = ()
    body: re.Pattern[str] = _INDENTED
    judges: tuple[str, ...] = ()
    flows: bool = False
    rows_name_tools: bool = False
    install: str = ""

    def __post_init__(self) -> None:
        # of a whole line, whatever finds it, so that no line takes long
        object.__setattr__(self, "body", re.compile(rf"\A(?:{self.body.pattern})", self.body.flags))


WORD = re.compile(r"\w")  # a line without one is a rule, or blank


@dataclass
class Piece:
    """What one tool printed in one run.

    command: the line that started it, where the paste has it; host: whose prompt stands before it; numbers: of its
    lines in the paste; others: of those lines that are none of the tool's.
    """

    reader: Reader | None = None
    command: str = ""
    host: str = ""
    prompted: bool = False
    lines: list[str] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)

    @property
    def printed(self) -> bool:
        """Whether a reader can make something of it."""
        return bool(self.reader and (self.signs or self.prompted) and any(self.lines))

    @property
    def unread(self) -> list[int]:
        """The numbers of the lines that nothing reads."""
        if not self.printed:
            return [number for number, line in zip(self.numbers, self.lines, strict=True) if WORD.search(line)]
        return self.others if self.signs else []

    @property
    def tool(self) -> str:
        return self.reader.tool if self.reader else ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def size_of(count: int) -> str:
    """`64 KiB`. count: of bytes."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"
