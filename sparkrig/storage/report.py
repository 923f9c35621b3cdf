"""What needs each checkpoint and image on a host, how one goes that nothing needs, and what the verb prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from sparkrig.clusters import serving_order
from sparkrig.cure import Cure, on_host, quoted, quoted_path
from sparkrig.fleet import Fleet
from sparkrig.host.images import Image
from sparkrig.refusal import Refusal
from sparkrig.runs import journal
from sparkrig.runs.journal import ABSENT, Journal, Run
from sparkrig.runs.undo_target import stands
from sparkrig.serving import gguf, launch_text, plan, served, service_settings
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.launch import Unreadable
from sparkrig.serving.plan import Find
from sparkrig.serving.recipe import Recipe
from sparkrig.serving.served import Service
from sparkrig.settings import DEFAULTS, Settings
from sparkrig.storage.storage import Checkpoint, Docker, Kept, Room, Storage
from sparkrig.value import Unread

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
    settings = fleet[name]
    images = {
        str(value): f"the setting {setting}"
        for setting in _IMAGES
        if (value := getattr(settings, setting)) and value != DEFAULTS[setting]
    }
    setting = "recipe" if settings.recipe else "model"
    named = settings.recipe or settings.model
    if not named:
        return Declared({}, images)
    group, recipe = fleet.group(name), None
    why = f"the setting {setting} ({named})"
    try:
        recipe = read(settings.recipe) if settings.recipe else None
        wish = plan.wish(find, service_settings.of_engine(settings, recipe), len(group), recipe)
    except Refusal as refusal:  # nothing is served that way; what it means is kept all the same
        meant = dict.fromkeys(_meant(find, settings, recipe), why)
        if settings.recipe and recipe is None:
            return Declared(meant, images, (f"{why} cannot be read: {refusal.what}",))
        return Declared(meant, {**({recipe.image: why} if recipe and recipe.image else {}), **images})
    if serving_order(group, settings.serve_on).index(name) >= wish.nodes:
        return Declared({}, images)
    return Declared({id.lower(): why for id in wish.ids}, {wish.image: why, **images})


def _meant(find: Find, settings: Settings, recipe: Recipe | None) -> set[str]:
    """What the settings can mean: of a name, each checkpoint that the catalogue has for it."""
    model = find(settings.model or "")
    ids = {checkpoint.id for checkpoint in model.checkpoints} if model else {settings.model or ""}
    ids |= {settings.serve_draft or "", gguf.folder(settings.serve_gguf) if settings.serve_gguf else ""}
    if recipe:
        ids.add(recipe.model)
        with suppress(Unreadable):  # its command may be what is refused
            ids |= {each.model for each in launch_text.of_recipe(recipe, recipe.command())}
    return {each.lower() for each in ids if each}


@dataclass(frozen=True)
class Disk:
    """What was seen of one host, and what is declared of it."""

    seen: Storage
    journal: Journal
    declared: Declared

    @property
    def undo(self) -> dict[Service, str]:
        """By service, the run that `sparkrig undo` would take back next of those that changed what it serves."""
        first = dict[Service, str]()
        for run in (run for run in self.journal.runs if stands(run, self.journal)):
            for service in _changed(run, self.journal):
                if journal.stood(run, _item(service)) != ABSENT:
                    first.setdefault(service, run.id)
        return first

    @property
    def kept(self) -> list[Kept]:
        """The records that count: of what is served, of what a trial may bring back, and of what undo would."""
        undo = self.undo
        return [kept for kept in self.seen.kept if kept.when != "run" or undo.get(kept.service) == kept.run]

    @property
    def unknown(self) -> list[str]:
        """Why it is not known what is needed; empty where it is."""
        why = [f"{kept} cannot be understood" for kept in self.kept if kept.record is None]
        why += self.declared.unknown
        if self.seen.docker == "failed":
            why.append("docker does not answer")
        if "containers" in self.seen.cut:
            why.append("there are more containers than are looked at")
        return why

    def needs(self, item: Checkpoint | Image) -> list[str]:
        """What needs it, in words; empty where nothing declared does."""
        return self._of_image(item) if isinstance(item, Image) else self._of_checkpoint(item)

    def _of_checkpoint(self, item: Checkpoint) -> list[str]:
        """A container that has the whole disk, as a monitor, does not count."""
        mounting = [
            each for each in self.seen.containers if each.runs and any(_reads(item, at) for at in each.mounts)
        ]
        named = self.declared.checkpoints.get(item.name.lower())
        return [
            *(f"container {container.name}, which runs" for container in mounting),
            *([named] if named else []),
            *self._by_records(lambda record: _names(record, item.name.lower())),
        ]

    def _of_image(self, item: Image) -> list[str]:
        seen = self.seen
        users = [
            container
            for container in seen.containers
            if container.image == item.id or seen.find(container.asked) is item
        ]
        return [
            *(f"container {user.name}, which {'runs' if user.runs else 'is stopped'}" for user in users),
            *(setting for name, setting in self.declared.images.items() if seen.find(name) is item),
            *self._by_records(
                lambda record: record.image == item.id or (record.name != "" and seen.find(record.name) is item)
            ),
        ]

    def _by_records(self, names: Callable[[Record], bool]) -> Iterator[str]:
        """Why each record that names it needs it."""
        for kept in self.kept:
            server = kept.service if kept.service.name else "the server"
            if kept.record and names(kept.record):
                yield {
                    "now": f"{server} serves it, by the record of its last deploy",
                    "trial": f"{server} served it before the configuration that is on trial",
                    "run": f"undo of run {kept.run} brings it back",
                }[kept.when]

    def way(self, item: Checkpoint | Image) -> Cure | None:
        """The command that removes it; None where something needs it, that is not known, or it must not go so."""
        if self.unknown or self.needs(item):
            return None
        if isinstance(item, Image):
            return on_host(f"sudo docker image rm {quoted(item.short)}")
        return on_host(f"sudo rm -r --one-file-system {quoted_path(item.path)}") if item.bar == "none" else None


def _reads(item: Checkpoint, mount: str) -> bool:
    """Whether a container that mounts a path can read a checkpoint, or a part of it."""
    mount = mount.rstrip("/")
    paths = (item.path, item.given)
    return mount != "" and any(f"{at}/".startswith(f"{mount}/") or mount.startswith(f"{at}/") for at in paths)


def _item(service: Service) -> str:
    """Its record, as the journal calls it."""
    return f"file {service.record}"


def _changed(run: Run, found: Journal) -> list[Service]:
    """The services of which a run changed what they serve."""
    paths = {item.removeprefix("file ") for item in journal.changed(run, found)}
    owners = {owner for path in paths if (owner := served.whose(path))}
    return sorted((service for service in owners if service.record in paths), key=lambda service: service.name)


def _names(record: Record, checkpoint: str) -> bool:
    return record.rank != served.ASIDE and checkpoint in (folder.lower() for folder in record.folders)


# --- the document


@dataclass(frozen=True, kw_only=True)
class StoredCheckpoint(Checkpoint):
    """A checkpoint on a disk, as sparkrig.storage.storage.Checkpoint.

    bytes: null where they were not counted to the end; needed_by: empty where nothing declared needs it.
    """

    needed_by: list[str]


@dataclass(frozen=True)
class StoredImage:
    """An image of docker's.

    names: its tags and digests, none for a dangling one; bytes: as docker reports it.
    """

    id: str
    names: tuple[str, ...]
    bytes: int
    needed_by: list[str]


@dataclass(frozen=True)
class Cache:
    """A cache of the server, or of Hugging Face's programs. bytes: None where it was not counted to the end."""

    path: str
    bytes: int | None


