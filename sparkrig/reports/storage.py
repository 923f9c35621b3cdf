"""What needs each checkpoint and image on a host, when it was used last, and whether it may be removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from sparkrig.clusters import serving_order
from sparkrig.cure import on_host, quoted, quoted_path, verb
from sparkrig.fleet import Fleet
from sparkrig.parsing import hub
from sparkrig.refusal import Refusal
from sparkrig.runs import journal
from sparkrig.runs.journal import ABSENT, Journal, Run
from sparkrig.runs.undo_target import stands
from sparkrig.serving import gguf, launch_text, plan, served
from sparkrig.serving.launch import Unreadable
from sparkrig.serving.plan import Find
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.served import Record, Service
from sparkrig.serving.storage import Checkpoint, Container, Storage, Stored, kept_name
from sparkrig.settings import DEFAULTS, Settings
from sparkrig.text import listed

Kind = Literal["checkpoint", "image"]
Read = Callable[[str], Recipe]  # the recipe that a setting names
_IMAGES = ("serve_image", "nccl_image")  # settings that name one


@dataclass(frozen=True)
class Declared:
    """What the settings of a host name, and which setting does; checkpoints are in small letters.

    unknown: why that may not be all, in sentences.
    """

    checkpoints: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def declared(fleet: Fleet, name: str, find: Find, read: Read) -> Declared:
    """What the settings of that host name. find: in the catalogue; read: raises Refusal."""
    mine = fleet[name]
    images = {
        str(value): f"the setting {setting}"
        for setting in _IMAGES
        if (value := getattr(mine, setting)) and value != DEFAULTS[setting]
    }
    setting = "recipe" if mine.recipe else "model"
    named = mine.recipe or mine.model
    if not named:
        return Declared({}, images)
    group, recipe = fleet.group(name), None
    why = f"the setting {setting} ({named})"
    try:
        recipe = read(mine.recipe) if mine.recipe else None
        wish = plan.wish(find, plan.of_engine(mine, recipe), len(group), recipe)
    except Refusal as refusal:  # nothing is served that way; what it means is kept all the same
        meant = dict.fromkeys(_meant(find, mine, recipe), why)
        if mine.recipe and recipe is None:
            return Declared(meant, images, (f"{why} cannot be read: {refusal.what}",))
        return Declared(meant, {**({recipe.image: why} if recipe and recipe.image else {}), **images})
    if serving_order(group, mine.serve_on).index(name) >= wish.nodes:
        return Declared({}, images)
    return Declared({id.lower(): why for id in wish.ids}, {wish.image: why, **images})


def _meant(find: Find, mine: Settings, recipe: Recipe | None) -> set[str]:
    """What the settings can mean: of a name, each checkpoint that the catalogue has for it."""
    model = find(mine.model or "")
    ids = {each.id for each in model.checkpoints} if model else {mine.model or ""}
    ids |= {mine.serve_draft or "", gguf.folder(mine.serve_gguf) if mine.serve_gguf else ""}
    if recipe:
        ids.add(recipe.model)
        with suppress(Unreadable):  # its command may be what is refused
            ids |= {each.model for each in launch_text.of_recipe(recipe, recipe.command())}
    return {each.lower() for each in ids if each}


@dataclass(frozen=True)
class Used:
    """When something was used last.

    at: in seconds since 1970, by the host's clock; None where it is in use, or where that is not known; now:
    whether it is in use; how: by what that is known, or why it is not known.
    """

    at: int | None
    how: str
    now: bool = False


@dataclass(frozen=True)
class Disk:
    """What was seen of one host, and what is declared of it."""

    seen: Storage
    journal: Journal
    declared: Declared

    @property
    def undo(self) -> dict[Service, str]:
        """By service, the run that `sparkrig undo` would take back next of those that changed what it serves."""
        found, first = self.journal, dict[Service, str]()
        for run in (run for run in found.runs if stands(run, found)):
            for service in _changed(run, found):
                if journal.stood(run, _item(service)) != ABSENT:
                    first.setdefault(service, run.id)
        return first

    @property
    def unknown(self) -> list[str]:
        """Why it is not known what is needed; empty where it is."""
        undone = [kept_name(run, service.name) for service, run in self.undo.items()]
        broken = [
            each
            for each in self.seen.garbled
            if each in ("record", "trial", *undone) or each.startswith("service ")
        ]
        told = {"record": served.RECORD, "trial": "the record of what was served before the one on trial"}
        told |= {each: f"the record of {each}" for each in broken if each.startswith("service ")}
        why = [f"{told.get(each, f'the record before run {each}')} cannot be understood" for each in broken]
        why += self.declared.unknown
        if self.seen.docker == "failed":
            why.append("docker does not answer")
        if "containers" in self.seen.cut:
            why.append("there are more containers than are looked at")
        return why

    def records(self) -> Iterator[tuple[str, Record]]:
        """What of the deploys needs a checkpoint and an image: why, and the record that names them."""
        seen = self.seen
        if seen.record:
            yield "it is served, by the record of the last deploy", seen.record
        if seen.trial:
            yield "it was served before the configuration that is on trial", seen.trial
        for name, record in seen.services:
            yield f"service {name} serves it, by the record of its last deploy", record
        for service, run in self.undo.items():
            if before := seen.kept.get(kept_name(run, service.name)):
                yield f"undo of run {run} brings it back", before

    def needs(self, item: Checkpoint | Stored) -> list[str]:
        """What needs it, in words; empty where nothing declared does."""
        return self._of_image(item) if isinstance(item, Stored) else self._of_checkpoint(item)

    def _of_checkpoint(self, item: Checkpoint) -> list[str]:
        why = [_runs(each) for each in self._mounted(item)]
        if item.user:  # no server of ours reads such a cache
            return why
        name = item.name.lower()
        if named := self.declared.checkpoints.get(name):
            why.append(named)
        return why + [each for each, record in self.records() if _names(record, name)]

    def _mounted(self, item: Checkpoint) -> list[Container]:
        """The containers that run and can read it; one that has the whole disk, as a monitor, does not count."""
        return [each for each in self.seen.containers if each.runs and any(map(item_in(item), each.mounts))]

    def _of_image(self, item: Stored) -> list[str]:
        seen = self.seen
        why = [
            _runs(each) if each.runs else f"container {each.name}, which is stopped" for each in self._users(item)
        ]
        why += [setting for name, setting in self.declared.images.items() if seen.find(name) is item]
        return why + [each for each, record in self.records() if self._has(record, item)]

    def _users(self, item: Stored) -> list[Container]:
        found = self.seen.containers
        return [each for each in found if each.image == item.image.id or self.seen.find(each.asked) is item]

    def _has(self, record: Record, item: Stored) -> bool:
        return record.image == item.image.id or (bool(record.name) and self.seen.find(record.name) is item)

    def used(self, item: Checkpoint | Stored) -> Used:
        """When it was used last, as far as that is known.

        Our own server mounts weights read-only, and the kernel notes no reading through such a mount (touch_atime
        in fs/inode.c), so what was served is known by the deploys alone.
        """
        if isinstance(item, Stored):
            if any(each.runs for each in self._users(item)):
                return Used(None, "", now=True)
            return self._served(lambda record: self._has(record, item)) or Used(None, "docker keeps no note of it")
        if self._mounted(item):
            return Used(None, "", now=True)
        how = self.seen.atimes.get(item.user, "unknown")
        days = ", which is noted once a day" if how == "relatime" else ""
        read = Used(item.read, f"read{days}") if item.read is not None else None
        ours = None if item.user else self._served(lambda record: _names(record, item.name.lower()))
        known = [each for each in (read, ours) if each]
        if known:
            return max(known, key=lambda each: each.at or 0)
        return Used(None, f"mounted {how}" if how == "noatime" else "the disk has no note of it")

    def _served(self, names: Callable[[Record], bool]) -> Used | None:
        """When it was served last, by the runs that replaced it and by the unit that stopped."""
        found, seen = self.journal, self.seen
        ends = [
            run.owner.since
            for run in found.runs
            for service in _changed(run, found)
            if (record := seen.kept.get(kept_name(run.id, service.name))) and names(record)
        ]
        if seen.record and seen.stopped is not None and names(seen.record):
            ends.append(seen.stopped)
        return Used(max(ends), "served until then") if ends else None

    # --- removal

    def removal(self, name: str) -> Removal | None:
        """What that name means here, where it may be removed; None where it is not there. Raises Refusal."""
        seen = self.seen
        copies = [each for each in seen.checkpoints if each.name == name]
        ours = next((each for each in copies if not each.user), None)
        image = seen.find(name)
        if ours and image:
            raise Refusal(
                f"{name} is a checkpoint and an image", f"--remove {quoted(image.image.short)}, which is the image"
            )
        if image:
            return self._image(name, image)
        if ours:
            return self._checkpoint(ours)
        if copies:
            raise Refusal(
                f"{name} lies in the Hugging Face cache of {copies[0].user}, which is only looked at",
                on_host(f"rm -r {quoted_path(copies[0].path)}", f", as {copies[0].user}"),
            )
        return None

    def _checkpoint(self, item: Checkpoint) -> Removal:
        if item.bar == "link":
            why = f"{item.path} is a link, and what it leads to is not ours"
            raise Refusal(why, on_host(f"ls -l {quoted_path(item.path)}"))
        if item.bar == "mount":
            why = f"{item.path} has a file system mounted in it"
            raise Refusal(why, on_host(f"findmnt -R {quoted_path(item.path)}"))
        self._refuse(item.name, self.needs(item))
        return Removal("checkpoint", item.name, item.path, item.frees)

    def _image(self, name: str, item: Stored) -> Removal:
        self._refuse(name, self.needs(item))
        repositories = sorted({_repository(each) for each in item.names})
        if len(repositories) > 1:
            others = [each for each in item.names if _repository(each) != repositories[0]]
            raise Refusal(
                f"{name} has names of {len(repositories)} repositories ({listed(repositories)}), and docker "
                "removes such an image by force alone",
                on_host(f"sudo docker image rm {quoted(*others)}"),
            )
        return Removal(
            "image", listed(item.names) or item.image.short, item.image.id, item.size, self.seen.shared(item)
        )

    def _refuse(self, name: str, needs: list[str]) -> None:
        if needs:
            raise Refusal(f"{name} is needed: {'; '.join(needs)}", "take away first what needs it")
        if self.unknown:
            raise Refusal(f"it is not known what needs {name}: {'; '.join(self.unknown)}", verb("doctor"))


@dataclass(frozen=True)
class Removal:
    """What goes.

    name: for a person; what: its folder, or the image's ID; frees: bytes, None where they were not counted;
    shared: layers of an image that other images have too, whose bytes stay.
    """

    kind: Kind
    name: str
    what: str
    frees: int | None
    shared: int = 0

    @property
    def item(self) -> str:
        """What the journal's step is called."""
        return f"Storage | remove {self.kind} {self.name if self.kind == 'checkpoint' else self.what}"


