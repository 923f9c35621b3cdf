"""What an update would do to each Spark: the steps, their time, what stands in its way, and what leads back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sparkrig.cure import on_host
from sparkrig.host import driver, firmware_table, preflight, releases
from sparkrig.host.identity import Identity
from sparkrig.host.releases import Behind, Recipe, ReleaseStanding
from sparkrig.host.upgrade import IDLE, Move
from sparkrig.parsing import debian_version
from sparkrig.refusal import Refusal, Refused
from sparkrig.text import listed, size
from sparkrig.update import branch, firmware, gate, update, update_judge, update_limits
from sparkrig.update.branch import Way
from sparkrig.update.firmware import Part
from sparkrig.update.look import Foreseen, Seen
from sparkrig.update.update import Plan

CANDIDATE = "candidate"  # after --to: whatever apt offers, not limited by a release

# Seconds of each step. Recorded: apt took 4.3 minutes for a set of this kind, a reboot that writes firmware 15
# [@spark-fleet-updates]; the others are our own reasoning.
_INSTALL_S = 260
_REBOOT_S = 180
_FIRMWARE_S = 900
_PROOF_S = 120
_SERVER_S = 60
_BYTES_A_SECOND = 10_000_000


@dataclass(frozen=True)
class Step:
    """Something that an update does to a host, in words, and roughly how long it takes."""

    what: str
    seconds: int


@dataclass(frozen=True)
class Prospect:
    """What an update would do to one Spark.

    identity: of it, None where it was not read; standing: the release that it has, and those ahead; goal: the one
    to reach, None for what apt offers; behind: what of it the Spark does not have; plan: of the packages, None
    where there is none; parts: of its firmware; held: packages that others hold; waits: why a reboot is due
    already, or empty; refusals: why it would not begin; unread: why the host could not be read; serves: whether a
    model runs there; lists_s: how many seconds ago apt fetched its package lists, None for never; left_out: why
    NVIDIA's recipe in a file is not known, by the file's name; absent: packages of the release, as `NAME VERSION`,
    that it would not bring; warnings: what keeps it from nothing, a sentence each; notes: what is open in the
    firmware without a release that closes it, or not known; way: of the driver's branch.
    """

    identity: Identity | None = None
    standing: ReleaseStanding | None = None
    goal: Recipe | None = None
    behind: Behind | None = None
    plan: Plan | None = None
    parts: tuple[Part, ...] = ()
    held: tuple[str, ...] = ()
    waits: str = ""
    refusals: tuple[Refusal, ...] = ()
    unread: Refusal | None = None
    serves: bool = False
    lists_s: int | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    way: Way | None = None

    @property
    def offered(self) -> tuple[Part, ...]:
        """The firmware that would be written, or is written and waits for a reboot."""
        return tuple(part for part in self.parts if part.due)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All that would be done, in its order; none where there is nothing to do, or it would not begin."""
        return () if self.refusals or self.unread else tuple(_steps(self))

    @property
    def due(self) -> bool:
        return bool(self.steps)

    @property
    def seconds(self) -> int:
        return sum(step.seconds for step in self.steps)

    @property
    def exit(self) -> int:
        if self.unread:
            return 3
        return 2 if self.due or self.refusals else 0


def goal(seen: Seen, to: str, parts: Collection[str], declared: int) -> Recipe | None:
    """The release that --to means; None for what apt offers. Raises Refusal for one that is not known there.

    Firmware alone needs none: fwupd says what is newer. Else a release with a later driver than is declared is
    refused, and is not the latest one; so is one that would move the driver to another branch.
    """
    firmware_alone = {*parts} == {"firmware"}
    if not firmware_alone and (refusal := releases.unpublished(seen.releases, declared)):
        raise refusal
    if to == CANDIDATE or (to == releases.LATEST and firmware_alone and not seen.releases.recipes):
        return None
    found = releases.find(to, seen.releases, None if firmware_alone else declared)
    branch.judge(found, seen.driver, seen.releases, parts, declared)
    return found


def prospect(
    found: Foreseen, parts: Collection[str], declared: int, may_go: Collection[str] = frozenset()
) -> Prospect:
    """What a look and a forecast come to. parts: of PARTS, what is to be updated; may_go: what may be removed."""
    seen, goal, known = found.seen, found.goal, found.seen.repositories
    way = branch.way(seen.driver, seen.releases, goal, moves="driver" in parts, declared=declared)
    has = releases.Installed(
        seen.identity.kernel, driver.version(seen.driver), seen.releases.packages, seen.releases.removed
    )
    newest = goal or seen.releases.newest
    plan, refusals = _drafted(found, parts, way, may_go)
    waits = update.waits(seen.driver, known, seen.identity.kernel)
    behind = releases.behind(has, newest, seen.releases) if newest else None
    limited = goal is not None and goal != seen.releases.newest
    board = firmware.judge(seen.firmware, newest, seen.identity.vendor, limited=limited)
    made = Prospect(
        identity=seen.identity,
        standing=releases.standing(has, seen.releases) if seen.releases.recipes else None,
        goal=goal,
        behind=behind,
        plan=plan,
        parts=board if "firmware" in parts else (),
        held=tuple(sorted({*known.held} - {*driver.hold_set(seen.driver, way.now)})),
        waits=waits,
        refusals=(*(preflight.open_update(seen.preflight) or [*gate.unfit(seen, plan, waits), *refusals]),),
        serves=seen.serving.serves,
        lists_s=max(0, known.now - known.fetched) if known.fetched else None,
        left_out=seen.releases.left_out,
        way=way,
        absent=_absent(found, behind, way.now) if plan and goal and "os" in parts else (),
        warnings=gate.warnings(seen, plan),
        notes=tuple(firmware_table.notes(seen.firmware.table)),
    )
    if made.absent and goal and made.exit == 0:
        return replace(made, refusals=(_not_offered(goal, made.absent),))
    return made


