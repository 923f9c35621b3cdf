"""What one resource is: how it is read, what it should be, what is checked of it.

Derived from it: the fact, the refusals, the files that a deploy writes, the deploy's step, the drift, the undo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from sparkrig import programs
from sparkrig.files import File, Found, Managed, stale
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check, refused
from sparkrig.resources.kind import Kind
from sparkrig.text import listed

if TYPE_CHECKING:
    from sparkrig.resources.state import State  # which has all resources

T = TypeVar("T")


@dataclass(frozen=True)
class Edit:
    """A part of a file that others write, too, which a program changes on the host: nothing else of it is touched.

    program: shell text, given the words; before, after: that part in words, None where there is none.
    """

    path: str
    program: str
    words: tuple[str, ...]
    before: str | None
    after: str | None

    @property
    def difference(self) -> str:
        """What is not as declared, in words."""
        return f"{self.path} has {self.before or f'no {self.after}'}"


@dataclass(frozen=True)
class Changes:
    """What a deploy does for a resource of files.

    wanted: every file as it should be; write: those that are missing or differ; remove: paths of files that are
    declared no more; reload: paths whose service has to read them again; edits: what changes of others' files;
    install: packages that are not there, which come once the files are.
    """

    wanted: tuple[File, ...] = ()
    write: tuple[File, ...] = ()
    remove: tuple[str, ...] = ()
    reload: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    install: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.write or self.remove or self.reload or self.edits or self.install)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are written, removed or edited."""
        return (*(file.path for file in self.write), *self.remove, *(edit.path for edit in self.edits))

    @property
    def differences(self) -> list[str]:
        """In words: each edit that is due, else each file."""
        return [edit.difference for edit in self.edits] or [f"{path} differs" for path in self.paths]

    @classmethod
    def of(
        cls,
        wanted: Iterable[File],
        files: Mapping[str, Found],
        managed: Iterable[Managed] = (),
        *,
        unread: bool = False,
    ) -> Changes:
        """What makes the files what is wanted.

        files: as they stand on the host; managed: the files of the resource, which go where they are not wanted;
        unread: whether the service that runs has read an older text of those that stand there as they should.
        """
        wanted = tuple(wanted)
        write = tuple(stale(wanted, files))
        paths = {file.path for file in wanted}
        remove = tuple(file.path for file in managed if file.path in files and file.path not in paths)
        late = wanted if unread and not write else write
        return cls(wanted, write, remove, (*(file.path for file in late), *remove))


@dataclass(frozen=True)
class Guard:
    """How files that can strand a host are followed; they change under guard (sparkrig.network.guard).

    what: they are, in words; test, live, verify, units: as an order has them.
    """

    what: str
    test: str
    live: str
    verify: str
    units: tuple[str, ...]


@dataclass(frozen=True)
class AfterUndo:
    """A program that is run once an undo has put files back. step: its name in the journal."""

    step: str
    program: str
    words: tuple[str, ...]


class Resource(Generic[T]):
    """One kind of thing on a host; a subclass is all that other rooms need to know of it.

    name: of its module, its part of a look and its deploy; script: the shell text that prints everything of its
    kind, empty where another look has it; shared: parts of it that ask for several resources; absent: what it is
    where the script printed nothing; files: those that it manages; packages: those that it may install, whose
    coming a run notes; after_undo: what follows files that went back; kinds: what its checks mean; title, step,
    rereads: of a resource of files alone, its part of a deploy, the writing there, and having services read;
    guard: of one whose files can strand the host, how they are followed, in the place of rereads and reloads.
    """

    name: ClassVar[str]
    script: ClassVar[str] = ""
    shared: ClassVar[tuple[str, ...]] = ()
    absent: ClassVar[Any] = None
    files: ClassVar[tuple[Managed, ...]] = ()
    packages: ClassVar[tuple[str, ...]] = ()
    after_undo: ClassVar[AfterUndo | None] = None
    kinds: ClassVar[tuple[Kind, ...]]
    title: ClassVar[str] = ""
    step: ClassVar[str] = ""
    rereads: ClassVar[str] = ""
    guard: ClassVar[Guard | None] = None

    def parse(self, lines: Iterable[str]) -> T:
        """What the script printed. Raises ValueError where a row makes no sense."""
        raise NotImplementedError

    def seen(self, subject: Subject) -> T:
        """What the look of a host read of it."""
        value: T = subject.found.read(self.name)
        return value

    def changes(self, subject: Subject) -> Changes:  # noqa: ARG002 - of one that has no files of its own
        """What a deploy would do to its files. Raises Refusal where it would do nothing to the host."""
        return Changes()

    def checks(self, subject: Subject) -> Iterator[Check]:
        """What was found, beside what is declared."""
        raise NotImplementedError

    def sole_check(
        self, subject: Subject, want: str, *, declared: bool, odd: Callable[[Changes], list[str]], holds: str = ""
    ) -> Iterator[Check]:
        """Of one that has one kind: what a deploy would do, or refuse; none where nothing is declared or due.

        odd: what differs, in words; holds: what is found where nothing does, in place of what is wanted.
        """
        id = self.kinds[0].name
        try:
            changes = self.changes(subject)
        except Refusal as refusal:
            yield refused(id, want, refusal)
            return
        if declared or changes:
            yield check(id, not changes, want, listed(odd(changes)) or holds or want, subject.apply)

    def explained(self, subject: Subject, check: Check) -> Check:  # noqa: ARG002 - of one that explains none
        """A check of what nothing declares, as what is declared of this resource explains it; else as it was."""
        return check

    def settings_of(self, found: State) -> Mapping[str, Any]:  # noqa: ARG002 - of one that has no setting of its own
        """The settings that would have made what was found; none where the defaults would."""
        return {}

    def judge(self, subject: Subject) -> None:
        """Raises Refusal where a deploy would do nothing to the host."""
        self.changes(subject)

    def due(self, subject: Subject) -> Iterable[str]:
        """The paths of the files that a deploy would write or remove. Raises Refusal where that is unknown."""
        return self.changes(subject).paths


def release(package: str, note: str) -> str:
    """The text of a program by which a package of ours goes. note: the file that notes it and goes before."""
    return f"name={package} note={note}\n{programs.text('operations/package_release.sh')}"


def on_paths(program: str, files: Iterable[Managed]) -> str:
    """The text of a program that is given the paths of files."""
    return f"set -- {' '.join(file.path for file in files)}\n{program}"
