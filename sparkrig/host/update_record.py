"""How far the update of one Spark has come, as the Spark itself keeps it, and what is to be done next.

/var/lib/sparkrig/update has it from the first change to the last proof: `plan` (what was agreed to, which never
changes), `steps` (what is done, a row each, written by the step itself), `limits` (apt preferences) and `packages`
(all versions before). Whatever breaks off, a controller, a link or the power: the same command goes on by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from sparkrig.host.releases import LATEST
from sparkrig.host.upgrade import Move
from sparkrig.parsing import grammar
from sparkrig.parsing.grammar import Grammar
from sparkrig.text import plain
from sparkrig.value import Value

FOLDER: Final = "/var/lib/sparkrig/update"
UNIT: Final = "update"  # sparkrig-update, of operations/unit.py

# drain: stop what serves; install: the packages; boot: into the new kernel once; prove: driver, GPU and kernel;
# firmware: hand it to fwupd; apply: boot for it; verify: what the board has; check: the deploy; serve: start again
Task = Literal["drain", "install", "boot", "prove", "firmware", "apply", "verify", "check", "serve", "close"]

# what each task notes once it is done
DONE: Final[Mapping[Task, str]] = {
    "drain": "drained",
    "install": "installed",
    "boot": "armed",
    "prove": "proven",
    "firmware": "staged",
    "apply": "applied",
    "verify": "written",
    "check": "checked",
    "serve": "served",
}
BEGAN: Final = "began"  # noted before GRUB's menu changes
INSTALLING: Final = "installing"  # noted once all is downloaded
UNWRITTEN: Final = "unwritten"  # noted in the place of `written` where the board does not have its firmware
ANOTHERS: Final = "the record of an update that lies here is of another machine, and counts for nothing"
REMOVED: Final = f"sudo rm -r {FOLDER}"  # on the host: the cure of it
OTHER: Final = "other"  # noted in the place of `staged` where fwupd has other firmware by then: none is written
BACK: Final = "back"  # noted where a person wants the packages as they were

PARTS: Final = ("driver", "os", "firmware")  # after --only

WORDS: Final[Mapping[Task, str]] = {
    "drain": "stop what serves",
    "install": "install",
    "boot": "reboot",
    "prove": "prove driver and GPU",
    "firmware": "hand the firmware over",
    "apply": "reboot to write the firmware",
    "verify": "read the firmware",
    "check": "hold, pin and check",
    "serve": "start what served",
    "close": "close",
}

_STEP = Grammar("step of an update", r"[a-z]{1,20}")
_BOOT = Grammar("boot id", r"[0-9a-f-]{36}")
_DEVICE = Grammar("id of a device of fwupd", r"[0-9a-f]{40}")
_SERVICE = Grammar("name of a service", r"-|[a-z0-9-]{1,24}")
_PART = Grammar("part of an update", "|".join(PARTS))
_WORD = Grammar("word for apt", rf"{grammar.PACKAGE.pattern}(?:-|={grammar.VERSION.pattern})?")
_LONGEST = 200  # characters of a text
_MOST = 5000  # rows


@dataclass(frozen=True)
class Firmware(Value):
    """Firmware that is to be written: of which part, and the version on offer, empty where that is staged."""

    which: str
    version: str


@dataclass(frozen=True)
class Record(Value):
    """What was agreed to.

    id: of the update; goal: the release to reach, in words; typed: the command; to, parts: its options; kernel,
    driver: before and after; release: packages that a deploy holds, and this update may move; keep: those of its
    set that it may not; only: packages that alone move, all for none; words: what apt is asked for besides, as
    NAME=VERSION, NAME or `NAME-`; drop: of what comes, what goes first on the way back; before, after: version by
    name of what is upgraded, and of all that is installed; gone, new: names of what is removed, and of what comes;
    served: names of the services that are stopped, `-` for the one without a name; firmware: what is to be
    written, by its fwupd device; had: the version before, by the part of the firmware; reboots: whether it has to
    boot for its packages.
    """

    id: str
    goal: str
    typed: str
    kernel: Move
    driver: Move
    to: str = LATEST
    parts: tuple[str, ...] = PARTS
    release: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    firmware: Mapping[str, Firmware] = field(default_factory=dict)
    had: Mapping[str, str] = field(default_factory=dict)
    reboots: bool = False

    @property
    def since(self) -> str:
        """When it was agreed to, in words; empty where its id does not tell."""
        return f", since {agreed(self.id)}" if agreed(self.id) else ""

    def same(self, to: str, parts: Iterable[str]) -> bool:
        """Whether these options, as they are typed, mean this update."""
        return _folded(to) == _folded(self.to) and {*parts} == {*self.parts}

    @property
    def packages(self) -> bool:
        """Whether packages change."""
        return bool(self.before or self.gone or self.new)


@dataclass(frozen=True)
class Done(Value):
    """A step that is done: its name, when (seconds since 1970, by the host), and in which boot."""

    name: str
    at: int
    boot: str


@dataclass(frozen=True)
class Standing(Value):
    """How far an update is, on the host as it is now.

    boot, kernel: of the host; record: None where no update is open; steps: in their order; unfinished: packages
    that dpkg left in the middle; working: whether the unit that installs is at work; initrd, module: whether the
    kernel that the update boots has an initrd, and the version of its nvidia.ko, empty for none; conffiles: new
    configuration files that were put beside the host's own; left: NAME=VERSION that the way back could not have;
    another: whether the record of another machine lies there, which counts for nothing.
    """

    boot: str
    kernel: str
    record: Record | None = None
    steps: tuple[Done, ...] = ()
    unfinished: int = 0
    working: bool = False
    initrd: bool = False
    module: str = ""
    conffiles: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    another: bool = False

    @property
    def back(self) -> bool:
        """Whether it is on its way back."""
        return any(step.name == BACK for step in self.steps)

    def had(self, step: str) -> bool:
        """Whether a step was ever noted, in either direction."""
        return any(each.name == step for each in self.steps)

    @property
    def current(self) -> tuple[Done, ...]:
        """The steps of the direction that it takes now; what was stopped stays stopped in both."""
        names = [step.name for step in self.steps]
        if BACK not in names:
            return self.steps
        last = len(names) - 1 - names[::-1].index(BACK)
        return (*(step for step in self.steps[:last] if step.name == DONE["drain"]), *self.steps[last + 1 :])

    def done(self, task: Task) -> Done | None:
        """The last time that a task was done, None where it was not."""
        names = (DONE[task], UNWRITTEN) if task == "verify" else (DONE[task],)
        return next((step for step in reversed(self.current) if step.name in names), None)

    @property
    def kernel_to_be(self) -> str:
        """The kernel that the update ends in."""
        return _end(self.record.kernel, back=self.back) if self.record else ""

    @property
    def driver_to_be(self) -> str:
        return _end(self.record.driver, back=self.back) if self.record else ""

    @property
    def fell_back(self) -> bool:
        """Whether the new kernel was booted once and another one runs, as GRUB's default has it."""
        armed = self.done("boot")
        return bool(armed and armed.boot != self.boot and self.kernel != self.kernel_to_be)

    @property
    def task(self) -> Task:
        """What is to be done next."""
        record = self.record
        assert record is not None
        for task in self._tasks(record):
            done = self.done(task)
            if done is None or (task in ("boot", "apply") and done.boot == self.boot):
                return task
        return "close"

    def _tasks(self, record: Record) -> list[Task]:
        """All tasks of this update, in their order."""
        found: list[Task] = ["drain"] if record.served else []
        serve: list[Task] = ["serve"] if record.served else []
        if self.back and record.packages and not self.had(INSTALLING):
            return [*found, *serve]  # nothing was installed, so nothing leads back
        if record.packages:
            found.append("install")
        if record.reboots:
            found += ["boot", "prove"]
        if record.firmware and not self.back and not self.had(OTHER):
            found += ["firmware", "apply", "verify"]
        return [*found, "check", *serve]

    @property
    def sentence(self) -> str:
        """Where it stands, in words."""
        assert self.record is not None
        what = "the way back from" if self.back else "the update to"
        last = self.current[-1].name if self.current else "nothing done yet"
        return f"{what} {self.record.goal} is open (last: {last}; next: {WORDS[self.task]})"