def _drafted(
    found: Foreseen, parts: Collection[str], way: Way, may_go: Collection[str]
) -> tuple[Plan | None, list[Refusal]]:
    """What would be done to the packages, and what of them and of their sources an update would not begin with."""
    seen, known = found.seen, found.seen.repositories
    refusals, plan = [found.refusal] if found.refusal else [], None
    if found.upgrade:
        try:
            plan = update.draft(seen.driver, known, found.upgrade, way)
            refusals += update_judge.refusals(plan, known, way.then, may_go)
        except Refusal as refusal:
            refusals.append(refusal)
    elif "firmware" in parts:  # which boots, too
        refusals += update_judge.refusals(update.draft(seen.driver, known, IDLE, way), known, way.then)
    if plan and found.goal and "driver" in parts:
        refusals += update_limits.out_of_reach(plan, seen.driver, known, found.goal, way.now)
    refusals += update_judge.sources(known, seen.identity.dgx_os or "") if found.upgrade else []
    return plan, refusals


def _absent(found: Foreseen, behind: Behind | None, branch: int) -> tuple[str, ...]:
    """What of a release's own packages apt would not bring, but for those that others hold.

    Driver and kernel are judged by their versions.
    """
    if behind is None or found.upgrade is None:
        return ()
    theirs = {*found.seen.repositories.held, *driver.hold_set(found.seen.driver, branch)}
    wanted = {**{name: step.wants for name, step in behind.older.items()}, **behind.missing}
    after = {name: move.after for name, move in found.upgrade.installs.items()}
    return tuple(
        f"{name} {version}"
        for name, version in sorted(wanted.items())
        if name not in theirs and (name not in after or debian_version.older(after[name], version))
    )


def _not_offered(goal: Recipe, absent: Sequence[str]) -> Refusal:
    return Refusal(
        f"{goal.shown} has {update_judge.some(absent)}, and apt offers nothing",
        on_host("sudo apt-get update", "; NVIDIA's own sources come with the package nvidia-spark-repo"),
    )


