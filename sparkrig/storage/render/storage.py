"""What lies on the disks of a host, on a screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from sparkrig.host.images import Image
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.render.folded import hanging
from sparkrig.storage.report import Disk
from sparkrig.storage.storage import Checkpoint
from sparkrig.text import listed, size

_STANDINGS = {
    "whole": "whole",
    "loose": "whole by its index",
    "partial": "not whole",
    "damaged": "not as its list of files",
    "linked": "a link leads out of it",
    "unknown": "not looked at to the end",
}
_BARS = {"link": "a link to another place", "mount": "a file system is mounted in it"}
_DOCKERS = {
    "absent": "docker is not installed",
    "stopped": "docker does not run, and is not started for this",
    "failed": "docker does not answer",
}
_FREE = "nothing declared needs it"
_Row = tuple[Shade, str, str, str]  # a sign, a name, what there is to know, and the command by which it goes


class Shown:
    """One host: checkpoints, images, caches and room, each with its size; what needs it stands beside."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.name, self.disk = name, disk

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = ASCII_SIGNS if options.ascii_only else SIGNS
        disk, seen = self.disk, self.disk.seen
        yield Text(self.name, "bold cyan")
        checkpoints = sorted(seen.checkpoints, key=lambda checkpoint: (-(checkpoint.size or 0), checkpoint.name))
        yield _part(
            f"checkpoints in {seen.given}", [_of_checkpoint(disk, checkpoint) for checkpoint in checkpoints], signs
        )
        images = [_of_image(disk, image) for image in sorted(seen.images, key=lambda each: -each.size)]
        yield _part("images of docker", images, signs, _DOCKERS.get(seen.docker, "none"))
        caches: list[_Row] = [("quiet", path, size(count), "") for path, count in sorted(seen.caches.items())]
        yield _part("caches", caches, signs)
        rooms: list[_Row] = [
            ("quiet", room.path, f"{size(room.free)} of {size(room.size)}", "") for room in seen.rooms
        ]
        yield _part("free room", rooms, signs)
        for line in _notes(disk):
            yield from hanging(Text(f"  {line}", "yellow"), console, options.max_width)


def unread(name: str, why: str) -> RenderableType:
    """A host that could not be read."""
    return Group(Text(name, "bold cyan"), Text(f"  not read: {why}", "yellow"))


def _part(title: str, rows: Sequence[_Row], signs: dict[Shade, str], none: str = "none") -> RenderableType:
    if not rows:
        return Text(f"  {title}: {none}", "dim")
    shown: list[RenderableType] = [Text(f"  {title}")]
    for shade, name, about, way in rows:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(f"    {signs[shade]}", STYLES[shade]), Text.assemble(name, "\n", (about, "dim")))
        # a command is one line at any width, to be copied
        shown += [grid, Text(f"      {way}", no_wrap=True, overflow="ignore")] if way else [grid]
    return Group(*shown)


def _of_checkpoint(disk: Disk, item: Checkpoint) -> _Row:
    standing = _BARS.get(item.bar, _STANDINGS[item.standing])
    return _row(disk, item, item.name, standing if item.bar == "link" else f"{size(item.size)}, {standing}")


def _of_image(disk: Disk, item: Image) -> _Row:
    names = [name for name in item.names if "@" not in name] or list(item.names)
    return _row(disk, item, f"{listed(names) or 'dangling, no name'} ({item.short})", size(item.size))


def _row(disk: Disk, item: Checkpoint | Image, name: str, about: str) -> _Row:
    needs = disk.needs(item)
    way = disk.way(item)
    why = f"needed: {'; '.join(needs)}" if needs else "what needs it is not known" if disk.unknown else _FREE
    shade: Shade = "healthy" if needs else "unknown" if disk.unknown else "quiet"
    return (shade, name, f"{about}; {why}{':' if way else ''}", str(way or ""))


def _notes(disk: Disk) -> Iterator[str]:
    seen = disk.seen
    free = [
        checkpoint for checkpoint in seen.checkpoints if checkpoint.bar == "none" and not disk.needs(checkpoint)
    ]
    spare = [image for image in seen.images if not disk.needs(image)]
    if (free or spare) and not disk.unknown:
        most = f"{size(sum(each.size or 0 for each in free))} and up to {size(sum(each.size for each in spare))}"
        count = f"{_several(len(free), 'checkpoint')} and {_several(len(spare), 'image')}"
        yield f"nothing declared needs {count}: {most}"
    if seen.odd:
        yield f"{seen.odd} folders are left out, whose names are none of a checkpoint"
    for each in seen.cut:
        yield f"there are more {each} than are looked at"
    for why in disk.unknown:
        yield f"it is not known what is needed: {why}"


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