def agreed(id: str) -> str:
    """When an update was agreed to, in words, by its id; empty where that does not tell."""
    try:
        return f"{datetime.strptime(id, '%Y%m%dT%H%M%SZ').replace(tzinfo=UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return ""


def _folded(to: str) -> str:
    return " ".join(to.split()).casefold()


def _end(move: Move, *, back: bool) -> str:
    return move.before if back else move.after


def opened(row: str) -> str:
    """An update that is open, in words, by the row `STEP GOAL` of open_update.sh; empty for none."""
    last, _, goal = plain(row).partition(" ")
    if last == "-":
        return ANOTHERS
    return f"an update to {goal} is open (last step: {last})" if last else ""


# --- reading


def parse(lines: Iterable[str]) -> Standing:
    """Read what update_record.sh prints. Raises ValueError or LookupError where a row makes no sense."""
    rows = [(word, rest) for word, _, rest in (line.strip().partition(" ") for line in lines) if word]
    if len(rows) > _MOST:
        raise ValueError(f"an update of more than {_MOST} rows")
    first = dict(reversed(rows))
    plan = [rest for word, rest in rows if word == "plan"]
    if plan and plan[-1] != "end":
        raise ValueError("its plan is cut short")
    initrd, _, module = first.get("ready", "- -").partition(" ")
    return Standing(
        boot=_BOOT.held(first["boot"]),
        kernel=grammar.KERNEL.held(first["kernel"]),
        record=_record(plan) if plan else None,
        steps=tuple(_step(rest) for word, rest in rows if word == "step"),
        unfinished=int(first.get("unfinished", "0")),
        working="working" in first,
        initrd=initrd == "initrd",
        module="" if module in ("-", "") else grammar.DRIVER.held(module),
        conffiles=tuple(plain(rest)[:_LONGEST] for word, rest in rows if word == "conffile"),
        left=tuple(plain(rest)[:_LONGEST] for word, rest in rows if word == "left"),
        another="another" in first,
    )


