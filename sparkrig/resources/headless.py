"""A Spark without a desktop: setting `headless`.

Its next start leads to multi-user.target. The login screen ends at once, unless somebody is logged in there: no
session is ended under a person. The desktop stays installed. Sources: systemctl(1), set-default; owners end it for
the memory of a large model [@eugr].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import on_host
from sparkrig.files import File, Managed
from sparkrig.parsing.rows import told
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Edit, Resource
from sparkrig.text import listed
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

LINK = "/etc/systemd/system/default.target"
DECLARED = "/etc/sparkrig/headless"
BEFORE = "/var/lib/sparkrig/default-target"  # the target before sparkrig changed it
TARGET = "multi-user.target"

SETTLE = programs.text("operations/headless.sh")

_TEXT = f"# Written by sparkrig: this host starts without a desktop, at {TARGET}.\n"


@dataclass(frozen=True)
class Screen(Value):
    """The desktop of a host.

    target: of the next start, `other` for neither of the usual two, empty where none is told; display: the unit of
    the login screen that runs, or empty; bytes: what it and its greeter hold, None where no cgroup told; persons:
    who is logged in on a desktop.
    """

    target: str = ""
    display: str = ""
    bytes: int | None = None
    persons: tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether a login screen runs that nobody needs."""
        return bool(self.display) and not self.persons


class Headless(Resource[Screen]):
    """Whether the host starts with a desktop, and what runs of one."""

    name, title, step = "headless", "Headless", "no desktop"
    files = (Managed(DECLARED, reload=SETTLE), Managed(BEFORE, "seen"))
    script = programs.text("facts/headless.sh")
    absent = Screen()
    kinds = (
        Kind(
            "host.headless",
            "health",
            "the host starts without a desktop, and none runs that nobody uses",
            "the desktop was started by hand, or an upgrade made graphical.target the default again",
            "docs/alone.md#no-desktop",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Screen:
        rows = told(lines, "target", "display", "bytes", "person")
        words, held = dict(rows), [int(rest) for word, rest in rows if word == "bytes"]
        persons = tuple(rest for word, rest in rows if word == "person")
        return Screen(words.get("target", ""), words.get("display", ""), sum(held) if held else None, persons)

    def changes(self, subject: Subject) -> Changes:
        """Raises Refusal where the host starts with a target of somebody's own."""
        seen, files, on = self.seen(subject), subject.found.files, subject.settings.headless
        if on and seen.target not in (TARGET, "graphical.target"):
            what = "one of its owner's" if seen.target else "not told"
            raise Refusal(f"the host's default target is {what}", on_host("systemctl get-default"))
        due = on and (seen.target != TARGET or seen.idle)
        wanted = [File(DECLARED, _TEXT)] if due or (on and DECLARED in files) else []
        made = Changes.of(wanted, files, self.files[:1])
        edits = [Edit(LINK, SETTLE, (), _now(seen), _then(seen))] if due else []
        if not on and BEFORE in files:
            earlier = files[BEFORE].content.strip()
            edits = [Edit(LINK, SETTLE, (), seen.target, f"{earlier} from the next start on")]
        return Changes(made.wanted, made.write, made.remove, edits=tuple(edits))

    def settings_of(self, found: State) -> Mapping[str, Any]:
        return {"headless": True} if DECLARED in found.files else {}

    def checks(self, subject: Subject) -> Iterator[Check]:
        on, seen = subject.settings.headless, self.seen(subject)
        want = "no desktop" if on else "no note of an earlier headless = True"
        stays = f"{TARGET}; {listed(seen.persons)} logged in on the desktop" if seen.persons else TARGET
        return self.sole_check(subject, want, declared=on, odd=lambda changes: changes.differences, holds=stays)


HEADLESS = Headless()


def _now(seen: Screen) -> str:
    if not seen.display:
        return seen.target
    held = "unknown memory" if seen.bytes is None else f"{seen.bytes / 2**30:.1f} GiB"
    return f"{seen.target}, with a login screen ({seen.display}) that holds {held}"


def _then(seen: Screen) -> str:
    """What becomes of it; the desktop of a person stays until the next start."""
    if seen.persons:
        return f"{TARGET} from the next start on, for {listed(seen.persons)} is logged in on the desktop"
    return f"{TARGET}{', and that memory free at once' if seen.display else ''}"