@dataclass(frozen=True)
class Host:
    """What lies on one host.

    weights: the folder of the checkpoints; odd: folders in it whose names are no names of checkpoints; cut: what
    there is more of than is looked at; unknown: why it is not known what is needed, empty where it is.
    """

    weights: str
    docker: Docker
    checkpoints: list[StoredCheckpoint]
    images: list[StoredImage]
    caches: list[Cache]
    file_systems: tuple[Room, ...]
    odd: int
    cut: tuple[str, ...]
    unknown: list[str]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What lies on the disks of each host of an inventory."""

    schema: Literal["sparkrig.storage/3"] = "sparkrig.storage/3"
    hosts: Mapping[str, Host | Unread]
    exit_code: int


def host(disk: Disk) -> Host:
    """The document of one host."""
    seen = disk.seen
    return Host(
        weights=seen.given,
        docker=seen.docker,
        checkpoints=[
            StoredCheckpoint(**vars(checkpoint), needed_by=disk.needs(checkpoint))
            for checkpoint in seen.checkpoints
        ],
        images=[StoredImage(image.id, image.names, image.size, disk.needs(image)) for image in seen.images],
        caches=[Cache(path, count) for path, count in seen.caches.items()],
        file_systems=seen.rooms,
        odd=seen.odd,
        cut=seen.cut,
        unknown=disk.unknown,
    )