def _step(rest: str) -> Done:
    name, at, boot = rest.split(" ")
    return Done(_STEP.held(name), int(at), _BOOT.held(boot))


def _record(plan: Iterable[str]) -> Record:
    rows = [(word, rest) for word, _, rest in (row.partition(" ") for row in plan)]
    first = dict(reversed(rows))
    pairs = [(word, *rest.split(" ")) for word, rest in rows if word in ("before", "after")]
    return Record(
        id=grammar.RUN.held(first["id"]),
        goal=plain(first["goal"])[:_LONGEST],
        typed=plain(first["typed"])[:_LONGEST],
        to=plain(first.get("to", LATEST))[:_LONGEST],
        parts=tuple(_PART.held(rest) for word, rest in rows if word == "part") or PARTS,
        kernel=_move(first["kernel"], grammar.KERNEL),
        driver=_move(first["driver"], grammar.DRIVER),
        release=_names(rows, "release"),
        keep=_names(rows, "keep"),
        only=_names(rows, "only"),
        words=tuple(_WORD.held(rest) for word, rest in rows if word == "word"),
        drop=_names(rows, "drop"),
        before=_versions(pairs, "before"),
        after=_versions(pairs, "after"),
        gone=_names(rows, "gone"),
        new=_names(rows, "new"),
        served=tuple(_SERVICE.held(rest) for word, rest in rows if word == "served"),
        firmware=dict(_firmware(rest) for word, rest in rows if word == "firmware"),
        had=dict(plain(rest)[:_LONGEST].partition(" ")[::2] for word, rest in rows if word == "had"),
        reboots="reboots" in first,
    )


def _versions(pairs: Iterable[tuple[str, ...]], wanted: str) -> dict[str, str]:
    return {
        grammar.PACKAGE.held(name): grammar.VERSION.held(version)
        for word, name, version in pairs
        if word == wanted
    }


def _firmware(rest: str) -> tuple[str, Firmware]:
    device, which, version = rest.split(" ", 2)
    return _DEVICE.held(device), Firmware(plain(which)[:20], "" if version == "-" else plain(version)[:_LONGEST])


def _names(rows: Iterable[tuple[str, str]], wanted: str) -> tuple[str, ...]:
    return tuple(grammar.PACKAGE.held(rest) for word, rest in rows if word == wanted)


def _move(rest: str, form: Grammar) -> Move:
    before, after = rest.split(" ")
    return Move(*("" if each == "-" else form.held(each) for each in (before, after)))


def text(record: Record) -> str:
    """The plan as the host keeps it."""
    rows = [
        f"id {record.id}",
        f"goal {plain(record.goal)}",
        f"typed {plain(record.typed)}",
        f"to {plain(record.to)}",
        *(f"part {part}" for part in record.parts),
        f"kernel {record.kernel.before or '-'} {record.kernel.after or '-'}",
        f"driver {record.driver.before or '-'} {record.driver.after or '-'}",
        *(f"release {name}" for name in record.release),
        *(f"keep {name}" for name in record.keep),
        *(f"only {name}" for name in record.only),
        *(f"word {each}" for each in record.words),
        *(f"drop {name}" for name in record.drop),
        *(f"before {name} {version}" for name, version in record.before.items()),
        *(f"after {name} {version}" for name, version in record.after.items()),
        *(f"gone {name}" for name in record.gone),
        *(f"new {name}" for name in record.new),
        *(f"served {name}" for name in record.served),
        *(f"firmware {id} {each.which} {plain(each.version) or '-'}" for id, each in record.firmware.items()),
        *(f"had {which} {plain(version)}" for which, version in record.had.items()),
        *(["reboots"] if record.reboots else []),
        "end",
    ]
    return "".join(f"{row}\n" for row in rows)