def _steps(of: Prospect) -> Iterator[Step]:
    plan, offered = of.plan, of.offered
    packages = plan is not None and not plan.idle
    boots = plan is not None and (plan.reboots or bool(of.waits))
    if not (packages or boots or offered):
        return
    if of.serves:
        yield Step("stop what serves, as its last step starts it again", _SERVER_S)
    if plan and packages:
        yield Step(f"download {size(plan.bytes)}", 5 + plan.bytes // _BYTES_A_SECOND)
        release = "release the hold, and " if plan.core else ""
        moves = f"move the driver from branch {of.way.now} to {of.way.then}: " if of.way and of.way.moves else ""
        yield Step(f"{release}{moves}install: {_counted(plan)}", _INSTALL_S)
    if plan and boots:
        into = f" into {plan.kernel.after}" if plan.kernel.after else ""
        yield Step(f"reboot once{into}, and prove driver and GPU", _REBOOT_S)
    if offered:
        yield Step(_write(offered), _FIRMWARE_S)
    yield Step("hold and pin again, and check host, fabric and bandwidth", _PROOF_S)
    if of.serves:
        yield Step("start what served, and ask it for an answer", _SERVER_S)


def _write(parts: Sequence[Part]) -> str:
    """What is done for the firmware of these parts."""
    staged = listed(part.which for part in parts if part.state == "pending")
    others = listed(part.which for part in parts if part.state != "pending")
    if not others:
        return f"reboot, which applies firmware that is staged already ({staged}) and cannot be undone"
    applies = f", which applies what is staged already ({staged})" if staged else ""
    return f"write firmware ({others}), which cannot be undone, and reboot{applies}"


def _counted(plan: Plan) -> str:
    counts = [(len(plan.upgraded), "upgraded"), (len(plan.new), "new"), (len(plan.removed), "removed")]
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def order(made: Mapping[str, Prospect], groups: Sequence[Sequence[str]]) -> list[str]:
    """The hosts in the order in which they would be updated: of a cluster those that serve last."""
    return [
        name
        for group in groups
        for name in sorted((each for each in group if each in made), key=lambda each: made[each].serves)
    ]


def mixed(made: Mapping[str, Prospect], groups: Sequence[Sequence[str]]) -> list[str]:
    """What would leave hosts of a cluster apart, a sentence for each: other drivers, kernels or releases."""
    return [why for group in groups if (why := _mixed({name: made[name] for name in group if name in made}))]


def _mixed(group: Mapping[str, Prospect]) -> str:
    stopped = [name for name, found in group.items() if found.unread or found.refusals]
    moving = [name for name, found in group.items() if found.due and found.plan and not found.plan.idle]
    if stopped and moving:
        return f"{listed(group)} would stay mixed: {listed(moving)} would be updated, and {listed(stopped)} not"
    plans = {name: found.plan for name, found in group.items() if found.plan and name not in stopped}
    ends = {
        name: f"driver {plan.driver.after or 'none'} and kernel {_booted(plan)}" for name, plan in plans.items()
    }
    if len({*ends.values()}) > 1:
        return (
            f"{listed(ends)} would stay mixed: {', '.join(f'{name} has {end}' for name, end in ends.items())} then"
        )
    goals = {name: found.goal.name for name, found in group.items() if found.goal and name not in stopped}
    if len({*goals.values()}) > 1:
        each = ", ".join(f"{name} {goal}" for name, goal in goals.items())
        return f"{listed(goals)} would stay mixed, as they know of different releases: {each}"
    return ""


def _booted(plan: Plan) -> str:
    return plan.kernel.after or "unknown"


def code(made: Collection[Prospect]) -> int:
    """The exit code; the most severe host wins."""
    return max((each.exit for each in made), default=0)


# --- for programs


@dataclass(frozen=True)
class UpdatedHost:
    """What an update would do to one Spark.

    unread: why it could not be read; dgx_os: by /etc/dgx-release; release: the newest of NVIDIA's releases that
    it has, None where it has none that it knows of; goal: the one to reach, None for what apt offers; behind_by:
    how many releases it knows of that are newer; kernel: the one that boots next; kernel_unknown: why that is not
    known after the update, or empty; reboot_due: why one is due already, or empty; bytes: to download;
    lists_age_s: how many seconds ago apt fetched its package lists, None for never; recipes_left_out: why a
    recipe of NVIDIA's is not known, by its file; not_offered: packages of the goal, as `NAME VERSION`, that apt
    would not bring; no_way_back: parts of driver and kernel, as NAME=VERSION, that could not be installed again;
    kernels_without_module: kernels of now that would have no nvidia.ko of the driver; steps: in their order, none
    where nothing would be done; exit_code: of this host alone.
    """

    name: str
    unread: str | None
    dgx_os: str | None
    release: str | None
    goal: str | None
    behind_by: int | None
    removed_by_owner: Sequence[str]
    driver: Move | None
    kernel: Move | None
    kernel_unknown: str
    upgraded: Sequence[str]
    new: Sequence[str]
    removed: Sequence[str]
    kept_back: Sequence[str]
    held_by_others: Sequence[str]
    reboot_due: str
    bytes: int | None
    lists_age_s: int | None
    recipes_left_out: Mapping[str, str]
    not_offered: Sequence[str]
    no_way_back: Sequence[str]
    kernels_without_module: Sequence[str]
    firmware: tuple[Part, ...]
    steps: tuple[Step, ...]
    refusals: list[Refused]
    warnings: tuple[str, ...]
    firmware_notes: tuple[str, ...]
    seconds: int
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an update would do, host by host, in the order in which it would.

    mixed: what would leave the hosts of a cluster apart, in words.
    """

    schema: Literal["sparkrig.update/1"] = "sparkrig.update/1"
    inventory: str
    hosts: list[UpdatedHost]
    mixed: list[str]
    exit_code: int


def document(name: str, found: Prospect) -> UpdatedHost:
    """One host for programs."""
    plan, standing, behind = found.plan, found.standing, found.behind
    return UpdatedHost(
        name=name,
        unread=found.unread.what if found.unread else None,
        dgx_os=found.identity.dgx_os if found.identity else None,
        release=standing.has.shown if standing and standing.has else None,
        goal=found.goal.shown if found.goal else None,
        behind_by=len(standing.ahead) if standing else None,
        removed_by_owner=behind.removed if behind else (),
        driver=plan.driver if plan else None,
        kernel=plan.kernel if plan else None,
        kernel_unknown=plan.unknown if plan else "",
        upgraded=plan.upgraded if plan else (),
        new=plan.new if plan else (),
        removed=plan.removed if plan else (),
        kept_back=plan.kept if plan else (),
        held_by_others=found.held,
        reboot_due=found.waits,
        bytes=plan.bytes if plan else None,
        lists_age_s=found.lists_s,
        recipes_left_out=found.left_out,
        not_offered=found.absent,
        no_way_back=plan.lost if plan else (),
        kernels_without_module=plan.bare if plan else (),
        firmware=found.parts,
        steps=found.steps,
        refusals=[refusal.of(name).told for refusal in found.refusals],
        warnings=found.warnings,
        firmware_notes=found.notes,
        seconds=found.seconds,
        exit_code=found.exit,
    )