def judge_name(name: str) -> None:
    """Raise Refusal for what is the name of no checkpoint and of no image, before any host is asked."""
    if not (hub.CHECKPOINT.fits(name) or hub.IMAGE.fits(name)):
        raise Refusal(
            f"{name[:80]!r} is no name of a checkpoint (OWNER/NAME) and none of an image", "one that the list has"
        )


def item_in(item: Checkpoint) -> Callable[[str], bool]:
    """Whether a container that mounts a path can read a checkpoint, or a part of it."""

    def reads(mount: str) -> bool:
        mount = mount.rstrip("/")
        paths = (item.path, item.given)
        return mount != "" and any(f"{at}/".startswith(f"{mount}/") or mount.startswith(f"{at}/") for at in paths)

    return reads


def _item(service: Service) -> str:
    """Its record, as the journal calls it."""
    return f"file {service.record}"


def _changed(run: Run, found: Journal) -> list[Service]:
    """The services of which a run changed what they serve."""
    paths = {item.removeprefix("file ") for item in journal.changed(run, found)}
    owners = {owner for path in paths if (owner := served.whose(path))}
    return sorted((each for each in owners if each.record in paths), key=lambda each: each.name)


def _runs(container: Container) -> str:
    return f"container {container.name}, which runs"


def _names(record: Record, checkpoint: str) -> bool:
    return record.rank != served.ASIDE and checkpoint in (each.lower() for each in record.folders)


def _repository(name: str) -> str:
    """An image's name without its tag and digest."""
    name = name.partition("@")[0]
    front, slash, last = name.rpartition("/")
    return f"{front}{slash}{last.partition(':')[0]}"
