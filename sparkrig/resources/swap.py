"""The swap of a host: setting `swap_gib`, and for swap that is there already the words of `adopt`.

Ours is a file with a unit; /etc/fstab stays as it is, for its units are masked where it is to be set aside.
Sources: systemd.swap(5), systemd-fstab-generator(8); swapon(8) for the file systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import advice, deploy, on_host
from sparkrig.files import File, Found, Managed
from sparkrig.parsing.rows import told
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Edit, Resource
from sparkrig.text import listed
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

SWAP = "/swap.sparkrig"
UNIT_FILE = "/etc/systemd/system/swap.sparkrig.swap"
ASIDE = "/etc/sparkrig/swap-set-aside"  # a path a line
OURS = "/var/lib/sparkrig/swap-set-aside"  # those that the program below did set aside

# Makes the swap of a host what UNIT_FILE and ASIDE say.
SETTLE = programs.text("operations/swap_settle.sh")

_GIB = 1 << 20  # in kB
_LEFT_GIB = 2  # stay free on the disk: our own reasoning
_NO_SWAP_FILES = ("btrfs", "zfs")


@dataclass(frozen=True)
class Used(Value):
    """A swap in use. kind: file or partition; size, holds: kB."""

    path: str
    kind: str
    size: int
    holds: int

    @property
    def gib(self) -> int:
        return round(self.size / _GIB)


@dataclass(frozen=True)
class Swap(Value):
    """swaps: those in use; available: kB of memory; root: the file system of /."""

    swaps: tuple[Used, ...] = ()
    available: int = 0
    root: str = ""


class SwapFile(Resource[Swap]):
    """The swap in use, the memory that is available, and the file system of /."""

    name, title, step = "swap", "Swap", "swap"
    files = (Managed(UNIT_FILE, reload=SETTLE), Managed(ASIDE, reload=SETTLE), Managed(OURS, "seen"))
    script = programs.text("facts/swap.sh")
    absent = Swap()
    kinds = (
        Kind(
            "host.swap",
            "health",
            "the host has the declared swap, and no other but what it may keep",
            "swap was switched on or off by hand, or its file was removed",
            "docs/alone.md#swap",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Swap:
        rows = told(lines, "swap", "available", "root")
        words, swaps = dict(rows), [rest.rsplit(" ", 3) for word, rest in rows if word == "swap"]
        used = tuple(Used(path, kind, int(size), int(holds)) for path, kind, size, holds in swaps)
        return Swap(used, int(words.get("available", 0)), words.get("root", ""))

    def changes(self, subject: Subject) -> Changes:
        """Raises Refusal where another's swap is in the way, or there is no room on the disk or in memory."""
        seen, files, settings = self.seen(subject), subject.found.files, subject.settings
        others = {each.path: each for each in seen.swaps if each.path != SWAP}
        ours = next((each for each in seen.swaps if each.path == SWAP), None)
        gib, aside = 0, list[str]()
        if settings.swap_gib is not None:
            gib = _ours(settings.swap_gib, list(others.values()), settings.adopt)
            known = {*others, *_lines(files.get(ASIDE))}
            aside = [path for path, word in settings.adopt.items() if word == "set-aside" and path in known]
        wanted = [File(UNIT_FILE, _unit(gib))] if gib else []
        wanted += [File(ASIDE, "\n".join([_HEAD, *aside, ""]))] if aside else []
        now, edits = ours.gib if ours else 0, list[Edit]()
        if now != gib:
            edits.append(Edit(SWAP, SETTLE, (), _said(now), _said(gib)))
        off = [others[path] for path in aside if path in others]
        edits += [Edit(each.path, SETTLE, (), _said(each.gib), "set aside") for each in off]
        back = [path for path in _lines(files.get(OURS)) if path not in aside]
        edits += [Edit(path, SETTLE, (), "set aside", "swap in use") for path in back]
        _judge(subject, gib - now, [*off, *([ours] if ours and now != gib else [])])
        made = Changes.of(wanted, files, self.files[:2])
        return Changes(made.wanted, made.write, made.remove, edits=tuple(edits))

    def settings_of(self, found: State) -> Mapping[str, Any]:
        ours = next((each for each in found.read(self.name).swaps if each.path == SWAP), None)
        return {"swap_gib": ours.gib} if ours else {}

    def checks(self, subject: Subject) -> Iterator[Check]:
        size = subject.settings.swap_gib
        want = "no swap of ours" if size is None else _said(size) or "no swap"
        return self.sole_check(subject, want, declared=size is not None, odd=lambda changes: changes.differences)


SWAP_FILE = SwapFile()

_HEAD = "# Written by sparkrig: swap of others that is set aside."


def _ours(size: int, others: Sequence[Used], adopt: Mapping[str, str]) -> int:
    """GiB that our own file is to have. Raises Refusal where others' swap is in the way."""
    words = {each.path: adopt.get(each.path) for each in others}
    if unnamed := [each for each in others if words[each.path] is None]:
        named = listed(f"{each.path} ({each.gib} GiB)" for each in unnamed)
        data = {"adopt": {**adopt, **{each.path: "leave" for each in unnamed}}}
        raise Refusal(f"the host has swap of another already: {named}", deploy(data=data))
    if fixed := [each.path for each in others if each.kind != "file" and words[each.path] == "set-aside"]:
        raise Refusal(f"{listed(fixed)} is no file, and only a swap file is set aside", on_host("swapon --show"))
    adopted = [each for each in others if words[each.path] == "adopt"]
    total = sum(each.gib for each in adopted)
    if adopted and total != size:
        what = f"{listed(each.path for each in adopted)} has {total} GiB, and swap_gib is {size}"
        raise Refusal(what, advice(f"swap_gib = {total}, or another word for it (sparkrig docs adopting)"))
    return 0 if adopted else size


def _judge(subject: Subject, more_gib: int, off: Sequence[Used]) -> None:
    seen, free_mb = SWAP_FILE.seen(subject), subject.found.preflight.room_mb.get("/", 0)
    if more_gib > 0 and seen.root in _NO_SWAP_FILES:
        raise Refusal(f"/ is {seen.root}, and the swap file is for ext4 or xfs", advice("swap_gib = None"))
    if more_gib > 0 and free_mb < (more_gib + _LEFT_GIB) * 1024:
        what = f"/ has {free_mb // 1024} GiB free, and {more_gib} GiB of swap need {more_gib + _LEFT_GIB}"
        raise Refusal(what, on_host("df -h /"))
    if (holds := sum(each.holds for each in off)) > seen.available // 2:
        what = f"the swap that goes holds {holds // 1024} MiB, and {seen.available // 1024} MiB are available"
        raise Refusal(what, on_host("free -h", ", and stop what takes the memory"))


def _unit(gib: int) -> str:
    rows = ["# Written by sparkrig: docs/alone.md", f"# {gib} GiB", "[Unit]", "Description=swap file of sparkrig"]
    return "\n".join([*rows, "", "[Swap]", f"What={SWAP}", "", "[Install]", "WantedBy=swap.target", ""])


def _said(gib: int) -> str | None:
    return f"{gib} GiB of swap" if gib else None


def _lines(found: Found | None) -> list[str]:
    """The paths of a file of ours."""
    return [line for line in found.content.splitlines() if line.startswith("/")] if found else []
